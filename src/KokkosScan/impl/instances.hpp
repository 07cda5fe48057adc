// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The explicit instances that the library KokkosScan::ETI holds. KOKKOSSCAN_ENABLE_ETI declares
/// them extern in sources that link it; header-only use is unaffected. Few instances cover many
/// calls, because problems have no rank, layout, axis or direction. The innermost host kernels do
/// not depend on the problem type, so they also serve other inputs, starting values and totals.

#include <KokkosScan/impl/backend.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

namespace KokkosScan::impl {

/// A scan of plain arrays of T, with one optional starting value for all lines, and totals.
template <class T, class Op>
using PlainProblem = Problem<T, Op, Array<const T>, T, CommonStart<T>, T>;
/// The same with a mask of bool.
template <class T, class Op>
using MaskedProblem =
    Problem<T, Op, Selected<T, Array<const T>, Array<const StoredBool>>, T, CommonStart<T>, T>;

/// Explicit instances for a type. KEYWORDS is `template` or `extern template`.
#define KOKKOSSCAN_IMPL_INSTANCE(KEYWORDS, PROBLEM, T, OP)                                      \
  KEYWORDS void scan_by_default(const Kokkos::DefaultExecutionSpace&, const PROBLEM<T, OP<T>>&, \
                                std::byte*);
#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
#define KOKKOSSCAN_IMPL_KERNELS(KEYWORDS, T, OP)
#else
#define KOKKOSSCAN_IMPL_KERNELS(KEYWORDS, T, OP)                                             \
  KEYWORDS void host::combine_slabs(host::Registers, const OP<T>&,                           \
                                    const host::SlabBlock<T, carried_t<OP<T>, T>>&);         \
  KEYWORDS void host::combine_short_lines(host::Registers, const OP<T>&,                     \
                                          const host::SlabBlock<T, carried_t<OP<T>, T>>&);   \
  KEYWORDS host::LastChunk<T, carried_t<OP<T>, T>> host::fold_chunks(                        \
      host::Registers, const OP<T>&, const host::BlockOfLine<T>&, carried_t<OP<T>, T>&);     \
  KEYWORDS T host::scan_elements(host::Registers, const OP<T>&, const host::BlockOfLine<T>&, \
                                 host::Carry<carried_t<OP<T>, T>>&);
#endif
// Products of float are combined as products of double.
#define KOKKOSSCAN_IMPL_INSTANCES(KEYWORDS, T)              \
  KOKKOSSCAN_IMPL_KERNELS(KEYWORDS, T, Sum)                 \
  KOKKOSSCAN_IMPL_KERNELS(KEYWORDS, T, Min)                 \
  KOKKOSSCAN_IMPL_KERNELS(KEYWORDS, T, Max)                 \
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
KOKKOSSCAN_IMPL_KERNELS(extern template, double, Prod)
KOKKOSSCAN_IMPL_KERNELS(extern template, std::int32_t, Prod)
KOKKOSSCAN_IMPL_KERNELS(extern template, std::int64_t, Prod)
#endif

}  // namespace KokkosScan::impl
