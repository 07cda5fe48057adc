// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Affine maps and their composition, the operator of linear recurrences.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/impl/arithmetic.hpp>
#include <Kokkos_Core.hpp>
#include <type_traits>

namespace KokkosScan {

/// \addtogroup recurrences
/// @{

/// The map x -> scale * x + shift. As a start it is the map to one state; as a result it converts
/// to the state that it makes of 0, or of such a start.
template <class State>
struct AffineMap {
  /// What x is multiplied by.
  State scale;
  /// What is added to that.
  State shift;

  AffineMap() = default;
  /// x -> scale_ * x + shift_
  KOKKOS_FUNCTION AffineMap(const State& scale_, const State& shift_)
      : scale(scale_), shift(shift_) {}
  /// x -> state, of all types that states are made of: 16-bit floats convert to float only when
  /// they are asked to.
  template <class T>
  requires std::is_constructible_v<State, const T&> KOKKOS_FUNCTION explicit AffineMap(
      const T& state)
      : scale(0), shift(static_cast<State>(state)) {}

  /// What the map makes of 0.
  KOKKOS_FUNCTION operator State() const { return shift; }
};

/// Composes affine maps, the left one first: the operator of a linear recurrence.
///
/// The shift is one multiply-add, rounded once on GPUs and where the target of the compiler has
/// such an instruction; elsewhere it is a product and a sum. It is the same one in every kernel of
/// a program.
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

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
