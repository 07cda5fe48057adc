// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns, lines whose elements are not neighbours in memory, are shared out among blocks: a
/// pure function of the shape and the device. It changes no result.

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
  std::int64_t inner;     ///< lines of a slab: those that are neighbours
  bool loads_in_bulk;     ///< whether rows of the input are runs of memory that are copied as such
  bool stores_in_bulk;    ///< the same of the output
  bool loads_flat;        ///< whether these runs follow each other without gaps, in a slab
  bool stores_flat;
  bool flat_slabs;        ///< whether so do slabs, in all operands
  bool are_apart;         ///< whether neighbours in memory are those along the lines, somewhere
  int element;            ///< bytes in shared memory, of all that is kept of an element
  int unit;               ///< bytes of the smallest of it
  std::int64_t row;       ///< elements from row to row of what is copied as runs of memory
  int accumulator;        ///< bytes
  int carried;            ///< bytes
  int multiprocessors;
  int shared_bytes;       ///< of a block at most
};

/// How columns are shared out: tiles of rows and columns, of one slab or of several whole ones.
struct ColumnPlan {
  int inner;
  int columns;         ///< of a tile
  int strips_of_slab;
  int slabs_of_tile;   ///< more than one only where a tile has all rows
  int log2_chunks;     ///< of a line in a tile
  int rows;            ///< of a slab in a tile
  int pitch;           ///< elements from row to row in shared memory
  int buffers;         ///< tiles that a block has in shared memory
  int bytes_of_buffer;
  std::int64_t slabs;
  std::int64_t strips;  ///< what a block walks down
  std::int64_t steps;   ///< tiles of a strip
  std::int64_t blocks;
  bool shares;          ///< whether blocks share strips
  int lanes_of_column;  ///< that read together what others have published
  bool loads_in_bulk, stores_in_bulk, flat_loads, flat_stores;
  Divisor by_columns, by_rows, by_all_rows;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int chunks() const { return 1 << log2_chunks; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int columns_of_tile() const {
    return columns * slabs_of_tile;
  }
  /// What threads take one after the other: chunks of a tile.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int items() const {
    return columns_of_tile() << log2_chunks;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool has_totals() const {
    return steps > 1 || log2_chunks > 0;
  }
  /// Values of the carried type that a block keeps: totals of the chunks and tiles of a tile here,
  /// twice where strips are shared, and what comes before: starting values or, where there are
  /// several steps, three folds, of this step and the next.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int totals() const {
    return items() + tiles() * columns_of_tile();
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int folds() const {
    if (!has_totals()) return 0;
    return (shares ? 2 : 1) * totals() + (steps > 1 ? 6 * columns : columns_of_tile());
  }
  /// Tiles of the tree that a column has here, if it has whole ones.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int tiles() const {
    return (chunks() + chunks_of_tile - 1) / chunks_of_tile;
  }
};

/// Bytes that blocks need to share lines: a ticket, then totals of tiles, then those of sections
/// and of all up to their end.
constexpr std::int64_t bytes_to_share_columns(std::int64_t n, std::int64_t lines, int accumulator,
                                              int words) {
  const std::int64_t rows = rows_of_chunk(accumulator);
  return 8 + 8 * words * lines *
                 (divide_up(n, rows * chunks_of_tile) + 2 * divide_up(n, rows * chunks_of_section));
}

/// Whether blocks may share columns: long ones, and not so many that memory for it would grow.
constexpr bool may_share_columns(std::int64_t n, std::int64_t lines, int accumulator,
                                 int multiprocessors) {
  return n > std::int64_t{2} * rows_of_chunk(accumulator) * chunks_of_tile &&
         lines <= std::int64_t{lines_of_multiprocessor_that_share} * std::max(1, multiprocessors);
}

/// The part of the launch's blocks that multiprocessors are busy with, if each does the same.
constexpr double busy(std::int64_t blocks, std::int64_t slots) {
  return static_cast<double>(blocks) / static_cast<double>(divide_up(blocks, slots) * slots);
}

