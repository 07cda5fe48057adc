// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Chooses how the threads of an execution space share the lines: a pure function.

#include <KokkosScan/impl/team/line.hpp>
#include <cstdint>

namespace KokkosScan::impl::team {

/// How lines are shared among threads. Results do not depend on it.
enum class Regime {
  automatic,        ///< let choose() decide
  thread_per_line,  ///< each thread scans whole lines, reading each element once
  team_per_line,    ///< each team scans whole lines, reading each element twice
  split_lines       ///< teams share a line: fold tiles, scan their totals, replay
};

/// The numbers of threads and teams that run concurrently on an execution space instance.
struct Parallelism {
  std::int64_t threads;
  std::int64_t teams;  ///< equal to threads if a team is one thread
};

/// The regime for `lines` lines of n elements: the fewest threads per line that keep all busy.
constexpr Regime choose(std::int64_t n, std::int64_t lines, Parallelism at_once) {
  if (lines >= at_once.threads || n <= chunk_length) return Regime::thread_per_line;
  const bool teams_of_one = at_once.teams == at_once.threads;
  if (n > tile_length && lines < at_once.teams) return Regime::split_lines;
  return teams_of_one ? Regime::thread_per_line : Regime::team_per_line;
}

}  // namespace KokkosScan::impl::team
