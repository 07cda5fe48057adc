// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How narrow columns are divided among blocks: a pure function of the shape and the device. It
/// does not affect results.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>
#include <numeric>

namespace KokkosScan::impl::cuda {

/// Where the rows of an operand are.
struct RowsInMemory {
  bool exist;         ///< whether each row is contiguous, and rows are in the order of results
  std::int64_t row;   ///< elements from one row to the next
  std::int64_t slab;  ///< elements from one slab to the next; 0 if that is not constant

  [[nodiscard]] constexpr bool operator==(const RowsInMemory&) const = default;
};

/// What a plan depends on.
struct NarrowColumnFacts {
  std::int64_t n;
  std::int64_t stride;  ///< elements between neighbours of a line
  std::int64_t lines;
  int neighbours;              ///< lines that are consecutive in the last dimension of the batch
  RowsInMemory input, output;  ///< the input's only if those of its mask are the same
  int element;                 ///< bytes in shared memory for all that is kept of an element
  int element_and_result;      ///< the same without a mask: decides the cut
  int accumulator;             ///< bytes
  int carried;                 ///< bytes of a carried value
  int multiprocessors;

  /// Whether slabs follow each other, as far as they consist of rows.
  [[nodiscard]] constexpr bool are_even() const {
    return (!input.exist || input.slab == n * input.row) &&
           (!output.exist || output.slab == n * output.row);
  }
};

/// Tiles: all rows of several slabs, or some rows of one; all neighbouring columns, or a strip.
struct NarrowColumnPlan {
  std::int64_t n;
  std::int64_t slabs;
  int neighbours;      ///< columns of a slab
  int columns;         ///< of a tile
  int strips;          ///< of a slab, side by side
  int chunk;           ///< rows per thread
  int chunks;          ///< of a column in a tile
  int rows;            ///< of a slab in a tile
  std::int64_t steps;  ///< tiles of a slab, one below the other; blocks share columns of several
  int pitch;           ///< elements between rows in shared memory
  int slabs_of_tile;
  /// Pieces of a tile lie 16 bytes apart in shared memory, so that lanes, which alternate between
  /// them, have no bank conflicts where slabs are a multiple of some banks.
  int log2_pieces;
  int rows_of_run;     ///< that are moved together: those of a piece, or one of a strip
  int begin_of_folds;  ///< byte of the shared memory
  int shared_bytes;
  std::int64_t blocks;
  bool loads_runs, stores_runs;  ///< whether a tile, or each row of a strip, is a run of memory
  Divisor by_columns, by_chunks;

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
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slabs_of_piece() const {
    return slabs_of_tile >> log2_pieces;
  }
  /// Elements in shared memory, including gaps between rows.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slots() const { return pitch * rows * slabs_of_tile; }
};

/// Chooses the number of whole columns in a tile, large enough to amortise latencies, small enough
/// to give every multiprocessor several: of whole slabs, or of strips of one.
///
/// \param least columns that a tile has room for
/// \param room  between rows of a strip
constexpr void plan_whole_columns(NarrowColumnPlan& plan, const NarrowColumnFacts& f, int least,
                                  int room) {
  const int folds = plan.has_totals() ? plan.folds_of_line() : 0;
  const std::int64_t fit =
      std::min(bytes_of_narrow_tile / (f.n * f.element + folds * f.carried), ((1 << 15) - 1) / f.n);
  if (f.neighbours > std::max<std::int64_t>(fit, least)) {
    const auto most = static_cast<int>(std::max<std::int64_t>(fit - 3 * room, least));
    const int unit = most < 32 ? 1 : 32;
    const std::int64_t strips = divide_up(f.neighbours, most / unit * unit);
    plan.columns = static_cast<int>(divide_up(divide_up(f.neighbours, strips), unit)) * unit;
    return;
  }
  const std::int64_t fair = divide_up(
      plan.slabs, std::int64_t{std::max(1, f.multiprocessors)} * blocks_of_narrow_columns);
  // A slab of its own, if those of some operand are apart, unless that is too little for a block.
  if (!f.are_even() && 8 * f.n * f.neighbours * f.element > bytes_of_narrow_tile) return;
  plan.slabs_of_tile =
      static_cast<int>(std::max<std::int64_t>(std::min(fit / f.neighbours, fair), 1));
  // Passes of a warp over the banks, for a row of its chunks: to fold, to read and to write it.
  const int elements = static_cast<int>(f.n) * f.neighbours;
  const int size = std::max(4, f.element_and_result / 4 * 4);
  const int passes = (plan.has_totals() ? 3 : 2) * std::gcd(128, elements * size) /
                     (size * f.neighbours * plan.chunks);
  // Pieces of a multiple of 32 bytes, for elements of any size, begin in different banks.
  const int unit = 32 / std::gcd(32, elements);
  const int slabs = (plan.slabs_of_tile >> log2_narrow_pieces) / unit * unit;
  if (passes < passes_of_narrow_pieces || slabs == 0) return;
  plan.log2_pieces = log2_narrow_pieces;
  plan.slabs_of_tile = slabs << log2_narrow_pieces;
}

/// The plan. A block has a tile: of whole columns, or of the rows and columns that the combination
/// tree prescribes.
constexpr NarrowColumnPlan plan_narrow_columns(const NarrowColumnFacts& f) {
  const NarrowCut cut = cut_narrow_column(f.n, f.stride, f.element_and_result, f.accumulator);
  NarrowColumnPlan plan{};
  plan.n = f.n;
  plan.neighbours = f.neighbours;
  plan.slabs = f.lines / f.neighbours;
  plan.columns = std::min(f.neighbours, cut.columns);
  plan.chunk = cut.chunk;
  plan.chunks = cut.chunks;
  plan.steps = cut.tiles;
  plan.rows = plan.steps == 1 ? static_cast<int>(f.n) : cut.chunk * cut.chunks;
  plan.slabs_of_tile = 1;
  constexpr int room = 16;
  if (plan.steps == 1) {
    plan.columns = f.neighbours;
    plan_whole_columns(plan, f, cut.columns, room);
  }
  plan.strips = static_cast<int>(divide_up(f.neighbours, plan.columns));
  const bool are_strips = plan.strips > 1;
  plan.rows_of_run = are_strips ? 1 : plan.slabs_of_piece() * plan.rows;
  const bool are_runs =
      (plan.slabs_of_tile == 1 || f.are_even()) && (!are_strips || f.n <= longest_short_column);
  plan.loads_runs = are_runs && f.input.exist && f.input.row == f.neighbours;
  plan.stores_runs = are_runs && f.output.exist && f.output.row == f.neighbours;
  // Rows of a strip lie alike in shared and in global memory, and are so far apart that none share
  // 16 bytes, for elements of any size.
  plan.pitch = plan.columns;
  if (are_strips && (plan.loads_runs || plan.stores_runs)) {
    plan.pitch += room + (f.neighbours % 32 + 64 - plan.columns % 32 - room) % 32;
  }
  // Padding for up to three operands, each with any offset modulo 128 and gaps between pieces.
  const int padded = (plan.slots() * f.element + 127) / 128 * 128 + 9 * 128;
  const int folds = plan.has_totals() ? plan.lines() * plan.folds_of_line() : 0;
  plan.begin_of_folds = bytes_of_narrow_block + padded;
  plan.shared_bytes = plan.begin_of_folds + (folds * f.carried + 15) / 16 * 16;
  plan.by_columns = Divisor(plan.columns);
  plan.by_chunks = Divisor(plan.chunks);
  plan.blocks = divide_up(plan.slabs, plan.slabs_of_tile) * plan.strips * plan.steps;
  return plan;
}

}  // namespace KokkosScan::impl::cuda
