// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the CUDA backend, and how lines are cut into tiles and chunks: pure
/// functions of types and lengths, which need no GPU. Fractions are those of the best copy of 2^30
/// floats on an H200; docs/design.md has more of them.

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace KokkosScan::impl::cuda {

/// Bytes of the largest value that the kernels take.
inline constexpr std::size_t largest_value = 64;

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

/// How many times as many threads compute the elements of such tiles, where they are computed. With
/// one 2^22 floats have 0.54 instead of 0.72; with none, where the threads that fold compute, 0.48.
inline constexpr int groups_that_compute = 2;

/// Most bytes of such a tile of aligned packs: 2^22 sums of int32 in int64 have 0.83 instead of
/// 0.70 without a limit. Other lines need the threads (50257 masked: 0.93 instead of 0.89).
inline constexpr int most_bytes_of_part = 40960;

/// Blocks for which a multiprocessor must have registers where tiles hold whole lines, by the most
/// threads for which the kernel is compiled: 80, 72 or 64 registers a thread.
KOKKOS_FUNCTION constexpr int blocks_of_lines(int most) {
  return most <= 32 ? 24 : (most <= 64 ? 14 : 4);
}

/// Most tiles that a block has in flight where lines have several: 6 of 32 KB fill the shared
/// memory of Hopper.
inline constexpr int most_stages = 8;

/// Loads in bulk are faster where addresses in shared and in global memory are at the same distance
/// from multiples of 128 bytes.
inline constexpr int bulk_alignment = 128;

/// Registers of a thread that hold elements of lines that a block keeps in registers, and most
/// threads of such a block. Twice the registers with half the threads: 0.77 instead of 0.98.
inline constexpr int element_registers = 64;
inline constexpr int most_threads_in_registers = 512;

/// Shortest lines that a block keeps in registers: those that fill a warp. In tiles, lines of 2048
/// have 0.95 instead of 0.98, lines of 8192 have 0.90.
inline constexpr int shortest_in_registers = 2048;

/// 32-bit registers that an accumulator takes.
constexpr int registers_of(int bytes) { return std::max(1, (bytes + 3) / 4); }

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

/// Threads of a block that scans columns, and most such blocks of a multiprocessor, for which it
/// must have registers.
inline constexpr int threads_of_columns = 256;
inline constexpr int threads_of_column_block = threads_of_columns + 32;
inline constexpr int most_blocks_of_columns = 3;

/// Most tiles that such a block has in shared memory.
inline constexpr int most_buffers_of_columns = 3;

/// Fewest bytes of a row that is moved by a bulk copy.
inline constexpr int bytes_of_bulk_row = 1024;

/// Bytes of a tile of columns, and most elements, which numbers of 15 bits count.
inline constexpr int bytes_of_columns = 34816;
inline constexpr int most_elements_of_columns = 32767;

/// Lines that blocks share at most, for each multiprocessor.
inline constexpr int lines_of_multiprocessor_that_share = 1024;

/// The part of a copy's speed that blocks which share lines reach; where they do not, but
/// multiprocessors are busy for a larger part of the time, lines are not shared.
inline constexpr double busy_when_shared = 0.75;

/// Bytes that cost as much as the ends of a strip's row, and as much as waiting for a tile.
inline constexpr double cost_of_strip = 96;
inline constexpr double cost_of_tile = 2048;

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

/// The most threads for which the kernel is compiled that scans tiles of whole lines. Small blocks
/// have registers of which none is spilled: four that are cost lines of 1024 floats 0.03, lines of
/// 2049 0.11; but with as many in large ones lines of 3001 have 0.90 instead of 0.95, masked lines
/// of 4096 0.70 instead of 0.99. One warp alone has room for more warps, with less registers, where
/// each has many lines or little to load, or more to store: lines of 2 have 0.94 with 64 registers
/// instead of 0.82, of 4 and 100 0.99 and 0.98 with 72 instead of 0.93, n+1 results of lines of 32
/// 0.94 instead of 0.92; but lines of 1024 0.98 instead of 0.995.
///
/// \param stores_more whether there are more bytes to store than to load
constexpr int most_threads_of_tile(const Shape& shape, ElementSize size, bool stores_more) {
  if (shape.threads > 64 || shape.lines_of_thread > 16) return most_threads;
  const int bytes = shape.lines_of_tile * shape.cut.tile_length * size.all;
  const bool wants_warps = shape.lines_of_thread > 6 || bytes < 2900 || stores_more;
  return shape.threads > 32 || wants_warps ? 64 : 32;
}

}  // namespace KokkosScan::impl::cuda
