// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operators of a scan and their accumulators.

#include <KokkosScan/impl/begin_header.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>
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

// Compilers then take it that nothing is NaN or infinite, here as well.
#if defined(__FINITE_MATH_ONLY__) && !defined(KOKKOSSCAN_ACCEPT_FINITE_MATH)
#if __FINITE_MATH_ONLY__
// clang-format off
#warning "KokkosScan: with -ffinite-math-only (-ffast-math, -Ofast) minima, maxima and logarithms of sums lose NaN and infinity. -fno-finite-math-only keeps them; KOKKOSSCAN_ACCEPT_FINITE_MATH silences this."
// clang-format on
#endif
#endif

namespace KokkosScan {

/// \defgroup operators Operators
/// @{

/// The type in which a scan with outputs of type `T` combines, unless the operator names another:
/// `T` itself, and float for 16-bit floating-point types.
///
/// An operator names its accumulator with a member type `accumulator_type`, as `Sum<double>` does,
/// or an operator on structs that reads and stores numbers (examples/recurrence.cpp). Elements are
/// converted to the accumulator *before* they are combined, by `static_cast`: 0.5 summed into an
/// output of int counts as 0, but not with `Sum<double>`.
///
/// Specialise it for your own storage type, which must convert to and from it by `static_cast`:
/// `template <> struct KokkosScan::accumulator<MyHalf> { using type = float; };`
template <class T>
struct accumulator {
  /// The type in which values of type T are combined.
  using type = T;
};
#if defined(__FLT16_MANT_DIG__) && (__GNUC__ >= 13 || !defined(__aarch64__) || defined(__clang__))
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
/// Integers wrap as unsigned arithmetic does, in the width of the accumulator: sums of uint8 into
/// an output of uint8 wrap at 256. To widen them, as NumPy does, use an output of a wider type.
/// Float and complex of float are carried in double, so the error of a sum does not grow with the
/// length of the line: it is at most 8 u times the sum of magnitudes so far, u = 2^-24. The error
/// of a sum of k values of double is at most (256 + k / 256) 2^-53 times the sum of magnitudes. Any
/// other type with `a + b` works; its identity is `T(0)` if it has such a constructor.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Sum<double>{});`
template <class T = void>
struct Sum {
  /// The type in which values are combined.
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
/// Integers wrap as unsigned arithmetic does. Float and complex of float are combined in double: a
/// result is off by at most 8 u of the exact product (u = 2^-24), for any length of the line, if no
/// product of neighbours leaves the range of double and, on CUDA, none of the three results before
/// it is subnormal or infinite. Any other type with `a * b` works; its identity is `T(1)` if it has
/// such a constructor.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::Prod{});`
template <class T = void>
struct Prod {
  /// The type in which values are combined.
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
  /// The type in which values are combined.
  using accumulator_type = T;
  /// The smaller of a and b, or the NaN among them; a if they are equal.
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    if constexpr (std::floating_point<T>) return !(a <= b) && a == a ? b : a;  // two comparisons
    return b < a || impl::is_nan(b) ? (impl::is_nan(a) ? a : b) : a;
  }
  /// Infinity if T has one, otherwise the largest value of T.
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
  /// The type in which values are combined.
  using accumulator_type = T;
  /// The larger of a and b, or the NaN among them; a if they are equal.
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    if constexpr (std::floating_point<T>) return !(a >= b) && a == a ? b : a;  // two comparisons
    return a < b || impl::is_nan(b) ? (impl::is_nan(a) ? a : b) : a;
  }
  /// -Infinity if T has one, otherwise the lowest value of T.
  static constexpr T identity() requires std::is_arithmetic_v<T> {
    if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
};

namespace impl {
/// A constant, because device code may not call the member function of numeric_limits.
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
}  // namespace impl

/// Logarithm of a sum of exponentials, log(exp(a) + exp(b)), without overflow: torch.logcumsumexp.
///
/// `LogSumExp{}` combines in the accumulator of the output's values, which must be a floating-point
/// type; `LogSumExp<T>{}` in T. The identity is -infinity. +infinity and NaN propagate. Floats are
/// carried as the sum itself, a double and a power of exp(64), with one exponential per element and
/// one logarithm per result. The error of a result r is at most u (|r| + 1) on hosts. On CUDA,
/// with functions of float, it is at most 8 u (m + 1); u = 2^-24, and m is the largest magnitude
/// among the results and elements so far. Doubles combine as max(a, b) + log1p(exp(-|a - b|)), and
/// each combination adds at most 2 u (m + 1), u = 2^-53.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::LogSumExp{});`
template <class T = void>
struct LogSumExp {
  /// The type in which values are combined.
  using accumulator_type = T;
  /// log(exp(a) + exp(b)), or the NaN among them.
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a,
                                           const T& b) const requires std::floating_point<T> {
    constexpr T infinity = impl::infinity<T>;
    if (a != a) return a;
    if (b != b) return b;
    const T high = a < b ? b : a;
    const T low = a < b ? a : b;
    // The difference of two equal infinities would be NaN.
    if (low == -infinity || high == infinity) return high;
    return high + Kokkos::log1p(Kokkos::exp(low - high));
  }
  /// -Infinity.
  static constexpr T identity() requires std::floating_point<T> {
    return -std::numeric_limits<T>::infinity();
  }
};