/// The bytes of a tile in shared memory: 128 more, as it may begin anywhere between two multiples.
constexpr int bytes_of_column_tile(std::int64_t rows, int pitch, int element) {
  return static_cast<int>((rows * pitch * element + 127) / 128 * 128) + 256;
}
/// Bytes of shared memory of a block besides its tiles.
inline constexpr int bytes_of_column_block = 384;
KOKKOS_FUNCTION constexpr int bytes_of_folds(const ColumnPlan& plan, int carried) {
  return (plan.folds() * carried + 127) / 128 * 128;
}
KOKKOS_FUNCTION constexpr int shared_bytes(const ColumnPlan& plan, int carried) {
  return bytes_of_column_block + bytes_of_folds(plan, carried) + 128 +
         plan.buffers * plan.bytes_of_buffer;
}

/// The plan with tiles of these chunks, columns and slabs.
constexpr ColumnPlan plan_tiles(const ColumnFacts& f, int log2_chunks, int columns, int slabs,
                                bool shares) {
  ColumnPlan plan{};
  const int rows = rows_of_chunk(f.accumulator);
  plan.inner = static_cast<int>(f.inner);
  plan.columns = columns;
  plan.strips_of_slab = static_cast<int>(divide_up(f.inner, columns));
  plan.slabs_of_tile = slabs;
  plan.log2_chunks = log2_chunks;
  plan.rows = static_cast<int>(std::min<std::int64_t>(f.n, std::int64_t{rows} << log2_chunks));
  plan.slabs = f.lines / f.inner;
  plan.strips = divide_up(plan.slabs, slabs) * plan.strips_of_slab;
  plan.steps = divide_up(f.n, std::int64_t{rows} << log2_chunks);
  plan.shares = shares && plan.steps > 1;
  // Rows that follow each other in memory do so in shared memory.
  const bool is_whole = columns == f.inner && (slabs == 1 || f.flat_slabs) && !f.are_apart;
  plan.flat_loads = is_whole && f.loads_flat;
  plan.flat_stores = is_whole && f.stores_flat;
  plan.loads_in_bulk = f.loads_in_bulk && !f.are_apart && (plan.flat_loads || slabs == 1);
  plan.stores_in_bulk = f.stores_in_bulk && !f.are_apart && (plan.flat_stores || slabs == 1);
  // One pitch for what is read and written: else neither is a run.
  const bool is_flat = plan.flat_loads && plan.flat_stores;
  const bool is_rows = (plan.loads_in_bulk && !plan.flat_loads) ||
                       (plan.stores_in_bulk && !plan.flat_stores);
  if (is_flat || (is_whole && !is_rows)) {
    plan.pitch = columns;
  } else {
    if (plan.flat_loads) plan.loads_in_bulk = plan.loads_in_bulk && slabs == 1;
    if (plan.flat_stores) plan.stores_in_bulk = plan.stores_in_bulk && slabs == 1;
    plan.flat_loads = plan.flat_stores = false;
    const int quads = 16 / std::min(16, f.unit);
    const auto more = static_cast<int>(((f.row - columns) % quads + quads) % quads);
    plan.pitch = f.are_apart ? columns | 1 : columns + more;
  }
  plan.bytes_of_buffer =
      bytes_of_column_tile(std::int64_t{plan.rows} * slabs, plan.pitch, f.element);
  // One tile is loaded while another is scanned and, where strips are shared, a third one waits for
  // totals of other blocks.
  plan.buffers = plan.shares ? 2 : 1;
  const int others = shared_bytes(plan, f.carried);
  if (plan.loads_in_bulk && others + plan.bytes_of_buffer <= f.shared_bytes) ++plan.buffers;
  plan.lanes_of_column = std::bit_floor(
      static_cast<unsigned>(std::clamp(threads_of_columns / columns, 1, 32)));
  plan.by_columns = Divisor(columns);
  plan.by_rows = Divisor(plan.rows);
  plan.by_all_rows = Divisor(plan.rows * slabs);
  return plan;
}

