// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arithmetic whose rounding does not depend on the code around it.
///
/// A compiler may contract a product and a sum that consumes it to an FMA in one kernel and not in
/// another, so that the same line would round differently in the two. So no product may reach a sum
/// of a scan unrounded: on devices, sums and products are intrinsics that are never contracted; on
/// hosts, products pass through rounded().

#include <Kokkos_Core.hpp>
#include <concepts>
#include <type_traits>

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSSCAN_IMPL_ROUNDING_INTRINSICS
#endif

namespace KokkosScan::impl {

/// Returns `value` through a barrier that keeps a host compiler from contracting it with its use.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T rounded(T value) {
#if !defined(KOKKOSSCAN_IMPL_ROUNDING_INTRINSICS) && defined(__GNUC__)
  // GCC's __builtin_assoc_barrier does not survive vectorisation (seen with GCC 12 and 16).
  if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
#if defined(__x86_64__)
    asm("" : "+x"(value));
#elif defined(__aarch64__)
    asm("" : "+w"(value));
#else
    asm("" : "+m"(value));
#endif
  }
#endif
  return value;
}

/// An unsigned type that does not promote to signed int, whose products would overflow.
template <class T>
struct WrappingType {
  using type =
      std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};
template <>
struct WrappingType<bool> {
  using type = unsigned;
};
template <class T>
using wrapping_t = typename WrappingType<T>::type;

/// a + b, rounded once; integers wrap.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T add(const T& a, const T& b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<wrapping_t<T>>(a) + static_cast<wrapping_t<T>>(b));
#if defined(KOKKOSSCAN_IMPL_ROUNDING_INTRINSICS)
  } else if constexpr (std::same_as<T, float>) {
    return __fadd_rn(a, b);
  } else if constexpr (std::same_as<T, double>) {
    return __dadd_rn(a, b);
#endif
  } else {
    return a + b;
  }
}

/// a * b, rounded once; integers wrap.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T multiply(const T& a, const T& b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<wrapping_t<T>>(a) * static_cast<wrapping_t<T>>(b));
#if defined(KOKKOSSCAN_IMPL_ROUNDING_INTRINSICS)
  } else if constexpr (std::same_as<T, float>) {
    return __fmul_rn(a, b);
  } else if constexpr (std::same_as<T, double>) {
    return __dmul_rn(a, b);
#endif
  } else {
    return a * b;
  }
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<T> add(const Kokkos::complex<T>& a,
                                                   const Kokkos::complex<T>& b) {
  return {add(a.real(), b.real()), add(a.imag(), b.imag())};
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<T> multiply(const Kokkos::complex<T>& a,
                                                        const Kokkos::complex<T>& b) {
  const auto product = [](const T& x, const T& y) { return rounded(multiply(x, y)); };
  return {add(product(a.real(), b.real()), -product(a.imag(), b.imag())),
          add(product(a.real(), b.imag()), product(a.imag(), b.real()))};
}

/// a * b + c. Rounded once on devices, and on hosts whose target has an FMA instruction; elsewhere
/// the product and the sum are both rounded. In either case compilers have no choice.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T multiply_add(const T& a, const T& b, const T& c) {
#if defined(KOKKOSSCAN_IMPL_ROUNDING_INTRINSICS)
  if constexpr (std::same_as<T, float>) return __fmaf_rn(a, b, c);
  if constexpr (std::same_as<T, double>) return __fma_rn(a, b, c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (std::same_as<T, float>) return __builtin_fmaf(a, b, c);
  if constexpr (std::same_as<T, double>) return __builtin_fma(a, b, c);
#endif
  return add(multiply(a, b), c);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<T> multiply_add(const Kokkos::complex<T>& a,
                                                            const Kokkos::complex<T>& b,
                                                            const Kokkos::complex<T>& c) {
  return {multiply_add(-a.imag(), b.imag(), multiply_add(a.real(), b.real(), c.real())),
          multiply_add(a.imag(), b.real(), multiply_add(a.real(), b.imag(), c.imag()))};
}

/// Whether a value is not equal to itself. False for integers and for types without ==.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_nan(const T& a) {
  if constexpr (!std::integral<T> && requires { static_cast<bool>(a == a); }) {
    return !(a == a);
  } else {
    return false;
  }
}

}  // namespace KokkosScan::impl