/// A value and its index: what ArgMin and ArgMax combine. indexed() makes them from a View.
template <class T, class Index = std::int64_t>
struct Indexed {
  /// An element.
  T value;
  /// Its index, which is not negative; `none` if there is no element yet.
  Index index;

  /// The index of no element: -1, or the largest of an unsigned type.
  static constexpr Index none = static_cast<Index>(-1);

  /// The index alone, for an output of indices.
  KOKKOS_FUNCTION explicit operator Index() const { return index; }
};

namespace impl {
/// The index along an axis, as a function of indices. A kernel that knows it need not call.
template <class Index>
struct IndexAlong {
  int axis;

  template <class... I>
  KOKKOS_FUNCTION Index operator()(I... indices) const {
    const std::int64_t index[] = {static_cast<std::int64_t>(indices)...};
    std::int64_t along = 0;
    for (int d = 0; d < static_cast<int>(sizeof...(I)); ++d) along = d == axis ? index[d] : along;
    return static_cast<Index>(along);
  }
};
}  // namespace impl

/// Which of several equal values ArgMin and ArgMax keep, in scan order: the first, as numpy.argmin
/// and numpy.argmax do, or the last, as torch.cummin and torch.cummax do.
enum class Ties { first, last };

namespace impl {
/// The identity of ArgMin and ArgMax for each type that they combine.
template <template <class> class Extreme>
struct NoElement {
  template <class T, class Index>
  constexpr operator Indexed<T, Index>() const requires std::is_arithmetic_v<T> {
    return {Extreme<T>::identity(), Indexed<T, Index>::none};
  }
};

/// Whether b replaces a: it is better, or equal and the last is kept. A NaN is better than numbers
/// and equal to another NaN. An absent element is never better, and is always replaced.
template <Ties ties, class T, class Index, class Less>
KOKKOS_FORCEINLINE_FUNCTION bool replaces(const Indexed<T, Index>& a, const Indexed<T, Index>& b,
                                          const Less& is_better) {
  constexpr Index none = Indexed<T, Index>::none;
  // Without branches: on a GPU lanes would take different ones.
  const bool is_a_number = !is_nan(a.value);
  const bool is_b_nan = is_nan(b.value);
  const bool is_as_good = !is_better(a.value, b.value);
  const bool is_b_better = is_better(b.value, a.value);
  const bool wins = ties == Ties::last ? is_b_nan | (is_a_number & is_as_good)
                                       : is_a_number & (is_b_nan | is_b_better);
  return (b.index != none) & ((a.index == none) | wins);
}
}  // namespace impl

/// Minimum and its index. `ArgMin{}` keeps the first of equal values, `ArgMin<Ties::last>{}` the
/// last. A NaN wins over any number; of several NaNs the first or the last is kept.
///
/// The output is a View of Indexed<T, Index>. If the operator names its accumulator, as in
/// `ArgMin<Ties::first, Indexed<double>>{}`, the output can be a View of indices. Before the first
/// element that counts (in exclusive scans, or with a mask) the index is Indexed::none.
///
/// Example: `ks::inclusive_scan(exec, ks::indexed(x), y, -1, ks::ArgMin{});`
template <Ties ties = Ties::first, class A = void>
struct ArgMin {
  /// The type in which values are combined.
  using accumulator_type = A;
  /// The operand that is kept.
  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A& a, const A& b) const {
    return ArgMin<ties>{}(a, b);
  }
  /// No element: Indexed::none.
  static constexpr A identity() requires std::convertible_to<impl::NoElement<Min>, A> {
    return impl::NoElement<Min>{};
  }
};

