// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums of exponentials with the range of their logarithms: what logarithms of sums are carried in.

#include <KokkosScan/impl/arithmetic.hpp>
#include <Kokkos_Core.hpp>
#include <limits>
#include <type_traits>

namespace KokkosScan::impl {

/// The sum `sum * exp(64 * scale)`, where scale is a whole number.
///
/// An element x is exp(x) with the scale nearest to x / 64, so what is left is between exp(-32) and
/// exp(32), and neighbours nearly always have one scale: then their sum is that of two numbers. So
/// there is one exponential an element and one logarithm a result, where log(exp(a) + exp(b)) takes
/// both for each combination; and errors of exponentials do not meet each other.
struct ScaledSum {
  float scale;
  double sum;  ///< infinite or NaN where the logarithm is

  /// The scale of 0: none is lower.
  static constexpr float lowest = -std::numeric_limits<float>::max() / 64;

  ScaledSum() = default;
  KOKKOS_FUNCTION constexpr ScaledSum(float scale_, double sum_) : scale(scale_), sum(sum_) {}
  /// exp(x). What is left is exact but for infinities, whose scale is that of the largest numbers.
  KOKKOS_FORCEINLINE_FUNCTION explicit ScaledSum(float x) : scale(scale_of(x)) {
    const float rest = x - 64 * scale;
    KOKKOS_IF_ON_HOST((sum = Kokkos::exp(static_cast<double>(rest));))
    KOKKOS_IF_ON_DEVICE((sum = static_cast<double>(Kokkos::exp(rest));))
  }

  /// The logarithm. The sum is in the range of float: at most exp(32) times the elements.
  template <class T>
  requires(std::is_constructible_v<T, float>)  //
      KOKKOS_FORCEINLINE_FUNCTION explicit
      operator T() const {
    KOKKOS_IF_ON_HOST(
        (return T(static_cast<float>(64 * static_cast<double>(scale) + Kokkos::log(sum)));))
    KOKKOS_IF_ON_DEVICE((return T(64 * scale + Kokkos::log(static_cast<float>(sum)));))
  }

  /// The whole number nearest to x / 64, and of no element if x is NaN.
  KOKKOS_FORCEINLINE_FUNCTION static float scale_of(float x) {
    // Adding rounds to whole numbers; what is larger is whole, or so large that it does not matter.
    constexpr float round = 0x1.8p23F, largest = 0x1p22F;
    const float exact = x * 0x1p-6F;
    const float near = add(rounded(add(exact, round)), -round);
    const float far = Kokkos::fmin(Kokkos::fmax(exact, lowest), -lowest);
    return Kokkos::fabs(exact) < largest ? near : far;
  }
  /// exp(-64 n) for a whole number n that is not negative. More than one scale is nothing:
  /// exp(-128) exp(32) beside exp(-32).
  KOKKOS_FORCEINLINE_FUNCTION static double factor(float n) {
    return n == 0 ? 1 : n == 1 ? 1.6038108905486379e-28 : 0;
  }
};

/// a + b
struct AddScaled {
  using accumulator_type = ScaledSum;

  KOKKOS_FORCEINLINE_FUNCTION ScaledSum operator()(const ScaledSum& a, const ScaledSum& b) const {
    // NaN stays: no factor makes it a number.
    const bool is_b_higher = a.scale < b.scale;
    const ScaledSum& high = is_b_higher ? b : a;
    const ScaledSum& low = is_b_higher ? a : b;
    const double factor = ScaledSum::factor(high.scale - low.scale);
    return {high.scale, multiply_add(factor, low.sum, high.sum)};
  }
  /// 0, whose logarithm is -infinity.
  static constexpr ScaledSum identity() { return {ScaledSum::lowest, 0}; }
};

}  // namespace KokkosScan::impl
