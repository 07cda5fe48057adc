// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns, lines whose elements are not neighbours in memory, are shared out among threads and
/// blocks: a pure function of the shape and the device. It changes no result.

#include <KokkosScan/impl/cuda/trees.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// What a plan depends on.
struct ColumnFacts {
  std::int64_t n;
  std::int64_t lines;
  std::int64_t inner;  ///< lines that are neighbours in memory
  bool is_flat;        ///< whether these, over all n, are one run of memory in every operand
  bool is_aligned;     ///< whether rows begin at sectors of memory
  int widest;          ///< bytes of the widest operand's element
  int accumulator;     ///< bytes
  int multiprocessors;
};

/// How columns are shared out.
struct ColumnPlan {
  int lines_of_thread;   ///< 1, or as many whole lines as its registers hold
  bool is_staged;        ///< whether elements pass through shared memory, in the order of memory
  int inner;             ///< lines of a slab, all lines that are neighbours
  int width;             ///< lines of a block; if staged, those of whole slabs
  int chunks_of_step;    ///< of a line, that a block scans at once
  std::int64_t strips;   ///< groups of `width` lines
  std::int64_t steps;    ///< of a line
  int blocks_of_strip;   ///< more than one where blocks share lines
  // Where elements are staged:
  int slabs_of_block;
  int groups_of_warp;    ///< chunks of all lines of a slab, in a warp
  int length;            ///< elements of such a group, if all its rows are there
  int pitch;             ///< from group to group in shared memory
  int log2_chunks;       ///< of chunks_of_step
  Divisor by_inner, by_width;

  [[nodiscard]] constexpr std::int64_t blocks() const { return strips * blocks_of_strip; }
};

/// Rows of a line that a thread holds.
KOKKOS_FUNCTION constexpr int rows_of_thread(int bytes, int lines_of_thread) {
  return rows_of_chunk(bytes) / lines_of_thread;
}

/// Bytes that blocks need to share lines at most, whatever the plan: a ticket for each strip and
/// totals of tiles and sections of all lines.
constexpr std::int64_t bytes_to_share_columns(std::int64_t n, std::int64_t lines, int accumulator,
                                              int words) {
  const std::int64_t rows = rows_of_chunk(accumulator);
  const std::int64_t tiles = divide_up(n, rows * chunks_of_tile);
  const std::int64_t sections = divide_up(n, rows * chunks_of_section);
  return 8 * lines + 8 * words * (lines + threads_of_columns) * (tiles + sections);
}

/// Whether blocks may share columns: long ones, and not so many that memory for it would grow.
constexpr bool may_share_columns(std::int64_t n, std::int64_t lines, int accumulator,
                                 int multiprocessors) {
  return n > std::int64_t{2} * rows_of_chunk(accumulator) * chunks_of_tile &&
         lines <= std::int64_t{lines_of_multiprocessor_that_share} * std::max(1, multiprocessors);
}

/// Elements between groups in shared memory, so that lanes which read the same row of all groups of
/// a warp meet different banks if it can be.
///
/// \param length of a group
/// \param groups that lanes read at once
constexpr int pitch_of_groups(int length, int groups, int inner) {
  int best = length;
  int least = 33;
  for (int pitch = length; pitch <= length + inner; ++pitch) {
    unsigned char lanes_of_bank[32] = {};
    int most = 0;
    for (int g = 0; g < groups; ++g) {
      for (int c = 0; c < inner; ++c) {
        most = std::max<int>(most, ++lanes_of_bank[(g * pitch + c) % 32]);
      }
    }
    if (most >= least) continue;
    least = most;
    best = pitch;
    if (most == 1) break;
  }
  return best;
}

/// The part of the launch's blocks that multiprocessors are busy with, if each does the same.
constexpr double busy(std::int64_t blocks, std::int64_t slots) {
  return static_cast<double>(blocks) / static_cast<double>(divide_up(blocks, slots) * slots);
}

