// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans with one team per line: fewer lines than threads, but enough to keep all teams busy.

#include <KokkosScan/impl/team/line.hpp>
#include <KokkosScan/impl/team/tile.hpp>
#include <Kokkos_Core.hpp>
#include <string>

namespace KokkosScan::impl::team {

template <class P>
struct TeamPerLine {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    R* totals = scratch_for_totals<R>(team);
    for (std::int64_t i = team.league_rank(); i < problem.batch.count; i += team.league_size()) {
      scan(team, totals, Line<P>(problem, op, i));
    }
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void scan(const Member& team, R* totals, const Line<P>& line) const {
    const std::int64_t n = problem.n;
    const std::int64_t chunks = divide_up(n, chunk_length);
    // A total may alias the starting value, which is read here; for_each_chunk() has a barrier
    // before the total is stored.
    Prefix<R> prefix{line.start(), {}};
    for (std::int64_t first = 0; first < chunks; first += chunks_of_tile) {
      const std::int64_t last = first + chunks_of_tile < chunks ? first + chunks_of_tile : chunks;
      for_each_chunk(
          team, op, first, last, totals, prefix,
          [&](std::int64_t j) { return line.fold(j * chunk_length, end_of_chunk(j, n)); },
          [&](std::int64_t j, const Prefix<R>& before) {
            line.scan_chunk(j * chunk_length, end_of_chunk(j, n), before);
          });
      prefix.add_tile(op);
    }
  }
};

template <class Exec, class P>
void team_per_line(const Exec& exec, const std::string& label, const P& problem, int team_size) {
  const TeamPerLine<P> functor{problem, carrying(problem.op)};
  const auto policy = team_policy<typename Line<P>::R>(
      exec, problem.batch.count, divide_up(problem.n, chunk_length), team_size, functor);
  Kokkos::parallel_for(label + " [team/team_per_line]", policy, functor);
}

}  // namespace KokkosScan::impl::team
