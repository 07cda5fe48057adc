// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reference results, computed by a serial loop on the host that is independent of the library:
// exact modular arithmetic for integers, double-double for floating-point sums and products.
//
// A `Reference<Op, A>` folds values of the accumulator type A like Op. Its State is the wide value
// together with the data for the error bound:
//   state(a), combine(s, t), identity() -> std::optional<State>, matches<Out>(s, actual), print(s)

#include <KokkosScan/KokkosScan.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>

#include "types.hpp"

namespace test::oracle {

/// An unevaluated sum of two doubles, about 106 bits (Dekker 1971, Knuth's two-sum).
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  double const s = a.high + b.high;
  if (!std::isfinite(s)) return {s, 0};
  double const v = s - a.high;
  double const error = ((a.high - (s - v)) + (b.high - v)) + (a.low + b.low);
  double const high = s + error;
  return {high, error - (high - s)};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  double const p = a.high * b.high;
  if (!std::isfinite(p)) return {p, 0};
  double const error = std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high);
  double const high = p + error;
  return {high, error - (high - p)};
}

/// Half the distance from 1 to the next number, u.
template <class T>
constexpr double unit_roundoff() {
  if constexpr (is_complex<T>) {
    return unit_roundoff<typename T::value_type>();
  } else if constexpr (is_half<T>) {
    return 0x1p-11;
  } else {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  }
}

/// The maximum distance of `actual` from `exact`, if the accumulator (of type A) may have an error
/// of `accumulated`, and is then rounded to the output's type.
template <class A, class Out>
bool close(DoubleDouble exact, double accumulated, Out actual) {
  auto const value =
      static_cast<double>(static_cast<std::conditional_t<is_half<Out>, float, Out>>(actual));
  if (!std::isfinite(exact.high)) {
    return std::isnan(exact.high) ? std::isnan(value) : value == exact.high;
  }
  double rounding = 0;
  if (unit_roundoff<Out>() > unit_roundoff<A>()) {
    rounding = unit_roundoff<Out>() * (std::abs(exact.high) + accumulated);
    if constexpr (is_half<Out>) rounding += 0x1p-25;  // half of its smallest subnormal number
  }
  return std::abs((value - exact.high) - exact.low) <= accumulated + rounding;
}

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
std::string to_text(T const& value) {
  std::ostringstream text;
  text.precision(17);
  if constexpr (std::is_same_v<T, DoubleDouble>) {
    text << value.high << " + " << value.low;
  } else if constexpr (is_half<T>) {
    text << static_cast<float>(value);
  } else if constexpr (std::is_integral_v<T>) {
    text << +value;
  } else if constexpr (std::is_floating_point_v<T>) {
    text << value;
  } else if constexpr (is_complex<T>) {
    text << value.real() << (value.imag() < 0 ? "" : "+") << value.imag() << "i";
  } else {
    auto const* bytes = reinterpret_cast<unsigned char const*>(&value);
    text << '{' << std::hex;
    for (std::size_t i = 0; i + 4 <= sizeof(T); i += 4) {
      std::uint32_t word;
      std::memcpy(&word, bytes + i, 4);
      text << (i == 0 ? "" : " ") << word;
    }
    text << '}';
  }
  return text.str();
}

// --- sum and product ---

/// Integers: modulo 2^64, which is also correct modulo smaller powers of two.
template <class A>
struct Modular {
  using State = std::uint64_t;
  static State state(A a) { return static_cast<State>(a); }
  template <class Out>
  static bool matches(State s, Out actual) {
    return static_cast<Out>(static_cast<A>(s)) == actual;
  }
  static std::string print(State s) { return to_text(static_cast<A>(s)); }
};

/// Floats: the value, and the promised bound of the accumulator's error.
template <class A>
struct Floating {
  struct State {
    DoubleDouble value;
    double size;   ///< Sum: magnitudes so far. Prod: magnitude of the product.
    double count;  ///< factors so far
  };
  static State state(A a) {
    auto const value = static_cast<double>(a);
    return {{value, 0}, std::abs(value), 1};
  }
  static std::string print(State s) { return to_text(s.value); }
};

