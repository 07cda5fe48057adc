// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Data for the interval operators, and their fault counter.

#include <string>

#include "check.hpp"

namespace test {

/// The fault counter of JoinIntervals and JoinAscending; check it after a fence.
class FaultCounter {
 public:
  FaultCounter() { Kokkos::deep_copy(m_count, 0u); }

  JoinIntervals join_intervals() const { return {m_count.data()}; }
  JoinAscending join_ascending() const { return {m_count.data()}; }

  void expect_none(std::string const& what) const {
    std::uint32_t count = 0;
    Kokkos::deep_copy(count, m_count);
    EXPECT_EQ(count, 0u) << what << ": combines of values that are not neighbours, or that are no "
                         << "values at all";
  }

 private:
  Kokkos::View<std::uint32_t, Device> m_count{"faults"};
};

/// The position of element k (in scan order) of a line. Lines are far apart.
inline std::uint32_t position(std::uint32_t line, std::int64_t k) {
  return line * 0x9E3779B1u + 17u + static_cast<std::uint32_t>(k);
}

/// Fills each line with adjacent intervals of one position each, in scan order.
inline void fill_intervals(Array<Interval> const& array, int axis, Direction direction) {
  std::int64_t const n = array.shape().extent[axis];
  std::uint32_t line = 0;
  for_each_index(array.shape().without(axis), [&](Index const& of_line) {
    Index index{};
    for (int r = 0, l = 0; r < array.shape().rank; ++r) {
      if (r != axis) index[r] = of_line[l++];
    }
    for (std::int64_t k = 0; k < n; ++k) {
      index[axis] = direction == Direction::forward ? k : n - 1 - k;
      std::uint32_t const p = position(line, k);
      array.set(index, Interval(p, p + 1));
    }
    ++line;
  });
}

/// Fills an array of the lines with the interval before each line's first element.
inline void fill_starts(Array<Interval> const& starts) {
  std::uint32_t line = 0;
  for_each_index(starts.shape(), [&](Index const& index) {
    std::uint32_t const p = position(line++, 0);
    starts.set(index, Interval(p - 3, p));
  });
}

}  // namespace test
