// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of few, long lines with several teams per line, in three steps: fold each tile, scan the
/// tile totals, replay each tile with its prefix. Step three reuses the chunk totals of step one,
/// so each element is read twice and stored once.

#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/team/line.hpp>
#include <KokkosScan/impl/team/tile.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace KokkosScan::impl::team {

/// Data passed between the steps: the total of each chunk, and for each tile first its total, then
/// its prefix (which the first tile does not have without a starting value).
template <class R>
struct Totals {
  std::int64_t chunks;  ///< of a line
  std::int64_t tiles;   ///< of a line
  R* of_chunks;
  R* of_tiles;

  static std::size_t bytes(std::int64_t n, std::int64_t lines) {
    const std::int64_t each = divide_up(n, chunk_length) + divide_up(n, tile_length);
    const std::size_t alignment = alignof(R) > 16 ? alignof(R) : 0;
    return static_cast<std::size_t>(lines * each) * sizeof(R) + alignment;
  }

  Totals(std::int64_t n, std::int64_t lines, std::byte* workspace)
      : chunks(divide_up(n, chunk_length)), tiles(divide_up(n, tile_length)) {
    void* aligned = workspace;
    std::size_t space = bytes(n, lines);
    of_chunks = static_cast<R*>(std::align(alignof(R), sizeof(R), aligned, space));
    of_tiles = of_chunks + chunks * lines;
  }
};

/// The position and the chunks of tile number `index`, counted over all lines.
struct TileOfLine {
  std::int64_t line, tile, first_chunk, last_chunk;

  KOKKOS_FUNCTION TileOfLine(std::int64_t index, std::int64_t tiles, std::int64_t chunks)
      : line(index / tiles),
        tile(index % tiles),
        first_chunk(tile * chunks_of_tile),
        last_chunk(first_chunk + chunks_of_tile < chunks ? first_chunk + chunks_of_tile : chunks) {}
};

/// Step 1.
template <class P>
struct FoldTiles {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;
  Totals<R> result;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    R* totals = scratch_for_totals<R>(team);
    const std::int64_t work = problem.batch.count * result.tiles;
    for (std::int64_t i = team.league_rank(); i < work; i += team.league_size()) {
      const TileOfLine tile(i, result.tiles, result.chunks);
      const Line<P> line(problem, op, tile.line);
      R* of_chunks = result.of_chunks + tile.line * result.chunks;
      Prefix<R> prefix;
      for_each_chunk(
          team, op, tile.first_chunk, tile.last_chunk, totals, prefix,
          [&](std::int64_t j) {
            const R total = line.fold(j * chunk_length, end_of_chunk(j, problem.n));
            of_chunks[j] = total;
            return total;
          },
          [](std::int64_t, const Prefix<R>&) {});
      if (team.team_rank() == 0) result.of_tiles[i] = prefix.chunks.value;
    }
  }
};

/// Step 2: replaces tile totals by tile prefixes.
template <class P>
struct ScanTileTotals {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;
  Totals<R> totals;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    R* of_tiles = totals.of_tiles + line * totals.tiles;
    Maybe<R> prefix = Line<P>(problem, op, line).start();
    for (std::int64_t tile = 0; tile < totals.tiles; ++tile) {
      const R total = of_tiles[tile];
      if (prefix.exists) of_tiles[tile] = prefix.value;
      prefix = Maybe<R>(combine(op, prefix, total));
    }
  }
};

/// Step 3.
template <class P>
struct ReplayTiles {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;
  Totals<R> result;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    R* totals = scratch_for_totals<R>(team);
    const std::int64_t work = problem.batch.count * result.tiles;
    for (std::int64_t i = team.league_rank(); i < work; i += team.league_size()) {
      const TileOfLine tile(i, result.tiles, result.chunks);
      const Line<P> line(problem, op, tile.line);
      const R* of_chunks = result.of_chunks + tile.line * result.chunks;
      const bool has_prefix = tile.tile > 0 || has_start;
      Prefix<R> prefix{has_prefix ? Maybe<R>(result.of_tiles[i]) : Maybe<R>(), {}};
      for_each_chunk(
          team, op, tile.first_chunk, tile.last_chunk, totals, prefix,
          [&](std::int64_t j) { return of_chunks[j]; },
          [&](std::int64_t j, const Prefix<R>& before) {
            line.scan_chunk(j * chunk_length, end_of_chunk(j, problem.n), before);
          });
    }
  }

  bool has_start;
};

template <class Exec, class P>
void split_lines(const Exec& exec, const std::string& label, const P& problem, int team_size,
                 std::byte* workspace) {
  using R = typename Line<P>::R;
  const auto op = carrying(problem.op);
  const std::int64_t lines = problem.batch.count;
  const Totals<R> totals(problem.n, lines, workspace);
  const std::string path = label + " [team/split_lines ";

  const FoldTiles<P> fold{problem, op, totals};
  Kokkos::parallel_for(path + "fold]",
                       team_policy<R>(exec, lines * totals.tiles, totals.chunks, team_size, fold),
                       fold);

  for_each_index(exec, path + "prefix]", lines, ScanTileTotals<P>{problem, op, totals});

  const ReplayTiles<P> replay{problem, op, totals, problem.start.exists()};
  Kokkos::parallel_for(path + "replay]",
                       team_policy<R>(exec, lines * totals.tiles, totals.chunks, team_size, replay),
                       replay);
}

}  // namespace KokkosScan::impl::team