template <class Real>
struct Floating<Kokkos::complex<Real>> {
  struct State {
    DoubleDouble re, im;
    double size;
    double count;
  };
  static State state(Kokkos::complex<Real> a) {
    auto const re = static_cast<double>(a.real());
    auto const im = static_cast<double>(a.imag());
    return {{re, 0}, {im, 0}, std::hypot(re, im), 1};
  }
  static std::string print(State s) { return to_text(s.re) + ", " + to_text(s.im) + " i"; }
};

template <class A, class State, class Out>
bool close_state(State const& s, double accumulated, Out const& actual) {
  if constexpr (is_complex<Out>) {
    return close<A>(s.re, accumulated, actual.real()) && close<A>(s.im, accumulated, actual.imag());
  } else {
    return close<A>(s.value, accumulated, actual);
  }
}

template <class A>
using Base = std::conditional_t<std::is_integral_v<A>, Modular<A>, Floating<A>>;

template <class A>
struct SumReference : Base<A> {
  using State = typename Base<A>::State;
  static State combine(State a, State b) {
    if constexpr (std::is_integral_v<A>) {
      return a + b;
    } else if constexpr (is_complex<A>) {
      return {a.re + b.re, a.im + b.im, a.size + b.size, a.count + b.count};
    } else {
      return {a.value + b.value, a.size + b.size, a.count + b.count};
    }
  }
  static std::optional<State> identity() { return Base<A>::state(A(0)); }
  template <class Out>
  static bool matches(State s, Out actual) {
    if constexpr (std::is_integral_v<A>) {
      return Base<A>::matches(s, actual);
    } else {
      // The promised bound: 8 u times the sum of magnitudes so far.
      return close_state<A>(s, 8 * unit_roundoff<A>() * s.size, actual);
    }
  }
};

template <class A>
struct ProdReference : Base<A> {
  using State = typename Base<A>::State;
  static State combine(State a, State b) {
    if constexpr (std::is_integral_v<A>) {
      return a * b;
    } else if constexpr (is_complex<A>) {
      return {a.re * b.re + -(a.im * b.im), a.re * b.im + a.im * b.re, a.size * b.size,
              a.count + b.count};
    } else {
      return {a.value * b.value, a.size * b.size, a.count + b.count};
    }
  }
  static std::optional<State> identity() { return Base<A>::state(A(1)); }
  template <class Out>
  static bool matches(State s, Out actual) {
    if constexpr (std::is_integral_v<A>) {
      return Base<A>::matches(s, actual);
    } else {
      // The promised bound: 8 u of the product for float; one rounding per factor for double, four
      // for complex numbers.
      double const each = is_complex<A> ? 4 : 1;
      double const roundings = unit_roundoff<A>() == 0x1p-24 ? 8 : each * (s.count + 1);
      return close_state<A>(s, roundings * unit_roundoff<A>() * s.size, actual);
    }
  }
};

// --- minimum and maximum: NaN wins ---

template <class A, bool Less>
struct ExtremeReference {
  using State = A;
  static State state(A a) { return a; }
  static State combine(State a, State b) {
    if (a != a) return a;
    if (b != b) return b;
    return (Less ? b < a : a < b) ? b : a;
  }
  static std::optional<State> identity() {
    if constexpr (is_float<A>) {
      double const infinity = std::numeric_limits<double>::infinity();
      return static_cast<A>(Less ? infinity : -infinity);
    } else {
      return Less ? std::numeric_limits<A>::max() : std::numeric_limits<A>::lowest();
    }
  }
  template <class Out>
  static bool matches(State s, Out actual) {
    if (s != s) {
      return std::isnan(
          static_cast<double>(static_cast<std::conditional_t<is_half<Out>, float, Out>>(actual)));
    }
    return same_bits(static_cast<Out>(s), actual);
  }
  static std::string print(State s) { return to_text(s); }
};

