// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The lines of a scan: axis, direction, starting values, totals, workspace, order.

#include <KokkosScan/impl/begin_header.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace KokkosScan {

/// \defgroup lines Lines
/// @{

/// The type of an axis: an integer, but neither bool nor a character type.
template <class T>
concept Axis = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
               !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
               !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// The order in which the elements of a line are scanned.
enum class Direction { forward, backward };

/// How the values of a line are grouped. `by_tree`: in the combination tree of the backend, so that
/// many threads can share a line. `in_order`: one after the other, as in a loop.
enum class Grouping { by_tree, in_order };

/// Stands for a starting value, totals or workspace that was not given.
struct None {};

/// The lines of a scan; made by along(). Immutable: each member returns a changed copy.
template <class Start = None, class Totals = None, class Workspace = None,
          Grouping grouping = Grouping::by_tree>
class Along {
 public:
  /// Use along().
  constexpr Along(int axis, Direction direction, Start start, Totals totals, Workspace workspace)
      : m_axis(axis),
        m_direction(direction),
        m_start(std::move(start)),
        m_totals(std::move(totals)),
        m_workspace(std::move(workspace)) {}

  /// Scans from the last element of each line to the first. The result equals, bit for bit,
  /// reversing the input along the axis, scanning it, and reversing the output.
  [[nodiscard]] constexpr Along backward() const {
    return {m_axis, Direction::backward, m_start, m_totals, m_workspace};
  }

  /// Combines a starting value before the first element of each line.
  ///
  /// \param start a value for all lines, or one value per line: a View or elementwise() with the
  ///              shape of the input without the axis (a View of rank 0 for an input of rank 1). It
  ///              is converted to the accumulator; a number does not convert to a struct that has
  ///              no constructor from it.
  template <class NewStart>
  [[nodiscard]] constexpr Along<NewStart, Totals, Workspace, grouping> starting_at(
      NewStart start) const {
    return {m_axis, m_direction, std::move(start), m_totals, m_workspace};
  }

  /// Stores the total of each line: the fold of all its elements, starting value included.
  ///
  /// \param totals a View with one value per line, with the shape of the input without the axis. It
  ///               may be the View of the starting values.
  template <class NewTotals>
  [[nodiscard]] constexpr Along<Start, NewTotals, Workspace, grouping> totals(
      NewTotals totals) const {
    return {m_axis, m_direction, m_start, std::move(totals), m_workspace};
  }

  /// Lends memory, so that the scan allocates nothing; workspace_bytes() returns the size.
  ///
  /// \param workspace a rank-1 View of std::byte, aligned to 16 bytes. Its content is arbitrary
  ///                  before and after. Scans on one execution space instance may share it.
  template <class NewWorkspace>
  [[nodiscard]] constexpr Along<Start, Totals, NewWorkspace, grouping> workspace(
      NewWorkspace workspace) const {
    return {m_axis, m_direction, m_start, m_totals, std::move(workspace)};
  }

  /// Combines as a serial loop does, from left to right in the accumulator:
  ///
  ///     acc = start;
  ///     for (k = 0; k < n; ++k) { acc = op(acc, x[k]); y[k] = acc; }
  ///
  /// Without a start, the first element is the first result. Masked-out elements are skipped;
  /// before the first element that counts, the result is the identity. The results have the bits of
  /// that loop on every backend and for any number of threads, and the operator need not be
  /// associative. Threads do not share lines, so a line takes n dependent combinations.
  [[nodiscard]] constexpr Along<Start, Totals, Workspace, Grouping::in_order> in_order() const {
    return {m_axis, m_direction, m_start, m_totals, m_workspace};
  }

  /// The axis as given; negative counts from the end.
  [[nodiscard]] constexpr int axis() const { return m_axis; }
  /// The order of the elements.
  [[nodiscard]] constexpr Direction direction() const { return m_direction; }
  /// The starting value, a View of them, or None.
  [[nodiscard]] constexpr const Start& start() const { return m_start; }
  /// The View of totals or None.
  [[nodiscard]] constexpr const Totals& totals() const { return m_totals; }
  /// The workspace or None.
  [[nodiscard]] constexpr const Workspace& workspace() const { return m_workspace; }

 private:
  int m_axis;
  Direction m_direction;
  [[no_unique_address]] Start m_start;
  [[no_unique_address]] Totals m_totals;
  [[no_unique_address]] Workspace m_workspace;
};

/// The lines along an axis, forward. Negative axes count from the end: -1 is the last.
///
/// \param axis from -rank to rank - 1; the scan throws std::invalid_argument for any other
///
/// \par Example
/// Counts to offsets. The total stays on the device, and nothing waits for it.
/// \snippet row_map.cpp totals
template <class AxisType>
[[nodiscard]] constexpr Along<> along(AxisType axis) {
  static_assert(Axis<AxisType>,
                "KokkosScan: an axis must be an int or another integer, not a bool, a character, a "
                "floating-point number or an enumeration.");
  if constexpr (Axis<AxisType>) {
    // An axis that no int holds is out of range, not another one.
    constexpr std::intmax_t least = std::numeric_limits<int>::min();
    constexpr std::intmax_t most = std::numeric_limits<int>::max();
    const int clamped = std::cmp_less(axis, least)     ? static_cast<int>(least)
                        : std::cmp_greater(axis, most) ? static_cast<int>(most)
                                                       : static_cast<int>(axis);
    return {clamped, Direction::forward, None{}, None{}, None{}};
  } else {
    return {0, Direction::forward, None{}, None{}, None{}};
  }
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
