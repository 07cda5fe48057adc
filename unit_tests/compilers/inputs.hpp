// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a scan reads, where its results go, and what else a call takes.

#include "forms.hpp"

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

namespace forms {

struct Number {
  KOKKOS_FUNCTION float operator()(std::int64_t i, std::int64_t k) const {
    return static_cast<float>(number(i, k));
  }
};
struct Product {
  KOKKOS_FUNCTION double operator()(double a, double b) const { return a * b; }
};
/// Bools reach a function of the caller's as bool, whatever kernels read them as.
struct Both {
  template <class A, class B>
  KOKKOS_FUNCTION int operator()(const A& a, const B& b) const {
    static_assert(std::is_same_v<A, bool> && std::is_same_v<B, bool>);
    return a && b ? 1 : 0;
  }
};
struct Twice {
  KOKKOS_FUNCTION double operator()(double result) const { return 2 * result; }
};
template <class View>
struct StoreNext {
  View y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, float result) const {
    y(i, k) = result + 1;
  }
};
struct IsLarge {
  KOKKOS_FUNCTION bool operator()(double value) const { return value > 3; }
};
struct BothAreLarge {
  KOKKOS_FUNCTION bool operator()(double a, double b) const { return a > 3 && b > 3; }
};
/// A pair of a value and whether it begins anew, whose sums are those of segments.
struct Flagged {
  float value;
  bool begins;
};
struct AddFlagged {
  using accumulator_type = Flagged;
  KOKKOS_FUNCTION Flagged operator()(const Flagged& a, const Flagged& b) const {
    return {b.begins ? b.value : a.value + b.value, a.begins || b.begins};
  }
};
struct ValueOf {
  KOKKOS_FUNCTION float operator()(const Flagged& f) const { return f.value; }
};

template <class Exec, class T, class M>
void masks(const char* name) {
  const Exec exec;
  const auto x = numbers<Exec, T>();
  const auto mask = filled<Exec, M>(is_kept);
  const Array<Exec, T> y("y", rows, columns);
  const auto value = [](int i, int k) { return as<T>(is_kept(i, k) ? number(i, k) : 0); };
  for (int axis = 0; axis < 2; ++axis) {
    ks::inclusive_scan(exec, ks::masked(x, mask), y, axis);
    exec.fence();
    compare<>(name, {axis}, y, value, std::plus<T>{}, std::optional<T>{});
    ks::exclusive_scan(exec, ks::masked(x, mask), y, ks::along(axis).backward());
    exec.fence();
    compare<>(name, {axis, true, Form::exclusive}, y, value, std::plus<T>{}, std::optional(T(0)));
  }
}

template <class Exec>
void inputs() {
  const Exec exec;
  masks<Exec, float, bool>("masked float");
  masks<Exec, double, bool>("masked double");
  masks<Exec, std::int32_t, unsigned char>("masked int32_t");
  masks<Exec, Kokkos::complex<float>, bool>("masked complex<float>");

  const Array<Exec, float> y("y", rows, columns);
  for (int axis = 0; axis < 2; ++axis) {
    ks::inclusive_scan(exec, ks::elementwise(y, Number{}), y, axis);
    exec.fence();
    compare<>("elementwise", {axis}, y, number, std::plus<>{}, std::optional<int>{});
  }
  const auto a = numbers<Exec, double>();
  const auto b = filled<Exec, double>(is_kept);
  const Array<Exec, double> z("z", rows, columns);
  ks::inclusive_scan(exec, ks::zip_transform(Product{}, a, b), z, 0);
  exec.fence();
  const auto product = [](int i, int k) { return is_kept(i, k) ? number(i, k) : 0; };
  compare<>("zip_transform", {0}, z, product, std::plus<>{}, std::optional<int>{});

  const auto flags = filled<Exec, bool>(is_kept);
  const Array<Exec, int> both("both", rows, columns);
  for (int axis = 0; axis < 2; ++axis) {
    ks::inclusive_scan(exec, ks::zip_transform(Both{}, flags, flags), both, axis);
    exec.fence();
    compare<>("bools of a zip_transform", {axis}, both, is_kept, std::plus<>{},
              std::optional<int>{});
  }
  ks::inclusive_scan(exec, ks::zip(numbers<Exec, float>(), flags), ks::projected(y, ValueOf{}), 1,
                     AddFlagged{});
  exec.fence();
  const auto sums = Kokkos::create_mirror_view(y);
  Kokkos::deep_copy(sums, y);
  float segment = 0;
  for (int k = 0; k < columns; ++k) {
    const auto value = static_cast<float>(number(1, k));
    segment = is_kept(1, k) ? value : segment + value;
    check(sums(1, k) == segment, "zip and projected", 1, k);
  }
}

template <class Exec>
void outputs() {
  const Exec exec;
  const auto x = numbers<Exec, double>();
  const Array<Exec, double> y("y", rows, columns);
  ks::inclusive_scan(exec, x, ks::projected(y, Twice{}), 1);
  exec.fence();
  const auto twice = [](int i, int k) { return 2 * number(i, k); };
  compare<>("projected", {}, y, twice, std::plus<>{}, std::optional<int>{});

  const auto few = numbers<Exec, float>();
  const Array<Exec, float> called("called", rows, columns);
  ks::inclusive_scan(exec, few, ks::for_each_result(called, StoreNext<Array<Exec, float>>{called}),
                     ks::along(1));
  exec.fence();
  const auto next = Kokkos::create_mirror_view(called);
  Kokkos::deep_copy(next, called);
  int sum = 0;
  for (int k = 0; k < columns; ++k) {
    sum += number(2, k);
    check(next(2, k) == static_cast<float>(sum + 1), "for_each_result", 2, k);
  }
}

