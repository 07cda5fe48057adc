// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The demo's serial oracle.

#include <cstdint>

#include "demo.hpp"

namespace scan_tool {

/// The element with the largest error, in units of u * sum|x| (of u * |exact| for the product),
/// where u = 2^-24, sum|x| is over the elements that the result combines.
struct WorstError {
  double error = 0;
  /// What the element's error may be: 8 for sums, the number of factors for the product.
  double bound = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  /// Whether some element, and then this one, is outside of its bound.
  bool exceeded = false;
};

/// Compares every element of a result in host memory with the scan of demo_data.hpp, computed
/// serially for each row in long double, on all cores.
WorstError check_demo(DemoScan scan, const float* result, std::int64_t rows, std::int64_t columns);

}  // namespace scan_tool
