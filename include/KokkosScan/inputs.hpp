// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The inputs of a scan besides Views: masked, computed, zipped and indexed ones. They nest.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/impl/raise.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace KokkosScan {

/// \defgroup inputs Inputs
/// @{

/// An input whose elements count only where a mask is true. Made by masked().
template <class Values, class Mask>
struct Masked {
  /// The input that is scanned where the mask is true.
  Values values;
  /// An input of the same shape whose values convert to bool.
  Mask mask;
};

/// The elements of `values` where `mask` is true. Elsewhere the operator's identity is selected
/// instead, so the element contributes nothing and a masked-out NaN does not spread.
///
/// \param values a View or any other input
/// \param mask   an input of the same shape whose values convert to bool
///
/// The operator must have an identity. A mask of bool adds one byte of memory traffic per element.
///
/// \par Example
/// A computed and masked input, scanned backward.
/// \snippet optical_depth.cpp inputs
template <class Values, class Mask>
[[nodiscard]] KOKKOS_FUNCTION Masked<Values, Mask> masked(const Values& values, const Mask& mask) {
  return {values, mask};
}

/// An input of the given extents that is computed by a function. Made by elementwise().
template <std::size_t Rank, class Function>
struct Elementwise {
  /// The extents; none may be negative.
  std::array<std::int64_t, Rank> extents;
  /// A callable with one index per dimension (std::int64_t), without side effects.
  Function function;
};

/// The input whose element (i, j, ...) is `function(i, j, ...)`, evaluated while the scan reads it:
/// once per element if threads do not share its line, otherwise at most twice; possibly also where
/// a mask around it is false.
///
/// The function runs on the execution space, so it is a KOKKOS_LAMBDA or a functor with a
/// KOKKOS_FUNCTION. The check for overlaps cannot see Views that it captures. They must not overlap
/// the output, unless the output has the input's extents and element (i, j, ...) reads only its own
/// place.
///
/// \param extents  one per dimension; the scan throws std::invalid_argument for a negative extent
/// \param function a callable with one std::int64_t per dimension, without side effects
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

namespace impl {
/// Whether To(args...) or To{args...} exists.
template <class To, class... Args>
concept MadeOf = std::is_constructible_v<To, const Args&...> || requires(const Args&... args) {
  To{args...};
};
}  // namespace impl

/// The elements of several inputs at one place. Made by zip().
template <class... T>
struct Elements;
/// The elements of no inputs; constructs a value from other elements.
template <>
struct Elements<> {
  /// To(args...), or To{args...} if there is no such constructor.
  template <class To, class... Args>
  KOKKOS_FORCEINLINE_FUNCTION static To make(const Args&... args) {
    if constexpr (std::is_constructible_v<To, const Args&...>) {
      return To(args...);
    } else {
      return To{args...};
    }
  }
};
/// The elements of at least one input: the first one, and those of the other inputs.
template <class First, class... Rest>
struct Elements<First, Rest...> {
  /// The element of the first input.
  First first;
  /// The elements of the other inputs.
  Elements<Rest...> rest;

  /// To(first, second, ...), or To{first, second, ...} if there is no such constructor.
  template <class To>
  requires(impl::MadeOf<To, First, Rest...>)  //
      KOKKOS_FORCEINLINE_FUNCTION explicit
      operator To() const {
    return make<To>();
  }
  /// The same with other arguments in front.
  template <class To, class... Args>
  KOKKOS_FORCEINLINE_FUNCTION To make(const Args&... args) const {
    return rest.template make<To>(args..., first);
  }
};

namespace impl {
/// Gathers one element of each input of zip().
struct Gather {
  template <class First>
  KOKKOS_FORCEINLINE_FUNCTION Elements<First> operator()(const First& first) const {
    return {first, {}};
  }
  template <class First, class... Rest>
  requires(sizeof...(Rest) > 0)  //
      KOKKOS_FORCEINLINE_FUNCTION Elements<First, Rest...>
  operator()(const First& first, const Rest&... rest) const { return {first, (*this)(rest...)}; }
};
/// A list of inputs.
template <class... Inputs>
struct InputList {};
template <class First, class... Rest>
struct InputList<First, Rest...> {
  First first;
  InputList<Rest...> rest;
};
template <class First, class... Rest>
InputList<First, Rest...> list_of(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return {first, {}};
  } else {
    return {first, list_of(rest...)};
  }
}
}  // namespace impl

