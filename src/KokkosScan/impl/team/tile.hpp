// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// One tile of a line, scanned by one team with one chunk per thread.

#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/team/line.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <climits>
#include <cstddef>

namespace KokkosScan::impl::team {

/// Visits the chunks of a tile in order, as many at a time as the team has threads.
///
/// \param total  total(j) returns the total of chunk j; called once for each chunk, by one thread
/// \param visit  visit(j, prefix) processes chunk j with its prefix; by one thread
/// \param totals scratch memory for one value per thread
/// \param prefix that of the tile's first chunk; on return, at the end of the tile (not yet added)
template <class Member, class Op, class R, class Total, class Visit>
KOKKOS_FUNCTION void for_each_chunk(const Member& team, const Op& op, std::int64_t first_chunk,
                                    std::int64_t last_chunk, R* totals, Prefix<R>& prefix,
                                    const Total& total, const Visit& visit) {
  const int rank = team.team_rank();
  const int threads = team.team_size();
  for (std::int64_t chunk = first_chunk; chunk < last_chunk; chunk += threads) {
    const bool has_chunk = chunk + rank < last_chunk;
    if (has_chunk) totals[rank] = total(chunk + rank);
    team.team_barrier();
    // Each thread walks over all totals left to right, as the combination tree requires.
    Prefix<R> mine;
    const std::int64_t count = last_chunk - chunk < threads ? last_chunk - chunk : threads;
    for (int t = 0; t < count; ++t) {
      if (t == rank) mine = prefix;
      prefix.add_chunk(op, totals[t]);
    }
    team.team_barrier();
    if (has_chunk) visit(chunk + rank, mine);
  }
}

/// The end of a chunk, as an element index.
KOKKOS_INLINE_FUNCTION std::int64_t end_of_chunk(std::int64_t chunk, std::int64_t n) {
  const std::int64_t end = (chunk + 1) * chunk_length;
  return end < n ? end : n;
}

/// The team's scratch memory for one total per thread.
template <class R, class Member>
KOKKOS_FUNCTION R* scratch_for_totals(const Member& team) {
  return static_cast<R*>(
      team.team_shmem().get_shmem_aligned(team.team_size() * sizeof(R), alignof(R)));
}

/// A policy for `work` pieces of work in a loop over the league. The team size is the given one, or
/// if that is 0, the one recommended for `functor`, at most one thread per chunk of a tile.
template <class R, class Exec, class Functor>
auto team_policy(const Exec& exec, std::int64_t work, std::int64_t chunks, int team_size,
                 const Functor& functor) {
  // The league size is an int and grids have limits; more teams than this are never needed.
  constexpr std::int64_t most_teams = 65536;
  const int league = static_cast<int>(std::min(work, most_teams));
  // One total per thread, and padding to align the first.
  const auto scratch = Kokkos::PerTeam(static_cast<int>(alignof(R)));
  const auto scratch_of_thread = Kokkos::PerThread(static_cast<int>(sizeof(R)));
  const auto policy_of = [&](auto size) {
    return light(Kokkos::TeamPolicy<Exec>(exec, league, size)
                     .set_scratch_size(0, scratch, scratch_of_thread));
  };
  if (team_size == 0) {
    const int recommended =
        policy_of(Kokkos::AUTO).team_size_recommended(functor, Kokkos::ParallelForTag{});
    team_size =
        static_cast<int>(std::min<std::int64_t>(recommended, std::min(chunks, chunks_of_tile)));
  }
  return policy_of(team_size);
}

}  // namespace KokkosScan::impl::team
