// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The outputs of a scan besides Views: a View of a function of the results, or a function that
/// receives the results.

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

/// An output that stores a function of each result. Made by projected().
template <class View, class Function>
struct Projected {
  /// Where the function's values are stored.
  View view;
  /// A callable with an accumulator, without state.
  Function function;
};

/// The output that stores `function(result)` instead of each result, for example an exponential or
/// a member of a struct.
///
/// Kernels call the function where they convert a result to the stored type, so their speed is that
/// of a plain View. They construct the function themselves: its type has no members, a default
/// constructor and a KOKKOS_FUNCTION `operator()`. A lambda is refused; use for_each_result() for
/// functions that capture something.
///
/// \param view     an output View. The input may be that View, as in any scan
/// \param function a callable with the accumulator; a result that is carried in a wider type is
///                 rounded to it first. What it returns converts to the View's values. These also
///                 determine the accumulator if the operator names none
///
/// Totals are not projected.
///
/// \par Example
/// \snippet transmission.cpp projected
template <class View, class Function>
[[nodiscard]] Projected<View, Function> projected(const View& view, Function function) {
  return {view, std::move(function)};
}

/// An output that passes each result to a function. Made by for_each_result().
///
/// \tparam Result the type to which results are converted for the function; void: the accumulator
template <std::size_t Rank, class Function, class Result = void>
struct ForEachResult {
  /// The extents of the output.
  std::array<std::int64_t, Rank> extents;
  /// A callable with one index per dimension (std::int64_t) and an accumulator.
  Function function;
};

/// The output that calls `function(i, j, ..., result)` exactly once for each result. Only what the
/// function stores is stored. It mirrors elementwise().
///
/// The function runs on the execution space, so it is a KOKKOS_LAMBDA or a functor with a const
/// KOKKOS_FUNCTION. Calls come in any order, from many threads. The check for overlaps cannot see
/// Views that it writes. They must not overlap the input, unless call (i, j, ...) writes only the
/// place of element (i, j, ...).
///
/// \param extents  those of the output: the input's, or n+1 along the axis of an exclusive scan
/// \param function a callable with one std::int64_t per dimension and the accumulator; a result
///                 that is carried in a wider type is rounded to it first. If the operator names no
///                 accumulator, it is accumulator_t of the input's values
///
/// \par Example
/// Values at interfaces and midpoints from one scan.
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
