// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the CUDA backend and what follows from them: pure functions of types and
/// lengths; no GPU is needed. None affects a result; those that do are in trees.hpp. They were
/// measured on an H200 unless stated; docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/trees.hpp>
#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Extra warps for parts of lines whose elements are computed or whose results go to a function, as
/// a multiple of a group. Fewer are slower; without any, the folding threads would have to compute.
inline constexpr int groups_that_call = 2;

/// Launch bounds where tiles hold whole lines: blocks per multiprocessor and threads per block, for
/// 64 registers per thread, or 72 if elements are in several arrays. (Masked lines of 128 to 1024
/// floats spill with 64; with 80 they are slower backward.)
KOKKOS_FUNCTION constexpr int blocks_of_lines(bool are_several) { return are_several ? 3 : 4; }
KOKKOS_FUNCTION constexpr int threads_of_lines(bool are_several) {
  return are_several ? 288 : most_threads;
}

/// Elements of a chunk that a thread reads before it scans the first, if several threads share a
/// line. Reading pack by pack would wait for the writes of the previous results.
inline constexpr int elements_at_once = 8;

/// Maximum tiles in flight per block for parts of lines: 6 of 32 KB fill the shared memory of
/// Hopper.
inline constexpr int most_stages = 8;

/// Bulk loads are faster if addresses in shared and global memory are congruent modulo 128 bytes.
inline constexpr int bulk_alignment = 128;

/// Chunks of a thread in shared memory: one in use, the others in flight. Three, with half of the
/// threads, are slower; so are four for 16-bit integers.
inline constexpr int chunks_in_flight = 2;

/// Exact division of numbers below 2^15 by 1 to 2^15: the error of the inverse stays below 2^15 /
/// 2^31.
struct Divisor {
  unsigned inverse;

  Divisor() = default;
  KOKKOS_FUNCTION constexpr explicit Divisor(int divisor)
      : inverse(((1U << 31) - 1) / static_cast<unsigned>(divisor) + 1) {}
  [[nodiscard]] KOKKOS_FUNCTION constexpr int quotient(int dividend) const {
    return static_cast<int>((std::uint64_t{static_cast<unsigned>(dividend)} * inverse) >> 31);
  }
};

/// The narrowest rows that warps read across.
inline constexpr int narrowest_rows = 32;

/// Chunks of columns per thread, kept in registers. Four, which permit only three blocks, are
/// slower where layouts change.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int chunks_of_thread(int bytes) { return bytes > 8 ? 1 : 2; }
/// Launch bounds: maximum threads per block, and blocks per multiprocessor.
inline constexpr int most_threads_of_columns = 256;
KOKKOS_FUNCTION constexpr int blocks_of_columns(int bytes) { return bytes <= 4 ? 4 : 3; }

/// Maximum bytes of a tile of columns in shared memory.
inline constexpr int bytes_of_column_tile = 65536;

/// How columns are cut into tiles in shared memory; this does not affect results.
struct ColumnTiling {
  int inner;        ///< neighbouring columns
  int columns;      ///< of a tile
  int pitch;        ///< elements between rows in shared memory
  int strips;       ///< of the neighbouring columns
  int groups;       ///< chunks of a column in a tile: all, or whole half rows of chunks
  int rows;         ///< of a tile
  int chunks;       ///< of a column
  int full_halves;  ///< half rows of chunks followed by others in the tile
  Divisor by_columns;

  /// Chunks of a tile.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int items() const { return groups * columns; }
  /// Elements of a tile, including padding between rows.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int elements() const { return rows * pitch; }
  /// Whether a tile has a prefix other than the starting value.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool is_carried() const { return groups < chunks; }
  /// Chunks whose totals others need.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int totals() const { return chunks > 1 ? items() : 0; }
};

/// Row pitch in shared memory where threads also walk down columns. It avoids bank conflicts of
/// lanes in neighbouring rows, of several columns if there are fewer rows than lanes.
constexpr std::int64_t pitch_of_rows(std::int64_t columns, std::int64_t rows) {
  if (columns < 4) return columns;
  const auto side_by_side = static_cast<std::int64_t>(
      32 / std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(rows, 32))));
  return (divide_up(columns, side_by_side) | 1) * side_by_side;
}

