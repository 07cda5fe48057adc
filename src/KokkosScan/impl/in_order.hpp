// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the in-order kernels of all backends share. Such a scan has no combination tree: B(k) is
/// the left fold of the start and the elements that count among the first k. An element that is
/// masked out is not combined with anything, so kernels ask of an element whether it counts.

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

/// Element k of a line as A, whether it counts or not.
template <class A, class Line>
KOKKOS_FORCEINLINE_FUNCTION A element(const Line& line, std::int64_t k) {
  return static_cast<A>(line(k));
}
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION A element(const SelectedLine<A, Values, Mask>& line, std::int64_t k) {
  return element<A>(line.values, k);
}

/// A fold, or the identity where nothing has been combined yet: dispatch has seen to it that it
/// exists where it is stored.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A or_identity(const Maybe<A>& fold, const Maybe<A>& identity) {
  return fold.exists ? fold.value : identity.value;
}

}  // namespace KokkosScan::impl
