// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the tiles of a long line learn what comes before them.
///
/// Blocks take tiles by a ticket, in the order of memory, so whoever waits, waits for blocks that
/// have started: no tile needs another to be resident. A block publishes the total of its tile as
/// soon as it knows it and then reads the totals of the tiles before: no chain of prefixes runs
/// from tile to tile, as in a look-back. (Merrill and Garland, "Single-pass Parallel Prefix Scan
/// with Decoupled Look-back", NVIDIA 2016, has chains of inclusive prefixes instead.)
///
/// The prefix of a tile is one expression, whoever computes it: the tiles of a line form blocks of
/// 32, within which totals combine by the scheme of Kogge and Stone; blocks combine left to right.
/// The prefix of every group of tiles is published as well, so that a tile reads no more totals
/// than its group has. The starting value is part of the first tile's total.

#include <KokkosScan/impl/cuda/warp.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// A value in global memory that one block writes and others wait for: each 64-bit word holds 32
/// bits of the value and, above them, whether it is there. Words are read and written whole, so no
/// order between them is needed. Memory must be zero before.
template <class R>
struct Published {
  static constexpr int words = Words<R>::count;
  static constexpr std::int64_t bytes = words * 8;

  static __device__ __forceinline__ void put(std::uint64_t* at, const R& value) {
    const Words<R> bits(value);
#pragma unroll
    for (int w = 0; w < words; ++w) {
      const std::uint64_t word = (std::uint64_t{1} << 32) | bits.word[w];
#if defined(__CUDACC__)
      asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at + w), "l"(word) : "memory");
#else
      at[w] = word;
#endif
    }
  }
  /// Reads the value if it is there.
  static __device__ __forceinline__ bool get(const std::uint64_t* at, Words<R>& bits) {
    bool is_there = true;
#pragma unroll
    for (int w = 0; w < words; ++w) {
#if defined(__CUDACC__)
      std::uint64_t word;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at + w) : "memory");
#else
      const std::uint64_t word = at[w];
#endif
      bits.word[w] = static_cast<unsigned>(word);
      is_there = is_there && (word >> 32) != 0;
    }
    return is_there;
  }
};

/// Tiles whose totals a tile reads at most: rows of 32.
inline constexpr int rows_of_tiles = 4;
inline constexpr int tiles_of_group = rows_of_tiles * lanes;

/// The memory through which tiles communicate: a ticket, the total of each tile, the prefix of each
/// group of a line but the first.
template <class R>
struct Carry {
  std::uint64_t* memory;
  std::int64_t tiles_of_line;

  static __host__ __device__ constexpr std::int64_t groups(std::int64_t tiles_of_line) {
    return (tiles_of_line + tiles_of_group - 1) / tiles_of_group;
  }
  static constexpr std::int64_t bytes(std::int64_t lines, std::int64_t tiles_of_line) {
    return tiles_of_line <= 1
               ? 0
               : 16 + lines * (tiles_of_line + groups(tiles_of_line)) * Published<R>::bytes;
  }

  /// The number of the next tile that no block has taken. For one thread of a block.
  [[nodiscard]] __device__ __forceinline__ std::int64_t take_ticket() const {
    return static_cast<std::int64_t>(
        atomicAdd(reinterpret_cast<unsigned long long*>(memory), 1ull));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* total(std::int64_t line,
                                                                std::int64_t tile) const {
    return at(line * places() + tile);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* prefix(std::int64_t line,
                                                                 std::int64_t group) const {
    return at(line * places() + tiles_of_line + group);
  }

 private:
  [[nodiscard]] __device__ __forceinline__ std::int64_t places() const {
    return tiles_of_line + groups(tiles_of_line);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* at(std::int64_t place) const {
    return memory + 2 + place * Published<R>::words;
  }
};

/// What comes before a tile, and what comes before the next.
template <class Op, class R>
struct Prefixes {
  Fold<Op, R> before;
  Fold<Op, R> with;  ///< meaningless for the last tile of a line
};

/// Publishes the total of a tile and waits for those before it. For the first warp of a block.
///
/// \param total of the tile, in the first tile with the starting value before it; the last tile of
/// a
///              line has none that another would need
template <class Op, class R>
__device__ __forceinline__ Prefixes<Op, R> exchange_totals(const Op op, const Carry<R>& carry,
                                                           std::int64_t line, std::int64_t tile,
                                                           const R total) {
  using Value = Published<R>;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const bool is_last = tile == carry.tiles_of_line - 1;
  if (lane == 0 && !is_last) Value::put(carry.total(line, tile), total);

  const std::int64_t group = tile / tiles_of_group;
  const int place = static_cast<int>(tile % tiles_of_group);
  const std::uint64_t* const totals = carry.total(line, group * tiles_of_group);

  // All that is needed is read at once, until it is there.
  Words<R> words[rows_of_tiles];
  Words<R> of_groups;
  bool is_there;
  do {
    is_there = group == 0 || Value::get(carry.prefix(line, group), of_groups);
#pragma unroll
    for (int row = 0; row < rows_of_tiles; ++row) {
      const int other = row * lanes + lane;
      if (other < place) {
        is_there = Value::get(totals + other * Value::words, words[row]) && is_there;
      }
    }
  } while (!is_there);
  __syncwarp();

  Prefixes<Op, R> prefixes{Fold<Op, R>(op), Fold<Op, R>(op)};
  if (group > 0) {
    R value = total;
    of_groups.get(value);
    prefixes.before = Fold<Op, R>(op, value);
  }
#pragma unroll
  for (int row = 0; row < rows_of_tiles; ++row) {
    if (row * lanes > place) break;
    const int own = place - row * lanes;  // the lane with the own total, beyond the row for most
    R value = total;
    if (lane < own) words[row].get(value);
    const R folds = scan_lanes(op, value, lane, lane < own || (lane == own && !is_last));
    const R before = shuffle(folds, own < lanes ? (own > 0 ? own - 1 : 0) : lanes - 1);
    const R with = shuffle(folds, own < lanes ? own : 0);
    if (own < lanes) prefixes.with = Fold<Op, R>(op, prefixes.before.then(op, with));
    if (own > 0) prefixes.before = Fold<Op, R>(op, prefixes.before.then(op, before));
  }
  if (lane == 0 && place == tiles_of_group - 1 && !is_last) {
    Value::put(carry.prefix(line, group + 1), prefixes.with.value());
  }
  return prefixes;
}

}  // namespace KokkosScan::impl::cuda
