// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What decides the bits of results on CUDA: how lines are cut into packs, chunks and tiles, and
/// which lines follow which combination tree. Pure functions of types, lengths and strides, which
/// need no GPU. Whoever changes anything here raises KOKKOSSCAN_TREE_VERSION; the test `trees` says
/// so. Fractions are those of the best copy, as in tuning.hpp, whose numbers change no result.

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace KokkosScan::impl::cuda {

/// Bytes of the largest value that the kernels take; others have the tree of the generic backend.
inline constexpr std::size_t largest_value = 64;

/// 32-bit registers that an accumulator takes.
constexpr int registers_of(int bytes) { return std::max(1, (bytes + 3) / 4); }

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// ---- Lines --------------------------------------------------------------------------------------

/// Bytes of an element.
struct ElementSize {
  int widest;  ///< of the operands that have a tile in shared memory
  int all;     ///< of them together
};

/// Elements of a pack, which a thread reads and writes together where they are aligned: those of 16
/// bytes, and not more than four, since a sum of floats combines a pack in float.
constexpr int pack_length(int widest) { return std::max(1, std::min(4, 16 / widest)); }

/// Bytes of a chunk, the elements of a thread, in all that a tile holds. Twice as many instructions
/// are spent on everything else with 64 bytes (lines of 1024: 0.75 instead of 0.99). Nine times 16,
/// so that lanes which read 16 bytes each meet no bank twice. Several operands have more: with 144,
/// 208, 272 bytes masked lines of 1024 have 0.84, 0.93, 0.93, sums of int8 in int64 0.67, 0.91,
/// 0.89 with 128 elements and 0.51, 0.69, 0.69 with 4096; with 240 0.92, 0.93, 0.69.
constexpr int bytes_of_chunk(ElementSize size) { return size.all > size.widest ? 240 : 144; }

/// Bytes of lines that one thread scans as a whole.
inline constexpr int bytes_of_short_line = 136;

/// Most threads of a block, and of those that have a tile of a line that has several: seven warps
/// leave room for six tiles of 32 KB (0.94 instead of 0.92 with five of 36 KB).
inline constexpr int most_threads = 256;
inline constexpr int most_threads_of_part = 224;

/// Most bytes of such a tile of aligned packs: 2^22 sums of int32 in int64 have 0.83 instead of
/// 0.70 without a limit. Other lines need the threads (50257 masked: 0.93 instead of 0.89).
inline constexpr int most_bytes_of_part = 40960;

/// The cut of a line: a function of n and the types alone, as it decides the combination tree.
struct Cut {
  int chunk;            ///< elements of a thread
  int threads_of_line;  ///< those that share a tile's part of a line: up to 32, or whole warps
  int tile_length;      ///< elements of a line in a tile
  std::int64_t tiles_of_line;
};

/// Elements of which a chunk has an odd number, so that lanes meet different banks: packs where
/// they are aligned, else as many as fill a bank (lines of 32767 bytes: 0.75 instead of 0.28).
constexpr int unit_of_chunk(int pack, ElementSize size) {
  return pack > 1 ? pack : std::max(1, 4 / size.widest);
}

/// The chunk that holds `elements`, or as many as it can. The largest of single elements has one
/// besides whole packs, since each costs as much as a pack.
constexpr int round_chunk(std::int64_t elements, int pack, ElementSize size) {
  const int unit = unit_of_chunk(pack, size);
  const std::int64_t units = divide_up(elements, unit) | 1;
  const int fit = bytes_of_chunk(size) / size.all / unit;
  const std::int64_t most = std::max(1, unit > 1 ? (fit - 1) | 1 : (fit - 1) / 4 * 4 + 1);
  return static_cast<int>(std::min(units, most)) * unit;
}

/// Bytes by which slots are padded, if they are.
inline constexpr int bytes_of_padding = 16;

/// What a warp spends on its lines besides a chunk, as elements of one.
inline constexpr double other_work = 56;

/// How often a warp turns to the banks of shared memory to read the same pack of all its chunks,
/// for each element of the pack.
///
/// \param cut     of lines of which a warp has several, or one
/// \param pack    elements that are read together
/// \param padding after each 128 bytes
constexpr double passes_of_warp(const Cut& cut, int pack, int bytes_of_element, int padding) {
  const int bytes = pack * bytes_of_element;
  const int word = std::max(4, bytes);
  const int words = 128 / word;  // that are read at once
  const int lanes = 32 / cut.threads_of_line * cut.threads_of_line;
  int passes = 0;
  // Chunks may begin in the middle of a bank: the passes of a whole one, step by step.
  for (int step = 0; step < word; step += bytes) {
    int lane = 0;
    int lane_of_line = 0;
    int line = step;  // its place
    while (lane < lanes) {
      unsigned char lanes_of_bank[32] = {};
      unsigned char most = 0;
      for (const int end = std::min(lanes, lane + words); lane < end; ++lane) {
        const int place = line + lane_of_line * cut.chunk * bytes_of_element;
        unsigned char& count = lanes_of_bank[(place + place / 128 * padding) / word % words];
        most = std::max(most, ++count);
        if (++lane_of_line == cut.threads_of_line) {
          lane_of_line = 0;
          line += cut.tile_length * bytes_of_element;
        }
      }
      passes += most;
    }
  }
  return static_cast<double>(passes) / (pack * (word / bytes));
}

/// The cut of lines of n elements.
constexpr Cut cut_line(std::int64_t n, ElementSize size) {
  const int bytes = size.all;
  const int length = static_cast<int>(std::min<std::int64_t>(n, INT32_MAX));
  if (n * bytes <= bytes_of_short_line || n == 1) return {length, 1, length, 1};
  const int pack = n % pack_length(size.widest) == 0 ? pack_length(size.widest) : 1;
  const int most = round_chunk(n, pack, size);
  const std::int64_t threads = divide_up(n, most);
  if (threads <= 32) {
    // What a warp spends on a line is least. Threads that were as few as possible met conflicts of
    // banks: lines of 100 floats 0.86 instead of 0.98, of 257 0.85 instead of 0.94.
    // Any number of banks for small elements: where several lines share a warp, odd ones are not
    // best.
    const int unit = unit_of_chunk(pack, size);
    const int step = pack == 1 && unit > 1 ? unit : 2 * unit;
    Cut best{};
    double least = std::numeric_limits<double>::max();
    for (int lines = static_cast<int>(32 / threads); lines > 0; --lines) {
      const auto cost = [&](const Cut& cut, double passes) {
        return (cut.chunk * std::max(1.0, passes) + other_work) / lines;
      };
      Cut cut{round_chunk(divide_up(n, 32 / lines), pack, size), 0, length, 1};
      for (; cut.chunk <= most && cost(cut, 1) < least; cut.chunk += step) {
        cut.threads_of_line = static_cast<int>(divide_up(n, cut.chunk));
        double passes = passes_of_warp(cut, pack, size.widest, 0);
        if (passes > 1 && pack > 1) {
          passes = std::min(passes, passes_of_warp(cut, pack, size.widest, bytes_of_padding));
        }
        if (cost(cut, passes) >= least) continue;
        best = cut;
        least = cost(cut, passes);
      }
    }
    return best;
  }
  if (threads <= most_threads) {
    const std::int64_t warps = divide_up(threads, 32);
    const int chunk = round_chunk(divide_up(n, warps * 32), pack, size);
    return {chunk, static_cast<int>(warps * 32), length, 1};
  }
  const std::int64_t most_warps =
      pack == 1 ? most_threads_of_part / 32
                : std::min<std::int64_t>(most_threads_of_part / 32,
                                         most_bytes_of_part / (most * bytes) / 32);
  // Tiles of which the last is not much smaller than others (65536 floats: 0.96 instead of 0.95,
  // 32768 doubles 0.96 instead of 0.95), but not of few warps: five of 20001 floats have 0.90
  // instead of 0.94, four of 32767 have 0.84 instead of 0.95.
  std::int64_t warps = 0;
  double least = std::numeric_limits<double>::max();
  for (std::int64_t fewer = 0; fewer < most_warps; ++fewer) {
    const std::int64_t tile = (most_warps - fewer) * 32 * most;
    const double loss =
        fewer < 2 ? 0.01 * static_cast<double>(fewer) : 0.14 * static_cast<double>(fewer - 1);
    const double cost = static_cast<double>(divide_up(n, tile) * tile) * (1 + loss);
    if (cost >= least) continue;
    least = cost;
    warps = most_warps - fewer;
  }
  const std::int64_t tile = warps * 32 * most;
  return {most, static_cast<int>(warps * 32), static_cast<int>(tile), divide_up(n, tile)};
}

// ---- Lines in registers -------------------------------------------------------------------------

/// Registers of a thread that hold elements of lines that a block keeps in registers, and most
/// threads of such a block. Twice the registers with half the threads: 0.77 instead of 0.98.
inline constexpr int element_registers = 64;
inline constexpr int most_threads_in_registers = 512;

/// Shortest lines that a block keeps in registers: those that fill a warp. In tiles, lines of 2048
/// have 0.95 instead of 0.98, lines of 8192 have 0.90.
inline constexpr int shortest_in_registers = 2048;

/// Whether lines of n elements are kept in registers: long ones whose length is that of whole
/// packs, and that a block can hold, of values that take one register.
///
/// \param bytes of the accumulator
constexpr bool fits_registers(std::int64_t n, ElementSize size, int bytes) {
  const int pack = pack_length(size.widest);
  const int rows = std::max(1, element_registers / (pack * registers_of(bytes)));
  return registers_of(bytes) == 1 && n % pack == 0 && n >= shortest_in_registers &&
         n <= std::int64_t{most_threads_in_registers} * pack * rows;
}

// ---- Columns ------------------------------------------------------------------------------------

/// How the elements of a column combine (column_tree.hpp): those of a pack, of a chunk, chunks of
/// half a row of chunks and of a row, rows of a section.
///
/// Rows of 16 chunks are so few totals for blocks that share columns ((1, 1048576, 256) has 0.67
/// instead of 0.60 with 8), their halves so few chunks for threads that read the totals of those
/// before theirs ((1, 343, 823543): 0.56 instead of 0.48 without). Blocks that share columns read
/// the totals of all rows before theirs in the section, and of all sections since their last tile,
/// one after the other: with sections twice as long (1, 134217728, 2) has 0.56 instead of 0.64, (1,
/// 1953125, 125) 0.48 instead of 0.56, with half as long (1, 1048576, 256) 0.64 instead of 0.67.
inline constexpr int pack_of_column = 4;
inline constexpr int chunk_of_column = 8;
inline constexpr int half_row_of_chunks = 8;
inline constexpr int row_of_chunks = 2 * half_row_of_chunks;
inline constexpr int rows_of_section = 32;

inline constexpr int elements_of_row = row_of_chunks * chunk_of_column;
inline constexpr int chunks_of_section = rows_of_section * row_of_chunks;
inline constexpr int elements_of_section = rows_of_section * elements_of_row;

/// Whether a section begins with a chunk, whether a section comes before that of a chunk and a row
/// before that of a chunk in the section, and whether a chunk is in the second half of its row.
KOKKOS_FUNCTION constexpr bool begins_section(int chunk) {
  return (chunk & (chunks_of_section - 1)) == 0;
}
KOKKOS_FUNCTION constexpr bool has_section_before(int chunk) { return chunk >= chunks_of_section; }
KOKKOS_FUNCTION constexpr bool has_row_before(int chunk) {
  return (chunk & (chunks_of_section - 1)) >= row_of_chunks;
}
KOKKOS_FUNCTION constexpr bool is_in_second_half(int chunk) {
  return (chunk & half_row_of_chunks) != 0;
}

/// Columns that are scanned in shared memory: short ones, and longer ones whose elements are near
/// to each other. The longest of the former, and elements from row to row of the latter at most: of
/// columns of any length, and of long ones that are moved as runs of bytes, from so many elements
/// on. (With strides of 257 to 700 as well, in strips, few long columns have 0.75 to 0.82 instead
/// of 0.56 to 0.78, but many short ones 0.77 to 0.89 instead of 0.85 to 0.93, (8, 1024, 512) 0.465
/// instead of 0.80.)
inline constexpr int longest_short_column = 16;
inline constexpr int widest_narrow_row = 31;
inline constexpr int widest_row_of_long_columns = 224;
inline constexpr int shortest_long_column = 449;

/// \param stride elements from one to the next of a line, the fewest of all operands
/// \param widest of long columns
constexpr bool are_narrow_columns(std::int64_t n, std::int64_t stride, int widest) {
  return n <= longest_short_column || stride <= widest_narrow_row ||
         (n >= shortest_long_column && stride <= widest);
}

/// Rows of a chunk of such a column, which decide how its elements combine: as many in each, and at
/// most 33, or 17 of more than four bytes. An odd number where there are several chunks, so that
/// lanes which have the same row of neighbouring chunks meet different banks of shared memory
/// however many columns lie side by side: 33 rows of m columns are m more than a multiple of 32.
///
/// \param bytes of the accumulator
constexpr int rows_of_chunk(std::int64_t n, int bytes) {
  const int most = bytes > 4 ? 17 : 33;
  if (n <= most) return static_cast<int>(n);
  const std::int64_t chunks = divide_up(n, most);
  return static_cast<int>(divide_up(n, chunks)) | 1;
}

/// Threads that share a tile of narrow columns that blocks share: two groups of them leave room for
/// six other warps of as many registers.
inline constexpr int threads_of_narrow_tile = 224;

/// What types say to how such columns are cut.
struct NarrowElement {
  int bytes;      ///< of an element and its result in shared memory; a mask has no say
  int carried;    ///< bytes of what is carried, of which each thread keeps one as well
  bool in_place;  ///< whether results take the place of elements
  bool are_runs;  ///< whether both are such that rows can be moved as runs of bytes
};

/// Threads of a tile: fewer if they would keep more than there is room for.
constexpr int threads_of_tile(const NarrowElement& element) {
  const int widest = std::max({element.bytes, element.carried, 16});
  return std::max(32, threads_of_narrow_tile * 16 / widest / 32 * 32);
}

/// The most elements from row to row of long columns that are scanned so: a thread has a column.
constexpr int widest_row_of_long_columns_of(const NarrowElement& element) {
  return element.are_runs ? std::min(widest_row_of_long_columns, threads_of_tile(element))
                          : widest_narrow_row;
}

/// How narrow columns are cut into tiles: a chunk for each thread.
struct NarrowCut {
  bool is_shared;  ///< whether blocks share tiles of columns: those of some length
  int chunk;       ///< rows that a thread takes
  int chunks;      ///< of a column in a tile
  int segment;     ///< chunks that make one: of a tile about as many segments
  int columns;     ///< that neighbouring threads have; a tile may have less
};

/// Bytes of a tile of such columns. The wider rows are, the fewer a tile has, and the more totals
/// there are for what is moved: so tiles are larger then, and an H200 holds six, five, four or
/// three of them. (On an H100 rows of 59 have 0.87, 0.87, 0.86 in tiles of 34, 50 and 66 KB, of 114
/// 0.78, 0.84, 0.80, of 164 0.76, 0.83, 0.79, of 223 0.60, 0.75, 0.81.) They are also larger where
/// results do not take the place of elements.
constexpr int bytes_of_shared_tile(std::int64_t stride, bool in_place) {
  if (stride > 192) return 66000;
  if (stride > 112 || !in_place) return 50000;
  return stride > 64 ? 42000 : 34816;
}

/// The most rows that a thread takes.
inline constexpr int most_rows_of_shared_chunk = 129;

/// Rows of a tile of such columns.
struct RowsOfSharedTile {
  int columns;  ///< at most
  int chunks;
  int usual;    ///< of a chunk
  int longest;  ///< rows of a column that is one tile
};

/// \param stride elements from row to row, the fewest of all operands
constexpr RowsOfSharedTile rows_of_shared_tile(std::int64_t stride, const NarrowElement& element) {
  const int threads = threads_of_tile(element);
  const int columns = static_cast<int>(std::clamp<std::int64_t>(stride, 1, threads));
  const int chunks = threads / columns;
  const int rows =
      bytes_of_shared_tile(stride, element.in_place) / (element.bytes * columns * chunks);
  const int usual = std::clamp(rows, 2, most_rows_of_shared_chunk) | 1;
  const int longest =
      (stride > widest_narrow_row ? usual : (element.in_place ? usual * 3 / 2 : usual * 4 / 3)) *
      chunks;
  return {columns, chunks, usual, longest};
}

/// Chunks have an odd number of rows, so that neighbouring chunks begin in different banks. Tiles
/// of a column have nearly the same length. A column that is one tile may be longer than usual, as
/// far as there is room on every GPU; one of less than half of that is not worth a tile.
///
/// \param stride elements from row to row, the fewest of all operands
constexpr NarrowCut cut_narrow_column(std::int64_t n, std::int64_t stride,
                                      const NarrowElement& element) {
  const RowsOfSharedTile rows = rows_of_shared_tile(stride, element);
  NarrowCut cut{};
  cut.chunks = rows.chunks;
  cut.is_shared = 2 * n >= rows.longest;
  const std::int64_t tiles = n <= rows.longest ? 1 : divide_up(n, rows.usual * cut.chunks);
  cut.chunk = static_cast<int>(divide_up(n, tiles * cut.chunks)) | 1;
  cut.segment = 1;
  while (cut.segment * cut.segment < cut.chunks) ++cut.segment;
  cut.columns = rows.columns;
  return cut;
}

/// Bounds for such columns of any stride.
struct SharedTileBounds {
  std::int64_t shortest;  ///< columns of which some are shared
  std::int64_t rows;      ///< of a tile of a column that has several, at least
};
constexpr SharedTileBounds bound_shared_tiles(const NarrowElement& element) {
  SharedTileBounds bounds{shortest_long_column, INT32_MAX};
  for (int stride = 1; stride <= widest_row_of_long_columns_of(element); ++stride) {
    const RowsOfSharedTile rows = rows_of_shared_tile(stride, element);
    bounds.rows = std::min<std::int64_t>(bounds.rows, rows.usual * rows.chunks);
    if (stride > widest_narrow_row) continue;
    bounds.shortest = std::min<std::int64_t>(bounds.shortest, (rows.longest + 1) / 2);
  }
  return bounds;
}
/// The most tiles of such a column of n elements.
constexpr std::int64_t most_shared_tiles(std::int64_t n, const SharedTileBounds& bounds) {
  return n <= longest_short_column || n < bounds.shortest ? 0 : divide_up(n, bounds.rows);
}

/// Tiles of such a column that make a group: what comes before a tile is the fold of earlier groups
/// and of earlier tiles of its group, each from left to right.
inline constexpr int tiles_of_narrow_group = 16;

}  // namespace KokkosScan::impl::cuda
