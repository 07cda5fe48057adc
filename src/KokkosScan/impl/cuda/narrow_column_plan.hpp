// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How narrow columns are divided among blocks: a pure function of the shape and the device. It
/// does not affect results.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Where the rows of an operand are.
struct RowsInMemory {
  bool exist;         ///< whether each row is contiguous, and rows are in the order of results
  std::int64_t row;   ///< elements from one row to the next
  std::int64_t slab;  ///< elements from one slab to the next; 0 if that is not constant

  /// Whether slabs follow each other with the pitch of their rows, if there are rows.
  [[nodiscard]] constexpr bool is_even(std::int64_t n) const { return !exist || slab == n * row; }
  [[nodiscard]] constexpr bool operator==(const RowsInMemory&) const = default;
};

/// What a plan depends on.
struct NarrowColumnFacts {
  std::int64_t n;
  std::int64_t stride;  ///< elements between neighbours of a line
  std::int64_t lines;
  int neighbours;  ///< lines that are consecutive in the last dimension of the batch
  bool are_rows;   ///< whether these are neighbours in memory, in all operands
  RowsInMemory input, mask, output;  ///< the mask's are the input's if there is no mask
  int element;                       ///< bytes in shared memory for all that is kept of an element
  int element_and_result;            ///< the same without a mask: decides the cut
  int accumulator;                   ///< bytes
  int carried;                       ///< bytes of a carried value
  bool in_place;                     ///< whether results overwrite elements
  int multiprocessors;

  [[nodiscard]] constexpr bool are_even() const {
    return input.is_even(n) && mask.is_even(n) && output.is_even(n);
  }
};

/// Tiles: all rows of several whole slabs, or some rows of one, or some columns.
struct NarrowColumnPlan {
  std::int64_t n;
  std::int64_t slabs;
  int neighbours;
  bool are_rows;       ///< whether a slab has these; else it has one line, which may lie anywhere
  int columns;         ///< of a tile
  int strips;          ///< of a slab, side by side
  int chunk;           ///< rows per thread
  int chunks;          ///< of a column in a tile
  int rows;            ///< of a slab in a tile
  std::int64_t steps;  ///< tiles of a slab, one below the other; blocks share columns of several
  int pitch;           ///< elements between rows in shared memory
  int slabs_of_tile;
  /// Groups of slabs, kept apart in shared memory to avoid bank conflicts. The power of two.
  int log2_pieces;
  int slabs_of_piece;
  int pitch_of_piece;
  int rows_of_run;  ///< rows that are moved together: those of a piece, or one
  int bytes_of_buffer;
  int bytes_of_folds;
  std::int64_t blocks;
  bool loads_runs, stores_runs;  ///< whether a tile is contiguous in global memory as well
  Divisor by_columns, by_chunks, by_slabs_of_piece;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int lines() const { return columns * slabs_of_tile; }
  /// Work items, distributed over the threads: the chunks of a tile.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int items() const { return lines() * chunks; }
  /// Whether chunks are folded before they are scanned.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool has_totals() const { return n > chunk; }
  /// Folds that a block keeps per line: the prefix of each chunk and of the next; if blocks share
  /// columns, that of the next tile and two parts of its own.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int folds_of_line() const {
    return chunks + (steps > 1 ? 4 : 1);
  }
  /// Elements in shared memory of a slab and of a tile, including gaps.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int pitch_of_slab() const { return pitch * rows; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slots() const {
    return pitch_of_piece << log2_pieces;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int begin_of_folds() const {
    return bytes_of_narrow_block + bytes_of_buffer;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int shared_bytes() const {
    return begin_of_folds() + bytes_of_folds;
  }
  /// The slab that threads process as number s, and where it begins in shared memory. Lanes
  /// alternate between pieces.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slab_in_turn(int s) const {
    return (s & ((1 << log2_pieces) - 1)) * slabs_of_piece + (s >> log2_pieces);
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slot_in_turn(int s) const {
    return (s & ((1 << log2_pieces) - 1)) * pitch_of_piece + (s >> log2_pieces) * pitch_of_slab();
  }
  /// Where a slab of a tile begins in shared memory.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slot_of_slab(int slab) const {
    const int piece = by_slabs_of_piece.quotient(slab);
    return piece * pitch_of_piece + (slab - piece * slabs_of_piece) * pitch_of_slab();
  }
};

