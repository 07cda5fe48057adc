// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the functions of kokkos-scan accept.

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

/// Something a scan can read: a View, masked(...), elementwise(...), zip(...).
template <class T>
concept ScanInput = impl::IsInput<T>::value;

/// Something that takes the results of a scan: a View, projected(...), for_each_result(...).
template <class T>
concept ScanOutput = impl::IsOutput<T>::value;

/// Something that names lines: a plain integer (the axis) or along(...).
template <class T>
concept ScanLines = impl::IsLines<T>::value;

/// A callable that combines two values of the accumulator `A` into one. It runs where the scan
/// does, so its `operator()` is a KOKKOS_FUNCTION, const, and without side effects.
///
/// What comes first in scan order is on the left. It must be associative, except for scans in
/// order, and need not commute.
///
/// \par Example
/// \snippet recurrence.cpp operator
template <class Op, class A>
concept OperatorOn = std::is_invocable_r_v<A, const Op&, const A&, const A&>;

/// An operator that knows its identity: `op.identity()` converts to the accumulator `A`, and
/// combining it with any value, on either side, gives that value. It is called on the host, once
/// for each scan, so it needs no KOKKOS_FUNCTION.
template <class Op, class A>
concept HasIdentity = requires(const Op& op) {
  { op.identity() } -> std::convertible_to<A>;
};

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
