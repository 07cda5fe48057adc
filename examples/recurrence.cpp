// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A first-order linear recurrence, solved in parallel: each step is an affine map, and composing
// maps is associative, though it does not commute.
//
// Replaces, for each line i:
//   double state = 1;
//   for (int k = 0; k < steps; ++k) x(i, k) = state = a(i, k) * state + b(i, k);
//
// Prints:
//   line 0: 3 8 19 42
//   line 1: 4.5 8 11.5 15

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

//! [operator]
/// x -> scale * x + shift
struct Affine {
  double scale, shift;
};

/// First f, then g. Its identity, x -> x, is what an exclusive scan would start with.
struct Compose {
  KOKKOS_FUNCTION Affine operator()(const Affine& f, const Affine& g) const {
    return {g.scale * f.scale, g.scale * f.shift + g.shift};
  }
  KOKKOS_FUNCTION static Affine identity() { return {1, 0}; }
};
//! [operator]

struct Step {
  Kokkos::View<const double**> a, b;
  KOKKOS_FUNCTION Affine operator()(std::int64_t i, std::int64_t k) const {
    return {a(i, k), b(i, k)};
  }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int lines = 2, steps = 4;
  const Kokkos::View<double**> a("a", lines, steps), b("b", lines, steps);
  const Kokkos::View<Affine**> maps("maps", lines, steps);

  const auto a_host = Kokkos::create_mirror_view(a);
  const auto b_host = Kokkos::create_mirror_view(b);
  for (int k = 0; k < steps; ++k) {
    a_host(0, k) = 2, b_host(0, k) = k + 1;  // x -> 2 x + k + 1
    a_host(1, k) = 1, b_host(1, k) = 3.5;    // x -> x + 3.5
  }
  Kokkos::deep_copy(a, a_host);
  Kokkos::deep_copy(b, b_host);

  ks::inclusive_scan(exec, ks::elementwise(maps, Step{a, b}), maps, 1, Compose{});

  const auto maps_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, maps);
  const double start = 1;
  for (int i = 0; i < lines; ++i) {
    std::printf("line %d:", i);
    for (int k = 0; k < steps; ++k) {
      std::printf(" %g", maps_host(i, k).scale * start + maps_host(i, k).shift);
    }
    std::printf("\n");
  }
}
