// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The two functions of kokkos-scan.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

// Kernels index by signed integers and cast vectors as the compiler's own headers do; a project
// that warns of that does not want to hear it from here.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#include <KokkosScan/impl/dispatch.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace KokkosScan {

/// \defgroup scans Scans
/// @{

/// Scans each line of `in` along an axis: out[k] = s * x[0] * x[1] * ... * x[k], where * is the
/// operator, x are the elements of the line in scan order and s is the starting value, if any.
///
/// A line is the sequence of all elements that differ only in their index along the axis; `in` has
/// as many lines as elements without the axis. Work is enqueued on `exec` and nothing is fenced.
///
/// \param exec  the execution space instance that scans
/// \param in    a View of rank 1 to 8, or masked(...), or elementwise(...)
/// \param out   a View of the same extents, projected(...) or for_each_result(...); it may be the
///              input itself (same data and strides)
/// \param lines the axis (negative counts from the end; default: the last), or along(axis) with
///              .backward(), .starting_at(s), .totals(t), .workspace(w), .in_order()
/// \param op    an associative operator (in order, any), default Sum{}; it need not commute nor
/// have an identity.
///              Its `operator()` is a KOKKOS_FUNCTION, for it runs on `exec`; its identity(), where
///              it is needed, on the host
///
/// The values are converted to the accumulator and combined there: that of the operator where it
/// names one (`accumulator_type`, as Sum<double> does), else accumulator_t of the output's values.
/// So 0.5 summed into an output of int counts as 0, and sums of uint8 into uint8 wrap at 256.
/// Results are bitwise reproducible and, at equal strides along the lines, do not depend on how
/// many other lines there are.
///
/// Two threads of the host may call this at once on two instances of execution spaces; one instance
/// can be shared as far as Kokkos lets kernels be launched on it.
///
/// \throws std::invalid_argument if the axis is out of range, extents do not match, Views overlap
///         without being the same, a View with elements has null as data, the workspace is too
///         small or misaligned, or totals of empty lines have no value; nothing was written then
/// \throws std::bad_alloc if a workspace was needed and could not be had
/// \throws std::runtime_error the same, or a kernel could not be launched
///
/// \par Complexity
/// O(n) combinations for a line of n elements. Each element is read once where no line is split
/// between threads, at most twice where it is; a computed input is called as often. Each result is
/// stored once.
///
/// \par Example
/// \snippet numpy.cpp inclusive
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void inclusive_scan(const Exec& exec, const In& in, const Out& out, const Lines& lines = along(-1),
                    const Op& op = {}) {
  impl::checked_scan<impl::Function::inclusive_scan>(exec, in, out, lines, op);
}

/// Scans each line of `in` along an axis without the element itself:
/// out[k] = s * x[0] * x[1] * ... * x[k-1], where * is the operator, x are the elements of the line
/// in scan order and s is the starting value, or the operator's identity if none is given.
///
/// The output has the input's extents, or one element more along the axis: that holds the total,
/// out[n] = s * x[0] * ... * x[n-1] (midpoints to interfaces, counts to offsets). With
/// `.backward()` the total comes first in memory, as the scan ends there.
///
/// \param exec  the execution space instance that scans
/// \param in    a View of rank 1 to 8, or masked(...), or elementwise(...)
/// \param out   an output of the same extents, or of n+1 along the axis; in the first form it may
/// be
///              the input itself, in the second the input may be its first or last n elements
/// \param lines as in inclusive_scan()
/// \param op    an associative operator, default Sum{}; it has an identity, or `lines` a start
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

/// The bytes of workspace with which inclusive_scan() and exclusive_scan() of these arguments
/// allocate nothing: an upper bound, 0 wherever lines are short or many enough that none is split
/// between blocks. One bound serves both functions and either direction. It depends on the types,
/// the extents, the axis and the concurrency of `exec`.
///
/// \returns a number of bytes, for Along::workspace()
/// \throws std::invalid_argument as the scans do for the axis and the extents
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
