// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a scan can read besides a View: masked and lazily computed inputs, nested freely.

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

namespace impl {
/// Whether To(args...) or To{args...} exists.
template <class To, class... Args>
concept MadeOf = std::is_constructible_v<To, const Args&...> || requires(const Args&... args) {
  To{args...};
};
}  // namespace impl

/// The elements of several inputs at one place; made by zip().
template <class... T>
struct Elements;
/// Of no inputs: what makes something of others.
template <>
struct Elements<> {
  /// To(args...), or To{args...} where there is no such constructor.
  template <class To, class... Args>
  KOKKOS_FORCEINLINE_FUNCTION static To make(const Args&... args) {
    if constexpr (std::is_constructible_v<To, const Args&...>) {
      return To(args...);
    } else {
      return To{args...};
    }
  }
};
/// Of some inputs: an aggregate, that of the first input before those of the others.
template <class First, class... Rest>
struct Elements<First, Rest...> {
  /// That of the first input.
  First first;
  /// Those of the others.
  Elements<Rest...> rest;

  /// To(first, second, ...), or To{first, second, ...} where there is no such constructor.
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
/// What zip() does with the elements.
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
/// Some inputs.
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
/// A View of one value a line, as an input whose elements along the line are that value. It cannot
/// be the first of what is zipped.
template <class View>
struct OfEachLine {
  View values;
};
}  // namespace impl

/// An input that is a function of the elements of several inputs; made by zip() and
/// zip_transform().
template <class Function, class... Inputs>
struct Zipped {
  /// A callable with an element of each input, without side effects.
  Function function;
  /// Inputs of one shape.
  impl::InputList<Inputs...> inputs;
};

/// The input whose elements are those of 2 to 4 inputs of one shape, side by side: the accumulator
/// is constructed from them, as `A(a, b)` or `A{a, b}`.
///
/// Each is read as it is alone, and is known to the checks of shapes and overlaps, which Views that
/// elementwise() captures are not. One of them may be the output.
///
/// \param inputs Views or any other inputs
///
/// \par Example
/// A linear recurrence; linear_recurrence() does it for you.
/// \snippet recurrence.cpp zip
template <class... Inputs>
[[nodiscard]] Zipped<impl::Gather, Inputs...> zip(const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) >= 2 && sizeof...(Inputs) <= 4,
                "KokkosScan: zip takes 2 to 4 inputs.");
  return {{}, impl::list_of(inputs...)};
}

/// The input whose element is `function(a, b, ...)` of the elements a, b, ... of 1 to 4 inputs of
/// one shape; otherwise as zip().
///
/// \param function a callable with an element of each input, on the execution space, without side
///                 effects; it is called as often as that of elementwise()
/// \param inputs   Views or any other inputs
template <class Function, class... Inputs>
[[nodiscard]] Zipped<Function, Inputs...> zip_transform(Function function,
                                                        const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) >= 1 && sizeof...(Inputs) <= 4,
                "KokkosScan: zip_transform takes 1 to 4 inputs.");
  return {std::move(function), impl::list_of(inputs...)};
}

namespace impl {
/// An element beside its index.
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

/// The input whose elements are those of a View or of elementwise(...), each beside its index along
/// an axis: Indexed<T, Index>, for ArgMin and ArgMax.
///
/// It is a zip() of `x` and its indices, and nothing of it is stored.
///
/// \tparam Index an integer that holds every index along the axis
/// \param x    a View or elementwise(...)
/// \param axis that of the scan, which refuses another; negative counts from the end
/// \throws std::invalid_argument if the axis is out of range, or Index is too small
///
/// \par Example
/// \snippet running_maximum.cpp indexed
template <Axis Index = std::int64_t, class View>
requires(Kokkos::is_view<View>::value) [[nodiscard]] auto indexed(const View& x, int axis = -1) {
  return impl::indexed_elements<Index>(elementwise(x, 0).extents, x, axis);
}
/// The same of a computed input.
template <Axis Index = std::int64_t, std::size_t Rank, class Function>
[[nodiscard]] auto indexed(const Elementwise<Rank, Function>& x, int axis = -1) {
  return impl::indexed_elements<Index>(x.extents, x, axis);
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
