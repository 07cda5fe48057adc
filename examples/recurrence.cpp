// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A first-order linear recurrence, solved in parallel: each step is an affine map, and composing
// maps is associative, though not commutative. linear_recurrence() has that operator built in; the
// second scan does the same with a user-defined operator.
//
// Replaces, for each line i:
//   double state = 1;
//   for (int k = 0; k < steps; ++k) x(i, k) = state = a(i, k) * state + b(i, k);
//
// Prints:
//   line 0: 3 8 19 42
//   line 1: 4.5 8 11.5 15
//   by an operator of one's own: 3 8 19 42, 4.5 8 11.5 15

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;

//! [operator]
/// x -> scale * x + shift
struct Affine {
  double scale, shift;
};

/// First f, then g. Its identity, x -> x, is what an exclusive scan would start with.
struct Compose {
  using accumulator_type = Affine;
  KOKKOS_FUNCTION Affine operator()(const Affine& f, const Affine& g) const {
    return {g.scale * f.scale, g.scale * f.shift + g.shift};
  }
  KOKKOS_FUNCTION static Affine identity() { return {1, 0}; }
};
//! [operator]

struct ShiftOf {
  KOKKOS_FUNCTION double operator()(const Affine& map) const { return map.shift; }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int lines = 2, steps = 4;
  const Kokkos::View<double**> a("a", lines, steps), b("b", lines, steps);
  const Kokkos::View<double**> x("x", lines, steps), own("x", lines, steps);

  const auto a_host = Kokkos::create_mirror_view(a);
  const auto b_host = Kokkos::create_mirror_view(b);
  for (int k = 0; k < steps; ++k) {
    a_host(0, k) = 2, b_host(0, k) = k + 1;  // x -> 2 x + k + 1
    a_host(1, k) = 1, b_host(1, k) = 3.5;    // x -> x + 3.5
  }
  Kokkos::deep_copy(a, a_host);
  Kokkos::deep_copy(b, b_host);

  //! [linear_recurrence]
  ks::linear_recurrence(exec, a, b, x, ks::along(1).starting_at(1));
  //! [linear_recurrence]

  //! [zip]
  // The map to 1 is the start, and only the shift is stored.
  ks::inclusive_scan(exec, ks::zip(a, b), ks::projected(own, ShiftOf{}),
                     ks::along(1).starting_at(Affine{0, 1}), Compose{});
  //! [zip]

  const auto x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  const auto own_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, own);
  for (int i = 0; i < lines; ++i) {
    std::printf("line %d:", i);
    for (int k = 0; k < steps; ++k) std::printf(" %g", x_host(i, k));
    std::printf("\n");
  }
  std::printf("by an operator of one's own:");
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < steps; ++k) std::printf(" %g", own_host(i, k));
    std::printf(i == 0 ? "," : "\n");
  }
}
