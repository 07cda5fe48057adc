// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the CUDA backend, and what follows from them: pure functions of types and
/// lengths, which need no GPU. None of them changes a result; what does is in trees.hpp. Fractions
/// are those of the best copy of 2^30 floats on an H200, when the number was chosen;
/// docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/trees.hpp>
#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// How many times as many threads compute the elements of tiles of lines that have several, where
/// they are computed, or hand results to a function. With one 2^22 floats have 0.54 instead of
/// 0.72; with none, where the threads that fold compute, 0.48.
inline constexpr int groups_that_call = 2;

/// Blocks for which a multiprocessor must have registers where tiles hold whole lines, and of how
/// many threads each: for 64 registers a thread, or for 72 where elements lie in several arrays.
/// (Masked lines of 128 to 1024 floats have up to 0.05 less with 64, of which some are spilled, and
/// on an H200, scanned backward, with 80.)
KOKKOS_FUNCTION constexpr int blocks_of_lines(bool are_several) { return are_several ? 3 : 4; }
KOKKOS_FUNCTION constexpr int threads_of_lines(bool are_several) {
  return are_several ? 288 : most_threads;
}

/// Elements of a chunk that a thread reads before it scans the first, where several threads share a
/// line: those of each pack alone wait for the results of the last to be written.
inline constexpr int elements_at_once = 8;

/// Most tiles that a block has in flight where lines have several: 6 of 32 KB fill the shared
/// memory of Hopper.
inline constexpr int most_stages = 8;

/// Loads in bulk are faster where addresses in shared and in global memory are at the same distance
/// from multiples of 128 bytes.
inline constexpr int bulk_alignment = 128;

/// Chunks of a thread in shared memory, one in use and others on their way. With three, blocks of
/// half as many threads have 0.92 of 32768 x 32768; with four, 16-bit integers have 0.91 instead
/// of 0.94.
inline constexpr int chunks_in_flight = 2;

/// Division by a number from 1 to 2^15, of numbers below 2^15: exact, as the error of the inverse
/// stays below 2^15 / 2^31.
struct Divisor {
  unsigned inverse;

  Divisor() = default;
  KOKKOS_FUNCTION constexpr explicit Divisor(int divisor)
      : inverse(((1U << 31) - 1) / static_cast<unsigned>(divisor) + 1) {}
  [[nodiscard]] KOKKOS_FUNCTION constexpr int quotient(int dividend) const {
    return static_cast<int>((std::uint64_t{static_cast<unsigned>(dividend)} * inverse) >> 31);
  }
};

/// The narrowest rows of which warps read neighbours where they are.
inline constexpr int narrowest_rows = 32;

/// Chunks of columns that a thread has, which it keeps in registers: where layouts change, with
/// four and three blocks 32768 x 32768 has 0.48 instead of 0.66, from rows to columns 0.48 instead
/// of 0.54.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int chunks_of_thread(int bytes) { return bytes > 8 ? 1 : 2; }
/// Most threads of a block, and blocks of a multiprocessor for which it must have registers.
inline constexpr int most_threads_of_columns = 256;
KOKKOS_FUNCTION constexpr int blocks_of_columns(int bytes) { return bytes <= 4 ? 4 : 3; }

/// Bytes of shared memory that hold a tile of columns at most.
inline constexpr int bytes_of_column_tile = 65536;

/// How columns are cut into tiles of shared memory; results do not depend on it.
struct ColumnTiling {
  int inner;        ///< columns that are neighbours
  int columns;      ///< of a tile
  int pitch;        ///< elements from row to row in shared memory
  int strips;       ///< of the neighbours
  int groups;       ///< chunks of a column in a tile: all, or whole half rows of chunks
  int rows;         ///< of a tile
  int chunks;       ///< of a column
  int full_halves;  ///< half rows of chunks that others follow in the tile
  Divisor by_columns;

  /// Chunks of a tile.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int items() const { return groups * columns; }
  /// Elements of a tile, and those that are left out between its rows.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int elements() const { return rows * pitch; }
  /// Whether something comes before a tile but the starting value.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool is_carried() const { return groups < chunks; }
  /// Chunks whose totals others need.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int totals() const { return chunks > 1 ? items() : 0; }
};

/// Elements from row to row in shared memory where threads also go down columns: so that lanes
/// which have neighbouring rows, in some columns if there are less rows than lanes, meet different
/// banks.
constexpr std::int64_t pitch_of_rows(std::int64_t columns, std::int64_t rows) {
  if (columns < 4) return columns;
  const auto side_by_side = static_cast<std::int64_t>(
      32 / std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(rows, 32))));
  return (divide_up(columns, side_by_side) | 1) * side_by_side;
}

