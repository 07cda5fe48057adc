// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a warp passes its rows through shared memory: a pure function of the shape and the device,
/// which does not affect results.

#include <KokkosScan/impl/cuda/in_order_pipeline.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The most lines of a warp that scans rows in order, and the fewest.
inline constexpr int lines_of_warp_in_order = 32;
inline constexpr int least_lines_of_warp_in_order = 8;
/// With fewer warps than this for each multiprocessor, warps get fewer lines.
inline constexpr int wanted_warps_in_order = 4;
/// The most threads of a block that scans rows in order.
inline constexpr int threads_of_rows_in_order = 128;
/// Bytes of a tile, and the most bytes of a line in it. Shorter lines are one tile.
inline constexpr int bytes_of_tile_in_order = 16384;
inline constexpr int most_bytes_of_row_in_order = 1024;

/// How a warp passes its lines through shared memory.
struct RowsInOrder {
  int lines;   ///< of a warp
  int length;  ///< elements of a line in a tile
  int pitch;   ///< from line to line in shared memory, in elements
  TilePipeline pipeline;
  int stage;       ///< bytes of a tile
  int bytes;       ///< of shared memory in all
  int mask_pitch;  ///< from line to line of the mask in shared memory, in bytes
  int mask_bytes;  ///< of a mask that are copied at once: 16, 4, or 1 (without async copies)
  bool has_packs;  ///< whether the input is copied 16 bytes at a time
  bool stores_packs;
};

struct RowsPlan {
  RowsInOrder shape;
  bool is_one_tile;  ///< whether a tile holds whole lines and is scanned by a single warp
  std::int64_t blocks;
  int threads;
  int shared_bytes;
};

/// What a plan depends on.
struct RowsFacts {
  std::int64_t n;
  std::int64_t lines;
  int size;        ///< bytes of an accumulator
  bool is_copied;  ///< whether tiles are copied, not loaded through registers
  bool is_masked;
  int bytes_of_place;  ///< that a warp needs for the offsets of a line
  int multiprocessors;
  int shared_bytes_of_block;
};

/// Lines of a warp: the most possible, unless there are few lines.
constexpr int lines_of_warp(std::int64_t lines, int multiprocessors) {
  int of_warp = lines_of_warp_in_order;
  while (of_warp > least_lines_of_warp_in_order &&
         lines < std::int64_t{of_warp} * wanted_warps_in_order * multiprocessors) {
    of_warp /= 2;
  }
  return of_warp;
}

constexpr RowsPlan plan_rows_in_order(const RowsFacts& f) {
  RowsPlan plan{};
  RowsInOrder& shape = plan.shape;
  const int pack = f.is_copied ? quad / f.size : 1;
  shape.lines = lines_of_warp(f.lines, f.multiprocessors);
  // Tiles that are not copied go through registers, which limit the loads in flight.
  const std::int64_t usual =
      f.is_copied
          ? std::min(bytes_of_tile_in_order / shape.lines, most_bytes_of_row_in_order) / f.size
      : f.size <= 8 ? 32
                    : 16;
  plan.is_one_tile = f.n * f.size <= most_bytes_of_row_in_order && (f.is_copied || f.n <= usual);
  shape.length = static_cast<int>(plan.is_one_tile ? f.n : std::min(f.n, usual));
  // An odd number of units, so that lanes that read down their lines have no bank conflicts.
  shape.pitch = ((shape.length + pack - 1) / pack | 1) * pack;
  const auto round = [](int bytes) { return (bytes + quad - 1) / quad * quad; };
  // Masks of lines are aligned to 16 bytes, with an odd number of these against bank conflicts.
  shape.mask_pitch = f.is_masked ? round(shape.length) | quad : 0;
  shape.stage = round(shape.lines * (shape.pitch * f.size + shape.mask_pitch));
  const int others = round(shape.lines * f.bytes_of_place);
  const std::int64_t warps = divide_up(f.lines, shape.lines);
  const std::int64_t tiles = divide_up(f.n, shape.length);
  if (!plan.is_one_tile) {
    shape.pipeline = TilePipeline(tiles, divide_up(warps, f.multiprocessors), shape.stage, others,
                                  f.shared_bytes_of_block);
    shape.bytes = shape.pipeline.needed * shape.stage + others;
    plan.blocks = warps;
    plan.threads = TilePipeline::threads;
    plan.shared_bytes = shape.bytes;
    return plan;
  }
  shape.pipeline.needed = 1;
  shape.bytes = shape.stage + others;
  // Several warps per block only if blocks would otherwise be many and small.
  int warps_of_block = 1;
  while (warps_of_block < threads_of_rows_in_order / lanes &&
         2 * warps_of_block * shape.bytes <= 8192 &&
         warps / (2 * warps_of_block) >= 4 * f.multiprocessors) {
    warps_of_block *= 2;
  }
  plan.blocks = divide_up(warps, warps_of_block);
  plan.threads = lanes * warps_of_block;
  plan.shared_bytes = warps_of_block * shape.bytes;
  return plan;
}

}  // namespace KokkosScan::impl::cuda
