// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The answers of docs/faq.md.
//
// Replaces, for the moving sums of width w:
//   for (int k = 0; k < n; ++k) for (int j = max(0, k - w + 1); j <= k; ++j) y(k) += x(j);
// and, for the second-order recurrence:
//   for (int k = 0; k < n; ++k) h(k) = p * h(k - 1) + q * h(k - 2) + x(k);
//
// Prints:
//   int8 into int8: 100 -56 44
//   int8 into int64: 100 200 300
//   kept: x 2 4, y 20 40, z 200 400
//   moving sums: 1 3 6 9
//   Fibonacci: 1 1 2 3
//   running maxima: 2 3 3 4

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Line = Kokkos::View<double*>;

Line line_of(std::initializer_list<double> values) {
  const Line x("x", values.size());
  const auto host = Kokkos::create_mirror_view(x);
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(x, host);
  return x;
}

template <class View>
void print(const char* what, const View& y, std::size_t count) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::printf("%s", what);
  for (std::size_t k = 0; k < count; ++k) std::printf(" %g", static_cast<double>(host(k)));
}

void widen(const Exec& exec) {
  const Kokkos::View<std::int8_t*> x("x", 3), wraps("wraps", 3);
  const Kokkos::View<std::int64_t*> widens("widens", 3);
  Kokkos::deep_copy(x, 100);
  ks::inclusive_scan(exec, x, wraps);   // combined in int8: 100, -56, 44
  ks::inclusive_scan(exec, x, widens);  // combined in int64: 100, 200, 300
  print("int8 into int8:", wraps, 3);
  print("\nint8 into int64:", widens, 3);
}

struct OwnIndex {
  KOKKOS_FUNCTION int operator()(std::int64_t i) const { return static_cast<int>(i); }
};
struct IsEven {
  Line x;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return Kokkos::fmod(x(i), 2.0) == 0; }
};
struct Gather {
  Kokkos::View<const int*> kept;
  Kokkos::View<const int> count;
  Line x, y, z, x_kept, y_kept, z_kept;
  KOKKOS_FUNCTION void operator()(int j) const {
    if (j >= count()) return;
    const int i = kept(j);
    x_kept(j) = x(i);
    y_kept(j) = y(i);
    z_kept(j) = z(i);
  }
};

void compact(const Exec& exec) {
  const Line x = line_of({1, 2, 3, 4}), y = line_of({10, 20, 30, 40});
  const Line z = line_of({100, 200, 300, 400});
  const Line x_kept("x", 4), y_kept("y", 4), z_kept("z", 4);
  const int n = 4;
  const Kokkos::View<int*> kept("kept", n);
  const Kokkos::View<int> count("count");
  // The indices of the elements to keep, then one kernel that gathers all arrays.
  ks::select(exec, ks::elementwise({n}, OwnIndex{}), ks::elementwise({n}, IsEven{x}), kept, count);
  Kokkos::parallel_for(Kokkos::RangePolicy(exec, 0, n),
                       Gather{kept, count, x, y, z, x_kept, y_kept, z_kept});
  print("\nkept: x", x_kept, 2);
  print(", y", y_kept, 2);
  print(", z", z_kept, 2);
}

struct Difference {
  Kokkos::View<const double*> sums;
  Line y;
  int width;
  KOKKOS_FUNCTION void operator()(int k) const {
    y(k) = sums(k + 1) - sums(k + 1 < width ? 0 : k + 1 - width);
  }
};

void moving_sums(const Exec& exec) {
  const Line x = line_of({1, 2, 3, 4}), y("y", 4), sums("sums", 5);
  ks::exclusive_scan(exec, x, sums);  // n + 1 sums: sums(k) is that of the first k elements
  Kokkos::parallel_for(Kokkos::RangePolicy(exec, 0, 4), Difference{sums, y, 3});
  print("\nmoving sums:", y, 4);
}

/// (h[k], h[k-1]) = m (h[k-1], h[k-2]) + v
struct Step {
  double m[2][2], v[2];
};
/// First f, then g.
struct Compose {
  using accumulator_type = Step;
  KOKKOS_FUNCTION Step operator()(const Step& f, const Step& g) const {
    Step h;
    for (int r = 0; r < 2; ++r) {
      for (int c = 0; c < 2; ++c) h.m[r][c] = g.m[r][0] * f.m[0][c] + g.m[r][1] * f.m[1][c];
      h.v[r] = g.m[r][0] * f.v[0] + g.m[r][1] * f.v[1] + g.v[r];
    }
    return h;
  }
};
struct StepOf {
  double p, q;
  Line x;
  KOKKOS_FUNCTION Step operator()(std::int64_t k) const { return {{{p, q}, {1, 0}}, {x(k), 0}}; }
};
struct State {
  KOKKOS_FUNCTION double operator()(const Step& step) const { return step.v[0]; }
};

void second_order(const Exec& exec) {
  const Line x = line_of({1, 0, 0, 0}), h("h", 4);
  const double p = 1, q = 1;
  // It starts at h[-1] = h[-2] = 0: the start is the constant map to that state.
  ks::inclusive_scan(exec, ks::elementwise(x, StepOf{p, q, x}), ks::projected(h, State{}),
                     ks::along(0).starting_at(Step{}), Compose{});
  print("\nFibonacci:", h, 4);
}

void both_namespaces(const Exec& exec) {
  const Line x = line_of({2, 3, 1, 4}), y("y", 4);
  using namespace Kokkos;
  using namespace KokkosScan;
  inclusive_scan(exec, x, y, 0, KokkosScan::Max{});  // Max{} alone could be Kokkos::Max
  print("\nrunning maxima:", y, 4);
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Exec exec;
  widen(exec);
  compact(exec);
  moving_sums(exec);
  second_order(exec);
  both_namespaces(exec);
  std::printf("\n");
}
