// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans inside a kernel, by the threads of a team or the vector lanes of a thread.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/affine.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <type_traits>

#include <KokkosScan/impl/team_range/check_types.hpp>
#include <KokkosScan/impl/team_range/recurrence.hpp>

namespace KokkosScan::team {

/// \defgroup team Scans inside a kernel
/// @{

/// How a scan inside a kernel is done; made by starting_at(), backward(), in_order(), with_total()
/// and scratch_level(). Immutable: each member returns a changed copy.
template <class Start = None, Grouping grouping_ = Grouping::by_tree>
class Options {
 public:
  /// How values are grouped.
  static constexpr Grouping grouping = grouping_;

  Options() = default;
  /// Use the functions below.
  KOKKOS_FUNCTION Options(Start start, Direction direction, impl::Extra extra, int scratch_level)
      : m_start(start), m_direction(direction), m_extra(extra), m_scratch_level(scratch_level) {}

  /// Combines a value before the first element.
  template <class NewStart>
  [[nodiscard]] KOKKOS_FUNCTION Options<NewStart, grouping> starting_at(
      const NewStart& start) const {
    return {start, m_direction, m_extra, m_scratch_level};
  }
  /// Scans from the last element to the first.
  [[nodiscard]] KOKKOS_FUNCTION Options backward() const {
    return {m_start, Direction::backward, m_extra, m_scratch_level};
  }
  /// Combines as a serial loop does, and has its bits; see Along::in_order(). One warp, on hosts
  /// one thread, combines all elements.
  [[nodiscard]] KOKKOS_FUNCTION Options<Start, Grouping::in_order> in_order() const {
    return {m_start, m_direction, m_extra, m_scratch_level};
  }
  /// Exclusive scans store the total as well, as one result more: behind the others at the range's
  /// end. Backward it is at the range's begin, and each other result one place further.
  [[nodiscard]] KOKKOS_FUNCTION Options with_total() const {
    return {m_start, m_direction, impl::Extra::last, m_scratch_level};
  }
  /// Takes the team's scratch memory from this level (0 or 1; default: 0).
  [[nodiscard]] KOKKOS_FUNCTION Options scratch_level(int level) const {
    return {m_start, m_direction, m_extra, level};
  }

  /// The starting value or None.
  [[nodiscard]] KOKKOS_FUNCTION const Start& start() const { return m_start; }
  /// The order of the elements.
  [[nodiscard]] KOKKOS_FUNCTION Direction direction() const { return m_direction; }
  /// Whether the total is stored.
  [[nodiscard]] KOKKOS_FUNCTION impl::Extra extra() const { return m_extra; }
  /// The level of scratch memory.
  [[nodiscard]] KOKKOS_FUNCTION int scratch_level() const { return m_scratch_level; }

 private:
  Start m_start{};
  Direction m_direction = Direction::forward;
  impl::Extra m_extra = impl::Extra::none;
  int m_scratch_level = 0;
};

/// Options::starting_at()
template <class Start>
[[nodiscard]] KOKKOS_FUNCTION Options<Start> starting_at(const Start& start) {
  return {start, Direction::forward, impl::Extra::none, 0};
}
/// Options::backward()
[[nodiscard]] KOKKOS_INLINE_FUNCTION Options<> backward() { return Options<>{}.backward(); }
/// Options::in_order()
[[nodiscard]] KOKKOS_INLINE_FUNCTION Options<None, Grouping::in_order> in_order() {
  return Options<>{}.in_order();
}
/// Options::with_total()
[[nodiscard]] KOKKOS_INLINE_FUNCTION Options<> with_total() { return Options<>{}.with_total(); }
/// Options::scratch_level()
[[nodiscard]] KOKKOS_INLINE_FUNCTION Options<> scratch_level(int level) {
  return Options<>{}.scratch_level(level);
}

}  // namespace KokkosScan::team

