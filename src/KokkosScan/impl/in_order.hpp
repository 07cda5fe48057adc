// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Shared by the in-order kernels of all backends. An in-order scan has no combination tree: B(k)
/// is the left fold of the start and the unmasked elements among the first k. A masked-out element
/// is skipped, not combined with an identity, so kernels ask of each element whether it counts.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/operator_traits.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace KokkosScan::impl {

/// Whether a problem is scanned in order.
template <class P>
inline constexpr bool scans_in_order = is_in_order<std::remove_cv_t<decltype(P::op)>>;

/// Whether an input has a mask.
template <class In>
inline constexpr bool is_selected = false;
template <class A, class Values, class Mask>
inline constexpr bool is_selected<Selected<A, Values, Mask>> = true;

/// Whether element k of a line counts.
template <class Line>
KOKKOS_FORCEINLINE_FUNCTION bool counts(const Line&, std::int64_t) {
  return true;
}
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION bool counts(const SelectedLine<A, Values, Mask>& line, std::int64_t k) {
  return static_cast<bool>(line.mask(k)) && counts(line.values, k);
}

/// Element k of a line converted to A, whether or not it counts.
template <class A, class Line>
KOKKOS_FORCEINLINE_FUNCTION A element(const Line& line, std::int64_t k) {
  return static_cast<A>(line(k));
}
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION A element(const SelectedLine<A, Values, Mask>& line, std::int64_t k) {
  return element<A>(line.values, k);
}

/// The fold, or the identity if nothing has been combined yet. Dispatch guarantees that the
/// identity exists wherever it is stored.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A or_identity(const Maybe<A>& fold, const Maybe<A>& identity) {
  return fold.exists ? fold.value : identity.value;
}

}  // namespace KokkosScan::impl
