// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the host backend. None changes a result; those that do are in trees.hpp.

#include <cstdint>

namespace KokkosScan::impl::host {

/// Elements of a line that are loaded at a time if they are not scanned in place, to stay in L1.
/// 128 to 512 are equally fast; with 1024, loads stall while results are stored.
inline constexpr int block_length = 256;

/// Maximum size of lines of which two are combined side by side. Longer lines are faster one after
/// the other; the break-even is between 400 and 880 bytes.
inline constexpr int side_by_side_bytes = 512;

/// Elements of a line whose prefixes within chunks are kept in L1: so many elements are loaded,
/// then so many results are stored. Larger blocks of non-temporal stores stall loads on a Xeon,
/// smaller ones are slower on Zen 3.
template <class A>
inline constexpr int fold_length = sizeof(A) == 4 ? 128 : 32;

/// The prefetch distance in bytes. Hardware prefetching stops at page boundaries. On Zen 2, 1 KB is
/// slower and 16 KB no faster.
inline constexpr int ahead_bytes = 4096;

/// Maximum size of a row of a strip. The strip's state, six such rows of floats, stays in L2.
inline constexpr int strip_bytes = 16384;

/// Size of a block, whose results are in L1 until they are stored. 8 KB is slightly slower for
/// short lines, 16 KB equally fast.
inline constexpr int block_bytes = 12288;

/// Size of a page. Data that is stored in L1 and soon loaded again lies within one page: registers
/// across a page boundary cost hundreds of cycles. So the state of strips begins at a page
/// boundary, and results that wait for non-temporal stores share one page.
inline constexpr int page_bytes = 4096;

/// Minimum size of rows with gaps between them that are written with non-temporal stores. Each row
/// leaves two cache lines incomplete, which the processor then has to read.
inline constexpr int streamed_row_bytes = 96;

/// Maximum size of a strip's row if threads share the strip.
inline constexpr int shared_strip_bytes = 1024;

/// The width of strips is a multiple of this: several cache lines, so that threads share none.
inline constexpr int narrow_strip = 64;

/// The width of all strips but the last if a row is cut into strips.
constexpr std::int64_t strip_width(std::int64_t lines_of_row, std::int64_t strips_of_row,
                                   std::int64_t unit = narrow_strip) {
  const std::int64_t width = (lines_of_row + strips_of_row - 1) / strips_of_row;
  return (width + unit - 1) / unit * unit;
}

/// Minimum size of a strip's row if a row is cut to give each thread a strip: long runs of memory,
/// of which neighbouring threads share only the ends. If strips would be narrower, threads share
/// them instead, if lines are long enough.
inline constexpr int least_cut_bytes = 1024;

/// The width of strips that are stored at unaligned addresses anyway. Narrow strips may share cache
/// lines: with a multiple of 64, a row of 77 lines would be cut into 64 and 13.
constexpr std::int64_t cut_width(std::int64_t lines_of_row, std::int64_t strips_of_row) {
  const bool is_narrow = lines_of_row < strips_of_row * 8 * narrow_strip;
  return strip_width(lines_of_row, strips_of_row, is_narrow ? 8 : narrow_strip);
}

/// The same for the general kernels, whose strips threads cannot share: widths are multiples of it.
inline constexpr int least_strip_bytes = 128;

/// Minimum work, in elements, for a unit of the launch.
inline constexpr std::int64_t unit_elements = 1 << 15;

/// Bytes of a part of a split line, which a thread folds and then scans again: the second time from
/// L2, of which a part may fill a quarter, because the next part is prefetched to it. With 64 KB a
/// line is slower, 256 KB is equally fast.
inline constexpr std::int64_t part_bytes = 1 << 17;

/// Larger outputs are written with non-temporal stores, which saves reading their cache lines
/// first; smaller ones stay in the caches for their next use. On a core of an EPYC with 32 MB of
/// L3, both are equally fast at 2 MB, and non-temporal stores are 1.1 times as fast at 4 MB.
inline constexpr std::int64_t streaming_bytes = std::int64_t{4} << 20;

}  // namespace KokkosScan::impl::host
