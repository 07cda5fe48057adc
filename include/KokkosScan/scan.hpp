// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// inclusive_scan(), exclusive_scan() and workspace_bytes().

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

#include <KokkosScan/impl/dispatch.hpp>

namespace KokkosScan {

/// \defgroup scans Scans
/// @{

/// Scans each line of `in` along an axis: out[k] = s * x[0] * x[1] * ... * x[k], where * is the
/// operator, x are the elements of the line in scan order, and s is the starting value, if any.
///
/// A line is the sequence of all elements that differ only in their index along the axis. The work
/// is enqueued on `exec`; the call does not fence.
///
/// \param exec  the execution space instance that scans
/// \param in    a View of rank 1 to 8, or another input: masked(), elementwise(), zip(), ...
/// \param out   a View of the same extents, projected() or for_each_result(). It may be the input
///              itself (same data and strides)
/// \param lines the axis (negative counts from the end; default: the last), or along(axis) with
///              .backward(), .starting_at(s), .totals(t), .workspace(w), .in_order()
/// \param op    an associative operator (in order, any operator); default Sum{}. It need not
///              commute, and needs an identity only for masked inputs and totals of empty lines.
///              Its `operator()` runs on `exec` and is a KOKKOS_FUNCTION; its `identity()` runs on
///              the host
///
/// Values are converted to the accumulator and combined in it. The accumulator is the operator's
/// `accumulator_type` if it has one (as Sum<double> does), otherwise accumulator_t of the output's
/// values. So 0.5 summed into an output of int counts as 0, and sums of uint8 into uint8 wrap at
/// 256. Results are bitwise reproducible and, at equal strides along the lines, do not depend on
/// the number of other lines.
///
/// Two host threads may scan at the same time on two execution space instances. They can share one
/// instance as far as Kokkos allows kernel launches from both.
///
/// \throws std::invalid_argument if the axis is out of range, extents do not match, Views overlap
///         without being the same, the data of a View with elements is null, the workspace is too
///         small or misaligned, or totals of empty lines have no value. Nothing has been written
/// \throws std::bad_alloc if a workspace could not be allocated
/// \throws std::runtime_error if a workspace could not be allocated or a kernel not be launched
///
/// \par Complexity
/// O(n) combinations for a line of n elements. Each element is read once, or at most twice if
/// threads share its line; functions of inputs are called as often. Each result is stored once.
///
/// \par Example
/// \snippet numpy.cpp inclusive
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void inclusive_scan(const Exec& exec, const In& in, const Out& out, const Lines& lines = along(-1),
                    const Op& op = {}) {
  impl::checked_scan<impl::Function::inclusive_scan>(exec, in, out, lines, op);
}

/// Scans each line of `in` along an axis, leaving out the element itself:
/// out[k] = s * x[0] * x[1] * ... * x[k-1], where * is the operator, x are the elements of the line
/// in scan order, and s is the starting value, or the operator's identity if none is given.
///
/// The output has the input's extents, or one element more along the axis, which holds the total:
/// out[n] = s * x[0] * ... * x[n-1] (midpoints to interfaces, counts to offsets). With
/// `.backward()` the total comes first in memory, because the scan ends there.
///
/// \param exec  the execution space instance that scans
/// \param in    a View of rank 1 to 8, or another input: masked(), elementwise(), zip(), ...
/// \param out   an output of the same extents, or with n+1 elements along the axis. In the first
///              form it may be the input itself, in the second the input may be its first or last
///              n elements
/// \param lines as in inclusive_scan()
/// \param op    an associative operator; default Sum{}. It must have an identity unless `lines`
///              has a starting value
///
/// Errors, complexity and the accumulator are those of inclusive_scan().
///
/// \par Example
/// Layers to interfaces: n thicknesses to n + 1 pressures, from the pressure at the top.
/// \snippet interface_pressure.cpp exclusive
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void exclusive_scan(const Exec& exec, const In& in, const Out& out, const Lines& lines = along(-1),
                    const Op& op = {}) {
  impl::checked_scan<impl::Function::exclusive_scan>(exec, in, out, lines, op);
}

/// The size of a workspace with which inclusive_scan() and exclusive_scan() of these arguments
/// allocate nothing. It is an upper bound, and 0 if lines are so short or so many that no line is
/// split between blocks. One bound serves both functions and both directions. It depends on the
/// types, the extents, the axis and the concurrency of `exec`.
///
/// \returns a number of bytes, for Along::workspace()
/// \throws std::invalid_argument as the scans do, for the axis and the extents
///
/// \par Complexity
/// O(1): nothing is enqueued.
///
/// \par Example
/// \snippet workspace.cpp workspace
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
[[nodiscard]] std::size_t workspace_bytes(const Exec& exec, const In& in, const Out& out,
                                          const Lines& lines = along(-1), const Op& op = {}) {
  constexpr impl::Refusal refusal = impl::refusal_of<impl::Function::workspace_bytes, Exec, In, Out,
                                                     Lines, decltype(impl::kept_callable(op))>();
  impl::explain<refusal>();
  if constexpr (refusal == impl::Refusal::none) {
    return impl::workspace_bytes(exec, in, out, lines, impl::kept_callable(op), impl::ByDefault{});
  } else {
    return 0;
  }
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
