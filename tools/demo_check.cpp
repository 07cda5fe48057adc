// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "demo_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "demo_data.hpp"

namespace scan_tool {
namespace {

/// The promised error bounds of sums, in units of u times the sum of magnitudes, and of products.
constexpr double bound = 8;

/// Orders results by whether they exceed their bounds, then by their errors.
bool is_worse(const WorstError& a, const WorstError& b) {
  return a.exceeded != b.exceeded ? a.exceeded : a.error > b.error;
}

/// The error of `found` in units of u * `scale`.
double error_in_u(float found, long double exact, long double scale) {
  if (std::isnan(found)) return std::numeric_limits<double>::infinity();
  const long double error = std::abs(static_cast<long double>(found) - exact);
  return error == 0 ? 0 : static_cast<double>(error / (scale * 0x1p-24L));
}

WorstError check_row(DemoScan scan, const float* result, std::int64_t row, std::int64_t columns) {
  const bool is_product = scan == DemoScan::running_product;
  const bool is_exclusive = scan == DemoScan::exclusive_sum;
  const bool is_backward = scan == DemoScan::backward_sum;
  WorstError worst;
  worst.bound = bound;
  worst.row = row;
  long double exact = is_product ? 1 : 0;
  for (std::int64_t k = 0; k < columns; ++k) {
    const std::int64_t column = is_backward ? columns - 1 - k : k;
    const auto index = static_cast<std::uint64_t>(row * columns + column);
    const long double before = exact;
    if (is_product) {
      exact *= demo_factor(index);
    } else if (scan != DemoScan::masked_sum || demo_mask(index)) {
      exact += demo_value(index);
    }
    // All values are positive: the exact sum is also the sum of magnitudes.
    const long double expected = is_exclusive ? before : exact;
    const double error = error_in_u(result[row * columns + column], expected, expected);
    const WorstError here{error, bound, row, column, !(error <= bound)};
    if (is_worse(here, worst)) worst = here;
  }
  return worst;
}

}  // namespace

WorstError check_demo(DemoScan scan, const float* result, std::int64_t rows, std::int64_t columns) {
  const auto workers = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<WorstError> worst(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([=, &worst] {
      WorstError mine = check_row(scan, result, 0, 0);
      for (std::int64_t row = worker; row < rows; row += workers) {
        const WorstError here = check_row(scan, result, row, columns);
        if (is_worse(here, mine)) mine = here;
      }
      worst[static_cast<std::size_t>(worker)] = mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(worst.begin(), worst.end(),
                           [](const auto& a, const auto& b) { return is_worse(b, a); });
}

}  // namespace scan_tool
