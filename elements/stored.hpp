// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The C++ types of array elements, and conversions between them.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dtype.hpp"

namespace array_elements {

/// IEEE 754 binary16. No compiler has it for every target, so the conversions are implemented here.
/// They round once, ties to even, like NumPy.
struct Half {
  std::uint16_t bits;

  Half() = default;
  KOKKOS_FUNCTION explicit Half(float value) : bits(nearest(value)) {}
  KOKKOS_FUNCTION explicit Half(double value) : bits(nearest(value)) {}
  KOKKOS_FUNCTION explicit operator float() const {
    KOKKOS_IF_ON_DEVICE((return device_value();))
    KOKKOS_IF_ON_HOST((return host_value();))
  }

 private:
  template <class Real>
  KOKKOS_FUNCTION static std::uint16_t nearest(Real value) {
    KOKKOS_IF_ON_DEVICE((return device_nearest(value);))
    KOKKOS_IF_ON_HOST((return host_nearest(value);))
  }
#if defined(__CUDACC__)
  KOKKOS_FUNCTION float device_value() const { return __half2float(__ushort_as_half(bits)); }
  KOKKOS_FUNCTION static std::uint16_t device_nearest(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
  KOKKOS_FUNCTION static std::uint16_t device_nearest(double value) {
    return __half_as_ushort(__double2half(value));
  }
#else
  KOKKOS_FUNCTION float device_value() const { return host_value(); }
  template <class Real>
  KOKKOS_FUNCTION static std::uint16_t device_nearest(Real value) {
    return host_nearest(value);
  }
#endif
  KOKKOS_FUNCTION float host_value() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t magnitude = bits & 0x7fffU;
    if (magnitude < 0x400U) {  // 0 and subnormal numbers: multiples of 2^-24
      const float value = static_cast<float>(magnitude) * 0x1p-24F;
      return sign != 0 ? -value : value;
    }
    // The bias is 15 for half and 127 for float; infinity and NaN have the largest exponent in
    // both.
    const std::uint32_t bias = magnitude >= 0x7c00U ? 0x38000000U * 2 : 0x38000000U;
    return Kokkos::bit_cast<float>(sign | ((magnitude << 13) + bias));
  }
  template <class Real>
  KOKKOS_FUNCTION static std::uint16_t host_nearest(Real value) {
    using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    constexpr int width = 8 * sizeof(Real);
    constexpr int digits = std::numeric_limits<Real>::digits - 1;  // that are stored
    constexpr int dropped = digits - 10;
    constexpr Bits biases = std::numeric_limits<Real>::max_exponent - 16;  // 127 - 15 or 1023 - 15
    const auto all = Kokkos::bit_cast<Bits>(value);
    const auto sign = static_cast<std::uint32_t>(all >> (width - 16)) & 0x8000U;
    const Bits magnitude = all & (~Bits{0} >> 1);
    Bits result;
    if (magnitude > Kokkos::bit_cast<Bits>(std::numeric_limits<Real>::infinity())) {
      result = 0x7e00U;  // NaN
    } else if (magnitude >= Kokkos::bit_cast<Bits>(Real(65520))) {
      result = 0x7c00U;  // half way to 2^16 and above: infinity
    } else if (magnitude < Kokkos::bit_cast<Bits>(Real(0x1p-14))) {
      // Adding 1/2 (2^28) rounds to a multiple of 2^-24, ties to even, in the last bits.
      constexpr Real shift = Real(0x1p-24) * (Bits{1} << digits);
      result = Kokkos::bit_cast<Bits>(Kokkos::bit_cast<Real>(magnitude) + shift) -
               Kokkos::bit_cast<Bits>(shift);
    } else {
      constexpr Bits below_half = (Bits{1} << (dropped - 1)) - 1;
      result =
          (magnitude - (biases << digits) + below_half + ((magnitude >> dropped) & 1U)) >> dropped;
    }
    return static_cast<std::uint16_t>(sign | result);
  }
};

/// The upper half of a float.
struct Bfloat16 {
  std::uint16_t bits;

