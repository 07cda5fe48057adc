// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Affine maps and their composition, the operator of linear recurrences.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/impl/arithmetic.hpp>
#include <Kokkos_Core.hpp>
#include <limits>
#include <type_traits>

namespace KokkosScan {

/// \addtogroup recurrences
/// @{

/// The map x -> scale * x + shift. A starting state is the constant map to that state. As a result,
/// a map converts to the state that it maps 0 to, its shift.
template <class State>
struct AffineMap {
  /// The factor of x.
  State scale;
  /// The constant term.
  State shift;

  AffineMap() = default;
  /// x -> scale_ * x + shift_
  KOKKOS_FUNCTION AffineMap(const State& scale_, const State& shift_)
      : scale(scale_), shift(shift_) {}
  /// The constant map x -> state, from every type that converts to State, also explicitly (as
  /// 16-bit floats convert to float).
  template <class T>
  requires std::is_constructible_v<State, const T&> KOKKOS_FUNCTION explicit AffineMap(
      const T& state)
      : scale(0), shift(static_cast<State>(state)) {}

  /// The value of the map at 0.
  KOKKOS_FUNCTION operator State() const { return shift; }
};

/// Composes affine maps, the left one first: the operator of a linear recurrence.
///
/// The shift is one multiply-add. It is rounded once on GPUs and if the compiler's target has a
/// fused instruction, otherwise twice, in the same way in every kernel of a program.
template <class State>
struct ComposeAffine {
  /// Elements are converted to maps before they are combined.
  using accumulator_type = AffineMap<State>;

  /// First f, then g.
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const AffineMap<State>& f,
                                                          const AffineMap<State>& g) const {
    return {impl::multiply(g.scale, f.scale), impl::multiply_add(g.scale, f.shift, g.shift)};
  }
  /// x -> x
  KOKKOS_FUNCTION static AffineMap<State> identity() { return {State(1), State(0)}; }
};

/// @}

namespace impl {

/// The scale of a map that is constant, whatever it is applied to. (0 times infinity or NaN is
/// NaN.) Products with it are it, too. Other maps whose scale is not a number are constant as well:
/// see map_of().
template <class State>
KOKKOS_FORCEINLINE_FUNCTION State reset_mark() {
  if constexpr (std::is_floating_point_v<State>) {
    return std::numeric_limits<State>::quiet_NaN();
  } else if constexpr (std::is_integral_v<State>) {
    return State(0);
  } else {  // a complex number
    return State(reset_mark<typename State::value_type>());
  }
}
template <class State>
KOKKOS_FORCEINLINE_FUNCTION bool is_reset(const State& scale) {
  if constexpr (std::is_floating_point_v<State>) {
    return scale != scale;
  } else {
    return is_reset(scale.real());
  }
}
/// The map of a step that may be reset. With a coefficient that is not a number, it is constant,
/// too: NaN.
template <class State>
KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> map_of(const State& scale, const State& shift,
                                                    bool reset) {
  if (reset) return {reset_mark<State>(), shift};
  return {scale, scale == scale ? shift : scale};
}

/// ComposeAffine of maps of which some are constant.
template <class State>
struct ComposeAffineOrReset {
  using accumulator_type = AffineMap<State>;

  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const AffineMap<State>& f,
                                                          const AffineMap<State>& g) const {
    const AffineMap<State> both = ComposeAffine<State>{}(f, g);
    return {both.scale, is_reset(g.scale) ? g.shift : both.shift};
  }
  KOKKOS_FUNCTION static AffineMap<State> identity() { return {State(1), State(0)}; }
};
/// Integers times 0 are 0.
template <class State>
requires std::is_integral_v<State>
struct ComposeAffineOrReset<State> : ComposeAffine<State> {
};

}  // namespace impl

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
