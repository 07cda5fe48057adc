// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `views`: all memory layouts.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/check.hpp"

namespace test::views {

/// Sums along every axis in both directions, out of place and in place, and compares. Memory
/// between the elements of both arrays is poisoned: it must neither enter a result nor change.
template <class Op = ks::Sum<>, class In, class Out, class T>
void check_every_axis(std::string const& what, In const& in_view, Array<T> const& in,
                      Out const& out_view, Array<T> const& out) {
  Random random(21);
  for (int axis = 0; axis < in.shape().rank; ++axis) {
    for (Direction const direction : {Direction::forward, Direction::backward}) {
      Scan const scan{Form::inclusive, axis, direction};
      in.fill(random).upload();
      if (out.memory() != in.memory()) out.upload();
      call_inclusive(Exec{}, in_view, out_view, lines_of(scan), Op{});
      out.download();
      expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in});
      expect_untouched_except(what, out.memory(), out);
    }
  }
}

}  // namespace test::views
