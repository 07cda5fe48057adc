// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How blocks that share narrow columns obtain the prefixes of their tiles.
///
/// Blocks take tiles by ticket and publish the total of a tile as soon as it is known. 16 tiles
/// make a group, 16 groups a set. The last tile of a group publishes the total of the group, the
/// last of a set the fold of everything up to its end. So the prefix of a tile takes three reads at
/// once: of the totals of earlier tiles of its group, of those of earlier groups of its set, and of
/// the fold of everything before its set. Totals depend on elements only, and a block only ever
/// waits for blocks with lower tickets, so there is no deadlock.

#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/narrow_column_tile.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// What blocks publish of long columns, on three levels: the totals of tiles, those of groups, and
/// the folds of everything up to the end of each set.
template <class R>
struct PublishedNarrowTiles {
  static constexpr int words = Published<R>::words;
  std::uint64_t* memory;
  std::int64_t tiles, groups, sets;  ///< of a column

  PublishedNarrowTiles(std::byte* workspace, std::int64_t tiles_of_column)
      : memory(reinterpret_cast<std::uint64_t*>(workspace)),
        tiles(tiles_of_column),
        groups(divide_up(tiles, tiles_of_narrow_group)),
        sets(divide_up(groups, groups_of_narrow_set)) {}

  /// Bytes: none if a column is a single tile.
  static std::int64_t bytes(std::int64_t lines, std::int64_t tiles) {
    const PublishedNarrowTiles all(nullptr, tiles);
    return tiles <= 1 ? 0 : 16 + 8 * words * lines * (tiles + all.groups + all.sets);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Entry `index` of a level in a column of a tile; columns of a tile are neighbours.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* entry(const NarrowColumnTile& tile,
                                                                int column, int level,
                                                                std::int64_t index) const {
    const std::int64_t before = level == 0 ? 0 : level == 1 ? tiles : tiles + groups;
    const std::int64_t of_tile = tile.line * (tiles + groups + sets);
    return memory + 2 + words * (of_tile + (before + index) * tile.columns + column);
  }
};

/// The fold of published values of a column, once they are there.
///
/// \param entry    of the first
/// \param distance words between them
template <class R, class Op>
__device__ __forceinline__ Fold<Op, R> fold_published(const Op& op, const std::uint64_t* entry,
                                                      int distance, int count) {
  constexpr int at_once = Published<R>::words == 1 ? 8 : 1;
  Fold<Op, R> fold(op);
#pragma unroll 1
  for (; count > 0; count -= at_once, entry += at_once * distance) {
    Published<R> seen[at_once] = {};
    bool are_there = false;
    // All loads are issued together to hide their latency. Only what is missing is polled: many
    // blocks wait for the same words.
    while (!are_there) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (i < count && !is_there(seen[i])) seen[i] = look<R>(entry + i * distance);
      }
      are_there = true;
#pragma unroll
      for (int i = 0; i < at_once; ++i) are_there = are_there && (i >= count || is_there(seen[i]));
      if (!are_there) pause();
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (i >= count) continue;
      R value;
      seen[i].get(value);
      fold = Fold<Op, R>(op, fold.then(op, value));
    }
  }
  return fold;
}

/// Finds the prefix of a tile in each column, and that of the next tile. Called by all threads of a
/// block. A warp reads what others have published on each level, as those of tiles must not wait
/// for the total of a group.
///
/// \param folds     of column 0: the start, in the first tile, then the fold up to the end of each
///                  chunk. The first becomes the prefix of the tile, the one behind the last that
///                  of the next tile; two more are kept here.
template <class Op, class R>
__device__ __forceinline__ void find_narrow_prefixes(const Op& op, const NarrowColumnPlan& plan,
                                                     const PublishedNarrowTiles<R>& published,
                                                     const NarrowColumnTile& tile, R* folds,
                                                     bool has_start) {
  using Prefix = Fold<Op, R>;
  const std::int64_t group = tile.step / tiles_of_narrow_group;
  const std::int64_t set = group / groups_of_narrow_set;
  const auto tiles_before = static_cast<int>(tile.step % tiles_of_narrow_group);
  const auto groups_before = static_cast<int>(group % groups_of_narrow_set);
  const bool ends_group = !tile.is_last && tiles_before == tiles_of_narrow_group - 1;
  const bool ends_set = ends_group && groups_before == groups_of_narrow_set - 1;
  const auto thread = static_cast<int>(threadIdx.x);
  const int level = thread / lanes;
  const std::int64_t index = level == 0 ? tile.step : level == 1 ? group : set;
  // The fold up to the end of a set includes all sets before.
  const int before = level == 0 ? tiles_before : level == 1 ? groups_before : set > 0 ? 1 : 0;
  const auto fold_at = [&](int number, int column) -> R& {
    return folds[number * plan.columns + column];
  };
  const int next = plan.chunks + 1;
  const bool has_tiles = tile.step == 0 ? has_start : tiles_before > 0;
  const auto if_exists = [&](bool exists, const R& fold) {
    return exists ? Prefix(op, fold) : Prefix(op);
  };
  if (plan.columns > lanes) __syncthreads();  // for the totals that another warp has combined
#pragma unroll 1
  for (int c = thread % lanes; level < 3 && c < tile.columns; c += lanes) {
    R& own = fold_at(level == 0 ? 0 : next + level, c);
    if (before > 0) {
      const int distance = tile.columns * published.words;
      const std::uint64_t* const end = published.entry(tile, c, level, index);
      own = fold_published<R>(op, end - before * distance, distance, before).value();
    }
    if (level > 0 || tile.is_last) continue;
    const R up_to_tile = if_exists(has_tiles, own).then(op, fold_at(plan.chunks, c));
    fold_at(next, c) = up_to_tile;
    if (ends_group) publish(published.entry(tile, c, 1, group), up_to_tile);
  }
  __syncthreads();
  if (thread >= tile.columns) return;
  const Prefix tiles = if_exists(has_tiles, fold_at(0, thread));
  const Prefix groups = if_exists(groups_before > 0, fold_at(next + 1, thread));
  const Prefix sets = if_exists(set > 0, fold_at(next + 2, thread));
  const Prefix prefix = join(op, sets, join(op, groups, tiles));
  if (prefix.exists()) fold_at(0, thread) = prefix.value();
  if (tile.is_last) return;
  const R up_to_next = sets.then(op, groups.then(op, fold_at(next, thread)));
  fold_at(next, thread) = up_to_next;
  if (ends_set) publish(published.entry(tile, thread, 2, set), up_to_next);
}

}  // namespace KokkosScan::impl::cuda
