// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How short and narrow columns are divided among blocks: a pure function of the shape and the
/// device. It does not affect results.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// How the elements of an operand are moved between global and shared memory.
enum class MoveRows {
  one_by_one,   ///< one at a time, at any address
  as_elements,  ///< one at a time, from or to rows with a constant pitch
  as_rows,      ///< a row at a time, whatever its alignment
  as_pieces,    ///< a piece of the tile at a time, with the gaps between its rows
};

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
  std::int64_t stride;  ///< elements between neighbours of a line, the minimum over all operands
  std::int64_t lines;
  std::int64_t inner;                ///< lines of a slab: those that are neighbours
  RowsInMemory input, mask, output;  ///< the mask's are the input's if there is no mask
  bool is_computed;                  ///< whether the input is computed rather than stored
  bool is_along;       ///< whether neighbours in memory belong to one line in some operand
  int element;         ///< bytes in shared memory for all that is kept of an element
  int loaded, stored;  ///< bytes of an input element and of an output element
  bool has_mask;
  int unit;             ///< bytes of the smallest of these and of a mask element
  int accumulator;      ///< bytes
  NarrowElement types;  ///< the properties of the types that determine the cut
  int multiprocessors;
  int shared_bytes;  ///< maximum for a block
};

/// Tiles of rows and columns: all rows of several whole slabs, or some rows and columns of one.
struct NarrowColumnPlan {
  std::int64_t n;
  int inner;
  int chunk;           ///< rows per thread
  int chunks_of_line;  ///< the last may be shorter, where a block has whole columns
  int chunks;          ///< of a line in a tile
  int rows;            ///< of a slab in a tile
  int columns;         ///< of a tile
  int strips_of_slab;  ///< side by side
  int steps;           ///< tiles of a strip, one below the other
  int slabs_of_tile;
  int pitch;           ///< elements between rows in shared memory
  int pitch_of_slab;   ///< elements between slabs
  int log2_pieces;     ///< of a tile, kept apart in shared memory to avoid bank conflicts
  int slabs_of_piece;  ///< those with the pitch of their rows, here and in global memory
  int pitch_of_piece;
  int buffers;  ///< tiles of a block in shared memory
  int bytes_of_buffer;
  int bytes_of_folds;  ///< of one tile
  int bytes_of_carry;  ///< if blocks share strips
  std::int64_t slabs;
  std::int64_t strips;  ///< of all slabs
  std::int64_t blocks;
  MoveRows loads, stores;
  bool is_shared;  ///< whether blocks share strips
  int width;       ///< columns of neighbouring threads, if blocks share strips
  int segment;     ///< chunks of a column that combine first, if blocks share strips
  Divisor by_columns, by_chunks, by_slabs_of_piece, by_rows_of_piece, by_lanes, by_segments;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int lines() const { return columns * slabs_of_tile; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int elements() const { return lines() * rows; }
  /// Work items, distributed over the threads: the chunks of a tile.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int items() const { return lines() * chunks; }
  /// Whether chunks are folded before they are scanned.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool has_totals() const { return n > chunk; }
  /// Folds that a block keeps per line: the prefix of each chunk, the prefix of the next tile, and
  /// one more while these are updated.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int folds_of_line() const { return chunks + 2; }
  /// Elements in shared memory, including gaps.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slots() const {
    return log2_pieces > 0 ? pitch_of_piece << log2_pieces : pitch_of_slab * slabs_of_tile;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int begin_of_buffers() const {
    return is_shared ? bytes_of_shared_narrow_block : bytes_of_narrow_block;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int begin_of_folds() const {
    return begin_of_buffers() + buffers * bytes_of_buffer;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int begin_of_carry() const {
    return begin_of_folds() + (is_shared ? buffers : 1) * bytes_of_folds;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int shared_bytes() const {
    return begin_of_carry() + bytes_of_carry;
  }
  /// The slab that threads process as number s, and where it begins in shared memory. Lanes
  /// alternate between pieces to avoid bank conflicts.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slab_in_turn(int s) const {
    return (s & ((1 << log2_pieces) - 1)) * slabs_of_piece + (s >> log2_pieces);
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slot_in_turn(int s) const {
    return (s & ((1 << log2_pieces) - 1)) * pitch_of_piece + (s >> log2_pieces) * pitch_of_slab;
  }
  /// Where a slab of a tile begins in shared memory.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int slot_of_slab(int slab) const {
    const int piece = log2_pieces > 0 ? by_slabs_of_piece.quotient(slab) : 0;
    return piece * pitch_of_piece + (slab - piece * slabs_of_piece) * pitch_of_slab;
  }
};

/// The degree of bank conflicts when a warp reads the same row of its chunks.
///
/// \param bytes of an element
constexpr int passes_of_lanes(const NarrowColumnPlan& plan, int bytes) {
  const int words = std::max(1, bytes / 4);
  unsigned char lanes_of_bank[32] = {};
  int most = 0;
  for (int lane = 0; lane < 32 / words; ++lane) {
    const int of_tile = lane / plan.columns;
    const int place = plan.slot_in_turn(of_tile / plan.chunks) +
                      of_tile % plan.chunks * plan.chunk * plan.pitch + lane % plan.columns;
    most = std::max<int>(most, ++lanes_of_bank[place * std::int64_t{bytes} / 4 % 32]);
  }
  return bytes < 4 ? (most * bytes + 3) / 4 : most;
}

/// The number of slabs that fills whole rounds of threads, or nearly fills the last round.
///
/// \param most slabs that fit
constexpr int slabs_for_threads(int most, int items_of_slab) {
  const std::int64_t items = std::int64_t{most} * items_of_slab;
  const std::int64_t rounds = items / threads_of_narrow_columns;
  const bool is_even = 4 * items >= 3 * (rounds + 1) * threads_of_narrow_columns;
  if (rounds == 0 || is_even) return most;
  return std::max(1, static_cast<int>(rounds * threads_of_narrow_columns / items_of_slab));
}

/// Spaces the pieces of a tile of many slabs in shared memory so that bank conflicts are fewest.
///
/// \param quads step of the spacing in elements, also the gap behind runs
/// \param bytes of an element
/// \param most  elements that fit
constexpr void spread_slabs(NarrowColumnPlan& plan, int quads, int bytes, int most) {
  constexpr int log2 = 3;
  int least = passes_of_lanes(plan, bytes);
  if (least < 8) return;
  NarrowColumnPlan spread = plan;
  spread.log2_pieces = log2;
  for (int more = quads; more < quads + std::max(1, 128 / bytes); more += quads) {
    spread.slabs_of_piece =
        std::min(plan.slabs_of_tile, (most - (more << log2)) / plan.pitch_of_slab) >> log2;
    if (spread.slabs_of_piece < 2) return;
    spread.slabs_of_tile = spread.slabs_of_piece << log2;
    spread.pitch_of_piece = spread.slabs_of_piece * plan.pitch_of_slab + more;
    const int passes = passes_of_lanes(spread, bytes);
    if (passes >= least) continue;
    least = passes;
    plan = spread;
  }
}

/// The smallest number of elements that fills a multiple of 16 bytes.
constexpr int elements_of_quads(int bytes) { return std::max(1, 16 / bytes); }
/// The smallest distance from `least` on that is congruent to `others` modulo `quads`.
///
/// \param least elements apart
constexpr std::int64_t apart_alike(std::int64_t least, std::int64_t others, int quads) {
  return least + ((others - least) % quads + quads) % quads;
}
/// The operand that determines the row pitch in shared memory.
///
/// \param of_pieces row pitch in elements where pieces are moved, or 0
constexpr const RowsInMemory& leading_rows(const NarrowColumnFacts& f, std::int64_t of_pieces) {
  const bool is_input =
      f.input.exist && f.mask.exist && (of_pieces == 0 || of_pieces == f.input.row);
  return is_input ? f.input : f.output;
}
/// Elements left free behind each loaded run. Runs are loaded as whole quads, so no two may share
/// one.
constexpr int room_behind_runs(const NarrowColumnFacts& f) {
  return elements_of_quads(f.has_mask ? 1 : f.loaded) - 1;
}
/// Row pitches in shared and global memory are congruent modulo this number of elements, where rows
/// are moved in bulk: 16 bytes of each operand, and a sector of the largest (with 16 bytes alone,
/// floats (6099, 11, 4001) are slower on an H200).
constexpr int elements_alike(const NarrowColumnFacts& f) {
  return std::max(elements_of_quads(f.unit), 32 / std::max(f.loaded, f.stored));
}
/// Row pitch in shared memory, in elements, where rows are moved together.
constexpr std::int64_t pitch_of_rows(const NarrowColumnFacts& f, std::int64_t columns) {
  return apart_alike(columns + room_behind_runs(f), leading_rows(f, 0).row, elements_alike(f));
}
/// The maximum by which this pitch exceeds the number of columns.
constexpr int most_behind_rows(const NarrowColumnFacts& f) {
  return room_behind_runs(f) + elements_alike(f) - 1;
}
/// Row pitch in elements where pieces are moved with the gaps between rows; 0 if none are. Small
/// gaps may be loaded, but never stored.
constexpr std::int64_t pitch_of_pieces(const NarrowColumnFacts& f, std::int64_t columns) {
  if (f.is_along || columns != f.inner) return 0;
  const std::int64_t between = f.input.row - columns;
  const bool are_near = between >= 0 && between * f.unit <= most_bytes_between_rows;
  if (f.input.exist && f.mask == f.input && are_near) return f.input.row;
  const bool may_be_dense = f.is_computed || (f.input.exist && f.mask.exist);
  return may_be_dense && f.output.exist && f.output.row == columns ? columns : 0;
}
/// The units in which a tile is moved, in elements.
struct NarrowRuns {
  int count;
  int length;    ///< including the gaps between rows of a piece
  int distance;  ///< from one run to the next

  /// \param how as pieces, or else row by row
  constexpr NarrowRuns(const NarrowColumnPlan& plan, MoveRows how) {
    const bool are_pieces = how == MoveRows::as_pieces;
    const int rows = are_pieces ? plan.slabs_of_piece * plan.rows : 1;
    count = plan.slabs_of_tile * plan.rows / rows;
    length = (rows - 1) * plan.pitch + plan.columns;
    distance = are_pieces ? plan.pitch_of_piece : plan.pitch;
  }
};
/// How an operand is moved, for a tile whose slots are known.
///
/// \param bytes of an element
constexpr MoveRows how_to_move(const NarrowColumnPlan& plan, const NarrowColumnFacts& f,
                               const RowsInMemory& rows, int bytes, bool is_output) {
  const bool has_slabs = plan.slabs_of_tile > 1;
  if (f.is_along || !rows.exist || (has_slabs && rows.slab == 0)) return MoveRows::one_by_one;
  const int quads = elements_of_quads(bytes);
  const bool are_alike = (plan.pitch - rows.row) % quads == 0 &&
                         (!has_slabs || (plan.pitch_of_slab - rows.slab) % quads == 0);
  const bool is_piece = plan.columns == plan.inner && plan.pitch == rows.row &&
                        (!is_output || plan.pitch == plan.columns);
  const bool have_edges = plan.columns % quads != 0 || rows.row % quads != 0;
  for (const MoveRows how : {MoveRows::as_pieces, MoveRows::as_rows}) {
    if (!are_alike || (how == MoveRows::as_pieces && !is_piece)) continue;
    const NarrowRuns runs(plan, how);
    const bool have_room =
        is_output || runs.count == 1 || runs.distance - runs.length >= room_behind_runs(f);
    const bool are_stored_rows = is_output && have_edges && how == MoveRows::as_rows;
    const int least = are_stored_rows ? least_bytes_of_stored_row : least_bytes_of_run;
    if (have_room && (runs.count == 1 || runs.length * bytes >= least)) return how;
  }
  return MoveRows::as_elements;
}
/// Bytes of a tile, with padding for up to three operands, each with any offset modulo 128.
constexpr int bytes_of_narrow_buffer(const NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  return (plan.slots() * f.element + 127) / 128 * 128 + 6 * 128;
}
/// Derives the rest from the tiles: how they are moved, the number of strips, the divisors.
constexpr void finish_plan(NarrowColumnPlan& plan, const NarrowColumnFacts& f) {
  plan.loads = how_to_move(plan, f, f.input, f.loaded, false);
  if (f.has_mask) plan.loads = std::min(plan.loads, how_to_move(plan, f, f.mask, 1, false));
  plan.stores = how_to_move(plan, f, f.output, f.stored, true);
  plan.strips_of_slab = static_cast<int>(divide_up(f.inner, plan.columns));
  plan.strips = divide_up(plan.slabs, plan.slabs_of_tile) * plan.strips_of_slab;
  plan.by_columns = Divisor(plan.columns);
  plan.by_chunks = Divisor(plan.chunks);
  plan.by_slabs_of_piece = Divisor(plan.slabs_of_piece);
  plan.by_rows_of_piece = Divisor(plan.slabs_of_piece * plan.rows);
}

/// The plan for columns that blocks share: a tile has all neighbouring columns of a slab, and the
/// rows that the combination tree prescribes.
constexpr NarrowColumnPlan plan_shared_narrow_columns(const NarrowColumnFacts& f,
                                                      const NarrowCut& cut) {
  NarrowColumnPlan plan{};
  plan.is_shared = true;
  plan.width = cut.columns;
  plan.segment = cut.segment;
  plan.n = f.n;
  plan.inner = static_cast<int>(f.inner);
  plan.slabs = f.lines / f.inner;
  plan.slabs_of_tile = 1;
  plan.chunk = cut.chunk;
  plan.chunks = cut.chunks;
  plan.columns = std::min(plan.inner, cut.columns);
  plan.rows = cut.chunks * cut.chunk;
  plan.steps = static_cast<int>(divide_up(f.n, plan.rows));
  plan.slabs_of_piece = 1;
  /// The number of tiles that fit.
  const auto fit = [&](std::int64_t pitch) {
    plan.pitch = static_cast<int>(pitch);
    plan.pitch_of_slab = plan.pitch_of_piece = plan.pitch * plan.rows;
    plan.bytes_of_buffer = bytes_of_narrow_buffer(plan, f);
    plan.buffers = most_narrow_buffers;
    const int room = f.shared_bytes / blocks_of_shared_narrow_columns;
    while (plan.buffers > 0 && plan.shared_bytes() > room) --plan.buffers;
    return plan.buffers;
  };
  // Including the folds of segments.
  const int folds = plan.lines() * (plan.folds_of_line() + cut.segment);
  plan.bytes_of_folds = (folds * f.types.carried + 15) / 16 * 16;
  plan.bytes_of_carry = (plan.columns * f.types.carried + 15) / 16 * 16;
  const std::int64_t of_pieces = pitch_of_pieces(f, plan.columns);
  const bool are_pieces = of_pieces > 0 && fit(of_pieces) >= std::min(3, fit(plan.columns));
  const bool are_rows = !f.is_along && plan.columns * f.unit >= least_bytes_of_run;
  if (are_pieces) {
    fit(of_pieces);
  } else if (!are_rows || fit(pitch_of_rows(f, plan.columns)) == 0) {
    fit(plan.columns);
  }
  finish_plan(plan, f);
  plan.blocks = std::min(plan.strips * plan.steps, std::int64_t{std::max(1, f.multiprocessors)} *
                                                       blocks_of_shared_narrow_columns);
  plan.by_lanes = Divisor(cut.columns);
  plan.by_segments = Divisor(cut.segment);
  return plan;
}

/// The plan.
constexpr NarrowColumnPlan plan_narrow_columns(const NarrowColumnFacts& f) {
  if (f.n > longest_short_column) {
    const NarrowCut cut = cut_narrow_column(f.n, f.stride, f.types);
    if (cut.is_shared) return plan_shared_narrow_columns(f, cut);
  }
  NarrowColumnPlan plan{};
  const auto n = static_cast<int>(f.n);
  plan.n = n;
  plan.inner = static_cast<int>(f.inner);
  plan.slabs = f.lines / f.inner;
  plan.chunk = rows_of_chunk(n, f.accumulator);
  plan.chunks_of_line = static_cast<int>(divide_up(n, plan.chunk));
  const std::int64_t slots =
      std::int64_t{std::max(1, f.multiprocessors)} * blocks_of_narrow_columns;
  // Large enough to amortise the latency of a tile, small enough to give every block several. Two
  // buffers share the space with three folds per chunk.
  const std::int64_t most = std::min<std::int64_t>(
      plan.has_totals() ? std::int64_t{2} * plan.chunk * bytes_of_narrow_tile /
                              (2 * plan.chunk * f.element + 3 * f.types.carried)
                        : bytes_of_narrow_tile / f.element,
      (1 << 15) - 1);
  const int quads = elements_of_quads(f.unit);
  // Rows that are not short keep the pitch of global memory modulo 16 bytes. Others have an odd
  // pitch, as threads walk down columns.
  const auto are_apart = [&](std::int64_t columns) {
    return f.is_along || columns * f.unit < least_bytes_of_run;
  };
  const auto distance_in_pieces = [&](std::int64_t columns) -> std::int64_t {
    const std::int64_t pitch = pitch_of_pieces(f, columns);
    return pitch * plan.chunk <= most ? pitch : 0;
  };
  const auto distance = [&](std::int64_t columns) -> std::int64_t {
    if (const std::int64_t of_pieces = distance_in_pieces(columns)) return of_pieces;
    return are_apart(columns) ? columns | 1 : pitch_of_rows(f, columns);
  };
  const std::int64_t fair = f.lines * n / (2 * slots);
  const std::int64_t elements = std::clamp<std::int64_t>(fair, most / 8, most);
  const std::int64_t of_slab = distance(f.inner) * n;
  plan.columns = plan.inner;
  plan.slabs_of_tile = 1;
  plan.chunks = plan.chunks_of_line;
  if (of_slab <= elements || of_slab <= most / 2) {  // whole slabs
    plan.slabs_of_tile =
        static_cast<int>(std::clamp<std::int64_t>(elements / of_slab, 1, plan.slabs));
    if (plan.has_totals()) {
      plan.slabs_of_tile = slabs_for_threads(plan.slabs_of_tile, plan.chunks * plan.inner);
    }
  } else {
    // All columns of some rows if there are slabs for all blocks. Otherwise strips of nearly equal
    // width, whole sectors if they fit. More tiles do not help a block that takes them top down.
    const std::int64_t room = plan.has_totals() ? most : elements;
    std::int64_t widest = distance(f.inner) * plan.chunk <= room
                              ? f.inner
                              : std::max<std::int64_t>(room / plan.chunk - most_behind_rows(f), 1);
    const std::int64_t sectors = std::max(1, 32 / f.unit);
    if (plan.has_totals() && f.is_along) widest = std::min<std::int64_t>(widest, 32);
    if (plan.has_totals() && plan.slabs < slots) {
      const std::int64_t wish = divide_up(f.inner, slots / plan.slabs);
      widest = std::min(widest, divide_up(wish, sectors) * sectors);
    }
    if (f.inner > widest) {
      const std::int64_t step = widest < sectors ? 1 : sectors;
      const std::int64_t strips = divide_up(f.inner, widest / step * step);
      plan.columns = static_cast<int>(divide_up(f.inner, strips * step) * step);
    }
    const std::int64_t fit = room / (distance(plan.columns) * plan.chunk);
    const std::int64_t chunks = std::clamp<std::int64_t>(fit, 1, plan.chunks_of_line);
    plan.chunks =
        static_cast<int>(divide_up(plan.chunks_of_line, divide_up(plan.chunks_of_line, chunks)));
  }
  plan.steps = static_cast<int>(divide_up(plan.chunks_of_line, plan.chunks));
  plan.rows = std::min(n, plan.chunks * plan.chunk);
  plan.pitch = static_cast<int>(distance(plan.columns));
  plan.pitch_of_slab = plan.pitch * plan.rows;
  plan.slabs_of_piece = 1;
  if (plan.slabs_of_tile > 1) {
    const bool are_even =
        !f.is_along && f.input.is_even(f.n) && f.mask.is_even(f.n) && f.output.is_even(f.n);
    const std::int64_t of_pieces = distance_in_pieces(plan.columns);
    if (are_even && of_pieces > 0) {
      plan.slabs_of_piece = plan.slabs_of_tile;
      spread_slabs(plan, quads, std::max(f.loaded, f.stored), static_cast<int>(most));
    } else {
      plan.pitch_of_slab =
          are_apart(plan.columns * plan.rows)
              ? plan.pitch_of_slab | 1
              : static_cast<int>(apart_alike(plan.pitch_of_slab + room_behind_runs(f),
                                             leading_rows(f, of_pieces).slab, quads));
      plan.slabs_of_tile = static_cast<int>(std::min<std::int64_t>(
          plan.slabs_of_tile, std::max<std::int64_t>(1, most / plan.pitch_of_slab)));
    }
  }
  if (plan.log2_pieces == 0) plan.pitch_of_piece = plan.slabs_of_piece * plan.pitch_of_slab;
  finish_plan(plan, f);
  plan.bytes_of_buffer = bytes_of_narrow_buffer(plan, f);
  plan.buffers = plan.loads == MoveRows::one_by_one ? 1 : 2;
  if (plan.has_totals())
    plan.bytes_of_folds = plan.lines() * plan.folds_of_line() * f.types.carried;
  plan.blocks = std::min(plan.strips, slots);
  return plan;
}

}  // namespace KokkosScan::impl::cuda