template <class Exec>
void lines() {
  const Exec exec;
  const auto x = numbers<Exec, double>();
  const Array<Exec, double> y("y", rows, columns);
  const auto value = [](int i, int k) { return static_cast<double>(number(i, k)); };
  const std::plus<double> add;

  ks::inclusive_scan(exec, x, y, ks::along(0).starting_at(5).in_order());
  exec.fence();
  compare<>("starting_at, in_order", {0}, y, value, add, std::optional(5.0));
  const auto mask = filled<Exec, bool>(is_kept);
  const auto kept = [](int i, int k) { return is_kept(i, k) ? number(i, k) : 0; };
  for (int axis = 0; axis < 2; ++axis) {
    ks::inclusive_scan(exec, ks::masked(numbers<Exec, float>(), mask),
                       Array<Exec, float>("unused", rows, columns), ks::along(axis).in_order());
    ks::inclusive_scan(exec, ks::masked(x, mask), y, ks::along(axis).in_order());
    exec.fence();
    compare<>("masked, in_order", {axis}, y, kept, std::plus<>{}, std::optional<int>{});
  }

  const Values<Exec, double> starts("starts", rows), totals("totals", rows);
  Kokkos::deep_copy(starts, 2.0);
  exec.fence();
  const auto with_totals = ks::along(1).starting_at(starts).totals(totals);
  const std::size_t bytes = ks::workspace_bytes(exec, x, y, with_totals);
  const Kokkos::View<std::byte*, typename Exec::memory_space> workspace("workspace", bytes);
  ks::inclusive_scan(exec, x, y, with_totals.workspace(workspace));
  exec.fence();
  compare<>("starts and totals", {}, y, value, add, std::optional(2.0));
  const auto ends = Kokkos::create_mirror_view(totals);
  const auto results = Kokkos::create_mirror_view(y);
  Kokkos::deep_copy(ends, totals);
  Kokkos::deep_copy(results, y);
  for (int i = 0; i < rows; ++i) {
    check(ends(i) == results(i, columns - 1), "totals", i, columns - 1);
  }
}

template <class Exec>
void recurrences() {
  const Exec exec;
  const auto half = [](int, int) { return 0.5; };
  const auto b = numbers<Exec, double>();
  const Array<Exec, double> h("h", rows, columns);
  const Values<Exec, double> of_each_line("of each line", rows);
  Kokkos::deep_copy(of_each_line, 0.5);
  const auto value = [](int i, int k) { return static_cast<double>(number(i, k)); };
  const auto step = [](double state, double term) { return 0.5 * state + term; };
  // Each `period` steps the state begins anew.
  const auto near = [&](const char* name, int period = 1000000) {
    exec.fence();
    const auto states = Kokkos::create_mirror_view(h);
    Kokkos::deep_copy(states, h);
    double state = 0;
    for (int k = 0; k < columns; ++k) {
      state = step(k % period == 0 ? 0 : state, value(3, k));
      const double difference = states(3, k) - state;
      check(difference < 1e-12 && difference > -1e-12, name, 3, k);
    }
  };
  ks::linear_recurrence(exec, filled<Exec, double>(half), b, h);
  near("linear_recurrence");
  ks::linear_recurrence(exec, 0.5, b, h, ks::along(1).in_order());
  near("linear_recurrence of a number, in_order");
  ks::linear_recurrence(exec, of_each_line, b, h);
  near("linear_recurrence of a View of the lines");
  const auto begins = filled<Exec, bool>([](int, int k) { return k % 5 == 0; });
  ks::linear_recurrence(exec, ks::resetting(of_each_line, begins), b, h);
  near("linear_recurrence with resets", 5);
}

template <class Exec>
void selections() {
  const Exec exec;
  const auto x = numbers<Exec, double>();
  const Array<Exec, double> kept("kept", rows, columns);
  const Values<Exec, int> count("count", rows);
  const auto compare_rows = [&](const char* name, const auto& is_selected) {
    exec.fence();
    const auto y = Kokkos::create_mirror_view(kept);
    const auto counts = Kokkos::create_mirror_view(count);
    Kokkos::deep_copy(y, kept);
    Kokkos::deep_copy(counts, count);
    for (int i = 0; i < rows; ++i) {
      int found = 0;
      for (int k = 0; k < columns; ++k) {
        if (!is_selected(i, k)) continue;
        check(y(i, found) == number(i, k), name, i, found);
        ++found;
      }
      check(counts(i) == found, name, i, found);
    }
  };
  ks::select(exec, x, IsLarge{}, kept, count);
  compare_rows("select by a predicate", [](int i, int k) { return number(i, k) > 3; });
  ks::select(exec, x, filled<Exec, bool>(is_kept), kept, count);
  compare_rows("select by a mask", is_kept);
  const Array<Exec, float> kept_too("kept, too", rows, columns);
  ks::select(exec, ks::zip(x, x), BothAreLarge{}, ks::zip(kept, kept_too), count);
  compare_rows("select from several Views", [](int i, int k) { return number(i, k) > 3; });
  ks::select(exec, x, IsLarge{}, x, count);
}

}  // namespace forms
