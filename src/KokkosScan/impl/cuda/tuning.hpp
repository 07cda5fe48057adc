// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the CUDA backend, and which kernel runs for which lines: pure functions of
/// types and lengths, which need no GPU.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Bytes of the largest value that the kernels take: 16 warps exchange rows of 32 values in the 48
/// KB of shared memory that every block may have.
inline constexpr std::size_t largest_value = 64;

/// Elements of a pack: what fits into 16 bytes of the wider of input and output, and into 64 bytes
/// of accumulators (which bounds the rows that warps exchange).
constexpr int pack_length(int bytes_in, int bytes_out, int bytes_accumulator) {
  return std::max(1, std::min(16 / std::max(bytes_in, bytes_out), 64 / bytes_accumulator));
}

/// 32-bit registers that an accumulator takes.
constexpr int registers_of(int bytes) { return std::max(1, (bytes + 3) / 4); }

/// The sizes of kernel that exist for a type. A size is how many registers of a thread hold
/// elements; more registers are more elements in flight a thread, but fewer threads.
enum class Size { small, medium, large };

/// Registers of elements a thread.
constexpr int element_registers(Size size) {
  switch (size) {
    case Size::small:
      return 8;
    case Size::medium:
      return 32;
    default:
      return 64;
  }
}

/// Most threads of a block, which bounds the registers of each.
constexpr int most_threads(Size size) { return size == Size::large ? 512 : 256; }

/// Threads of a block of short lines.
inline constexpr int short_line_threads = 128;

/// Threads of a block that whole lines fill where several lines fit.
constexpr int usual_threads(Size size) { return size == Size::small ? 128 : most_threads(size); }

/// Rows of a warp, for packs of `pack` accumulators of `bytes` each.
constexpr int rows_of_warp(Size size, int pack, int bytes) {
  return std::max(1, element_registers(size) / (pack * registers_of(bytes)));
}

/// How the lines of a problem are laid over warps.
struct Layout {
  bool fits;         ///< whether a block's registers hold a line
  bool short_lines;  ///< several lines in a row of a warp
  Size size;
  int warps_of_line;  ///< 1 for short lines
};

/// The layout for lines of n elements: a function of n and the types alone, as it decides the
/// combination tree.
constexpr Layout choose_layout(std::int64_t n, int pack, int bytes) {
  const std::int64_t rows = (n + 32 * pack - 1) / (32 * pack);
  if (rows <= 1) return {true, true, Size::small, 1};
  for (const Size size : {Size::small, Size::medium, Size::large}) {
    const int rows_each = rows_of_warp(size, pack, bytes);
    const std::int64_t warps = (rows + rows_each - 1) / rows_each;
    if (warps <= most_threads(size) / 32) return {true, false, size, static_cast<int>(warps)};
  }
  return {false, false, Size::large, 0};
}

}  // namespace KokkosScan::impl::cuda
