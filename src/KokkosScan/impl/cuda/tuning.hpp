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
/// a multiple of a group. Fewer are slower.
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

/// Lines in registers: maximum threads, whose 64 registers hold 36 elements each, and minimum
/// threads of a block that has a multiprocessor alone. Twice the elements with half of the threads
/// is slower.
inline constexpr int most_threads_in_registers = 960;
inline constexpr int least_threads_alone = 704;

/// Whether the elements of a line fit and keep a multiprocessor busy, if it is longer than a tile.
constexpr bool fits_registers(std::int64_t n, const Cut& cut) {
  const std::int64_t threads = divide_up(n, 32 * cut.chunk) * 32;
  const bool are_two_blocks = threads <= 512;
  return cut.tiles_of_line > 1 && threads <= most_threads_in_registers &&
         (are_two_blocks || threads >= least_threads_alone);
}

/// Maximum tiles in flight per block for parts of lines: 6 of 32 KB fill the memory of Hopper.
inline constexpr int most_stages = 8;

/// Bulk loads are faster if addresses in shared and global memory are congruent modulo 128 bytes.
inline constexpr int bulk_alignment = 128;

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

/// Limits for a thread per column: the narrowest rows, the longest columns, maximum bytes of an
/// element, and minimum columns per multiprocessor.
inline constexpr int narrowest_rows = 32;
inline constexpr int longest_of_threads = 448;
inline constexpr int bytes_of_threads = 8;
inline constexpr int columns_of_multiprocessor = 512;

/// Launch bounds for narrow columns; at least three warps.
inline constexpr int threads_of_narrow_columns = 128;
inline constexpr int blocks_of_narrow_columns = 8;

/// Pieces of a tile, the power of two, from so many passes over the banks on.
inline constexpr int log2_narrow_pieces = 3;
inline constexpr int passes_of_narrow_pieces = 12;

/// Bytes of a tile of whole columns and their folds, unless a slab is larger, and of what a block
/// keeps besides.
inline constexpr int bytes_of_narrow_tile = 24576;
inline constexpr int bytes_of_narrow_block = 128;

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
  Divisor by_threads_of_line;
};

/// The launch for lines of this cut. A tile of whole lines belongs to one warp if that holds a
/// line: blocks of 4 KB come closest to a copy.
constexpr Shape shape_launch(const Cut& cut, ElementSize size) {
  const Divisor by_threads(cut.threads_of_line);
  if (cut.tiles_of_line > 1 || cut.threads_of_line > 32) {
    return {cut, 1, 1, cut.threads_of_line, by_threads};
  }
  int lines_of_thread = 1;
  if (cut.threads_of_line == 1) {
    lines_of_thread = std::max(1, bytes_of_chunk(size) / (size.all * cut.chunk));
    // An odd stride between lanes, unless they are padded.
    if (cut.chunk % pack_length(size.widest) != 0) lines_of_thread = (lines_of_thread - 1) | 1;
  }
  return {cut, lines_of_thread, 32 / cut.threads_of_line * lines_of_thread, 32, by_threads};
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
