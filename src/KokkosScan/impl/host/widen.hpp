// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans that combine in a wider type: integers of 1 and 2 bytes in 4 bytes, which vectorise, and
/// products of floats in double.
///
/// Values are first converted to the original accumulator and then widened. For integers, sums and
/// products agree modulo 2^8 or 2^16, minima and maxima are equal, and results are converted back
/// when they are stored, so they have the same bits. Products of floats are carried in double from
/// the first factor on: each multiplication of two floats would add half a unit of error, and the
/// product of some neighbours may leave the range of float although the product of all does not.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl {

/// Starting values that are a function of others.
template <class Function, class Parts>
struct StartingValues<ZippedInput<Function, Parts>> {
  using type = ZippedInput<Function, Parts>;
};

}  // namespace KokkosScan::impl

namespace KokkosScan::impl::host {

/// Whether T is an integer type that is combined in a wider one.
template <class T>
inline constexpr bool is_widened =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < sizeof(std::int32_t);

/// The operator in the wider type, if it has one with the same bits.
template <class Op>
struct WideOperator {};
template <template <class> class Op, class Narrow>
requires is_built_in<Op<Narrow>> && is_widened<Narrow>
struct WideOperator<Op<Narrow>> {
  using type = Op<std::int32_t>;
};
template <>
struct WideOperator<Prod<float>> {
  using type = Prod<double>;
};

/// The function of an input whose elements are converted to Narrow and then widened.
template <class Wide, class Narrow>
struct Widening {
  template <class T>
  [[gnu::always_inline]] Wide operator()(const T& element) const {
    return static_cast<Wide>(static_cast<Narrow>(element));
  }
};

template <class Wide, class Narrow>
CommonStart<Wide> widened_start(const CommonStart<Narrow>& start) {
  return {start.value.exists ? Maybe<Wide>(start.value.value) : Maybe<Wide>()};
}
template <class Wide, class Narrow, class T>
auto widened_start(const StartOfEachLine<Narrow, T>& start) {
  using Values = std::remove_cvref_t<decltype(start.values)>;
  using WideValues = ZippedInput<Widening<Wide, Narrow>, List<Values>>;
  return StartOfEachLine<Wide, WideValues>{{{}, {start.values, {}}}};
}

/// The same problem, combined in the wider type. Results and totals keep their types.
template <class Narrow, class Op, class In, class Value, class Start, class Total>
auto widened(const Problem<Narrow, Op, In, Value, Start, Total>& p) {
  using WideOp = typename WideOperator<Op>::type;
  using Wide = typename WideOp::accumulator_type;
  const auto start = widened_start<Wide>(p.start);
  const Maybe<Wide> identity = widened_start<Wide>(CommonStart<Narrow>{p.identity}).value;
  using WideIn = ZippedInput<Widening<Wide, Narrow>, List<In>>;
  using WideProblem =
      Problem<Wide, WideOp, WideIn, Value, std::remove_const_t<decltype(start)>, Total>;
  return WideProblem{p.function,          p.n,      p.batch, p.form,  p.extra, WideOp{}, identity,
                     {{}, {p.input, {}}}, p.output, start,   p.totals};
}

/// Whether a problem is combined in a wider type: integers only if results are of the same type.
template <class P>
inline constexpr bool can_be_widened = false;
template <class Narrow, class Op, class In, class Start>
requires std::is_default_constructible_v<element_t<In>>
inline constexpr bool can_be_widened<Problem<Narrow, Op, In, Narrow, Start, Narrow>> = requires {
  typename WideOperator<Op>::type;
};
template <class In, class Value, class Start, class Total>
requires(std::is_default_constructible_v<element_t<In>> &&
         (!std::is_same_v<Value, float> || !std::is_same_v<Total, float>))  //
    inline constexpr bool can_be_widened<Problem<float, Prod<float>, In, Value, Start, Total>> =
        true;

}  // namespace KokkosScan::impl::host
