// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a warp takes its rows through shared memory: a pure function of the shape and the device. It
/// changes no result.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The most lines of a warp that scans rows in order, and the least.
inline constexpr int lines_of_warp_in_order = 32;
inline constexpr int least_lines_of_warp_in_order = 8;
/// Warps for each multiprocessor below which warps have fewer lines.
inline constexpr int wanted_warps_in_order = 4;
/// The most threads of a block that scans rows in order.
inline constexpr int threads_of_rows_in_order = 128;
/// Bytes of a line in a tile, unless the line has less than the second number.
inline constexpr int bytes_of_row_in_order = 256;
inline constexpr int bytes_of_short_row_in_order = 512;
/// Warps on a multiprocessor that are worth shared memory.
inline constexpr int warps_in_order = 10;

/// How a warp takes its lines through shared memory.
struct RowsInOrder {
  int lines;       ///< of a warp
  int length;      ///< elements of a line in a tile
  int pitch;       ///< from line to line in shared memory, in elements
  int stages;      ///< tiles that are there at once
  int stage;       ///< bytes of a tile
  int warp;        ///< bytes of a warp
  int mask_pitch;  ///< from line to line in shared memory, of whether elements count
  int mask_bytes;  ///< of a mask that are copied at once: 16, or 4, or 1 without copies
  bool has_packs;  ///< whether 16 bytes of the input are copied at once
  bool stores_packs;
};

struct RowsPlan {
  RowsInOrder shape;
  std::int64_t blocks;
  int threads;
  int shared_bytes;
};

/// What a plan depends on.
struct RowsFacts {
  std::int64_t n;
  std::int64_t lines;
  int size;        ///< bytes of an accumulator
  bool is_copied;  ///< whether tiles are copied without registers
  bool is_masked;
  int bytes_of_place;  ///< that a warp keeps of where a line is
  int multiprocessors;
  int shared_bytes_of_block;
};

/// Lines of a warp: as many as it can have, unless there are few.
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
  const std::int64_t usual = f.is_copied ? bytes_of_row_in_order / f.size : f.size <= 8 ? 32 : 16;
  shape.length = static_cast<int>(
      f.is_copied && f.n * f.size <= bytes_of_short_row_in_order ? f.n : std::min(f.n, usual));
  shape.lines = lines_of_warp(f.lines, f.multiprocessors);
  // An odd number of units: lanes that read their lines side by side meet all banks.
  shape.pitch = ((shape.length + pack - 1) / pack | 1) * pack;
  const auto round = [](int bytes) { return (bytes + quad - 1) / quad * quad; };
  // Masks of lines begin at multiples of 16 bytes, and in different banks.
  shape.mask_pitch = f.is_masked ? round(shape.length) | quad : 0;
  shape.stage = round(shape.lines * (shape.pitch * f.size + shape.mask_pitch));
  const int others = round(shape.lines * f.bytes_of_place);
  const std::int64_t warps = divide_up(f.lines, shape.lines);
  const std::int64_t tiles = divide_up(f.n, shape.length);
  shape.stages = 1;
  if (f.is_copied && tiles > 1) {
    const std::int64_t resident =
        std::clamp<std::int64_t>(divide_up(warps, f.multiprocessors), 1, warps_in_order);
    shape.stages = stages_in_order(tiles, resident, shape.stage, others, f.shared_bytes_of_block);
  }
  shape.warp = shape.stages * shape.stage + others;
  // Several warps in a block only where blocks would be many and small.
  int warps_of_block = 1;
  while (warps_of_block < threads_of_rows_in_order / 32 &&
         2 * warps_of_block * shape.warp <= 8192 &&
         warps / (2 * warps_of_block) >= 4 * f.multiprocessors) {
    warps_of_block *= 2;
  }
  plan.blocks = divide_up(warps, warps_of_block);
  plan.threads = 32 * warps_of_block;
  plan.shared_bytes = warps_of_block * shape.warp;
  return plan;
}

}  // namespace KokkosScan::impl::cuda