/// Blocks that find room at once.
constexpr std::int64_t slots_of_columns(const ColumnFacts& f, const ColumnPlan& plan) {
  const int bytes = shared_bytes(plan, f.carried) + 1024;
  const int blocks = std::clamp(f.shared_bytes / bytes, 1, most_blocks_of_columns);
  return std::int64_t{std::max(1, f.multiprocessors)} * blocks;
}

/// The part of a copy's speed that a plan may reach.
constexpr double speed_of_columns(const ColumnFacts& f, const ColumnPlan& plan) {
  const std::int64_t slots = slots_of_columns(f, plan);
  const bool is_part = plan.columns < f.inner;
  // The ends of rows touch sectors of memory that belong to other strips, too.
  const double of_rows = is_part ? 1 / (1 + cost_of_strip / (plan.columns * f.unit)) : 1;
  const double of_blocks = plan.shares ? busy_when_shared : busy(plan.strips, slots);
  const double of_threads =
      static_cast<double>(plan.items()) /
      static_cast<double>(divide_up(plan.items(), threads_of_columns) * threads_of_columns);
  // A tile is waited for, whatever it has.
  const double of_room = 1 - 0.15 * static_cast<double>(most_blocks_of_columns - slots / std::max(1, f.multiprocessors));
  const double bytes = static_cast<double>(plan.rows) * plan.slabs_of_tile * plan.columns * f.element;
  const double of_tile = bytes / (bytes + cost_of_tile);
  return of_rows * of_blocks * of_tile * of_room * (0.7 + 0.3 * of_threads);
}

/// The plan.
constexpr ColumnPlan plan_columns(const ColumnFacts& f) {
  const int rows = rows_of_chunk(f.accumulator);
  const std::int64_t chunks = divide_up(f.n, rows);
  const std::int64_t slabs = f.lines / f.inner;
  const bool may_share = may_share_columns(f.n, f.lines, f.accumulator, f.multiprocessors);
  ColumnPlan best{};
  double most = 0;
  const auto consider = [&](const ColumnPlan& plan) {
    if (shared_bytes(plan, f.carried) > f.shared_bytes) return;
    if (std::int64_t{plan.rows} * plan.slabs_of_tile * plan.pitch > most_elements_of_columns) return;
    if (plan.items() > most_elements_of_columns) return;
    const double speed = speed_of_columns(f, plan);
    if (speed <= most) return;
    most = speed;
    best = plan;
  };
  for (int log2 = 0; log2 <= 7 && (log2 == 0 || (1 << (log2 - 1)) < chunks); ++log2) {
    const std::int64_t rows_of_tile = std::min<std::int64_t>(f.n, std::int64_t{rows} << log2);
    for (const int bytes : {bytes_of_columns / 4, bytes_of_columns / 2, bytes_of_columns,
                            2 * bytes_of_columns, 3 * bytes_of_columns}) {
      const std::int64_t elements =
          std::min<std::int64_t>(bytes / f.element, most_elements_of_columns - 512);
      // Columns of a row, in strips of the same width, whole sectors if it can be.
      std::int64_t columns = std::clamp<std::int64_t>(elements / rows_of_tile, 1, f.inner);
      if (columns < f.inner) {
        columns = divide_up(f.inner, divide_up(f.inner, columns));
        if (columns > 32) columns = std::min(f.inner, divide_up(columns, 32) * 32);
      }
      const bool is_whole = columns == f.inner && rows_of_tile == f.n;
      const std::int64_t of_tile =
          is_whole ? std::clamp<std::int64_t>(elements / (rows_of_tile * columns), 1, slabs) : 1;
      const auto c = static_cast<int>(columns);
      const auto s = static_cast<int>(of_tile);
      consider(plan_tiles(f, log2, c, s, false));
      if (may_share && log2 >= 3) consider(plan_tiles(f, log2, c, 1, true));
    }
  }
  if (most == 0) best = plan_tiles(f, 0, 1, 1, false);
  const std::int64_t slots = slots_of_columns(f, best);
  best.blocks = std::min(best.shares ? best.strips * best.steps : best.strips, slots);
  return best;
}

}  // namespace KokkosScan::impl::cuda