namespace KokkosScan::impl::team_range {
template <class T>
inline constexpr bool is_options = false;
template <class Start, Grouping grouping>
inline constexpr bool is_options<KokkosScan::team::Options<Start, grouping>> = true;

/// What follows the output: options, an operator, or both.
template <Result result, class Range, class In, class Out>
KOKKOS_FORCEINLINE_FUNCTION auto scan_with(const Range& range, const In& x, const Out& y) {
  return checked_scan<result>(range, x, y, KokkosScan::team::Options<>{}, Sum<>{});
}
template <Result result, class Range, class In, class Out, class OptionsOrOp>
KOKKOS_FORCEINLINE_FUNCTION auto scan_with(const Range& range, const In& x, const Out& y,
                                           const OptionsOrOp& last) {
  if constexpr (is_options<OptionsOrOp>) {
    return checked_scan<result>(range, x, y, last, Sum<>{});
  } else {
    return checked_scan<result>(range, x, y, KokkosScan::team::Options<>{}, last);
  }
}
template <Result result, class Range, class In, class Out, class Options, class Op>
KOKKOS_FORCEINLINE_FUNCTION auto scan_with(const Range& range, const In& x, const Out& y,
                                           const Options& options, const Op& op) {
  return checked_scan<result>(range, x, y, options, op);
}
}  // namespace KokkosScan::impl::team_range