/// \param inner neighbouring columns
/// \param bytes of an element in all operands
/// \param bytes_of_accumulator
constexpr ColumnTiling tile_columns(std::int64_t n, std::int64_t inner, int bytes,
                                    int bytes_of_accumulator) {
  constexpr int half = half_row_of_chunks;
  const std::int64_t fit = bytes_of_column_tile / (chunk_of_column * bytes);
  const std::int64_t most = std::clamp<std::int64_t>(
      fit, half, most_threads_of_columns * chunks_of_thread(bytes_of_accumulator));
  const std::int64_t chunks = divide_up(n, chunk_of_column);
  std::int64_t columns = inner;
  if (std::min<std::int64_t>(chunks, half) * inner > most) {
    // Strips of equal width, multiples of 32 columns if wide.
    const std::int64_t narrow = std::min<std::int64_t>(32, most / half);
    const std::int64_t wish = std::max<std::int64_t>(most / chunks / 32 * 32, narrow);
    columns = divide_up(inner, divide_up(inner, wish));
    if (columns > 32) columns = std::min(inner, divide_up(columns, 32) * 32);
  }
  std::int64_t groups = chunks;
  if (chunks * columns > most || n > elements_of_section) {
    // A power of two of half rows, so that whole tiles make a section.
    const auto halves =
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, most / columns / half));
    groups = std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(halves)) * half,
                                    chunks_of_section);
  }
  const std::int64_t rows = std::min(n, groups * chunk_of_column);
  return {static_cast<int>(inner),
          static_cast<int>(columns),
          static_cast<int>(pitch_of_rows(columns, rows)),
          static_cast<int>(divide_up(inner, columns)),
          static_cast<int>(groups),
          static_cast<int>(rows),
          static_cast<int>(chunks),
          static_cast<int>((groups - 1) / half),
          Divisor(static_cast<int>(columns))};
}

/// Threads of the folding group and of each scanning group, for parts of columns. Two groups that
/// alternate between tiles do not wait for each other's stores, as one of 256 threads would.
inline constexpr int threads_that_fold = 128;
inline constexpr int threads_that_scan = 128;
inline constexpr int scanning_groups = 2;
/// Warps of such a block that carry rows, and that copy or compute elements. The total is a
/// multiple of four, as a multiprocessor has four register files. One carrying warp, or three
/// computing ones, are much slower.
inline constexpr int row_carriers = 4;
inline constexpr int column_loaders_that_copy = 3;
inline constexpr int column_loaders_that_compute = 15;

/// Bytes of a tile of the kernel for parts of columns, including the totals of its chunks.
struct BytesOfPart {
  int usual;
  int most;  ///< where the tile would otherwise be little more than half of usual
};

/// Sized for four tiles in flight if rows are aligned. Otherwise for three, as unaligned strips
/// mostly gain from width (tuned on an H100).
///
/// \param are_aligned whether rows consist of aligned packs
constexpr BytesOfPart bytes_of_part(int bytes_of_block, bool are_aligned) {
  const int usual = are_aligned ? bytes_of_block / 40 * 9 : bytes_of_block / 15 * 4;
  return {usual, usual / 10 * 11};
}

/// Columns per multiprocessor below which blocks may share them: in general (with 128, shapes such
/// as (311, 14875, 58) are slower), and where tiles of wide columns would take them otherwise.
inline constexpr int lines_of_shared_columns = 192;
inline constexpr int columns_of_wider_rows = 5;

/// Maximum width of strips of columns that blocks share, and the unit of widths if rows are
/// aligned: a sector, as partial sectors are much slower.
inline constexpr int widest_of_parts = 128;
inline constexpr int unit_of_parts = 8;

/// Columns up to this long are tiles of columns: tiles of wide ones have 128 rows.
inline constexpr int shortest_of_wide = 80;

/// Limits for a thread per column: the longest columns, maximum bytes of an element, and minimum
/// columns per multiprocessor.
inline constexpr int longest_of_threads = 448;
inline constexpr int bytes_of_threads = 8;
inline constexpr int columns_of_multiprocessor = 512;

/// Whether the kernel for parts of columns runs: where blocks share columns because whole columns
/// would not keep all multiprocessors busy.
///
/// \param lines       in total
/// \param fill_strips whether strips of these would be as fast (strip_plan.hpp)
/// \param are_wide    whether the kernel for wide columns would take them otherwise
constexpr bool takes_parts_of_columns(std::int64_t n, std::int64_t lines, bool fill_strips,
                                      bool are_wide, int multiprocessors) {
  const int most = are_wide ? columns_of_wider_rows : lines_of_shared_columns;
  return n > elements_of_section && lines < std::int64_t{most} * multiprocessors && !fill_strips;
}