  Bfloat16() = default;
  KOKKOS_FUNCTION explicit Bfloat16(float value) {
    const auto all = Kokkos::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounding = 0x7fffU + ((all >> 16) & 1U);
    bits =
        static_cast<std::uint16_t>(value != value ? (all >> 16) | 0x40U : (all + rounding) >> 16);
  }
  KOKKOS_FUNCTION explicit operator float() const {
    return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// A bool of one byte, as in NumPy and PyTorch: any non-zero byte is true, results are 0 and 1. Its
/// minimum and maximum are logical and and or.
using Boolean = std::uint8_t;

/// The C++ type of a DType.
template <DType D>
struct Stored;
// clang-format off
template <> struct Stored<DType::boolean>    { using type = Boolean; };
template <> struct Stored<DType::int8>       { using type = std::int8_t; };
template <> struct Stored<DType::int16>      { using type = std::int16_t; };
template <> struct Stored<DType::int32>      { using type = std::int32_t; };
template <> struct Stored<DType::int64>      { using type = std::int64_t; };
template <> struct Stored<DType::uint8>      { using type = std::uint8_t; };
template <> struct Stored<DType::uint16>     { using type = std::uint16_t; };
template <> struct Stored<DType::uint32>     { using type = std::uint32_t; };
template <> struct Stored<DType::uint64>     { using type = std::uint64_t; };
template <> struct Stored<DType::float16>    { using type = Half; };
template <> struct Stored<DType::bfloat16>   { using type = Bfloat16; };
template <> struct Stored<DType::float32>    { using type = float; };
template <> struct Stored<DType::float64>    { using type = double; };
template <> struct Stored<DType::complex64>  { using type = Kokkos::complex<float>; };
template <> struct Stored<DType::complex128> { using type = Kokkos::complex<double>; };
// clang-format on
template <DType D>
using stored_t = typename Stored<D>::type;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Kokkos::complex<T>> = true;
template <class T>
inline constexpr bool is_16_bit_float = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

/// Converts a real number to an integer: truncates it, clamps it to the range of int64 (uint64),
/// maps NaN to 0, and wraps to the integer's size. In C++ most of this is undefined behaviour.
template <class Integer>
KOKKOS_FUNCTION Integer truncated(double value) {
  constexpr double limit = 0x1p63;
  if (value != value) return 0;
  if constexpr (std::is_same_v<Integer, std::uint64_t>) {
    if (value >= 2 * limit) return ~std::uint64_t{0};
    if (value >= limit) return static_cast<std::uint64_t>(value);
  }
  if (value >= limit) return static_cast<Integer>(INT64_MAX);
  if (value < -limit) return static_cast<Integer>(INT64_MIN);
  return static_cast<Integer>(static_cast<std::int64_t>(value));
}

/// Converts a value like numpy.astype; complex numbers convert to complex numbers only.
template <DType To, class T>
KOKKOS_FUNCTION stored_t<To> converted(T value) {
  using Result = stored_t<To>;
  if constexpr (is_16_bit_float<T>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (is_complex<Result>) {
    using Part = typename Result::value_type;
    if constexpr (is_complex<T>) {
      return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
    } else {
      return {static_cast<Part>(value), Part(0)};
    }
  } else if constexpr (is_complex<T>) {
    return Result{};  // refused before
  } else if constexpr (To == DType::boolean) {
    return value != T(0) ? 1 : 0;
  } else if constexpr (std::is_same_v<Result, Half> && std::is_same_v<T, double>) {
    return Half(value);  // a conversion through float would round twice
  } else if constexpr (is_16_bit_float<Result>) {
    return Result(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<Result> && std::is_floating_point_v<T>) {
    return truncated<Result>(static_cast<double>(value));
  } else {
    return static_cast<Result>(value);
  }
}

}  // namespace array_elements
