// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How short columns are shared out among blocks: a pure function of the shape and the device. It
/// changes no result.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// How an operand's rows are moved between global and shared memory.
enum class MoveRows {
  one_by_one,  ///< each element by itself
  as_runs,     ///< neighbours in memory together, whatever their alignment
};

/// What a plan depends on.
struct ShortColumnFacts {
  std::int64_t n;
  std::int64_t lines;
  std::int64_t inner;  ///< lines of a slab: those that are neighbours
  std::int64_t row;    ///< elements from row to row of what is moved in runs
  MoveRows loads, stores;
  bool is_flat;      ///< whether rows, then slabs, follow each other without gaps in all operands
  bool is_along;     ///< whether neighbours in memory are those of a line, somewhere
  bool is_aligned;   ///< whether slabs begin at multiples of 16 bytes in all operands
  int element;       ///< bytes in shared memory of all that is kept of an element
  int widest, unit;  ///< bytes of the largest of it and of the smallest
  int multiprocessors;
};

/// Tiles of all rows of some columns: a part of a slab, or several whole ones.
struct ShortColumnPlan {
  int n;
  int inner;
  int columns;  ///< of a tile
  int strips_of_slab;
  int slabs_of_tile;
  int pitch;          ///< elements from row to row in shared memory
  int pitch_of_slab;  ///< from slab to slab
  int buffers;        ///< tiles that a block has in shared memory
  int bytes_of_buffer;
  std::int64_t slabs;
  std::int64_t strips;  ///< all tiles
  std::int64_t blocks;
  MoveRows loads, stores;
  bool is_one_run;  ///< whether a tile is one run of memory
  bool is_padded;   ///< whether slabs are further apart in shared memory
  Divisor by_columns, by_rows, by_slab;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int lines() const { return columns * slabs_of_tile; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int elements() const { return lines() * n; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int shared_bytes() const {
    return bytes_of_short_block + buffers * bytes_of_buffer;
  }
};

/// How often lanes turn to the banks of shared memory to read the same row of their columns.
///
/// \param pitch of slabs, in elements
constexpr int passes_of_slabs(int pitch, int inner, int bytes) {
  const int words = std::max(1, bytes / 4);
  const int lanes_at_once = 32 / words;
  unsigned char lanes_of_bank[32] = {};
  int most = 0;
  for (int lane = 0; lane < lanes_at_once; ++lane) {
    const int place = (lane / inner * pitch + lane % inner) * bytes / 4 % 32;
    most = std::max<int>(most, ++lanes_of_bank[place]);
  }
  return bytes < 4 ? (most * bytes + 3) / 4 : most;
}

/// The plan.
constexpr ShortColumnPlan plan_short_columns(const ShortColumnFacts& f) {
  ShortColumnPlan plan{};
  const auto n = static_cast<int>(f.n);
  plan.n = n;
  plan.inner = static_cast<int>(f.inner);
  plan.slabs = f.lines / f.inner;
  plan.loads = f.loads;
  plan.stores = f.stores;
  const std::int64_t slots = std::int64_t{std::max(1, f.multiprocessors)} * blocks_of_short_columns;
  // As many elements as leave every block some tiles, but not so few that it waits for each.
  const std::int64_t fair = f.lines * n / (2 * slots);
  const std::int64_t most = bytes_of_short_tile / f.element;
  const std::int64_t elements = std::clamp<std::int64_t>(fair, most / 8, most);
  const std::int64_t of_slab = f.inner * n;
  const int quads = std::max(1, 16 / f.unit);
  if (of_slab <= elements || of_slab <= most / 2) {  // whole slabs
    plan.columns = plan.inner;
    plan.slabs_of_tile =
        static_cast<int>(std::clamp<std::int64_t>(elements / of_slab, 1, plan.slabs));
    plan.is_one_run = f.is_flat && !f.is_along;
    plan.pitch = f.is_along ? plan.columns | 1 : plan.columns;
    plan.pitch_of_slab = plan.pitch * n;
    // Slabs of a multiple of 32 words would begin at the same bank.
    const int pad = (plan.inner + quads - 1) / quads * quads;
    if (plan.slabs_of_tile > 1 && plan.is_one_run && f.is_aligned && of_slab % quads == 0 &&
        passes_of_slabs(plan.pitch_of_slab, plan.inner, f.widest) >= 8 &&
        passes_of_slabs(plan.pitch_of_slab + pad, plan.inner, f.widest) <= 4) {
      plan.is_padded = true;
      plan.pitch_of_slab += pad;
      plan.slabs_of_tile =
          static_cast<int>(std::clamp<std::int64_t>(elements / plan.pitch_of_slab, 1, plan.slabs));
    } else if (plan.slabs_of_tile > 1 && !plan.is_one_run) {
      plan.loads = plan.stores = MoveRows::one_by_one;
      plan.pitch_of_slab |= 1;
    }
  } else {
    // Strips of nearly the same width, and of whole sectors of memory if there is room.
    const std::int64_t widest = std::max<std::int64_t>(elements / n - (quads - 1), 1);
    const std::int64_t columns = divide_up(f.inner, divide_up(f.inner, widest));
    const std::int64_t rounded = divide_up(columns, 32) * 32;
    plan.columns = static_cast<int>(rounded <= widest ? std::min(rounded, f.inner) : columns);
    plan.slabs_of_tile = 1;
  }
  if (!plan.is_one_run && plan.slabs_of_tile == 1) {
    // Rows as far apart, up to a multiple of 16 bytes, as in global memory.
    const auto more = static_cast<int>(((f.row - plan.columns) % quads + quads) % quads);
    plan.pitch = f.is_along ? plan.columns | 1 : plan.columns + more;
    plan.pitch_of_slab = plan.pitch * n;
    if (f.is_along) plan.loads = plan.stores = MoveRows::one_by_one;
  }
  plan.strips_of_slab = static_cast<int>(divide_up(f.inner, plan.columns));
  plan.strips = divide_up(plan.slabs, plan.slabs_of_tile) * plan.strips_of_slab;
  // Room for what begins anywhere between two multiples of 16, of each of up to three operands.
  plan.bytes_of_buffer =
      (plan.pitch_of_slab * plan.slabs_of_tile * f.element + 127) / 128 * 128 + 3 * 128;
  plan.buffers = plan.loads == MoveRows::as_runs ? 2 : 1;
  plan.blocks = std::min(plan.strips, slots);
  plan.by_columns = Divisor(plan.columns);
  plan.by_rows = Divisor(n);
  plan.by_slab = Divisor(plan.columns * n);
  return plan;
}

}  // namespace KokkosScan::impl::cuda
