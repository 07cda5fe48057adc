// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Where the results of a scan can go besides a View: through a function into a View, or to a
/// function alone.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/inputs.hpp>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace KokkosScan {

/// \defgroup outputs Outputs
/// @{

/// An output that stores a function of each result; made by projected().
template <class View, class Function>
struct Projected {
  /// Where the function's values are stored.
  View view;
  /// A callable with an accumulator. All objects of its type are alike.
  Function function;
};

/// The output that stores `function(result)` in the place of each result: an exponential, or a
/// member of a struct.
///
/// Kernels convert each result once, where they would round it, so they are those of a plain View.
/// Kokkos decides what a function can be: it has a KOKKOS_FUNCTION `operator()`, and as it stands
/// for its type in kernels, the type has no members and a default constructor. For a function that
/// captures something there is for_each_result().
///
/// \param view     an output View. The input may be that View, as in any scan
/// \param function a callable with the accumulator, to which a result that is carried in a wider
///                 type is rounded first; what it returns converts to the View's values. The
///                 accumulator follows these, where the operator does not name one
///
/// Totals are not projected.
///
/// \par Example
/// \snippet transmission.cpp projected
template <class View, class Function>
[[nodiscard]] Projected<View, Function> projected(const View& view, Function function) {
  return {view, std::move(function)};
}

/// An output that hands each result to a function; made by for_each_result().
///
/// \tparam Result what a result is converted to for the function; void: it is the accumulator
template <std::size_t Rank, class Function, class Result = void>
struct ForEachResult {
  /// The extents of the output.
  std::array<std::int64_t, Rank> extents;
  /// A callable with one index a dimension (std::int64_t) and an accumulator.
  Function function;
};

/// The output that calls `function(i, j, ..., result)` exactly once for each result, in the place
/// of an array: nothing is allocated, and nothing is stored but what the function stores. It
/// mirrors elementwise().
///
/// The function is called on the execution space, so it is a KOKKOS_LAMBDA or a functor with
/// KOKKOS_FUNCTION, and const. Calls come in any order, from many threads. Views that it writes are
/// invisible to the check for overlaps: they must not overlap the input, unless call (i, j, ...)
/// writes nothing but the place of element (i, j, ...).
///
/// \param extents  those of the output: the input's, or n+1 along the axis of an exclusive scan
/// \param function a callable with one std::int64_t for each dimension and the accumulator, to
/// which
///                 a result that is carried in a wider type is rounded first. Where the operator
///                 names no accumulator, it is accumulator_t of the input's values
///
/// \par Example
/// Interfaces and midpoints at once.
/// \snippet ocean_pressure.cpp for_each_result
template <std::size_t Rank, class Function>
[[nodiscard]] ForEachResult<Rank, Function> for_each_result(
    const std::array<std::int64_t, Rank>& extents, Function function) {
  return {extents, std::move(function)};
}

/// The same with the extents in braces: `for_each_result({rows, columns}, function)`.
template <std::size_t Rank, class Function>
[[nodiscard]] ForEachResult<Rank, Function> for_each_result(const impl::Extent (&extents)[Rank],
                                                            Function function) {
  return {impl::extents_of(extents), std::move(function)};
}

/// The same with the extents of a View, which is neither read nor written.
template <class View, class Function>
requires(Kokkos::is_view<View>::value)
    [[nodiscard]] ForEachResult<View::rank(), Function> for_each_result(const View& shape,
                                                                        Function function) {
  return {impl::extents_of(shape), std::move(function)};
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
