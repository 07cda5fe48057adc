// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Value types and operators of the tests. All are plain functors at namespace scope, because nvcc
// rejects local types and lambdas inside gtest's private TestBody.

#include <Kokkos_Core.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <type_traits>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_fp16.h>
#define KOKKOS_SCAN_TEST_HAS_HALF
#elif defined(__FLT16_MANT_DIG__) && (__GNUC__ >= 13 || !defined(__aarch64__) || defined(__clang__))
#define KOKKOS_SCAN_TEST_HAS_HALF
#endif

namespace test {

/// The execution space of the tests: Kokkos' default.
using Exec = Kokkos::DefaultExecutionSpace;
using Device = Exec::device_type;

#if defined(KOKKOS_ENABLE_CUDA)
using Half = __half;
#elif defined(KOKKOS_SCAN_TEST_HAS_HALF)
/// A 16-bit float: Kokkos' half_t is an alias of float in many builds.
__extension__ typedef _Float16 Half;
#endif

#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
template <class T>
inline constexpr bool is_half = std::is_same_v<std::remove_cv_t<T>, Half>;
#else
template <class T>
inline constexpr bool is_half = false;
#endif

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<Kokkos::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool is_complex = IsComplex<T>::value;

/// float, double and the 16-bit float, not complex numbers.
template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;

/// Upper unitriangular 3x3 matrices over unsigned integers: exact, associative, not commutative.
template <class Unsigned>
struct Heisenberg {
  Unsigned x, y, z;
};
using Struct3 = Heisenberg<std::uint8_t>;
using Struct12 = Heisenberg<std::uint32_t>;
using Struct24 = Heisenberg<std::uint64_t>;
static_assert(sizeof(Struct12) == 12 && sizeof(Struct24) == 24);

template <class Unsigned>
struct MultiplyHeisenberg {
  using Value = Heisenberg<Unsigned>;
  KOKKOS_FUNCTION Value operator()(Value const& a, Value const& b) const {
    return {static_cast<Unsigned>(a.x + b.x), static_cast<Unsigned>(a.y + b.y),
            static_cast<Unsigned>(a.z + b.z + a.x * b.y)};
  }
  KOKKOS_FUNCTION static Value identity() { return {0, 0, 0}; }
};

/// t -> slope * t + offset over unsigned integers: 8 bytes, not commutative.
struct Affine {
  std::uint32_t slope, offset;
};

/// First f, then g.
struct ComposeAffine {
  KOKKOS_FUNCTION Affine operator()(Affine const& f, Affine const& g) const {
    return {g.slope * f.slope, g.slope * f.offset + g.offset};
  }
  KOKKOS_FUNCTION static Affine identity() { return {1, 0}; }
};

/// The same without an identity, like a lambda.
struct ComposeAffineWithoutIdentity {
  KOKKOS_FUNCTION Affine operator()(Affine const& f, Affine const& g) const {
    return ComposeAffine{}(f, g);
  }
};

/// 2x2 matrices over unsigned, row by row: 16 bytes.
struct Matrix {
  std::uint32_t a, b, c, d;
};

struct MultiplyMatrices {
  KOKKOS_FUNCTION Matrix operator()(Matrix const& l, Matrix const& r) const {
    return {l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c,
            l.c * r.b + l.d * r.d};
  }
  KOKKOS_FUNCTION Matrix identity() const { return {1, 0, 0, 1}; }  // not static on purpose
};

/// The bicyclic monoid: unmatched closing and opening brackets. "(" is {0, 1} and ")" is {1, 0}.
struct Brackets {
  std::uint32_t closing, opening;
};

struct MatchBrackets {
  KOKKOS_FUNCTION Brackets operator()(Brackets const& a, Brackets const& b) const {
    std::uint32_t const matched = a.opening < b.closing ? a.opening : b.closing;
    return {a.closing + b.closing - matched, a.opening + b.opening - matched};
  }
  KOKKOS_FUNCTION static Brackets identity() { return {0, 0}; }
};

/// The last non-zero value (forward fill): exact for every scalar, not commutative.
template <class A>
struct LastNonZero {
  KOKKOS_FUNCTION A operator()(A const& a, A const& b) const { return b == A(0) ? a : b; }
  KOKKOS_FUNCTION static A identity() { return A(0); }
};

/// The positions [begin, end) that a value represents. 12 bytes, and no default constructor, so
/// that the library cannot create one.
struct Interval {
  std::uint32_t begin, end, faults;

  Interval() = delete;
  KOKKOS_FUNCTION constexpr Interval(std::uint32_t b, std::uint32_t e, std::uint32_t f = 0)
      : begin(b), end(e), faults(f) {}
};
static_assert(std::is_trivially_copyable_v<Interval> && sizeof(Interval) == 12);

/// Joins neighbours. Combining values that are not neighbours, that repeat a position, or that are
/// uninitialised (poisoned or zeroed memory is no interval) is a fault. Faults propagate with the
/// value and are also counted in `count`, since a library may discard a bad result. Intentionally
/// without identity: a scan that invents an operand is caught.
struct JoinIntervals {
  /// One element of device memory, zeroed by the test.
  std::uint32_t* count;

  KOKKOS_FUNCTION Interval operator()(Interval const& a, Interval const& b) const {
    // Positions wrap at 2^32, so an interval is valid if its length is small and positive.
    std::uint32_t const longest = 1u << 30;
    std::uint32_t const fault = (a.end != b.begin) + (a.end - a.begin - 1 >= longest) +
                                (b.end - b.begin - 1 >= longest) + (b.end - a.begin - 1 >= longest);
    if (fault + a.faults + b.faults != 0 && count != nullptr) Kokkos::atomic_inc(count);
    return {a.begin, b.end, a.faults + b.faults + fault};
  }
};

/// With the empty interval as identity, for masks and for exclusive scans without a start. Masks
/// leave gaps, so only the order is checked: combining values that are not ascending is a fault.
struct JoinAscending {
  std::uint32_t* count;

  KOKKOS_FUNCTION Interval operator()(Interval const& a, Interval const& b) const {
    if (is_identity(a)) return b;
    if (is_identity(b)) return a;
    std::uint32_t const longest = 1u << 30;
    std::uint32_t const fault = (b.begin - a.end >= longest) + (a.end - a.begin - 1 >= longest) +
                                (b.end - b.begin - 1 >= longest);
    if (fault + a.faults + b.faults != 0 && count != nullptr) Kokkos::atomic_inc(count);
    return {a.begin, b.end, a.faults + b.faults + fault};
  }
  KOKKOS_FUNCTION static Interval identity() { return {0xFFFFFFFFu, 0xFFFFFFFFu}; }
  KOKKOS_FUNCTION static bool is_identity(Interval const& a) {
    return a.begin == 0xFFFFFFFFu && a.end == 0xFFFFFFFFu && a.faults == 0;
  }
};

/// A user-defined operator for each type.
template <class T>
struct UserOperator {
  using type = LastNonZero<T>;
};
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
template <>
struct UserOperator<Half> {
  using type = LastNonZero<float>;  // user operators on 16-bit data receive the accumulator type
};
#endif
template <class Unsigned>
struct UserOperator<Heisenberg<Unsigned>> {
  using type = MultiplyHeisenberg<Unsigned>;
};
template <class T>
using user_operator_t = typename UserOperator<T>::type;

}  // namespace test
