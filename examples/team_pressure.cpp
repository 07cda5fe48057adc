// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pressure in the columns of an ocean model, inside a user's kernel: at the interfaces and at
// the midpoints of layers, and the depth of each layer's floor, where each column has a first and a
// last layer of its own.
//
// Replaces, for each column i:
//   interface(i, first(i)) = surface(i);
//   for (int k = first(i); k <= last(i); ++k) {
//     const double weight = gravity * density(i, k) * thickness(i, k);
//     interface(i, k + 1) = interface(i, k) + weight;
//     midpoint(i, k) = interface(i, k) + 0.5 * weight;
//     depth(i, k) = thickness(i, k) + (k > first(i) ? depth(i, k - 1) : 0);
//   }
//
// Prints:
//   column 0, layers 0 to 3: interfaces 2 12 32 62 102, midpoints 7 22 47 82, depth 10
//   column 1, layers 1 to 2: interfaces 4 44 104, midpoints 24 74, depth 5
//   column 2, layers 0 to 1: interfaces 8 38 98, midpoints 23 68, depth 3
//   The loop stores the same.

#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>

namespace ks = KokkosScan;

using Layers = Kokkos::View<double**>;
using Policy = Kokkos::TeamPolicy<>;

struct Columns {
  Layers density, thickness, interface, midpoint, depth;
  Kokkos::View<double*> surface;
  Kokkos::View<int*> first, last, deepest;
};

/// A team for each column.
struct PressureOfColumn : Columns {
  KOKKOS_FUNCTION void operator()(const Policy::member_type& member) const {
    const int i = member.league_rank();
    const int begin = first(i), end = last(i) + 1;
    //! [for_each_step]
    const auto weight = [&](int k) { return 10 * density(i, k) * thickness(i, k); };
    const auto store = [&](int k, double above, double below) {
      interface(i, k) = above;
      midpoint(i, k) = above + 0.5 * (below - above);
      if (k == end - 1) interface(i, end) = below;
    };
    ks::team::for_each_step(Kokkos::TeamThreadRange(member, begin, end), weight, store,
                            ks::team::starting_at(surface(i)));
    //! [for_each_step]
    //! [inclusive]
    const double floor = ks::team::inclusive_scan(Kokkos::TeamThreadRange(member, begin, end),
                                                  Kokkos::subview(thickness, i, Kokkos::ALL),
                                                  Kokkos::subview(depth, i, Kokkos::ALL));
    // Every thread has the total.
    Kokkos::single(Kokkos::PerTeam(member), [&]() { deepest(i) = static_cast<int>(floor); });
    //! [inclusive]
  }
};

/// The loop.
struct LoopOfColumn : Columns {
  KOKKOS_FUNCTION void operator()(int i) const {
    interface(i, first(i)) = surface(i);
    for (int k = first(i); k <= last(i); ++k) {
      const double weight = 10 * density(i, k) * thickness(i, k);
      interface(i, k + 1) = interface(i, k) + weight;
      midpoint(i, k) = interface(i, k) + 0.5 * weight;
      depth(i, k) = thickness(i, k) + (k > first(i) ? depth(i, k - 1) : 0);
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
  const int columns = 3, layers = 4;
  const auto make = [=](const char* name, int n) { return Layers(name, columns, n); };
  const Columns ocean{make("density", layers),
                      make("thickness", layers),
                      make("interfaces", layers + 1),
                      make("midpoints", layers),
                      make("depth", layers),
                      Kokkos::View<double*>("surface pressure", columns),
                      Kokkos::View<int*>("first layer", columns),
                      Kokkos::View<int*>("last layer", columns),
                      Kokkos::View<int*>("deepest", columns)};
  const auto density = Kokkos::create_mirror_view(ocean.density);
  const auto thickness = Kokkos::create_mirror_view(ocean.thickness);
  const auto surface = Kokkos::create_mirror_view(ocean.surface);
  const auto first = Kokkos::create_mirror_view(ocean.first);
  const auto last = Kokkos::create_mirror_view(ocean.last);
  for (int i = 0; i < columns; ++i) {
    first(i) = i == 1 ? 1 : 0;
    last(i) = layers - 1 - i;
    surface(i) = 2 << i;
    for (int k = 0; k < layers; ++k) {
      density(i, k) = i + 1;
      thickness(i, k) = k + 1;
    }
  }
  Kokkos::deep_copy(ocean.density, density);
  Kokkos::deep_copy(ocean.thickness, thickness);
  Kokkos::deep_copy(ocean.surface, surface);
  Kokkos::deep_copy(ocean.first, first);
  Kokkos::deep_copy(ocean.last, last);

  //! [policy]
  Policy policy(columns, Kokkos::AUTO);
  const std::size_t bytes = ks::team::scratch_bytes<double>(policy);
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  Kokkos::parallel_for(policy, PressureOfColumn{ocean});
  //! [policy]

  LoopOfColumn loop{ocean};
  loop.interface = make("interfaces of the loop", layers + 1);
  loop.midpoint = make("midpoints of the loop", layers);
  loop.depth = make("depth of the loop", layers);
  Kokkos::parallel_for(columns, loop);

  const auto p = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, ocean.interface);
  const auto mid = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, ocean.midpoint);
  const auto deepest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, ocean.deepest);
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d, layers %d to %d: interfaces", i, first(i), last(i));
    for (int k = first(i); k <= last(i) + 1; ++k) std::printf(" %g", p(i, k));
    std::printf(", midpoints");
    for (int k = first(i); k <= last(i); ++k) std::printf(" %g", mid(i, k));
    std::printf(", depth %d\n", deepest(i));
  }
  const bool same = are_equal(ocean.interface, loop.interface) &&
                    are_equal(ocean.midpoint, loop.midpoint) && are_equal(ocean.depth, loop.depth);
  std::printf("The loop stores %s.\n", same ? "the same" : "something else");
}