namespace KokkosScan::team {

/// Scans the elements begin to end - 1 of `x` inside a kernel:
/// y(k) = s * x(begin) * ... * x(k), where * is the operator and s the starting value, if any.
///
/// \param range TeamThreadRange(member, begin, end) or TeamVectorRange(...), which all threads of
///              the team call; ThreadVectorRange(...), which the lanes of one thread call; or the
///              member itself, for all elements of a View
/// \param x     a View of rank 1, a callable of k, or masked(x, mask) of these. It is read once for
///              each element (masked: only where the mask is true), by any thread
/// \param y     a View of rank 1, which may be x, or a callable of (k, result), called once for
///              each element, by any thread
/// \param rest  options, if any: starting_at(s), backward(), in_order(), scratch_level(), which
///              chain. Then the operator (default: Sum{}): associative (in order: any). It need not
///              commute, and needs an identity only for masked inputs
/// \return      the fold of the starting value and all elements, to every thread, in the
///              accumulator. For an empty range it is the starting value, else the identity, else
///              zero bytes
///
/// The accumulator is that of KokkosScan::inclusive_scan(), for a callable y that of x's values. It
/// may be any trivially copyable type. A call ends with a barrier of its level and has no other
/// side effect. A team of several threads (on GPUs, of more than a warp) needs scratch_bytes() of
/// scratch memory, which it gives back. If there is less, debug builds abort with both numbers;
/// else the behaviour is undefined. Results have the same bits for the same range, size of the team
/// and vector length.
///
/// On GPUs all vector lanes of the team take part in TeamThreadRange as well, and neighbouring
/// lanes have neighbouring elements. So x and y must not call nested ranges.
///
/// \par Example
/// \snippet team_pressure.cpp inclusive
template <class Range, class In, class Out, class... Rest>
requires(sizeof...(Rest) <= 2)  //
    KOKKOS_FUNCTION
    auto inclusive_scan(const Range& range, const In& x, const Out& y, const Rest&... rest) {
  return impl::team_range::scan_with<impl::team_range::Result::inclusive>(range, x, y, rest...);
}

/// Scans the elements begin to end - 1 of `x` inside a kernel, leaving out the element itself:
/// y(k) = s * x(begin) * ... * x(k-1), where s is the starting value, or the identity.
///
/// With with_total(), y(end) receives the total; backward, y(k+1) receives the result of element k
/// and y(begin) the total. For a member and two Views this follows from their extents, n and n+1. x
/// may be y, and with a total the first or the last n elements of it.
///
/// Arguments, result and requirements are those of inclusive_scan().
///
/// \par Example
/// \snippet team_compaction.cpp exclusive
template <class Range, class In, class Out, class... Rest>
requires(sizeof...(Rest) <= 2)  //
    KOKKOS_FUNCTION
    auto exclusive_scan(const Range& range, const In& x, const Out& y, const Rest&... rest) {
  return impl::team_range::scan_with<impl::team_range::Result::exclusive>(range, x, y, rest...);
}

/// Calls use(k, before, after) once for each element inside a kernel: with the results of
/// exclusive_scan() and of inclusive_scan(), for example to store values at interfaces and at
/// midpoints.
///
/// Other arguments, result and requirements are those of exclusive_scan().
///
/// \par Example
/// \snippet team_pressure.cpp for_each_step
template <class Range, class In, class Use, class... Rest>
requires(sizeof...(Rest) <= 2)  //
    KOKKOS_FUNCTION
    auto for_each_step(const Range& range, const In& x, const Use& use, const Rest&... rest) {
  return impl::team_range::scan_with<impl::team_range::Result::both>(range, x, use, rest...);
}

/// Solves h(k) = a(k) * h(k-1) + b(k) inside a kernel, where h(begin-1) is the starting value
/// (default: 0); see KokkosScan::linear_recurrence().
///
/// \param range as in inclusive_scan()
/// \param a     a View of rank 1, a callable of k, or a number
/// \param b     a View of rank 1 or a callable of k
/// \param h     a View of rank 1, which may be a or b, or a callable of (k, result)
/// \param options starting_at(s), backward(), in_order(), scratch_level()
/// \return      the last state, to every thread
///
/// \par Example
/// \snippet team_remap.cpp linear_recurrence
template <class Range, class A, class B, class H, class OptionsOf = Options<>>
KOKKOS_FUNCTION auto linear_recurrence(const Range& range, const A& a, const B& b, const H& h,
                                       const OptionsOf& options = {}) {
  return impl::team_range::solve_recurrence(range, a, b, h, options);
}

/// The bytes of scratch memory that scans of T need, for set_scratch_size(level, PerTeam(bytes)).
/// Scans share it. Scans of T are those whose accumulator is accumulator_t<T>; recurrences of
/// states T are scans of AffineMap<T>.
///
/// \tparam T    the type of the results
/// \tparam Exec the execution space
/// \param team_size     threads of the team
/// \param vector_length vector lanes of each; does not matter on hosts
template <class T, class Exec = Kokkos::DefaultExecutionSpace>
[[nodiscard]] constexpr std::size_t scratch_bytes(int team_size, int vector_length = 1) {
  using impl::team_range::slots, impl::team_range::has_warps;
  const int count = slots<Exec>(has_warps<Exec> ? team_size * vector_length : team_size);
  // Kokkos aligns to 8 bytes.
  const std::size_t alignment = alignof(accumulator_t<T>) > 8 ? alignof(accumulator_t<T>) : 8;
  return count == 0
             ? 0
             : static_cast<std::size_t>(count) * impl::team_range::bytes_of_slot<T>() + alignment;
}

/// The same for the teams of a policy; for the largest ones if Kokkos chooses their size.
template <class T, class... Properties>
[[nodiscard]] std::size_t scratch_bytes(const Kokkos::TeamPolicy<Properties...>& policy) {
  using Exec = typename Kokkos::TeamPolicy<Properties...>::execution_space;
  constexpr int most_threads_of_block = 1024;
  if (!policy.impl_auto_team_size()) {
    return scratch_bytes<T, Exec>(policy.team_size(),
                                  policy.impl_auto_vector_length()
                                      ? impl::team_range::warp_lanes
                                      : static_cast<int>(policy.impl_vector_length()));
  }
  return scratch_bytes<T, Exec>(impl::team_range::has_warps<Exec> ? most_threads_of_block
                                                                  : policy.space().concurrency());
}

/// @}

}  // namespace KokkosScan::team

#include <KokkosScan/impl/end_header.hpp>
