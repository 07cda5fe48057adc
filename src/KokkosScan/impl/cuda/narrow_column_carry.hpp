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

/// What blocks publish of long columns: the totals of tiles, then those of groups, then the folds
/// of everything up to the end of each set. An entry has a value of each neighbouring column.
template <class R>
struct PublishedNarrowTiles {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t tiles, groups, sets;  ///< of a column
  int columns;                       ///< of a slab

  PublishedNarrowTiles(std::byte* workspace, std::int64_t tiles_of_column, int columns_of_slab)
      : memory(reinterpret_cast<std::uint64_t*>(workspace)),
        tiles(tiles_of_column),
        groups(divide_up(tiles, tiles_of_narrow_group)),
        sets(divide_up(groups, groups_of_narrow_set)),
        columns(columns_of_slab) {}

  /// Bytes: none if a column is a single tile.
  static std::int64_t bytes(std::int64_t lines, std::int64_t tiles) {
    const PublishedNarrowTiles all(nullptr, tiles, 1);
    return tiles <= 1 ? 0 : 16 + 8 * words * lines * (tiles + all.groups + all.sets);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Words from an entry to the next.
  [[nodiscard]] __device__ __forceinline__ int distance() const { return columns * words; }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tile(std::int64_t slab, int column,
                                                               std::int64_t tile) const {
    return memory + 2 + (slab * (tiles + groups + sets) + tile) * distance() + column * words;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* group(std::int64_t slab, int column,
                                                                std::int64_t group) const {
    return tile(slab, column, tiles + group);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* set(std::int64_t slab, int column,
                                                              std::int64_t set) const {
    return group(slab, column, groups + set);
  }
};

/// Where a tile is in its column.
struct NarrowStep {
  std::int64_t set, group;
  int group_of_set, tile_of_group;

  __device__ __forceinline__ explicit NarrowStep(std::int64_t step)
      : set(step / (groups_of_narrow_set * tiles_of_narrow_group)),
        group(step / tiles_of_narrow_group),
        group_of_set(static_cast<int>(group % groups_of_narrow_set)),
        tile_of_group(static_cast<int>(step % tiles_of_narrow_group)) {}
  [[nodiscard]] __device__ __forceinline__ bool ends_group() const {
    return tile_of_group == tiles_of_narrow_group - 1;
  }
  [[nodiscard]] __device__ __forceinline__ bool ends_set() const {
    return ends_group() && group_of_set == groups_of_narrow_set - 1;
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
  for (; count > 0; count -= at_once) {
    Published<R> seen[at_once];
    unsigned missing = count < at_once ? (1u << count) - 1 : (1u << at_once) - 1;
    // All loads are issued together to hide their latency. Only what is missing is polled: many
    // blocks wait for the same words.
    while (missing != 0) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if ((missing >> i & 1) != 0) seen[i] = look<R>(entry + i * distance);
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if ((missing >> i & 1) != 0 && is_there(seen[i])) missing &= ~(1u << i);
      }
      if (missing != 0) pause();
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (i >= count) continue;
      R value;
      seen[i].get(value);
      fold = Fold<Op, R>(op, fold.then(op, value));
    }
    entry += at_once * distance;
  }
  return fold;
}

/// Finds the prefix of a tile in each column, and that of the next tile. Called by all threads of a
/// block; the first three warps read totals. Those of tiles have a warp of their own, as others may
/// wait for the total of a group.
///
/// \param folds     of column 0: the start, in the first tile, then the fold up to the end of each
///                  chunk. The first becomes the prefix of the tile, the one behind the last that
///                  of the next tile; two more are kept here.
/// \param has_start whether there is a start
template <class Op, class R>
__device__ __forceinline__ void find_narrow_prefixes(const Op& op, const NarrowColumnPlan& plan,
                                                     const PublishedNarrowTiles<R>& published,
                                                     const NarrowColumnTile& tile, R* folds,
                                                     bool has_start) {
  using Prefix = Fold<Op, R>;
  const NarrowStep at(tile.step);
  const int column = static_cast<int>(threadIdx.x) % lanes;
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const bool exists = column < plan.columns;
  R* const own = folds + column;
  R* const of_next = own + (plan.chunks + 1) * plan.columns;
  R* const of_groups = of_next + plan.columns;
  R* const of_sets = of_groups + plan.columns;
  const auto fold = [&](const std::uint64_t* end, int count) {
    const int distance = published.distance();
    return fold_published<R>(op, end - count * distance, distance, count);
  };
  std::uint64_t* const group = published.group(tile.slab, column, at.group);
  Prefix tiles(op);
  R up_to_tile{};
  if (exists && warp == 0) {
    if (tile.step > 0) {
      tiles = fold(published.tile(tile.slab, column, tile.step), at.tile_of_group);
    } else if (has_start) {
      tiles = Prefix(op, *own);
    }
    if (!tile.is_last) {
      up_to_tile = tiles.then(op, own[plan.chunks * plan.columns]);
      if (at.ends_group()) publish(group, up_to_tile);
    }
  } else if (exists && warp == 1 && at.group_of_set > 0) {
    *of_groups = fold(group, at.group_of_set).value();
  } else if (exists && warp == 2 && at.set > 0) {
    *of_sets = fold(published.set(tile.slab, column, at.set), 1).value();
  }
  __syncthreads();
  if (!exists || warp > 0) return;
  const Prefix groups = at.group_of_set > 0 ? Prefix(op, *of_groups) : Prefix(op);
  const Prefix sets = at.set > 0 ? Prefix(op, *of_sets) : Prefix(op);
  const Prefix before = join(op, sets, join(op, groups, tiles));
  if (before.exists()) *own = before.value();
  if (tile.is_last) return;
  *of_next = sets.then(op, groups.then(op, up_to_tile));
  if (at.ends_set()) publish(published.set(tile.slab, column, at.set), *of_next);
}

}  // namespace KokkosScan::impl::cuda
