// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operators of a scan and the types in which they combine.

#include <Kokkos_Core.hpp>
#include <concepts>
#include <limits>
#include <type_traits>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <KokkosScan/impl/arithmetic.hpp>

namespace KokkosScan {

/// \defgroup operators Operators
/// @{

/// The type in which values of type `T` are combined, for outputs of T and operators that name no
/// other: `T` itself, and float for 16-bit floating types. An operator names another one by a
/// member `accumulator_type`: `Sum<double>` does, and a recurrence whose operator combines structs
/// does so to read and store numbers (examples/recurrence.cpp). Elements are converted to the
/// accumulator *before* they are combined, by `static_cast`: 0.5 summed into an output of int
/// counts as 0, and does not in `Sum<double>`. Specialise it for a storage type of your own:
/// `template <> struct KokkosScan::accumulator<MyHalf> { using type = float; };`
/// The accumulator must convert from and to the storage type by `static_cast`.
template <class T>
struct accumulator {
  /// The type in which values of type T are combined.
  using type = T;
};
#if defined(__FLT16_MANT_DIG__)
template <>
struct accumulator<_Float16> {
  using type = float;
};
#endif
// std::float16_t is _Float16 on some compilers, where a second specialisation would be an error.
#if defined(__STDCPP_FLOAT16_T__) && !defined(__FLT16_MANT_DIG__)
template <>
struct accumulator<std::float16_t> {
  using type = float;
};
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct accumulator<std::bfloat16_t> {
  using type = float;
};
#endif
#if defined(__CUDACC__)
template <>
struct accumulator<__half> {
  using type = float;
};
template <>
struct accumulator<__nv_bfloat16> {
  using type = float;
};
#endif

// Where Kokkos has 16-bit floats of its own, they are neither float nor a type of the compiler.
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
template <>
struct accumulator<Kokkos::Experimental::half_t> {
  using type = float;
};
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
template <>
struct accumulator<Kokkos::Experimental::bhalf_t> {
  using type = float;
};
#endif

/// `accumulator<T>::type` without regard to const and volatile.
template <class T>
using accumulator_t = typename accumulator<std::remove_cv_t<T>>::type;

/// Sum, a + b. `Sum{}` combines in the accumulator of the output's values; `Sum<T>{}` in T.
///
/// Integers wrap as unsigned arithmetic does, in the width of the accumulator: sums of uint8 in an
/// output of uint8 wrap at 256, where NumPy would widen; an output of a wider type, or
/// `Sum<std::uint64_t>{}`, does too. Values of type float and complex of float are carried in
/// double, so that the error of a sum does not grow with the length of the line: it is at most 8 u
/// times the sum of magnitudes so far, u = 2^-24. A sum of k values of double is off by at most
/// (256 + k / 256) u times the sum of magnitudes, u = 2^-53. Any other type with `a + b` works; its
/// identity is `T(0)` where it has such a constructor.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Sum<double>{});`
template <class T = void>
struct Sum {
  /// The type that is combined.
  using accumulator_type = T;
  /// a + b
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const { return impl::add(a, b); }
  /// 0
  static constexpr T identity() requires(std::constructible_from<T, int> &&
                                         !std::is_aggregate_v<T>) {
    return T(0);
  }
};

/// Product, a * b. `Prod{}` combines in the accumulator of the output's values; `Prod<T>{}` in T.
///
/// Integers wrap as unsigned arithmetic does. Values of type float and complex of float are
/// combined in double: a result is off by at most 8 u of the exact product (u = 2^-24), whatever
/// the length of the line, as long as no product of neighbours leaves the range of double, and, on
/// CUDA, none of the three results before it is subnormal or infinite.
/// Any other type with `a * b` works; its identity is `T(1)` where it has such a constructor.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Prod{});`
template <class T = void>
struct Prod {
  /// The type that is combined.
  using accumulator_type = T;
  /// a * b
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return impl::multiply(a, b);
  }
  /// 1
  static constexpr T identity() requires(std::constructible_from<T, int> &&
                                         !std::is_aggregate_v<T>) {
    return T(1);
  }
};

/// Minimum. NaN propagates, as in NumPy: once a line meets a NaN, all later results are NaN.
///
/// Any type with `a < b` works; arithmetic types have an identity (infinity or the largest value).
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Min{});`
template <class T = void>
struct Min {
  /// The type that is combined.
  using accumulator_type = T;
  /// The smaller of a and b, or the NaN among them; a if they are equal.
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    if constexpr (std::floating_point<T>) return !(a <= b) && a == a ? b : a;  // two comparisons
    return b < a || impl::is_nan(b) ? (impl::is_nan(a) ? a : b) : a;
  }
  /// Infinity where T has one, else the largest value of T.
  static constexpr T identity() requires std::is_arithmetic_v<T> {
    if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
};

/// Maximum. NaN propagates, as in NumPy: once a line meets a NaN, all later results are NaN.
///
/// Any type with `a < b` works; arithmetic types have an identity (-infinity or the lowest value).
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Max{});`
template <class T = void>
struct Max {
  /// The type that is combined.
  using accumulator_type = T;
  /// The larger of a and b, or the NaN among them; a if they are equal.
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    if constexpr (std::floating_point<T>) return !(a >= b) && a == a ? b : a;  // two comparisons
    return a < b || impl::is_nan(b) ? (impl::is_nan(a) ? a : b) : a;
  }
  /// -Infinity where T has one, else the lowest value of T.
  static constexpr T identity() requires std::is_arithmetic_v<T> {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
};

/// `Sum{}`: the accumulator follows from the output.
template <>
struct Sum<void> {
  /// a + b
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return Sum<T>{}(a, b);
  }
};
/// `Prod{}`: the accumulator follows from the output.
template <>
struct Prod<void> {
  /// a * b
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return Prod<T>{}(a, b);
  }
};
/// `Min{}`: the accumulator follows from the output.
template <>
struct Min<void> {
  /// The smaller of a and b, or the NaN among them.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return Min<T>{}(a, b);
  }
};
/// `Max{}`: the accumulator follows from the output.
template <>
struct Max<void> {
  /// The larger of a and b, or the NaN among them.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return Max<T>{}(a, b);
  }
};

/// @}

}  // namespace KokkosScan