/// The plan.
constexpr ColumnPlan plan_columns(const ColumnFacts& f) {
  const int most_rows = rows_of_chunk(f.accumulator);
  ColumnPlan plan{};
  plan.inner = static_cast<int>(f.inner);
  const bool is_short =
      most_rows > lines_of_short_columns && f.n <= most_rows / lines_of_short_columns;
  plan.lines_of_thread = is_short ? lines_of_short_columns : 1;
  const int rows = rows_of_thread(f.accumulator, plan.lines_of_thread);
  const std::int64_t chunks = divide_up(f.n, rows);
  const std::int64_t slots =
      std::int64_t{std::max(1, f.multiprocessors)} * blocks_of_columns(f.accumulator);
  const bool may_share = may_share_columns(f.n, f.lines, f.accumulator, f.multiprocessors);
  plan.is_staged = f.is_flat && f.inner > 1 && f.inner <= widest_staged(f.widest);
  plan.blocks_of_strip = 1;
  plan.by_inner = Divisor(static_cast<int>(std::min<std::int64_t>(f.inner, 32)));
  if (plan.is_staged) {
    const auto inner = static_cast<int>(f.inner);
    const auto groups = static_cast<int>(std::bit_floor(32u / static_cast<unsigned>(inner)));
    const int groups_of_block = groups * (threads_of_columns / 32);
    plan.chunks_of_step = static_cast<int>(std::bit_ceil(
        static_cast<std::uint64_t>(std::min<std::int64_t>(chunks, groups_of_block))));
    plan.groups_of_warp = groups * plan.lines_of_thread;
    plan.length = static_cast<int>(std::min<std::int64_t>(f.n, rows)) * inner;
    plan.pitch = pitch_of_groups(plan.length, groups, inner);
    plan.slabs_of_block = groups_of_block / plan.chunks_of_step * plan.lines_of_thread;
    plan.width = plan.slabs_of_block * inner;
  } else {
    // Wide strips of rows that are not aligned touch fewer sectors twice; more and narrower ones
    // keep more multiprocessors busy.
    double best = 0;
    for (int down = 1; down <= chunks_of_tile && (down == 1 || down < 2 * chunks); down *= 2) {
      const int width = threads_of_columns / down;
      if (plan.lines_of_thread > 1 && down > 1) break;
      const std::int64_t strips = divide_up(f.lines, std::int64_t{width} * plan.lines_of_thread);
      const bool shares = down == chunks_of_tile && may_share;
      const double of_rows =
          1 / (1 + (f.is_aligned ? cost_of_strip : cost_of_unaligned_strip) / (width * f.widest));
      const double of_step =
          down == 1 ? 1 : static_cast<double>(chunks) / static_cast<double>(divide_up(chunks, down) * down);
      const double speed =
          of_rows * of_step * (shares ? std::max(busy_when_shared, busy(strips, slots)) : busy(strips, slots));
      if (speed <= best) continue;
      best = speed;
      plan.chunks_of_step = down;
      plan.width = width;
    }
    plan.by_width = Divisor(plan.width);
  }
  plan.log2_chunks = std::countr_zero(static_cast<unsigned>(plan.chunks_of_step));
  plan.steps = divide_up(chunks, plan.chunks_of_step);
  plan.strips = divide_up(f.lines, std::int64_t{plan.width} *
                                       (plan.is_staged ? 1 : plan.lines_of_thread));
  // Steps must be whole tiles, to be shared.
  if (may_share && plan.steps > 1 && plan.chunks_of_step % chunks_of_tile == 0 &&
      busy(plan.strips, slots) < busy_when_shared) {
    plan.blocks_of_strip = static_cast<int>(
        std::clamp<std::int64_t>(slots / plan.strips, 2, std::max<std::int64_t>(2, plan.steps / 2)));
  }
  return plan;
}

}  // namespace KokkosScan::impl::cuda
