// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Traits of operators: the accumulator type for an output, the operator that a transparent one
/// stands for, and the type and operator that carry prefixes along a line.

#include <KokkosScan/impl/scaled_sum.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

// ---- Kinds of operators -------------------------------------------------------------------------

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

// ---- The accumulator ----------------------------------------------------------------------------

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

/// A transparent operator with its type filled in; any other operator unchanged.
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

/// The operator that combines totals and prefixes. Sums and products of float are carried in
/// double, and logarithms of sums as those sums, so that the error does not grow with the length of
/// the line; any other operator carries its own accumulator.
///
/// A backend may sum a few neighbours in float first, which adds few roundings per element.
/// Products are combined in the carried type from the first factor on: is_carried_throughout.
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

// ---- The order of combination -------------------------------------------------------------------

/// An operator that combines elements strictly left to right, in its own accumulator.
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

/// Whether every order of combination gives the same bits: integers wrap, and minima and maxima
/// return one of their operands. (Ties are resolved the same way in every order: the first of equal
/// values, which matters for zeros of both signs, and the first NaN.)
template <class Op, class A>
inline constexpr bool associates_exactly = is_arg_min_or_max<Op> || is_of_bits<Op> ||
                                           (std::is_integral_v<A> && is_built_in<Op>) ||
                                           (std::is_arithmetic_v<A> && is_min_or_max<Op>);

/// The operator of a problem. One that associates exactly needs no in-order kernels.
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

/// Whether the logarithm of a sum is carried as that sum.
template <class Op, class A>
inline constexpr bool sums_exponentials = is_log_sum_exp<Op> && !std::same_as<A, carried_t<Op, A>>;

/// Whether elements combine in the carried type from the first one on, although it is wider than
/// the accumulator. A product rounds once per factor, so its error would grow with the line, and a
/// product of neighbours may leave the range of float although no result does. Summing exponentials
/// is cheaper than combining logarithms.
template <class Op, class A>
inline constexpr bool is_carried_throughout =
    (is_product<Op> && !std::same_as<A, carried_t<Op, A>>) || sums_exponentials<Op, A>;

}  // namespace KokkosScan::impl