/// The tiles of the kernel for parts of columns: strips with a power of two of rows of chunks, so
/// that whole tiles make a section.
///
/// \param bytes         of an element in shared memory
/// \param bytes_of_fold of a chunk
/// \param most_columns  of a strip
/// \param are_aligned   whether rows consist of aligned packs
constexpr ColumnTiling tile_parts(std::int64_t n, std::int64_t inner, int bytes, int bytes_of_fold,
                                  int most_columns, bool are_aligned,
                                  const BytesOfPart& bytes_of_tile) {
  const int bytes_of_column = row_of_chunks * (chunk_of_column * bytes + bytes_of_fold);
  int most = std::clamp(bytes_of_tile.usual / bytes_of_column, 1, most_columns);
  const int unit = are_aligned && most >= unit_of_parts ? unit_of_parts : 1;
  most -= most % unit;
  // Strips of equal width.
  std::int64_t columns = divide_up(inner, divide_up(inner, most));
  if (columns < inner) columns = divide_up(columns, unit) * unit;
  const std::int64_t least_bytes = columns * bytes_of_column;
  const auto fit = std::max<std::int64_t>(1, bytes_of_tile.usual / least_bytes);
  auto times = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fit)));
  // Prefer a slightly larger tile to one that is little more than half full.
  if (2 * times * least_bytes <= bytes_of_tile.most) times *= 2;
  const std::int64_t groups = std::min<std::int64_t>(times * row_of_chunks, chunks_of_section);
  return {static_cast<int>(inner),
          static_cast<int>(columns),
          static_cast<int>(columns),
          static_cast<int>(divide_up(inner, columns)),
          static_cast<int>(groups),
          static_cast<int>(groups * chunk_of_column),
          static_cast<int>(divide_up(n, chunk_of_column)),
          0,
          Divisor(static_cast<int>(columns))};
}

/// Launch bounds for narrow columns, if blocks have whole ones.
inline constexpr int threads_of_narrow_columns = 128;
inline constexpr int blocks_of_narrow_columns = 8;

/// Bytes of a tile of such columns and its folds, unless a slab is larger, and of what a block
/// keeps besides. Bytes of a tile whose rows have gaps.
inline constexpr int bytes_of_narrow_tile = 24576;
inline constexpr int bytes_of_narrow_block = 128;
inline constexpr int bytes_of_tile_with_gaps = 70000;

/// If blocks share such columns: blocks per multiprocessor, maximum tiles in flight per block,
/// bytes of what it keeps besides, and threads that only compute elements that are not in memory.
/// Two blocks with three tiles each are slower, as are 224 computing threads or none.
inline constexpr int blocks_of_shared_narrow_columns = 1;
inline constexpr int threads_that_compute_narrow_tiles = 384;
inline constexpr int most_narrow_buffers = 6;
inline constexpr int bytes_of_shared_narrow_block = 1024;

/// Threads of a block that take a column each.
inline constexpr int threads_of_columns = 256;
/// Blocks per multiprocessor for the launch bounds, where threads take a column each. Three for
/// floats and four for doubles are slower.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int blocks_of_column_threads(int bytes) { return bytes > 4 ? 3 : 4; }

/// Whether each thread takes a column of its own, where no block walks down strips of sectors.
///
/// \param columns in total
constexpr bool takes_threads(std::int64_t n, std::int64_t inner, std::int64_t columns,
                             int multiprocessors) {
  return n <= longest_of_threads && inner >= narrowest_rows &&
         columns >= std::int64_t{columns_of_multiprocessor} * multiprocessors;
}

/// How a launch divides lines; this does not affect results.
struct Shape {
  Cut cut;
  int lines_of_thread;  ///< more than one only if a thread scans whole lines
  int lines_of_tile;
  int threads;  ///< of a block
  int inverse;  ///< of threads_of_line, for division by multiplication

  static constexpr int inverse_bits = 20;
  /// thread / threads_of_line: exact, since most_threads * most_threads <= 2^20.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int quotient(int thread) const {
    return (thread * inverse) >> inverse_bits;
  }
};

/// The launch for lines of this cut. A tile of whole lines belongs to one warp if that holds a
/// line: blocks of 4 KB come closest to a copy.
constexpr Shape shape_launch(const Cut& cut, ElementSize size) {
  const int inverse =
      static_cast<int>(divide_up(std::int64_t{1} << Shape::inverse_bits, cut.threads_of_line));
  if (cut.tiles_of_line > 1) return {cut, 1, 1, cut.threads_of_line, inverse};
  if (cut.threads_of_line > 32) return {cut, 1, 1, cut.threads_of_line, inverse};
  int lines_of_thread = 1;
  if (cut.threads_of_line == 1) {
    lines_of_thread = std::max(1, bytes_of_chunk(size) / (size.all * cut.chunk));
    // An odd stride between lanes, unless they are padded.
    if (cut.chunk % pack_length(size.widest) != 0) lines_of_thread = (lines_of_thread - 1) | 1;
  }
  return {cut, lines_of_thread, 32 / cut.threads_of_line * lines_of_thread, 32, inverse};
}

/// Whether slots are padded: only if that reduces bank conflicts, as results without padding are
/// stored in longer runs.
constexpr bool pads_slots(const Shape& shape, ElementSize size) {
  if (shape.cut.threads_of_line > 32) return false;
  Cut cut = shape.cut;
  cut.tile_length *= shape.lines_of_thread;  // between lanes, if a thread has whole lines
  const int pack = pack_length(size.widest);
  return passes_of_warp(cut, pack, size.widest, bytes_of_padding) <
         passes_of_warp(cut, pack, size.widest, 0);
}

}  // namespace KokkosScan::impl::cuda
