// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The oracle for logarithms of sums of exponentials.

#include <algorithm>
#include <cmath>
#include <limits>

namespace test {

/// log(exp(x) + exp(y) + ...) of the added values, in long double: a serial sum of exponentials,
/// scaled by the largest value.
class Logarithm {
 public:
  void add(long double x) {
    if (std::isnan(x) || x == infinity) {
      m_special = std::isnan(m_special) ? m_special : x;
    } else if (x > m_high) {
      m_sum = m_sum * std::exp(m_high - x) + 1;
      m_high = x;
    } else if (x != -infinity) {
      m_sum += std::exp(x - m_high);
    }
    if (std::isfinite(x)) m_magnitude = std::max(m_magnitude, std::abs(x));
  }
  [[nodiscard]] long double value() const {
    return m_special != 0 ? m_special : m_high + std::log(m_sum);
  }
  /// The largest finite magnitude among the values and the logarithm.
  [[nodiscard]] long double magnitude() const {
    return std::isfinite(value()) ? std::max(m_magnitude, std::abs(value())) : m_magnitude;
  }

 private:
  static constexpr long double infinity = std::numeric_limits<long double>::infinity();

  long double m_high = -infinity;
  long double m_sum = 0;  // of exp(x - m_high)
  long double m_magnitude = 0;
  long double m_special = 0;  // NaN or infinity
};

}  // namespace test
