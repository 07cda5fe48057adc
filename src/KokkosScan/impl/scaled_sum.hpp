// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums of exponentials with an extended exponent range, the carried type of log-sum-exp.

#include <KokkosScan/impl/arithmetic.hpp>
#include <Kokkos_Core.hpp>
#include <limits>
#include <type_traits>

namespace KokkosScan::impl {

/// The sum `sum * exp(64 * scale)`, where scale is a whole number.
///
/// An element x becomes exp(x) with the scale nearest to x / 64, so `sum` is between exp(-32) and
/// exp(32). Neighbours nearly always have the same scale, and then add as plain numbers. So there
/// is one exponential per element and one logarithm per result, where log(exp(a) + exp(b)) takes
/// both for each combination; and rounding errors of exponentials do not accumulate.
struct ScaledSum {
  float scale;
  double sum;  ///< infinite or NaN if the logarithm is

  /// The scale of the value 0, lower than that of any other.
  static constexpr float lowest = -std::numeric_limits<float>::max() / 64;

  ScaledSum() = default;
  KOKKOS_FUNCTION constexpr ScaledSum(float scale_, double sum_) : scale(scale_), sum(sum_) {}
  /// exp(x). `rest` is exact except for infinities, whose scale is that of the largest numbers.
  KOKKOS_FORCEINLINE_FUNCTION explicit ScaledSum(float x) : scale(scale_of(x)) {
    const float rest = x - 64 * scale;
    KOKKOS_IF_ON_HOST((sum = Kokkos::exp(static_cast<double>(rest));))
    KOKKOS_IF_ON_DEVICE((sum = static_cast<double>(Kokkos::exp(rest));))
  }

  /// The logarithm. The sum is in the range of float: it is at most exp(32) times the elements.
  template <class T>
  requires(std::is_constructible_v<T, float>)  //
      KOKKOS_FORCEINLINE_FUNCTION explicit
      operator T() const {
    KOKKOS_IF_ON_HOST(
        (return T(static_cast<float>(64 * static_cast<double>(scale) + Kokkos::log(sum)));))
    KOKKOS_IF_ON_DEVICE((return T(64 * scale + Kokkos::log(static_cast<float>(sum)));))
  }

  /// The whole number nearest to x / 64; unspecified if x is NaN.
  KOKKOS_FORCEINLINE_FUNCTION static float scale_of(float x) {
    // Adding 1.5 * 2^23 rounds to whole numbers. Beyond `largest` exactness does not matter.
    constexpr float round = 0x1.8p23F, largest = 0x1p22F;
    const float exact = x * 0x1p-6F;
    const float near = add(rounded(add(exact, round)), -round);
    const float far = Kokkos::fmin(Kokkos::fmax(exact, lowest), -lowest);
    return Kokkos::fabs(exact) < largest ? near : far;
  }
  /// exp(-64 n) for a whole number n >= 0. Beyond n = 1 the lower term vanishes:
  /// exp(-128) exp(32) is negligible beside exp(-32).
  KOKKOS_FORCEINLINE_FUNCTION static double factor(float n) {
    return n == 0 ? 1 : n == 1 ? 1.6038108905486379e-28 : 0;
  }
};

/// a + b
struct AddScaled {
  using accumulator_type = ScaledSum;

  KOKKOS_FORCEINLINE_FUNCTION ScaledSum operator()(const ScaledSum& a, const ScaledSum& b) const {
    // NaN propagates: no factor turns it into a number.
    const bool is_b_higher = a.scale < b.scale;
    const ScaledSum& high = is_b_higher ? b : a;
    const ScaledSum& low = is_b_higher ? a : b;
    const double factor = ScaledSum::factor(high.scale - low.scale);
    return {high.scale, multiply_add(factor, low.sum, high.sum)};
  }
  /// The value 0, whose logarithm is -infinity.
  static constexpr ScaledSum identity() { return {ScaledSum::lowest, 0}; }
};

}  // namespace KokkosScan::impl
