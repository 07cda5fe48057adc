// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of floats, which combine in double.
///
/// Values are first converted to float and then widened. Products are carried in double from the
/// first factor on: each multiplication of two floats would add half a unit of error, and the
/// product of some neighbours may leave the range of float although the product of all does not.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <type_traits>

namespace KokkosScan::impl {

/// Starting values that are a function of others.
template <class Function, class Parts>
struct StartingValues<ZippedInput<Function, Parts>> {
  using type = ZippedInput<Function, Parts>;
};

}  // namespace KokkosScan::impl

namespace KokkosScan::impl::host {

/// The function of an input whose elements are converted to float and then widened.
struct Widening {
  template <class T>
  [[gnu::always_inline]] double operator()(const T& element) const {
    return static_cast<double>(static_cast<float>(element));
  }
};

inline CommonStart<double> widened_start(const CommonStart<float>& start) {
  return {start.value.exists ? Maybe<double>(start.value.value) : Maybe<double>()};
}
template <class T>
auto widened_start(const StartOfEachLine<float, T>& start) {
  using Values = ZippedInput<Widening, List<std::remove_cvref_t<decltype(start.values)>>>;
  return StartOfEachLine<double, Values>{{{}, {start.values, {}}}};
}

/// The same problem, combined in double. Results and totals keep their types.
template <class In, class Value, class Start, class Total>
auto widened(const Problem<float, Prod<float>, In, Value, Start, Total>& p) {
  const auto start = widened_start(p.start);
  const Maybe<double> identity = widened_start(CommonStart<float>{p.identity}).value;
  using WideIn = ZippedInput<Widening, List<In>>;
  using WideProblem =
      Problem<double, Prod<double>, WideIn, Value, std::remove_const_t<decltype(start)>, Total>;
  return WideProblem{p.function,          p.n,      p.batch, p.form,  p.extra, {}, identity,
                     {{}, {p.input, {}}}, p.output, start,   p.totals};
}

/// Whether a problem is combined in double.
template <class P>
inline constexpr bool can_be_widened = false;
template <class In, class Value, class Start, class Total>
inline constexpr bool can_be_widened<Problem<float, Prod<float>, In, Value, Start, Total>> =
    std::is_default_constructible_v<element_t<In>>;

}  // namespace KokkosScan::impl::host
