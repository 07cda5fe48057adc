// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The demo's serial reference.

#include <cstdint>

#include "demo.hpp"

namespace scan_tool {

/// The element with the largest error, in units of u * sum|x| (u * |exact| for the product), where
/// u = 2^-24 and the sum is over the elements that the result combines.
struct WorstError {
  double error = 0;
  /// The error bound: 8 for sums, the number of factors for the product.
  double bound = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  /// Whether this element exceeds its bound.
  bool exceeded = false;
};

/// Compares every element of a result in host memory with a serial scan of the data in long double.
/// Rows are distributed over all cores.
WorstError check_demo(DemoScan scan, const float* result, std::int64_t rows, std::int64_t columns);

}  // namespace scan_tool
