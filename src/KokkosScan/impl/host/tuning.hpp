// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tuned numbers of the host backend. None of them changes a result; what does is in
/// trees.hpp.

#include <cstdint>

namespace KokkosScan::impl::host {

/// Elements of a line that are loaded at once where they are not scanned where they lie: these and
/// their results stay in L1 meanwhile. 128 to 512 are alike; at 1024 loads wait while results are
/// stored (0.9).
inline constexpr int block_length = 256;

/// The most bytes of lines of which two are combined side by side: 100 floats take 0.37 ns an
/// element so and 0.44 one after the other, 219 floats 0.46 and 0.43.
inline constexpr int side_by_side_bytes = 512;

/// Elements of a line whose folds wait in L1 until what comes before them is known: so many are
/// loaded, and then so many results are stored. With 1 KB a Xeon takes 1.2 to 1.5 times the time,
/// as stores past the caches keep loads waiting; with 64 floats Zen 3 takes 1.1 times.
template <class A>
inline constexpr int fold_length = sizeof(A) == 4 ? 128 : 32;

/// Bytes by which elements are asked for ahead of those that are loaded. The hardware foresees
/// nothing beyond a page: without, rows from memory take 0.30 ns an element on two threads of Zen 2
/// instead of 0.23. With 1 KB 0.25, with 16 KB as with 4. Where results pass the caches by, so do
/// elements: they come to L1 alone (rows of doubles 0.61 instead of 0.68 on one thread).
inline constexpr int ahead_bytes = 4096;

/// The most bytes of a strip's row. The strip's accumulators, four or five such rows, stay in L2.
inline constexpr int strip_bytes = 16384;

/// The same where columns are shorter than a pack: with 16 KB three rows of floats have 0.59 of a
/// copy instead of 0.68, with 4 KB 0.4, as the hardware does not foresee where a row goes on.
inline constexpr int cut_bytes = 8192;

/// Bytes of a piece of a row where rows are stored as they are computed, four at a time. A row at a
/// time must load and store all accumulators once a row (0.6 of a copy); 256 bytes cost calls (1.2
/// times the time in the caches); with 1024, masked rows are loaded in longer bursts, in which
/// nothing is stored (1.6 times).
inline constexpr int segment_bytes = 512;

/// Bytes of a block: its results are in L1 until they are stored. 8 KB cost a twentieth of short
/// lines' time, 16 KB are as fast.
inline constexpr int block_bytes = 12288;
/// The same where elements are loaded into L1 before; 12 KB cost a tenth of masked lines' time.
inline constexpr int loaded_block_bytes = 8192;

/// How far results that go past the caches stay behind those that are computed: a load that meets
/// stores that have not left the processor yet waits for them. With 2048 a tenth slower, as those
/// of a block are stored at its end.
inline constexpr int lag_bytes = 512;

/// Bytes of short lines that are scanned between two times that others are asked for and results
/// stored. With each pair of lines of four elements, loops cost twice the time.
inline constexpr int turn_bytes = 256;

/// Bytes of a page. What is stored in L1 and loaded again a short while after lies within one:
/// registers that reach over its end cost hundreds of cycles. What rows of neighbouring lines have
/// combined to is at the begin of a page: (120, 95, 367) takes 1.3 to 1.6 ms instead of 2.8 in
/// every third process, (1, 46433, 90) 1.4 instead of 4.6 to 6.6 in some. Results that wait for
/// their way past the caches are in one page: on Zen 3 (1, 500000, 10) doubles take 0.65 ns an
/// element, 0.9 where they reach over the end of one.
inline constexpr int page_bytes = 4096;

/// The least bytes of rows that are taken one after the other, in the order of memory. On Zen 3, 66
/// floats from memory take 0.37 ns an element through L1 and 0.48 so, 140 take 0.48 and 0.41; on a
/// Xeon rows of up to 400 bytes are as fast both ways.
inline constexpr int wide_row_bytes = 448;

/// The same of strips of rows of which a mask selects elements, which would be loaded row by row
/// otherwise: with two threads (1, 262144, 64) floats 0.55 of a copy instead of 0.14, (1, 185413,
/// 90) 0.39 instead of 0.22. Twice as much of whole rows.
inline constexpr int selected_strip_bytes = 112;

/// The least bytes of rows with gaps between them that go past the caches, which have to read what
/// a row leaves of its cache lines.
inline constexpr int streamed_row_bytes = 96;

/// The least bytes of rows of which four are taken at once: what lines have combined to is in L2
/// for longer ones. On Zen 3 (1, 4096, 4096) has 0.82 of a copy instead of 0.54, (1, 64, 262144)
/// 0.79 instead of 0.46; but on Zen 5 rows of 512 bytes had 0.7 instead of 1.0.
inline constexpr int pack_row_bytes = 4096;

/// The most bytes of a row that is taken as a whole, so that results of rows that follow each other
/// in memory are one run, whose begin and end alone may share cache lines with others.
inline constexpr int slab_bytes = 4096;

/// The most bytes of a strip's row where threads share it, each with some rows at a time. Cut in
/// two instead, rows of 64 floats have half the speed and rows of 200 two thirds; of rows of 361,
/// which do not wait for each other, a strip for each thread is as fast.
inline constexpr int shared_strip_bytes = 1024;

/// The unit of the width of strips: several cache lines, so that threads do not share one.
inline constexpr int narrow_strip = 64;

/// The width of each strip but the last, when a row of neighbouring lines is cut into strips.
constexpr std::int64_t strip_width(std::int64_t lines_of_row, std::int64_t strips_of_row,
                                   std::int64_t unit = narrow_strip) {
  const std::int64_t width = (lines_of_row + strips_of_row - 1) / strips_of_row;
  return (width + unit - 1) / unit * unit;
}

/// The least lines of a strip into which a row is cut so that each thread has one. Fewer are not
/// worth it: threads rather share a strip.
inline constexpr int least_cut = 32;

/// The width of strips that are stored wherever their rows begin: narrow ones share cache lines, as
/// strips of 64 and 13 lines would keep a thread waiting.
constexpr std::int64_t cut_width(std::int64_t lines_of_row, std::int64_t strips_of_row) {
  const bool is_narrow = lines_of_row < strips_of_row * 8 * narrow_strip;
  return strip_width(lines_of_row, strips_of_row, is_narrow ? 8 : narrow_strip);
}

/// Elements of work that are worth a unit of the policy.
inline constexpr std::int64_t unit_elements = 1 << 15;

/// Bytes that a thread folds and then scans again where a line is split: they come from memory
/// once and the second time from L2, of which they may fill a quarter, as the next part comes there
/// meanwhile. With 64 KB a line takes 0.37 ns an element instead of 0.34, with 256 KB as much.
inline constexpr std::int64_t part_bytes = 1 << 17;

/// Outputs above this are stored past the caches, which saves reading them first. Smaller ones
/// stay for whoever uses them next. A core of an AMD EPYC that shares 32 MB of cache stores 2 MB as
/// fast both ways, 4 MB by a tenth and 8 MB by half in favour of this.
inline constexpr std::int64_t streaming_bytes = std::int64_t{4} << 20;

}  // namespace KokkosScan::impl::host