/// Bytes of a tile, with padding for up to three operands, each with any offset modulo 128.
constexpr int bytes_of_narrow_buffer(const NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  return (plan.slots() * f.element + 127) / 128 * 128 + 6 * 128;
}
/// Chooses the row pitch of tiles of whole slabs or of some rows, and how they are moved. Small
/// gaps between rows are loaded, but never stored.
constexpr void plan_moves(NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  const bool are_runs = plan.are_rows && (plan.slabs_of_tile == 1 || f.are_even());
  const std::int64_t bytes = f.input.row * plan.rows * plan.slabs_of_tile * f.element;
  const bool has_gaps = f.input.row != plan.columns;
  plan.loads_runs = are_runs && f.input.exist && f.mask == f.input && f.input.row >= plan.columns &&
                    (!has_gaps || bytes <= bytes_of_tile_with_gaps);
  plan.pitch = plan.loads_runs ? static_cast<int>(f.input.row) : plan.columns;
  plan.stores_runs =
      are_runs && f.output.exist && f.output.row == plan.pitch && plan.pitch == plan.columns;
  plan.slabs_of_piece = plan.slabs_of_tile;
  plan.pitch_of_piece = plan.slabs_of_tile * plan.pitch_of_slab();
  plan.rows_of_run = plan.slabs_of_tile * plan.rows;
}
/// Makes a tile of all rows and some columns of one slab. Rows lie alike in shared and in global
/// memory, and are so far apart that none share 16 bytes, for elements of any size.
constexpr void plan_strips(NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  constexpr int unit = 32;
  constexpr int room = 16;
  const int fit = bytes_of_narrow_tile / (plan.rows * f.element) - room - unit;
  const std::int64_t strips = divide_up(f.neighbours, std::max(fit / unit * unit, unit));
  plan.columns = static_cast<int>(divide_up(divide_up(f.neighbours, strips), unit) * unit);
  plan.strips = static_cast<int>(divide_up(f.neighbours, plan.columns));
  plan.pitch = plan.columns + room + (f.neighbours % unit + 2 * unit - room) % unit;
  plan.slabs_of_tile = plan.slabs_of_piece = plan.rows_of_run = 1;
  plan.pitch_of_piece = plan.pitch_of_slab();
  plan.loads_runs = f.input.exist && f.mask == f.input && f.input.row == f.neighbours;
  plan.stores_runs = f.output.exist && f.output.row == f.neighbours;
}
/// Keeps pieces of a tile apart where lanes would have bank conflicts, as slabs are short multiples
/// of some banks.
constexpr void spread_slabs(NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  constexpr int log2 = 3;
  const bool is_one_array = f.in_place && f.element == f.element_and_result && f.element >= 4;
  const int slab = plan.pitch_of_slab() * f.element;
  if (!is_one_array || plan.has_totals() || slab % 32 != 0 || f.element > 16) return;
  const int slabs = plan.slabs_of_tile >> log2;
  if (slabs < 2) return;
  plan.log2_pieces = log2;
  plan.slabs_of_piece = slabs;
  plan.slabs_of_tile = slabs << log2;
  plan.rows_of_run = slabs * plan.rows;
  plan.pitch_of_piece = (divide_up(slabs * slab, 128) * 128 + 16) / f.element;
}
/// Makes a tile of whole slabs, large enough to amortise latencies, small enough to give every
/// multiprocessor several.
constexpr void plan_whole_columns(NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  const int folds = plan.has_totals() ? plan.columns * plan.folds_of_line() : 0;
  const std::int64_t elements = std::int64_t{plan.columns} * plan.rows;
  const std::int64_t fit =
      std::min(bytes_of_narrow_tile / (elements * f.element + folds * f.carried),
               ((1 << 15) - 1) / elements);
  const std::int64_t fair = divide_up(
      plan.slabs, std::int64_t{std::max(1, f.multiprocessors)} * blocks_of_narrow_columns);
  if (plan.columns > widest_narrow_row && fit == 0) return plan_strips(plan, f);
  plan.slabs_of_tile = static_cast<int>(std::max<std::int64_t>(std::min(fit, fair), 1));
  // A slab of its own, if those of some operand are apart, unless that is too little for a block.
  if (!f.are_even() && 8 * elements * f.element > bytes_of_narrow_tile) plan.slabs_of_tile = 1;
  plan_moves(plan, f);
  spread_slabs(plan, f);
}

/// The plan. A block has a tile: of whole slabs, or of the rows that the combination tree
/// prescribes of all neighbouring columns of one.
constexpr NarrowColumnPlan plan_narrow_columns(const NarrowColumnFacts& f) {
  NarrowColumnPlan plan{};
  plan.n = f.n;
  plan.neighbours = f.neighbours;
  plan.are_rows = f.are_rows && f.neighbours <= f.stride;
  plan.columns = plan.are_rows ? f.neighbours : 1;
  plan.strips = 1;
  plan.slabs = f.lines / plan.columns;
  const NarrowCut cut = cut_narrow_column(f.n, f.stride, f.element_and_result, f.accumulator);
  plan.chunk = cut.chunk;
  plan.chunks = cut.chunks;
  plan.steps = cut.tiles;
  plan.rows = plan.steps == 1 ? static_cast<int>(f.n) : cut.chunk * cut.chunks;
  plan.slabs_of_tile = 1;
  if (plan.steps == 1) {
    plan_whole_columns(plan, f);
  } else {
    plan_moves(plan, f);
  }
  plan.bytes_of_buffer = bytes_of_narrow_buffer(plan, f);
  const int folds = plan.has_totals() ? plan.lines() * plan.folds_of_line() : 0;
  plan.bytes_of_folds = (folds * f.carried + 15) / 16 * 16;
  plan.by_columns = Divisor(plan.columns);
  plan.by_chunks = Divisor(plan.chunks);
  plan.by_slabs_of_piece = Divisor(plan.slabs_of_piece);
  plan.blocks = divide_up(plan.slabs, plan.slabs_of_tile) * plan.strips * plan.steps;
  return plan;
}

}  // namespace KokkosScan::impl::cuda
