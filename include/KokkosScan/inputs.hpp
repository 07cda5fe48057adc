// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a scan can read besides a View: masked and lazily computed inputs, nested freely.

#include <Kokkos_Core.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace KokkosScan {

/// \defgroup inputs Inputs
/// @{

/// An input whose elements count only where a mask is true; made by masked().
template <class Values, class Mask>
struct Masked {
  /// What is scanned where the mask is true.
  Values values;
  /// An input of the same shape whose values convert to bool.
  Mask mask;
};

/// `values` where `mask` is true; elsewhere an element contributes nothing to the scan: the
/// operator's identity is selected in its place, so a masked-out NaN does not spread.
///
/// \param values a View or any other input
/// \param mask   an input of the same shape whose values convert to bool
///
/// The operator must have an identity. One byte more is read for each element of a mask of bool.
///
/// \par Example
/// What is scanned is computed while it is read, masked, and scanned backward.
/// \snippet optical_depth.cpp inputs
template <class Values, class Mask>
[[nodiscard]] Masked<Values, Mask> masked(const Values& values, const Mask& mask) {
  return {values, mask};
}

/// An input of the given extents that is computed by a function; made by elementwise().
template <std::size_t Rank, class Function>
struct Elementwise {
  /// The extents; none may be negative.
  std::array<std::int64_t, Rank> extents;
  /// A callable with one index a dimension (std::int64_t), without side effects.
  Function function;
};

/// The input whose element (i, j, ...) is `function(i, j, ...)`, evaluated while the scan reads it:
/// once an element where a line is not split between threads, at most twice where it is, perhaps
/// also where a mask around it is false.
///
/// The function is called on the execution space, so it is a KOKKOS_LAMBDA or a functor with
/// KOKKOS_FUNCTION. Views that it captures are invisible to the check for overlaps: they must not
/// overlap the output, unless the output has the input's extents and element (i, j, ...) reads
/// nothing but its own place.
///
/// \param extents  one for each dimension; the scan throws std::invalid_argument for a negative one
/// \param function a callable with one std::int64_t for each dimension, without side effects
///
/// \par Example
/// \snippet optical_depth.cpp function
template <std::size_t Rank, class Function>
[[nodiscard]] Elementwise<Rank, Function> elementwise(const std::array<std::int64_t, Rank>& extents,
                                                      Function function) {
  return {extents, std::move(function)};
}

namespace impl {
/// An extent in braces: any integer.
struct Extent {
  std::int64_t value;
  template <std::integral T>
  constexpr Extent(T extent) requires(!std::same_as<T, bool>)
      : value(static_cast<std::int64_t>(extent)) {}
};
template <std::size_t Rank>
std::array<std::int64_t, Rank> extents_of(const Extent (&extents)[Rank]) {
  std::array<std::int64_t, Rank> values;
  for (std::size_t d = 0; d < Rank; ++d) values[d] = extents[d].value;
  return values;
}
template <class View>
auto extents_of(const View& view) {
  std::array<std::int64_t, View::rank()> extents;
  for (std::size_t d = 0; d < View::rank(); ++d) {
    extents[d] = static_cast<std::int64_t>(view.extent(d));
  }
  return extents;
}
}  // namespace impl

/// The same with the extents in braces: `elementwise({rows, columns}, function)`.
template <std::size_t Rank, class Function>
[[nodiscard]] Elementwise<Rank, Function> elementwise(const impl::Extent (&extents)[Rank],
                                                      Function function) {
  return {impl::extents_of(extents), std::move(function)};
}

/// The same with the extents of a View.
template <class View, class Function>
requires(Kokkos::is_view<View>::value)
    [[nodiscard]] Elementwise<View::rank(), Function> elementwise(const View& shape,
                                                                  Function function) {
  return {impl::extents_of(shape), std::move(function)};
}

/// @}

}  // namespace KokkosScan
