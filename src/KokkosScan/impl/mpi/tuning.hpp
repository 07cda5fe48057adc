// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The blocks of lines of a distributed scan: a pure function, which must give the same on all
/// ranks. It changes no result.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace KokkosScan::impl::mpi {

/// Into how many blocks lines are cut at most.
inline constexpr std::int64_t most_blocks = 257;

/// How large blocks are. Each row of neighbouring lines is long enough to be fetched well (blocks
/// of 2 KB rows took twice the time); lines that are contiguous themselves may be few.
///
/// On hosts a block that was folded is scanned out of the cache. On a device the ends and
/// beginnings of kernels cost more than a cache saves, so blocks are much larger
/// (docs/limits.md). In order, the first block of a rank waits for as many blocks as there
/// are ranks before it; a device has a thread for each line, and wants many of them.
template <bool in_order, bool on_host>
struct BlockSizes {
  /// Of a block's elements.
  static constexpr std::int64_t bytes = std::int64_t{on_host ? 1 : in_order ? 64 : 256} << 20;
  /// How many blocks there are at most where they must be larger. By a tree they fit no cache then,
  /// and a few do, for messages to travel meanwhile.
  static constexpr std::int64_t most_large_blocks = in_order ? most_blocks - 1 : 8;

  static std::int64_t least_lines(bool are_contiguous, std::int64_t element_size) {
    if (in_order && !on_host) return 32768;
    return are_contiguous ? 16 : std::max<std::int64_t>(1, 32768 / element_size);
  }
};

/// Where lines are cut into blocks. Lines are counted as in a dense array of all of them; a block
/// is a multiple of `unit` of them, those of one index in its slowest dimension.
struct Blocks {
  std::int64_t lines;  ///< of all blocks
  std::int64_t lines_of_block;
  std::int64_t count;

  [[nodiscard]] std::int64_t begin(std::int64_t block) const { return block * lines_of_block; }
  [[nodiscard]] std::int64_t size(std::int64_t block) const {
    return std::min(lines_of_block, lines - begin(block));
  }
};

/// \param lines       of the batch, at least one
/// \param unit        a divisor of it
/// \param bytes       of the longest part of a line
/// \param block_bytes as many shall a block have, about
/// \param least_lines that a block has all the same
/// \param few         at most so many blocks, if that makes them larger than block_bytes
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

}  // namespace KokkosScan::impl::mpi