/// \param inner columns that are neighbours
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
    // Strips of equal width, of 32 columns or multiples.
    const std::int64_t narrow = std::min<std::int64_t>(32, most / half);
    const std::int64_t wish = std::max<std::int64_t>(most / chunks / 32 * 32, narrow);
    columns = divide_up(inner, divide_up(inner, wish));
    if (columns > 32) columns = std::min(inner, divide_up(columns, 32) * 32);
  }
  std::int64_t groups = chunks;
  if (chunks * columns > most || n > elements_of_section) {
    // A power of two of half rows, so that a section is so many whole tiles.
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

/// Threads of the group that folds and of each group that scans in blocks that take parts of
/// columns. Two groups that scan tiles in turns do not wait for each other's stores: 0.78 instead
/// of 0.73 of (343, 16807, 49) with one of 256.
inline constexpr int threads_that_fold = 128;
inline constexpr int threads_that_scan = 128;
inline constexpr int scanning_groups = 2;
/// Warps of such a block that carry rows, and that copy elements, or compute them: all together a
/// multiple of four, as the registers of a multiprocessor are in four parts. With one carrier 0.43
/// instead of 0.59 of 2^23 x 32; with three that compute 0.19 instead of 0.47 of (1, 6000000, 40).
inline constexpr int row_carriers = 4;
inline constexpr int column_loaders_that_copy = 3;
inline constexpr int column_loaders_that_compute = 15;

/// Bytes of a tile of the kernel for parts of columns, and of the totals of its chunks.
struct BytesOfPart {
  int usual;
  int most;  ///< where the tile would be not much more than half as large as usual otherwise
};

/// So many tiles are in flight: four of aligned rows, three of others, whose strips are better wide
/// (on an H100, (1, 600000, 448): 0.76 instead of 0.67; but (1, 600000, 355): 0.58 instead of
/// 0.66).
///
/// \param are_aligned whether rows are made of aligned packs
constexpr BytesOfPart bytes_of_part(int bytes_of_block, bool are_aligned) {
  const int usual = are_aligned ? bytes_of_block / 40 * 9 : bytes_of_block / 15 * 4;
  return {usual, usual / 10 * 11};
}

/// Columns for each multiprocessor below which blocks may share them. With 128 instead of 192 (1,
/// 10887, 24657) has 0.58 instead of 0.72, (311, 14875, 58) 0.72 instead of 0.82.
inline constexpr int lines_of_shared_columns = 192;

/// Widest strips of columns that blocks share, and of so many columns widths are multiples where
/// rows are aligned: those of sectors ((1, 476095, 564): 0.74 instead of 0.56).
inline constexpr int widest_of_parts = 128;
inline constexpr int unit_of_parts = 8;

/// The narrowest rows of which the kernel for wide columns makes strips where these are long, and
/// columns for each multiprocessor from which on it is faster: if rows are wider than its strips,
/// and if they are not.
inline constexpr int narrowest_of_wide = 64;
inline constexpr int columns_of_wider_rows = 5;
inline constexpr int columns_of_narrower_rows = 64;

/// Columns that threads take one by one, if they are not short: the longest, where blocks could
/// walk down strips of sectors and where not; the widest rows of which tiles of wide columns leave
/// so many lanes idle that threads take all of a section; bytes of elements at most, and how many
/// columns a multiprocessor must have at least. ((550, 100, 3600): 0.88 instead of 0.79 in strips,
/// (55000, 72, 50): 0.63 instead of 0.38 in tiles; (40000, 72, 50) doubles 0.81 instead of 0.47;
/// but 1000 x 10^6 floats 0.87 instead of 0.91. Computed floats, else in wide columns: (60000, 140,
/// 32) 0.89 instead of 0.18, (5000, 1000, 48) 0.65 instead of 0.37, (1000, 3000, 96) 0.72 instead
/// of 0.63, but (700, 3000, 127) 0.60 instead of 0.68.)
inline constexpr int longest_beside_strips = 128;
inline constexpr int longest_of_threads = 448;
inline constexpr int widest_with_idle_lanes = 96;
inline constexpr int bytes_of_threads = 8;
inline constexpr int columns_of_multiprocessor = 512;

/// Whether the kernel for parts of columns runs: where blocks share columns, as columns alone would
/// not keep all multiprocessors busy.
///
/// \param lines       of all
/// \param fill_strips whether strips of these would be as fast (strip_plan.hpp)
/// \param are_wide    whether the kernel for wide columns would take them otherwise
/// \param of_wider    columns of wider rows for each multiprocessor from which on it is faster
constexpr bool takes_parts_of_columns(std::int64_t n, std::int64_t inner, std::int64_t lines,
                                      bool fill_strips, bool are_wide, int of_wider,
                                      int multiprocessors) {
  if (n <= elements_of_section) return false;
  int most = lines_of_shared_columns;
  if (are_wide) {
    if (inner < narrowest_of_wide) return true;
    most = inner < widest_of_parts ? columns_of_narrower_rows : of_wider;
  }
  return lines < std::int64_t{most} * multiprocessors && !fill_strips;
}

/// The tiles of the kernel for parts of columns: strips; a power of two of rows of chunks, so that
/// a section is so many whole tiles.
///
/// \param bytes         of an element in shared memory
/// \param bytes_of_fold of a chunk
/// \param most_columns  of a strip
/// \param are_aligned   whether rows are made of aligned packs
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
  // Rather tiles that are a little too large than ones that are not much more than half full.
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

/// Threads of a block that scan such columns, and blocks of a multiprocessor for which it must have
/// registers and shared memory.
inline constexpr int threads_of_narrow_columns = 256;
inline constexpr int blocks_of_narrow_columns = 3;

/// Bytes of a tile of such columns, of which a block has two, with half of the folds, and of what
/// it keeps besides.
inline constexpr int bytes_of_narrow_tile = 34816;
inline constexpr int bytes_of_narrow_block = 384;

/// Where blocks share such columns: blocks of a multiprocessor, most tiles that each has in flight,
/// bytes of what it keeps besides, and threads that do nothing but compute elements, if these are
/// not in memory. (With two blocks that have three tiles each (1, 2^27, 2) has 0.74 instead of
/// 0.84; with 224 threads that compute, or none besides those that fold, computed (1, 17836073, 15)
/// has 0.32, 0.28 instead of 0.43.)
inline constexpr int blocks_of_shared_narrow_columns = 1;
inline constexpr int threads_that_compute_narrow_tiles = 384;
inline constexpr int most_narrow_buffers = 6;
inline constexpr int bytes_of_shared_narrow_block = 1024;

/// Fewest bytes that are moved 16 at a time, whatever their alignment, rather than one by one.
inline constexpr int least_bytes_of_run = 64;
/// The same of rows that are stored, whose elements before and behind quads few threads store while
/// others wait ((1, 8000000, 33) with a gap of one: 0.57 instead of 0.36; (1, 2000000, 128): 0.71
/// instead of 0.58).
inline constexpr int least_bytes_of_stored_row = 640;
/// Most bytes between rows that are loaded with them.
inline constexpr int most_bytes_between_rows = 128;

/// Threads of a block that have a column each.
inline constexpr int threads_of_columns = 256;
/// Blocks of a multiprocessor for which it must have registers where threads have a column each.
/// With three (550, 100, 3600) floats have 0.82 instead of 0.87, with four as many doubles 0.85
/// instead of 0.90.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int blocks_of_column_threads(int bytes) { return bytes > 4 ? 3 : 4; }

/// Whether each thread has a column of its own.
///
/// \param columns    of all
/// \param has_strips whether blocks would walk down strips of sectors otherwise
constexpr bool takes_threads(std::int64_t n, std::int64_t inner, std::int64_t columns,
                             bool has_strips, int multiprocessors) {
  int longest = has_strips ? longest_beside_strips : longest_of_threads;
  if (!has_strips && inner <= widest_with_idle_lanes) longest = elements_of_section;
  return n <= longest && inner >= narrowest_rows &&
         columns >= std::int64_t{columns_of_multiprocessor} * multiprocessors;
}

/// How a launch shares lines; results do not depend on it.
struct Shape {
  Cut cut;
  int lines_of_thread;  ///< more than one only where a thread scans whole lines
  int lines_of_tile;
  int threads;  ///< of a block
  int inverse;  ///< the quotient of numbers of threads by threads_of_line, as a product

  static constexpr int inverse_bits = 20;
  /// thread / threads_of_line: exact, since most_threads * most_threads <= 2^20.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int quotient(int thread) const {
    return (thread * inverse) >> inverse_bits;
  }
};

/// The launch for lines of this cut. A tile of whole lines belongs to one warp, if that holds a
/// line: blocks of 4 KB come nearest to a copy (0.99 instead of 0.97 with 16 KB).
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

/// Whether slots in shared memory are padded, where lanes begin a multiple of 32 bytes apart or
/// otherwise meet less banks; without padding results can be stored in longer runs.
constexpr bool pads_slots(const Shape& shape, ElementSize size) {
  if (shape.cut.threads_of_line > 32) return false;
  Cut cut = shape.cut;
  cut.tile_length *= shape.lines_of_thread;  // from lane to lane, if a thread has whole lines
  const int pack = pack_length(size.widest);
  return passes_of_warp(cut, pack, size.widest, bytes_of_padding) <
         passes_of_warp(cut, pack, size.widest, 0);
}

}  // namespace KokkosScan::impl::cuda