/// Maximum and its index; otherwise as ArgMin.
///
/// Example: `ks::inclusive_scan(exec, ks::indexed(x), y, -1, ks::ArgMax{});`
template <Ties ties = Ties::first, class A = void>
struct ArgMax {
  /// The type in which values are combined.
  using accumulator_type = A;
  /// The operand that is kept.
  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A& a, const A& b) const {
    return ArgMax<ties>{}(a, b);
  }
  /// No element: Indexed::none.
  static constexpr A identity() requires std::convertible_to<impl::NoElement<Max>, A> {
    return impl::NoElement<Max>{};
  }
};

/// Bitwise and, a & b, of integers.
///
/// `BitAnd{}` combines in the accumulator of the output's values; `BitAnd<T>{}` in T.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::BitAnd{});`
template <class T = void>
struct BitAnd {
  /// The type that is combined.
  using accumulator_type = T;
  /// a & b
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const requires std::integral<T> {
    return static_cast<T>(a & b);
  }
  /// All bits; true of bool.
  static constexpr T identity() requires std::integral<T> { return static_cast<T>(~T(0)); }
};

/// Bitwise or, a | b, of integers; otherwise as BitAnd.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::BitOr{});`
template <class T = void>
struct BitOr {
  /// The type that is combined.
  using accumulator_type = T;
  /// a | b
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const requires std::integral<T> {
    return static_cast<T>(a | b);
  }
  /// No bit.
  static constexpr T identity() requires std::integral<T> { return T(0); }
};

/// Bitwise exclusive or, a ^ b, of integers; otherwise as BitAnd.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::BitXor{});`
template <class T = void>
struct BitXor {
  /// The type that is combined.
  using accumulator_type = T;
  /// a ^ b
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const requires std::integral<T> {
    return static_cast<T>(a ^ b);
  }
  /// No bit.
  static constexpr T identity() requires std::integral<T> { return T(0); }
};

/// Whether all so far are true. Values convert to bool before they are combined, and results from
/// it.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::LogicalAnd{});`
struct LogicalAnd {
  /// The type that is combined.
  using accumulator_type = bool;
  /// a && b
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const bool& a, const bool& b) const { return a && b; }
  /// true
  static constexpr bool identity() { return true; }
};

/// Whether one so far is true; otherwise as LogicalAnd.
///
/// Example: `ks::inclusive_scan(exec, x, y, 0, ks::LogicalOr{});`
struct LogicalOr {
  /// The type that is combined.
  using accumulator_type = bool;
  /// a || b
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const bool& a, const bool& b) const { return a || b; }
  /// false
  static constexpr bool identity() { return false; }
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

/// `BitAnd{}`: the accumulator follows from the output.
template <>
struct BitAnd<void> {
  /// a & b
  template <std::integral T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return BitAnd<T>{}(a, b);
  }
};
/// `BitOr{}`: the accumulator follows from the output.
template <>
struct BitOr<void> {
  /// a | b
  template <std::integral T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return BitOr<T>{}(a, b);
  }
};
/// `BitXor{}`: the accumulator follows from the output.
template <>
struct BitXor<void> {
  /// a ^ b
  template <std::integral T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return BitXor<T>{}(a, b);
  }
};

/// `LogSumExp{}`: the accumulator follows from the output.
template <>
struct LogSumExp<void> {
  /// log(exp(a) + exp(b))
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T operator()(const T& a, const T& b) const {
    return LogSumExp<T>{}(a, b);
  }
};
/// `ArgMin{}`: the accumulator follows from the output.
template <Ties ties>
struct ArgMin<ties, void> {
  /// The operand that is kept.
  template <class T, class Index>
  KOKKOS_FORCEINLINE_FUNCTION Indexed<T, Index> operator()(const Indexed<T, Index>& a,
                                                           const Indexed<T, Index>& b) const {
    return impl::replaces<ties>(a, b, [](const T& x, const T& y) { return x < y; }) ? b : a;
  }
  /// No element: Indexed::none.
  static constexpr impl::NoElement<Min> identity() { return {}; }
};
/// `ArgMax{}`: the accumulator follows from the output.
template <Ties ties>
struct ArgMax<ties, void> {
  /// The operand that is kept.
  template <class T, class Index>
  KOKKOS_FORCEINLINE_FUNCTION Indexed<T, Index> operator()(const Indexed<T, Index>& a,
                                                           const Indexed<T, Index>& b) const {
    return impl::replaces<ties>(a, b, [](const T& x, const T& y) { return y < x; }) ? b : a;
  }
  /// No element: Indexed::none.
  static constexpr impl::NoElement<Max> identity() { return {}; }
};

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
