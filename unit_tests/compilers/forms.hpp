// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Every public form of a scan, for compilers that the tests are not built with: what each of them
/// compiles is compared with a plain loop, where the machine can run it. It needs Kokkos and the
/// library alone.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

namespace forms {

namespace ks = KokkosScan;

template <class Exec, class T>
using Array = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space>;
template <class Exec, class T>
using Values = Kokkos::View<T*, typename Exec::memory_space>;

/// Rows and columns of what is scanned: of several chunks along each axis.
inline constexpr int rows = 40, columns = 301;

inline int failures = 0;
inline int checks = 0;
inline void check(bool is_right, const char* form, std::int64_t line, std::int64_t k) {
  ++checks;
  if (is_right) return;
  ++failures;
  std::printf("%s: line %lld, element %lld is wrong\n", form, static_cast<long long>(line),
              static_cast<long long>(k));
}

/// Small numbers, whose sums every type holds exactly or wraps.
KOKKOS_INLINE_FUNCTION int number(std::int64_t i, std::int64_t k) {
  return static_cast<int>((3 * i + 5 * k) % 7) + 1;
}
KOKKOS_INLINE_FUNCTION bool is_kept(std::int64_t i, std::int64_t k) { return (i + 3 * k) % 4 != 0; }

/// A small number as another type.
template <class T, class Number>
T as(const Number& value) {
  if constexpr (requires { typename T::value_type; }) {
    return T(static_cast<typename T::value_type>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// A View on the device of what make(i, k) is.
template <class Exec, class T, class Make>
Array<Exec, T> filled(const Make& make) {
  const Array<Exec, T> x("x", rows, columns);
  const auto host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < columns; ++k) host(i, k) = as<T>(make(i, k));
  }
  Kokkos::deep_copy(x, host);
  return x;
}
template <class Exec, class T>
Array<Exec, T> numbers() {
  return filled<Exec, T>(number);
}

enum class Form { inclusive, exclusive, with_total };

/// What a call scans, and how.
struct Lines {
  int axis = 1;
  bool is_backward = false;
  Form form = Form::inclusive;
};

/// Compares results with a loop. `value(i, k)` is what is scanned, in the type in which `op`
/// combines.
template <class View, class Value, class Op, class A>
void compare(const char* name, const Lines& lines, const View& results, const Value& value,
             const Op& op, std::optional<A> start) {
  const auto y = Kokkos::create_mirror_view(results);
  Kokkos::deep_copy(y, results);
  const int n = lines.axis == 1 ? columns : rows, count = lines.axis == 1 ? rows : columns;
  for (int line = 0; line < count; ++line) {
    const auto result = [&](int k) { return lines.axis == 1 ? y(line, k) : y(k, line); };
    std::optional<A> before = start;
    for (int step = 0; step < n; ++step) {
      const int k = lines.is_backward ? n - 1 - step : step;
      const A element = lines.axis == 1 ? value(line, k) : value(k, line);
      const A after = before ? static_cast<A>(op(*before, element)) : element;
      using T = typename View::non_const_value_type;
      switch (lines.form) {
        case Form::inclusive:
          check(result(k) == static_cast<T>(after), name, line, k);
          break;
        case Form::exclusive:
          check(result(k) == static_cast<T>(*before), name, line, k);
          break;
        case Form::with_total: {
          const int place = lines.is_backward ? k + 1 : k;
          check(result(place) == static_cast<T>(*before), name, line, place);
          if (step == n - 1) {
            const int end = lines.is_backward ? 0 : n;
            check(result(end) == static_cast<T>(after), name, line, end);
          }
        }
      }
      before = after;
    }
  }
}

/// All forms of sums of numbers of type In into Out.
template <class Exec, class In, class Out = In>
void sums(const char* name) {
  const Exec exec;
  const auto x = numbers<Exec, In>();
  const auto value = [](int i, int k) { return static_cast<Out>(as<In>(number(i, k))); };
  const auto add = [](const Out& a, const Out& b) { return static_cast<Out>(a + b); };
  for (int axis = 0; axis < 2; ++axis) {
    for (const bool is_backward : {false, true}) {
      auto along = ks::along(axis);
      if (is_backward) along = along.backward();
      const Array<Exec, Out> y("y", rows, columns);
      ks::inclusive_scan(exec, x, y, along);
      exec.fence();
      compare<>(name, {axis, is_backward}, y, value, add, std::optional<Out>{});
      const int more = axis == 0 ? 1 : 0;
      const Array<Exec, Out> longer("longer", static_cast<std::size_t>(rows + more),
                                    static_cast<std::size_t>(columns + 1 - more));
      ks::exclusive_scan(exec, x, y, along);
      ks::exclusive_scan(exec, x, longer, along);
      exec.fence();
      compare<>(name, {axis, is_backward, Form::exclusive}, y, value, add, std::optional(Out(0)));
      compare<>(name, {axis, is_backward, Form::with_total}, longer, value, add,
                std::optional(Out(0)));
    }
  }
}

}  // namespace forms
