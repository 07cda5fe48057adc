// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pressure in the columns of an ocean model, at the interfaces and at the midpoints of layers,
// where each column has a first and a last layer of its own: what E3SM's Omega computes before each
// step. One pass stores both.
//
// Replaces, for each column i:
//   interface(i, first(i)) = surface(i);
//   for (int k = first(i); k <= last(i); ++k) {
//     const double weight = gravity * density(i, k) * thickness(i, k);
//     interface(i, k + 1) = interface(i, k) + weight;
//     midpoint(i, k) = interface(i, k) + 0.5 * weight;
//   }
//
// Prints:
//   column 0, layers 0 to 3: interfaces 2 12 32 62 102, midpoints 7 22 47 82
//   column 1, layers 1 to 2: interfaces 4 44 104, midpoints 24 74
//   column 2, layers 0 to 1: interfaces 8 38 98, midpoints 23 68
//   The loop stores the same.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

using Layers = Kokkos::View<double**>;
using Columns = Kokkos::View<int*>;

//! [functions]
/// The weight of a layer, 0 where a column has none.
struct Weight {
  Layers density, thickness;
  Columns first, last;
  double gravity;
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t k) const {
    if (k < first(i) || k > last(i)) return 0;
    return gravity * density(i, k) * thickness(i, k);
  }
};
/// What the pressure at an interface is needed for.
struct StorePressure {
  Weight weight;
  Layers interface, midpoint;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, double p) const {
    if (k < weight.first(i) || k > weight.last(i) + 1) return;
    interface(i, k) = p;
    if (k <= weight.last(i)) midpoint(i, k) = p + 0.5 * weight(i, k);
  }
};
//! [functions]

/// The loop.
struct PressureOfColumn {
  Weight weight;
  Kokkos::View<double*> surface;
  Layers interface, midpoint;
  KOKKOS_FUNCTION void operator()(int i) const {
    interface(i, weight.first(i)) = surface(i);
    for (int k = weight.first(i); k <= weight.last(i); ++k) {
      interface(i, k + 1) = interface(i, k) + weight(i, k);
      midpoint(i, k) = interface(i, k) + 0.5 * weight(i, k);
    }
  }
};

bool are_equal(const Layers& a, const Layers& b) {
  const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, a);
  const auto y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, b);
  for (std::size_t i = 0; i < x.extent(0); ++i) {
    for (std::size_t k = 0; k < x.extent(1); ++k) {
      if (x(i, k) != y(i, k)) return false;
    }
  }
  return true;
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int columns = 3, layers = 4;
  const Layers density("density", columns, layers), thickness("thickness", columns, layers);
  const Columns first("first layer", columns), last("last layer", columns);
  const Kokkos::View<double*> surface("surface pressure", columns);
  const Layers interface("interfaces", columns, layers + 1), midpoint("midpoints", columns, layers);

  const auto density_host = Kokkos::create_mirror_view(density);
  const auto thickness_host = Kokkos::create_mirror_view(thickness);
  const auto first_host = Kokkos::create_mirror_view(first);
  const auto last_host = Kokkos::create_mirror_view(last);
  const auto surface_host = Kokkos::create_mirror_view(surface);
  for (int i = 0; i < columns; ++i) {
    first_host(i) = i == 1 ? 1 : 0;
    last_host(i) = layers - 1 - i;
    surface_host(i) = 2 << i;
    for (int k = 0; k < layers; ++k) {
      density_host(i, k) = i + 1;
      thickness_host(i, k) = k + 1;
    }
  }
  Kokkos::deep_copy(density, density_host);
  Kokkos::deep_copy(thickness, thickness_host);
  Kokkos::deep_copy(first, first_host);
  Kokkos::deep_copy(last, last_host);
  Kokkos::deep_copy(surface, surface_host);

  const Weight weight{density, thickness, first, last, 10};
  //! [for_each_result]
  ks::exclusive_scan(
      exec, ks::elementwise({columns, layers}, weight),
      ks::for_each_result({columns, layers + 1}, StorePressure{weight, interface, midpoint}),
      ks::along(1).starting_at(surface));
  //! [for_each_result]

  const Layers by_loop("interfaces", columns, layers + 1), mid_by_loop("mid", columns, layers);
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultExecutionSpace>(exec, 0, columns),
                       PressureOfColumn{weight, surface, by_loop, mid_by_loop});

  const auto p = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, interface);
  const auto mid = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, midpoint);
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d, layers %d to %d: interfaces", i, first_host(i), last_host(i));
    for (int k = first_host(i); k <= last_host(i) + 1; ++k) std::printf(" %g", p(i, k));
    std::printf(", midpoints");
    for (int k = first_host(i); k <= last_host(i); ++k) std::printf(" %g", mid(i, k));
    std::printf("\n");
  }
  const bool same = are_equal(interface, by_loop) && are_equal(midpoint, mid_by_loop);
  std::printf("The loop stores %s.\n", same ? "the same" : "something else");
}
