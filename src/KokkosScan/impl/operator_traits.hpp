// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What is asked of an operator: in which type it combines for an output, which one it is once that
/// is known, and in which type and by which operator long lines are carried.

#include <KokkosScan/impl/scaled_sum.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

// ---- Which operator it is -----------------------------------------------------------------------

template <class Op>
inline constexpr bool is_sum = false;
template <class T>
inline constexpr bool is_sum<Sum<T>> = true;
template <class Op>
inline constexpr bool is_product = false;
template <class T>
inline constexpr bool is_product<Prod<T>> = true;
template <class Op>
inline constexpr bool is_min_or_max = false;
template <class T>
inline constexpr bool is_min_or_max<Min<T>> = true;
template <class T>
inline constexpr bool is_min_or_max<Max<T>> = true;
/// Whether Op is one of the four operators for which backends have kernels of their own.
template <class Op>
inline constexpr bool is_built_in = is_sum<Op> || is_product<Op> || is_min_or_max<Op>;
/// Whether Op combines each bit by itself.
template <class Op>
inline constexpr bool is_of_bits = std::same_as<Op, LogicalAnd> || std::same_as<Op, LogicalOr>;
template <class T>
inline constexpr bool is_of_bits<BitAnd<T>> = true;
template <class T>
inline constexpr bool is_of_bits<BitOr<T>> = true;
template <class T>
inline constexpr bool is_of_bits<BitXor<T>> = true;
template <class Op>
inline constexpr bool is_log_sum_exp = false;
template <class T>
inline constexpr bool is_log_sum_exp<LogSumExp<T>> = true;
template <class Op>
inline constexpr bool is_arg_min_or_max = false;
template <Ties ties, class A>
inline constexpr bool is_arg_min_or_max<ArgMin<ties, A>> = true;
template <Ties ties, class A>
inline constexpr bool is_arg_min_or_max<ArgMax<ties, A>> = true;
template <class T>
inline constexpr bool is_indexed = false;
template <class T, class Index>
inline constexpr bool is_indexed<Indexed<T, Index>> = true;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Kokkos::complex<T>> = true;

// ---- In which type it combines ------------------------------------------------------------------

template <class Op, class Value>
struct AccumulatorOf : accumulator<std::remove_cv_t<Value>> {};
template <class Op, class Value>
requires requires { typename Op::accumulator_type; }
struct AccumulatorOf<Op, Value> {
  using type = typename Op::accumulator_type;
};
/// The type in which Op combines values for an output of Value.
template <class Op, class Value>
using accumulator_of_t = typename AccumulatorOf<Op, Value>::type;

/// A transparent operator with its type filled in; any other operator as it is.
template <class A, class Op>
const Op& bind(const Op& op) {
  return op;
}
template <class A>
Sum<A> bind(const Sum<void>&) {
  return {};
}
template <class A>
Prod<A> bind(const Prod<void>&) {
  return {};
}
template <class A>
Min<A> bind(const Min<void>&) {
  return {};
}
template <class A>
Max<A> bind(const Max<void>&) {
  return {};
}
template <class A>
LogSumExp<A> bind(const LogSumExp<void>&) {
  return {};
}
template <class A>
BitAnd<A> bind(const BitAnd<void>&) {
  return {};
}
template <class A>
BitOr<A> bind(const BitOr<void>&) {
  return {};
}
template <class A>
BitXor<A> bind(const BitXor<void>&) {
  return {};
}
template <class Op, class A>
using bound_t = std::remove_cvref_t<decltype(bind<A>(std::declval<const Op&>()))>;

/// The operator that carries what many elements have combined to: sums and products of float are
/// carried in double, and logarithms of sums as those sums, so that their error does not grow with
/// the length of the line; any other operator carries its own accumulator.
///
/// A backend may sum some neighbours in float, where an element meets few roundings. Products are
/// combined in the carried type from the first factor on: is_carried_throughout.
template <class Op>
KOKKOS_FUNCTION const Op& carrying(const Op& op) {
  return op;
}
KOKKOS_INLINE_FUNCTION Sum<double> carrying(const Sum<float>&) { return {}; }
KOKKOS_INLINE_FUNCTION Sum<Kokkos::complex<double>> carrying(const Sum<Kokkos::complex<float>>&) {
  return {};
}
KOKKOS_INLINE_FUNCTION Prod<double> carrying(const Prod<float>&) { return {}; }
KOKKOS_INLINE_FUNCTION Prod<Kokkos::complex<double>> carrying(const Prod<Kokkos::complex<float>>&) {
  return {};
}
KOKKOS_INLINE_FUNCTION AddScaled carrying(const LogSumExp<float>&) { return {}; }

// ---- In which order it combines -----------------------------------------------------------------

/// An operator that combines elements one after the other. It is carried in its own accumulator.
template <class Op>
struct InOrder {
  Op op;

  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(const A& a, const A& b) const {
    return static_cast<A>(op(a, b));
  }
};
template <class Op>
inline constexpr bool is_in_order = false;
template <class Op>
inline constexpr bool is_in_order<InOrder<Op>> = true;

/// Whether the bits of a scan are the same in whatever order values combine: integers wrap, and
/// minima and maxima are one of their operands. (They are chosen alike for zeros of both signs and
/// for several NaNs: the first of those that are equal, and the first NaN.)
template <class Op, class A>
inline constexpr bool associates_exactly =
    is_arg_min_or_max<Op> || is_of_bits<Op> || std::integral<A>&& is_built_in<Op> ||
    std::is_arithmetic_v<A>&& is_min_or_max<Op>;

/// The operator of a problem. Whatever associates exactly needs no kernels of its own.
template <class Op, class A, bool in_order>
using grouped_t = std::conditional_t<in_order && !associates_exactly<Op, A>, InOrder<Op>, Op>;

template <class Op, class A>
struct Carried {
  using type = A;
};
template <template <class> class Op>
requires(std::same_as<Op<float>, Sum<float>> || std::same_as<Op<float>, Prod<float>>)  //
    struct Carried<Op<float>, float> {
  using type = double;
};
template <template <class> class Op>
requires(std::same_as<Op<float>, Sum<float>> || std::same_as<Op<float>, Prod<float>>)  //
    struct Carried<Op<Kokkos::complex<float>>, Kokkos::complex<float>> {
  using type = Kokkos::complex<double>;
};
template <>
struct Carried<LogSumExp<float>, float> {
  using type = ScaledSum;
};
/// The type that carrying(op) combines.
template <class Op, class A>
using carried_t = typename Carried<Op, A>::type;

/// Whether a logarithm of a sum is carried as that sum.
template <class Op, class A>
inline constexpr bool sums_exponentials = is_log_sum_exp<Op> && !std::same_as<A, carried_t<Op, A>>;

/// Whether elements combine in the carried type from the first one on, though it is wider than the
/// accumulator. A product has a rounding for each factor, so that its error would grow with the
/// line; and what neighbours combine to may leave the range of float where no result does. A sum
/// costs less than its logarithm.
template <class Op, class A>
inline constexpr bool is_carried_throughout =
    (is_product<Op> && !std::same_as<A, carried_t<Op, A>>) || sums_exponentials<Op, A>;

}  // namespace KokkosScan::impl
