// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves a tracer from the layers of a column to layers of other thicknesses, inside a user's
// kernel, and computes the heights of the new interfaces from the ground up. The scans go through
// the team's scratch memory. Then a filter smooths the tracer downward.
//
// Replaces, for each column:
//   edge(0) = mass(0) = new_edge(0) = 0;
//   for (int k = 0; k < n; ++k) {
//     edge(k + 1) = edge(k) + dz(k);
//     mass(k + 1) = mass(k) + dz(k) * q(k);
//     new_edge(k + 1) = new_edge(k) + new_dz(k);
//   }
//   for (int k = 0; k < n; ++k) new_q(k) = (mass below new_edge(k + 1) - that below new_edge(k)) /
//   new_dz(k); height(n) = ground; for (int k = n - 1; k >= 0; --k) height(k) = height(k + 1) +
//   new_dz(k); smooth(0) = 0.5 * new_q(0); for (int k = 1; k < n; ++k) smooth(k) = 0.5 * smooth(k -
//   1) + 0.5 * new_q(k);
//
// Prints:
//   column 0: tracer 1 1.5 2.5 3.8, heights 110 109 107 105 100, smooth 0.5 1 1.75 2.775
//   column 1: tracer 2 3 5 7.6, heights 110 109 107 105 100, smooth 1 2 3.5 5.55
//   The loop stores the same.

#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>

namespace ks = KokkosScan;

using Layers = Kokkos::View<double**>;
using Policy = Kokkos::TeamPolicy<>;
using Scratch =
    Kokkos::View<double*, Policy::execution_space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

/// The mass above a depth; `edge` and `mass` are those at the interfaces.
template <class View>
KOKKOS_FUNCTION double mass_above(double depth, const View& edge, const View& mass, int n) {
  int k = 0;
  while (k < n - 1 && edge(k + 1) < depth) ++k;
  return mass(k) + (depth - edge(k)) * (mass(k + 1) - mass(k)) / (edge(k + 1) - edge(k));
}

/// A team for each column.
struct RemapColumn {
  Layers dz, q, new_dz, new_q, height, smooth;
  double ground;

  KOKKOS_FUNCTION void operator()(const Policy::member_type& member) const {
    const int i = member.league_rank(), n = static_cast<int>(dz.extent(1));
    const auto column = [&](const Layers& layers) {
      return Kokkos::subview(layers, i, Kokkos::ALL);
    };
    //! [scratch]
    const Scratch edge(member.team_scratch(0), n + 1), mass(member.team_scratch(0), n + 1);
    const Scratch new_edge(member.team_scratch(0), n + 1);
    // With the member instead of a range, n elements are scanned to n + 1.
    ks::team::exclusive_scan(member, column(dz), edge);
    ks::team::exclusive_scan(member, column(new_dz), new_edge);
    ks::team::exclusive_scan(
        Kokkos::TeamThreadRange(member, n), [&](int k) { return dz(i, k) * q(i, k); }, mass,
        ks::team::with_total());
    // Each scan ends with a barrier, so all threads may read what it stored.
    //! [scratch]
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](int k) {
      const double above = mass_above(new_edge(k), edge, mass, n);
      new_q(i, k) = (mass_above(new_edge(k + 1), edge, mass, n) - above) / new_dz(i, k);
    });
    //! [backward]
    ks::team::exclusive_scan(member, column(new_dz), column(height),
                             ks::team::starting_at(ground).backward());
    //! [backward]
    //! [linear_recurrence]
    ks::team::linear_recurrence(
        Kokkos::TeamThreadRange(member, n), 0.5, [&](int k) { return 0.5 * new_q(i, k); },
        column(smooth));
    //! [linear_recurrence]
  }
};

/// The loop.
struct LoopOfColumn {
  Layers dz, q, new_dz, new_q, height, smooth, edge, mass, new_edge;
  double ground;

  KOKKOS_FUNCTION void operator()(int i) const {
    const int n = static_cast<int>(dz.extent(1));
    edge(i, 0) = mass(i, 0) = new_edge(i, 0) = 0;
    for (int k = 0; k < n; ++k) {
      edge(i, k + 1) = edge(i, k) + dz(i, k);
      mass(i, k + 1) = mass(i, k) + dz(i, k) * q(i, k);
      new_edge(i, k + 1) = new_edge(i, k) + new_dz(i, k);
    }
    const auto edges = Kokkos::subview(edge, i, Kokkos::ALL);
    const auto masses = Kokkos::subview(mass, i, Kokkos::ALL);
    for (int k = 0; k < n; ++k) {
      const double above = mass_above(new_edge(i, k), edges, masses, n);
      new_q(i, k) = (mass_above(new_edge(i, k + 1), edges, masses, n) - above) / new_dz(i, k);
    }
    height(i, n) = ground;
    for (int k = n - 1; k >= 0; --k) height(i, k) = height(i, k + 1) + new_dz(i, k);
    smooth(i, 0) = 0.5 * new_q(i, 0);
    for (int k = 1; k < n; ++k) smooth(i, k) = 0.5 * smooth(i, k - 1) + 0.5 * new_q(i, k);
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
  const int columns = 2, n = 4;
  const auto make = [=](const char* name, int layers) { return Layers(name, columns, layers); };
  const RemapColumn remap{make("thickness", n),
                          make("tracer", n),
                          make("new thickness", n),
                          make("new tracer", n),
                          make("height", n + 1),
                          make("smooth", n),
                          100};
  const auto dz = Kokkos::create_mirror_view(remap.dz);
  const auto q = Kokkos::create_mirror_view(remap.q);
  const auto new_dz = Kokkos::create_mirror_view(remap.new_dz);
  const double old_layers[n] = {2, 2, 2, 4}, new_layers[n] = {1, 2, 2, 5};
  for (int i = 0; i < columns; ++i) {
    for (int k = 0; k < n; ++k) {
      dz(i, k) = old_layers[k];
      new_dz(i, k) = new_layers[k];
      q(i, k) = (i + 1) * (k + 1);
    }
  }
  Kokkos::deep_copy(remap.dz, dz);
  Kokkos::deep_copy(remap.q, q);
  Kokkos::deep_copy(remap.new_dz, new_dz);

  //! [policy]
  Policy policy(columns, Kokkos::AUTO);
  const std::size_t bytes =
      3 * Scratch::shmem_size(n + 1) + ks::team::scratch_bytes<ks::AffineMap<double>>(policy);
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  Kokkos::parallel_for(policy, remap);
  //! [policy]

  const LoopOfColumn loop{remap.dz,
                          remap.q,
                          remap.new_dz,
                          make("new q", n),
                          make("z", n + 1),
                          make("s", n),
                          make("edge", n + 1),
                          make("mass", n + 1),
                          make("new edge", n + 1),
                          100};
  Kokkos::parallel_for(columns, loop);

  const auto tracer = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, remap.new_q);
  const auto height = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, remap.height);
  const auto smooth = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, remap.smooth);
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d: tracer", i);
    for (int k = 0; k < n; ++k) std::printf(" %g", tracer(i, k));
    std::printf(", heights");
    for (int k = 0; k <= n; ++k) std::printf(" %g", height(i, k));
    std::printf(", smooth");
    for (int k = 0; k < n; ++k) std::printf(" %g", smooth(i, k));
    std::printf("\n");
  }
  const bool same = are_equal(remap.new_q, loop.new_q) && are_equal(remap.height, loop.height) &&
                    are_equal(remap.smooth, loop.smooth);
  std::printf("The loop stores %s.\n", same ? "the same" : "something else");
}
