// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The problems that the library KokkosScan::ETI holds compiled. A source that links it is told by
/// a definition, and compiles none of them; header-only use does not know that there is a library.
/// Problems have neither rank, layout, axis nor direction, so that few cover many calls.

#include <KokkosScan/impl/backend.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

namespace KokkosScan::impl {

/// A scan of plain arrays of T, with or without a starting value for all lines, and totals.
template <class T, class Op>
using PlainProblem = Problem<T, Op, Array<const T>, T, CommonStart<T>, T>;
/// The same with a mask of bool.
template <class T, class Op>
using MaskedProblem =
    Problem<T, Op, Selected<T, Array<const T>, Array<const bool>>, T, CommonStart<T>, T>;

/// Explicit instantiations for a type, with KEYWORDS before each: `template` or `extern template`.
#define KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PROBLEM, T, OP)                                      \
  KEYWORDS void scan_by_default(const Kokkos::DefaultExecutionSpace&, const PROBLEM<T, OP<T>>&, \
                                std::byte*);
#define KOKKOSSCAN_IMPL_INSTANCES(KEYWORDS, T)              \
  KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PlainProblem, T, Sum)  \
  KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PlainProblem, T, Prod) \
  KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PlainProblem, T, Min)  \
  KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PlainProblem, T, Max)  \
  KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, MaskedProblem, T, Sum)

#if defined(KOKKOSSCAN_ENABLE_ETI)
KOKKOSSCAN_IMPL_INSTANCES(extern template, float)
KOKKOSSCAN_IMPL_INSTANCES(extern template, double)
KOKKOSSCAN_IMPL_INSTANCES(extern template, std::int32_t)
KOKKOSSCAN_IMPL_INSTANCES(extern template, std::int64_t)
#endif

}  // namespace KokkosScan::impl
