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

/// The bytes of a block's elements: it is folded, and scanned a few blocks later, out of the cache
/// if it still is there. On devices the blocks in flight fit a cache of 50 MB.
template <bool on_host>
inline constexpr std::int64_t default_block_bytes = std::int64_t{on_host ? 1 : 8} << 20;

/// The fewest lines of a block. Each row of neighbouring lines is long enough to be fetched well
/// (blocks of 2 KB rows took twice the time); lines that are contiguous themselves may be few.
inline std::int64_t default_least_lines(bool are_contiguous, std::int64_t element_size) {
  return are_contiguous ? 16 : std::max<std::int64_t>(1, 32768 / element_size);
}

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
inline Blocks cut_into_blocks(std::int64_t lines, std::int64_t unit, std::int64_t bytes,
                              std::int64_t block_bytes, std::int64_t least_lines) {
  // Where blocks fit no cache, there are a few of them, for messages to travel meanwhile.
  constexpr std::int64_t few = 8;
  constexpr std::int64_t many = 256;
  const std::int64_t fit = block_bytes / std::max<std::int64_t>(bytes, 1);
  std::int64_t wanted = fit >= least_lines ? std::max(fit, (lines + many - 1) / many)
                                           : std::max(least_lines, (lines + few - 1) / few);
  wanted = std::clamp<std::int64_t>((wanted + unit - 1) / unit, 1, lines / unit) * unit;
  return {lines, wanted, (lines + wanted - 1) / wanted};
}

}  // namespace KokkosScan::impl::mpi
