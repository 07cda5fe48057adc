// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each team lists the neighbours of one atom that are closer than a cutoff, in their order, inside
// a user's kernel: a compaction, whose positions are an exclusive scan of the kept elements.
//
// Replaces, for each atom i:
//   count(i) = 0;
//   for (int j = 0; j < n; ++j) {
//     if (j != i && abs(x(j) - x(i)) < cutoff) neighbour(i, count(i)++) = j;
//   }
//
// Prints:
//   atom 0: 1 2
//   atom 1: 0 2
//   atom 2: 0 1 3
//   atom 3: 2
//   atom 4:
//   The loop stores the same.

#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>

namespace ks = KokkosScan;

using Policy = Kokkos::TeamPolicy<>;

struct Neighbours {
  Kokkos::View<double*> x;
  Kokkos::View<int**> neighbour;
  Kokkos::View<int*> count;
  double cutoff;

  KOKKOS_FUNCTION bool is_near(int i, int j) const {
    return j != i && x(j) - x(i) < cutoff && x(i) - x(j) < cutoff;
  }
};

/// A team for each atom.
struct FindNeighbours : Neighbours {
  KOKKOS_FUNCTION void operator()(const Policy::member_type& member) const {
    const int i = member.league_rank();
    //! [exclusive]
    const int kept = ks::team::exclusive_scan(
        Kokkos::TeamThreadRange(member, 0, static_cast<int>(x.extent(0))),
        [&](int j) { return is_near(i, j) ? 1 : 0; },
        [&](int j, int place) {
          if (is_near(i, j)) neighbour(i, place) = j;
        });
    Kokkos::single(Kokkos::PerTeam(member), [&]() { count(i) = kept; });
    //! [exclusive]
  }
};

/// The loop.
struct LoopOfAtom : Neighbours {
  KOKKOS_FUNCTION void operator()(int i) const {
    count(i) = 0;
    for (int j = 0; j < static_cast<int>(x.extent(0)); ++j) {
      if (is_near(i, j)) neighbour(i, count(i)++) = j;
    }
  }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const int atoms = 5;
  const Kokkos::View<double*> x("x", atoms);
  const auto x_host = Kokkos::create_mirror_view(x);
  const double places[atoms] = {0, 0.5, 1, 2, 9};
  for (int i = 0; i < atoms; ++i) x_host(i) = places[i];
  Kokkos::deep_copy(x, x_host);

  const auto make = [&] {
    return Neighbours{x, Kokkos::View<int**>("neighbours", atoms, atoms),
                      Kokkos::View<int*>("count", atoms), 1.25};
  };
  const FindNeighbours by_team{make()};
  Policy policy(atoms, Kokkos::AUTO);
  const std::size_t bytes = ks::team::scratch_bytes<int>(policy);
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  Kokkos::parallel_for(policy, by_team);
  const LoopOfAtom by_loop{make()};
  Kokkos::parallel_for(atoms, by_loop);

  const auto host = [](const auto& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  };
  const auto count = host(by_team.count), loop_count = host(by_loop.count);
  const auto neighbour = host(by_team.neighbour), loop_neighbour = host(by_loop.neighbour);
  bool same = true;
  for (int i = 0; i < atoms; ++i) {
    std::printf("atom %d:", i);
    same = same && count(i) == loop_count(i);
    for (int j = 0; j < count(i); ++j) {
      std::printf(" %d", neighbour(i, j));
      same = same && neighbour(i, j) == loop_neighbour(i, j);
    }
    std::printf("\n");
  }
  std::printf("The loop stores %s.\n", same ? "the same" : "something else");
}