namespace impl {
/// A View of one value per line, as an input whose elements along the line are that value. It
/// cannot be the first of zipped inputs.
template <class View>
struct OfEachLine {
  View values;
};
}  // namespace impl

/// An input that is a function of the elements of several inputs. Made by zip() and
/// zip_transform().
template <class Function, class... Inputs>
struct Zipped {
  /// A callable with an element of each input, without side effects.
  Function function;
  /// Inputs of one shape.
  impl::InputList<Inputs...> inputs;
};

/// Combines 2 to 8 inputs of the same shape into one. The accumulator is constructed from their
/// elements, as `A(a, b)` or `A{a, b}`.
///
/// The checks of shapes and overlaps include all of them, unlike Views that elementwise() captures.
/// One of them may be the output.
///
/// \param inputs Views or any other inputs, without masks
///
/// \par Example
/// A linear recurrence, as linear_recurrence() computes it.
/// \snippet recurrence.cpp zip
template <class... Inputs>
[[nodiscard]] Zipped<impl::Gather, Inputs...> zip(const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) >= 2 && sizeof...(Inputs) <= 8,
                "KokkosScan: zip takes 2 to 8 inputs.");
  return {{}, impl::list_of(inputs...)};
}

/// The input whose element is `function(a, b, ...)`, where a, b, ... are the elements of 1 to 4
/// inputs of the same shape. Otherwise as zip().
///
/// \param function a callable with an element of each input. It runs on the execution space, has no
///                 side effects, and is called as often as that of elementwise()
/// \param inputs   Views or any other inputs, without masks
template <class Function, class... Inputs>
[[nodiscard]] Zipped<Function, Inputs...> zip_transform(Function function,
                                                        const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) >= 1 && sizeof...(Inputs) <= 4,
                "KokkosScan: zip_transform takes 1 to 4 inputs.");
  return {std::move(function), impl::list_of(inputs...)};
}

namespace impl {
/// An element with its index.
template <class Index>
struct MakeIndexed {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION Indexed<T, Index> operator()(const T& value, Index index) const {
    return {value, index};
  }
};

template <class Index, std::size_t Rank, class Input>
auto indexed_elements(const std::array<std::int64_t, Rank>& extents, const Input& x, int axis) {
  constexpr int rank = static_cast<int>(Rank);
  const int counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) {
    raise<std::invalid_argument>("KokkosScan::indexed: axis " + std::to_string(axis) +
                                 " is out of range for an input of rank " + std::to_string(rank) +
                                 ": allowed are " + std::to_string(-rank) + " to " +
                                 std::to_string(rank - 1) + ".");
  }
  const std::int64_t extent = extents[static_cast<std::size_t>(counted)];
  // The largest value of an unsigned type stands for no element.
  constexpr auto largest = std::numeric_limits<Index>::max();
  constexpr Index most = std::is_signed_v<Index> ? largest : static_cast<Index>(largest - 1);
  if (extent > 0 && std::cmp_greater(extent - 1, most)) {
    raise<std::invalid_argument>(
        "KokkosScan::indexed: extent " + std::to_string(counted) + " is " + std::to_string(extent) +
        ", but the largest index of the type is " + std::to_string(most) + ".");
  }
  return zip_transform(MakeIndexed<Index>{}, x,
                       Elementwise<Rank, IndexAlong<Index>>{extents, {counted}});
}
}  // namespace impl

/// The input whose elements are those of `x`, each with its index along an axis: Indexed<T, Index>,
/// for ArgMin and ArgMax. The indices are computed, not stored.
///
/// \tparam Index an integer type that holds every index along the axis
/// \param x    a View or elementwise()
/// \param axis the axis of the scan, which refuses any other; negative counts from the end
/// \throws std::invalid_argument if the axis is out of range, or Index is too small
///
/// \par Example
/// \snippet running_maximum.cpp indexed
template <Axis Index = std::int64_t, class View>
requires(Kokkos::is_view<View>::value) [[nodiscard]] auto indexed(const View& x, int axis = -1) {
  return impl::indexed_elements<Index>(elementwise(x, 0).extents, x, axis);
}
/// The same for a computed input.
template <Axis Index = std::int64_t, std::size_t Rank, class Function>
[[nodiscard]] auto indexed(const Elementwise<Rank, Function>& x, int axis = -1) {
  return impl::indexed_elements<Index>(x.extents, x, axis);
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