// --- any other operator: applied from left to right, compared bit by bit ---

template <class Op, class A>
struct Reference {
  using State = A;
  static State state(A const& a) { return a; }
  static State combine(State const& a, State const& b) { return Op{}(a, b); }
  static std::optional<State> identity() {
    if constexpr (requires { Op{}.identity(); }) {
      return Op{}.identity();
    } else {
      return std::nullopt;
    }
  }
  template <class Out>
  static bool matches(State const& s, Out const& actual) {
    return same_bits(static_cast<Out>(s), actual);
  }
  static std::string print(State const& s) { return to_text(s); }
};

template <class T, class A>
struct Reference<KokkosScan::Sum<T>, A> : SumReference<A> {};
template <class T, class A>
struct Reference<KokkosScan::Prod<T>, A> : ProdReference<A> {};
template <class T, class A>
struct Reference<KokkosScan::Min<T>, A> : ExtremeReference<A, true> {};
template <class T, class A>
struct Reference<KokkosScan::Max<T>, A> : ExtremeReference<A, false> {};

/// Intervals: joined neighbours, without the operator's fault counter.
struct IntervalReference {
  using State = Interval;
  static State state(Interval const& a) { return a; }
  static State combine(State const& a, State const& b) { return {a.begin, b.end, 0}; }
  static std::optional<State> identity() { return std::nullopt; }
  template <class Out>
  static bool matches(State const& s, Out const& actual) {
    return same_bits(s, actual);
  }
  static std::string print(State const& s) { return to_text(s); }
};
template <>
struct Reference<JoinIntervals, Interval> : IntervalReference {};
template <>
struct Reference<JoinAscending, Interval> : IntervalReference {
  static State combine(State const& a, State const& b) {
    if (JoinAscending::is_identity(a)) return b;
    if (JoinAscending::is_identity(b)) return a;
    return {a.begin, b.end, 0};
  }
  static std::optional<State> identity() { return JoinAscending::identity(); }
};

// --- the documented accumulator ---

template <class Op>
struct NamedAccumulator {
  using type = void;
};
template <class Op>
requires requires { typename Op::accumulator_type; }
struct NamedAccumulator<Op> {
  using type = typename Op::accumulator_type;
};
template <class T>
struct NamedAccumulator<KokkosScan::Sum<T>> {
  using type = T;
};
template <class T>
struct NamedAccumulator<KokkosScan::Prod<T>> {
  using type = T;
};
template <class T>
struct NamedAccumulator<KokkosScan::Min<T>> {
  using type = T;
};
template <class T>
struct NamedAccumulator<KokkosScan::Max<T>> {
  using type = T;
};

/// The operator's accumulator_type, else float for 16-bit outputs, else the output's value type.
template <class Op, class Out>
using accumulator_of = std::conditional_t<!std::is_void_v<typename NamedAccumulator<Op>::type>,
                                          typename NamedAccumulator<Op>::type,
                                          std::conditional_t<is_half<Out>, float, Out>>;

/// Calls visit(k, prefix) for k = 0 to n, where prefix is the fold of `start` and the first k
/// values, or nothing if there is neither a start, an identity, nor a value yet. value(k) is the
/// k-th value in scan order; keep(k) says whether the mask keeps it.
template <class Ref, class Value, class Keep, class Visit>
void walk_line(std::int64_t n, Value&& value, Keep&& keep,
               std::optional<typename Ref::State> prefix, Visit&& visit) {
  bool const started = prefix.has_value();
  if (!started) prefix = Ref::identity();
  bool folded = started;
  visit(std::int64_t(0), prefix);
  for (std::int64_t k = 0; k < n; ++k) {
    if (keep(k)) {
      prefix.emplace(folded ? Ref::combine(*prefix, Ref::state(value(k))) : Ref::state(value(k)));
      folded = true;
    }
    visit(k + 1, prefix);
  }
}

}  // namespace test::oracle
