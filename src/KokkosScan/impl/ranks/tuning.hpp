// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The blocks of lines of a scan over ranks: a pure function that must return the same on all
/// ranks. It changes no result.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace KokkosScan::impl::ranks {

/// The maximum number of blocks into which lines are cut.
inline constexpr std::int64_t most_blocks = 257;

/// The number of blocks from which on two ranks scan without a fold. With fewer, the second rank
/// waits longer for the scan of the first block than it would for the fold of all.
inline constexpr std::int64_t least_blocks_of_chain = 4;

/// The sizes of blocks. If lines are neighbours in memory, blocks take enough of them for efficient
/// memory access; if lines are contiguous, a few per block suffice.
///
/// On hosts a block is still in the cache when it is scanned after the fold. On devices the
/// overhead of kernel launches outweighs that, so blocks are much larger (docs/limits.md). In
/// order, a rank first waits for as many blocks as there are ranks before it; a device needs many
/// lines, because it has one thread per line.
template <bool in_order, bool on_host>
struct BlockSizes {
  /// The bytes of a block's elements.
  static constexpr std::int64_t bytes = std::int64_t{on_host ? 1 : in_order ? 64 : 256} << 20;
  /// The same for two ranks: the second one waits for the scan of the first block.
  static constexpr std::int64_t bytes_of_two = std::int64_t{on_host ? 1 : 64} << 20;
  /// The maximum number of blocks if they must exceed `bytes`. In a tree they do not fit the cache
  /// then, and a few are enough to overlap messages with computation.
  static constexpr std::int64_t most_large_blocks = in_order ? most_blocks - 1 : 8;

  static std::int64_t least_lines(bool are_contiguous, std::int64_t element_size) {
    if (in_order && !on_host) return 32768;
    return are_contiguous ? 16 : std::max<std::int64_t>(1, 32768 / element_size);
  }
};

/// The partition of lines into blocks. Lines are numbered as in a dense array of all of them; a
/// block is a multiple of `unit`, the number of lines with one index in the slowest dimension.
struct Blocks {
  std::int64_t lines;  ///< in all blocks
  std::int64_t lines_of_block;
  std::int64_t count;

  [[nodiscard]] std::int64_t begin(std::int64_t block) const { return block * lines_of_block; }
  [[nodiscard]] std::int64_t size(std::int64_t block) const {
    return std::min(lines_of_block, lines - begin(block));
  }
};

/// \param lines       of the batch, at least one
/// \param unit        a divisor of lines
/// \param bytes       of the longest part of a line
/// \param block_bytes the desired size of a block
/// \param least_lines the minimum number of lines in a block, which takes precedence
/// \param few         the maximum number of blocks, if least_lines makes them exceed block_bytes
inline Blocks cut_into_blocks(std::int64_t lines, std::int64_t unit, std::int64_t bytes,
                              std::int64_t block_bytes, std::int64_t least_lines,
                              std::int64_t few) {
  constexpr std::int64_t many = most_blocks - 1;
  const std::int64_t fit = block_bytes / std::max<std::int64_t>(bytes, 1);
  std::int64_t wanted = fit >= least_lines ? std::max(fit, (lines + many - 1) / many)
                                           : std::max(least_lines, (lines + few - 1) / few);
  wanted = std::clamp<std::int64_t>((wanted + unit - 1) / unit, 1, lines / unit) * unit;
  return {lines, wanted, (lines + wanted - 1) / wanted};
}

}  // namespace KokkosScan::impl::ranks
