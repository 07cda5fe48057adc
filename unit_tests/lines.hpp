// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `lines`: starting values, totals, and inputs.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/check.hpp"

namespace test::lines {

/// Calls check(scan) for every form, axis and direction.
template <class Check>
void for_each_scan(int rank, Check&& check) {
  for (Form const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
    for (int axis = 0; axis < rank; ++axis) {
      for (Direction const direction : {Direction::forward, Direction::backward}) {
        check(Scan{form, axis, direction});
      }
    }
  }
}

/// The extents of the output.
inline std::vector<std::int64_t> output_extents(std::vector<std::int64_t> extents,
                                                Scan const& scan) {
  extents[static_cast<std::size_t>(scan.axis)] += scan.form == Form::exclusive_with_total ? 1 : 0;
  return extents;
}

/// The extents of the lines.
inline std::vector<std::int64_t> line_extents(std::vector<std::int64_t> extents, Scan const& scan) {
  extents.erase(extents.begin() + scan.axis);
  return extents;
}

}  // namespace test::lines
