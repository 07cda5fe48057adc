// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The choices on CUDA that decide bits: how lines are cut into packs, chunks and tiles, and which
/// lines follow which combination tree. Pure functions of types, lengths and strides; no GPU is
/// needed. Any change here must raise KOKKOSSCAN_TREE_VERSION; the test `trees` checks that.
/// Numbers that do not affect results are in tuning.hpp.

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace KokkosScan::impl::cuda {

/// Bytes of the largest value that the kernels take; others follow the generic backend's tree.
inline constexpr std::size_t largest_value = 64;

KOKKOS_FUNCTION constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// ---- Lines --------------------------------------------------------------------------------------

/// Bytes of an element.
struct ElementSize {
  int widest;  ///< of the operands that have a tile in shared memory
  int all;     ///< total
};

/// Elements of a pack, a single memory access where aligned: 16 bytes, but at most four elements,
/// as a sum of floats combines a pack in float.
constexpr int pack_length(int widest) { return std::max(1, std::min(4, 16 / widest)); }

/// Bytes of a chunk, the elements of a thread, over all operands of a tile. 64 bytes would double
/// the instruction overhead. Nine 128-bit lanes: an odd number avoids bank conflicts. With several
/// operands, 240 is the best compromise from 144 to 272 for masked lines and for sums of int8 in
/// int64 on an H200.
constexpr int bytes_of_chunk(ElementSize size) { return size.all > size.widest ? 240 : 144; }

/// Maximum bytes of a line that one thread scans.
inline constexpr int bytes_of_short_line = 136;

/// Maximum threads of a block, and of a block for parts of lines: its seven warps leave room for
/// six tiles of 32 KB, which are faster than five of 36 KB.
inline constexpr int most_threads = 256;
inline constexpr int most_threads_of_part = 224;

/// Maximum bytes of such a tile of aligned packs, chosen for sums of int32 in int64. Other lines
/// need all threads.
inline constexpr int most_bytes_of_part = 40960;

/// The cut of a line. It depends on n and the types alone, as it decides the combination tree.
struct Cut {
  int chunk;            ///< elements per thread
  int threads_of_line;  ///< of the part of a line in a tile: up to 32, or whole warps
  int tile_length;      ///< elements of a line in a tile
  std::int64_t tiles_of_line;
};

/// Chunks are a multiple of this many elements, an odd one to avoid bank conflicts where a line has
/// a warp or more: a pack if aligned, else the elements of a bank.
constexpr int unit_of_chunk(int pack, ElementSize size) {
  return pack > 1 ? pack : std::max(1, 4 / size.widest);
}

/// The smallest chunk that holds `elements`, or the largest permitted. The largest chunk of single
/// elements has whole packs and one element more, as that element costs as much as a pack.
constexpr int round_chunk(std::int64_t elements, int pack, ElementSize size) {
  const int unit = unit_of_chunk(pack, size);
  const std::int64_t units = divide_up(elements, unit) | 1;
  const int fit = bytes_of_chunk(size) / size.all / unit;
  const std::int64_t most = std::max(1, unit > 1 ? (fit - 1) | 1 : (fit - 1) / 4 * 4 + 1);
  return static_cast<int>(std::min(units, most)) * unit;
}

/// Bytes of padding after each 128 bytes, if slots are padded.
inline constexpr int bytes_of_padding = 16;

/// A warp's overhead for its lines, and for padded ones, in elements of a chunk.
inline constexpr double other_work = 56;
inline constexpr double work_of_padding = 48;

/// The degree of bank conflicts when a warp reads the same pack of all its chunks, per element of
/// the pack. Lines are taken to begin where banks do.
///
/// \param cut     of lines of which a warp has one or more
/// \param pack    elements that are read together
/// \param padding after each 128 bytes
constexpr double passes_of_warp(const Cut& cut, int pack, int bytes_of_element, int padding) {
  const int word = std::max(4, pack * bytes_of_element);
  const int words = 128 / word;  // read at once
  const int lanes = 32 / cut.threads_of_line * cut.threads_of_line;
  int passes = 0;
  for (int first = 0; first < lanes; first += words) {
    unsigned char lanes_of_bank[32] = {};
    unsigned char most = 0;
    for (int lane = first; lane < std::min(lanes, first + words); ++lane) {
      const int line = lane / cut.threads_of_line;
      const int chunk = lane - line * cut.threads_of_line;
      const int place = (line * cut.tile_length + chunk * cut.chunk) * bytes_of_element;
      most = std::max(most, ++lanes_of_bank[(place + place / 128 * padding) / word % words]);
    }
    passes += most;
  }
  return static_cast<double>(passes) / pack;
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
    // Minimise a warp's cost per line. The fewest threads could have bank conflicts, and an odd
    // number of packs or banks is not always best if several lines share a warp.
    const int unit = unit_of_chunk(pack, size);
    const int step = unit > 1 ? unit : 2;
    const int least_chunk = round_chunk(divide_up(n, 32), pack, size);
    Cut best{};
    double least = std::numeric_limits<double>::max();
    for (int chunk = most; chunk >= least_chunk; chunk -= step) {
      const Cut cut{chunk, static_cast<int>(divide_up(n, chunk)), length, 1};
      const int lines = 32 / cut.threads_of_line;
      const auto cost = [&](int padding) {
        const double passes = passes_of_warp(cut, pack, size.widest, padding);
        const double work = padding > 0 ? other_work + work_of_padding : other_work;
        return (chunk * std::max(1.0, passes) + work) / lines;
      };
      if ((chunk + other_work) / lines >= least) continue;
      const double of_cut = pack > 1 ? std::min(cost(0), cost(bytes_of_padding)) : cost(0);
      if (of_cut >= least) continue;
      best = cut;
      least = of_cut;
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
  // Prefer tiles whose last one is nearly full, but not tiles of few warps, which are slower.
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

// ---- Columns ------------------------------------------------------------------------------------

/// How the elements of a column combine (column_tree.hpp): pack, chunk, quarter of a row of chunks,
/// row, section.
///
/// A quarter is what a thread keeps in registers. Blocks that share columns exchange the totals of
/// rows: long ones, so that there are few.
inline constexpr int pack_of_column = 4;
inline constexpr int chunk_of_column = 8;
inline constexpr int quarter_of_chunks = 4;
inline constexpr int quarters_of_row = 4;
inline constexpr int row_of_chunks = quarters_of_row * quarter_of_chunks;
inline constexpr int rows_of_section = 32;

inline constexpr int elements_of_quarter = quarter_of_chunks * chunk_of_column;
inline constexpr int elements_of_row = row_of_chunks * chunk_of_column;
inline constexpr int chunks_of_section = rows_of_section * row_of_chunks;
inline constexpr int elements_of_section = rows_of_section * elements_of_row;

/// Limits for columns scanned as runs of bytes in shared memory: the longest of any number side by
/// side, and the widest rows of longer columns; blocks share those of more than 65536 anyway.
inline constexpr int longest_short_column = 16;
constexpr int widest_narrow_row(std::int64_t n) { return n > 65536 ? 63 : 31; }

/// \param stride elements between neighbours of a line
constexpr bool are_narrow_columns(std::int64_t n, std::int64_t stride) {
  return stride <= widest_narrow_row(n);
}

/// Short columns side by side, of any number of neighbours, are scanned as narrow ones are.
///
/// \param stride the least of input and output
/// \param bytes  of an element and its result in shared memory, without a mask
constexpr bool are_short_columns(std::int64_t n, std::int64_t stride, int bytes) {
  return n <= longest_short_column && !are_narrow_columns(n, stride) && bytes <= 16;
}

/// Rows of a chunk of such a column, which affect the combination tree: balanced, at most 33, or 17
/// of more than four bytes. If there are several chunks the number is odd, so that lanes reading
/// the same row of neighbouring chunks have no bank conflicts for any number of columns: 33 m = m
/// modulo 32.
///
/// \param bytes of the accumulator
constexpr int rows_of_chunk(std::int64_t n, int bytes) {
  const int most = bytes > 4 ? 17 : 33;
  if (n <= most) return static_cast<int>(n);
  const std::int64_t chunks = divide_up(n, most);
  return static_cast<int>(divide_up(n, chunks)) | 1;
}

/// Chunks of a tile of columns that have several, and bytes of a chunk: six tiles fit on a
/// multiprocessor of an H200.
inline constexpr int chunks_of_narrow_tile = 128;
inline constexpr int bytes_of_narrow_chunk = 260;

/// How narrow columns are cut.
struct NarrowCut {
  int chunk;   ///< rows of a chunk
  int chunks;  ///< of a column in a tile
  std::int64_t tiles;
  int columns;  ///< for which a tile has room
};

/// A column of up to a tile has chunks as above. Longer ones have balanced tiles, whose chunks have
/// an odd number of rows as well.
///
/// \param stride      elements between neighbours of a line
/// \param bytes       of an element and its result in shared memory, without a mask
/// \param accumulator bytes
constexpr NarrowCut cut_narrow_column(std::int64_t n, std::int64_t stride, int bytes,
                                      int accumulator) {
  const auto side_by_side =
      static_cast<int>(std::clamp<std::int64_t>(stride, 1, widest_narrow_row(n)));
  const int chunks = chunks_of_narrow_tile / side_by_side;
  // Folds of large values, and masks of small ones, take room as well.
  const int most = std::max(1, bytes_of_narrow_chunk / std::max(2, bytes + accumulator / 16)) | 1;
  if (n <= longest_short_column || n <= most * chunks) {
    const int chunk = rows_of_chunk(n, accumulator);
    return {chunk, static_cast<int>(divide_up(n, chunk)), 1, side_by_side};
  }
  const std::int64_t tiles = divide_up(n, most * chunks);
  const int chunk = static_cast<int>(divide_up(n, tiles * chunks)) | 1;
  return {chunk, chunks, divide_up(n, chunk * chunks), side_by_side};
}

/// Tiles of such a column per group, and groups per set. A tile's prefix is the fold of earlier
/// sets, of earlier groups of its set, and of earlier tiles of its group, each folded left to
/// right.
inline constexpr int tiles_of_narrow_group = 16;
inline constexpr int groups_of_narrow_set = 16;

}  // namespace KokkosScan::impl::cuda
