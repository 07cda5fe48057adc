// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The concepts that the arguments of kokkos-scan's functions satisfy.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/outputs.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace KokkosScan {

namespace impl {
template <class T>
struct IsInput : Kokkos::is_view<T> {};
template <class Values, class Mask>
struct IsInput<Masked<Values, Mask>>
    : std::bool_constant<IsInput<Values>::value && IsInput<Mask>::value> {};
template <std::size_t Rank, class Function>
struct IsInput<Elementwise<Rank, Function>> : std::true_type {};
template <class Function, class... Inputs>
struct IsInput<Zipped<Function, Inputs...>> : std::bool_constant<(IsInput<Inputs>::value && ...)> {
};

template <class View>
struct IsInput<OfEachLine<View>> : Kokkos::is_view<View> {};

template <class T>
struct IsOutput : Kokkos::is_view<T> {};
template <class View, class Function>
struct IsOutput<Projected<View, Function>> : Kokkos::is_view<View> {};
template <std::size_t Rank, class Function, class Result>
struct IsOutput<ForEachResult<Rank, Function, Result>> : std::true_type {};

template <class T>
struct IsLines : std::bool_constant<Axis<T>> {};
template <class Start, class Totals, class Workspace, Grouping grouping>
struct IsLines<Along<Start, Totals, Workspace, grouping>> : std::true_type {};
}  // namespace impl

/// A Kokkos View.
template <class T>
concept ViewLike = Kokkos::is_view<T>::value;

/// An input of a scan: a View, masked(), elementwise(), zip(), zip_transform() or indexed().
template <class T>
concept ScanInput = impl::IsInput<T>::value;

/// An output of a scan: a View, projected() or for_each_result().
template <class T>
concept ScanOutput = impl::IsOutput<T>::value;

/// The lines of a scan: an integer (the axis) or along().
template <class T>
concept ScanLines = impl::IsLines<T>::value;

/// A callable that combines two values of the accumulator `A` into one. It runs on the execution
/// space of the scan, so its `operator()` is a const KOKKOS_FUNCTION without side effects.
///
/// The left operand comes first in scan order. The operator must be associative, except for scans
/// in order, and need not commute.
///
/// \par Example
/// \snippet recurrence.cpp operator
template <class Op, class A>
concept OperatorOn = std::is_invocable_r_v<A, const Op&, const A&, const A&>;

/// An operator with an identity: `op.identity()` converts to the accumulator `A`, and combining it
/// with any value, on either side, gives exactly that value. It is called on the host, once per
/// scan, so it need not be a KOKKOS_FUNCTION.
template <class Op, class A>
concept HasIdentity = requires(const Op& op) {
  { op.identity() } -> std::convertible_to<A>;
};

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
