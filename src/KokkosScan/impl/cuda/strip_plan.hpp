// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns whose rows are aligned packs are cut into strips (columns.hpp), and how long that
/// takes: pure functions, which decide no bits. docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>
#include <iterator>

namespace KokkosScan::impl::cuda {

/// Most threads of a block that walks down strips, and threads of a multiprocessor, by the columns
/// of a thread: those that leave it registers for so many.
inline constexpr int most_threads_of_strip = 512;
template <int E>
inline constexpr int threads_of_strips = E > 1 ? 512 : 1024;

/// Bytes of the accumulators of a thread in a row at most: eight rows of them take 64 registers.
/// Half where several arrays are loaded, which are as many bytes on their way: a recurrence of
/// floats has 0.91 of (8, 4096, 2048) with two columns a thread, 0.81 with four and 0.56 with one.
constexpr int bytes_of_strip_thread(bool is_zipped) { return is_zipped ? 16 : 32; }

/// Neighbouring columns of a thread of such a block: a pack, or as many as its registers hold, but
/// not one alone of small accumulators ((8, 4096, 2048) of 16 bytes: 0.32 instead of 0.56).
///
/// \param bytes of the accumulator
constexpr int columns_of_strip_thread(int pack, int bytes, bool is_zipped) {
  const int least = bytes <= 16 ? 2 : 1;
  int columns = pack;
  while (columns > least && columns * bytes > bytes_of_strip_thread(is_zipped)) columns /= 2;
  return columns;
}

/// Threads of a block that walks down strips, if it has shared memory for them: half, of which a
/// multiprocessor has two where there is more to compute: sums of floats in double have 0.76 of
/// 32768 x 32768 instead of 0.70.
///
/// \param bytes of the accumulators of a thread in a row
constexpr int usual_threads_of_strip(int bytes) {
  return bytes > 16 ? most_threads_of_strip / 2 : most_threads_of_strip;
}

/// Bytes that memory is read and written by.
inline constexpr int bytes_of_sector = 32;
/// What a warp reads or writes at once.
inline constexpr int bytes_of_line = 128;

/// What is cut into strips.
struct StripFacts {
  std::int64_t n;       ///< elements of a column
  std::int64_t inner;   ///< columns that are neighbours
  std::int64_t outer;   ///< so many times
  int pack;             ///< columns of a lane
  int bytes_of_lane;    ///< in a row of the widest operand
  bool has_sectors;     ///< whether rows are whole sectors of memory
  int most_threads;     ///< of a block
  int threads_at_once;  ///< of a multiprocessor
  int multiprocessors;
};

/// How columns are cut into strips.
struct StripPlan {
  int lanes;    ///< across a strip, a power of two
  int groups;   ///< chunks of a column in a tile: all, or as many as a section has whole multiples
                ///< of
  double time;  ///< of all, in units of a copy of the same bytes
};

/// What blocks of a width reach where all multiprocessors have theirs, as a fraction of a copy; and
/// how many times as fast as its share of a copy a block is while others have nothing to do.
struct StripSpeed {
  int lanes;
  double of_copy;
  double alone;
};
inline constexpr StripSpeed strip_speeds[] = {
    {64, 0.94, 1.4}, {32, 0.92, 1.4}, {16, 0.86, 1.3}, {8, 0.80, 1.05}, {4, 0.64, 0.64}};

/// The least that strips reach which are whole rows, and so follow each other in memory: (1024,
/// 16384, 16) has 0.85.
inline constexpr double of_copy_in_whole_rows = 0.85;

/// What the two ends of a row of a strip cost, as bytes, where rows are no whole sectors.
inline constexpr int bytes_of_ends = 150;

constexpr int groups_of_strip(const StripFacts& facts, int width) {
  return static_cast<int>(
      std::min<std::int64_t>(divide_up(facts.n, chunk_of_column), facts.most_threads / width));
}

/// How long strips of a width take: rounds in which each block has one, and at last a round of the
/// others, which have more of the memory's speed for themselves, but take no less than one alone.
constexpr double time_of_strips(const StripFacts& facts, const StripSpeed& speed) {
  const int threads = groups_of_strip(facts, speed.lanes) * speed.lanes;
  const std::int64_t room = std::int64_t{std::max(1, facts.multiprocessors)} *
                            std::max(1, facts.threads_at_once / threads);
  const std::int64_t columns = std::int64_t{speed.lanes} * facts.pack;
  const std::int64_t strips = facts.outer * divide_up(facts.inner, columns);
  const double of_copy =
      facts.inner <= columns ? std::max(speed.of_copy, of_copy_in_whole_rows) : speed.of_copy;
  const double last = static_cast<double>(strips % room) / static_cast<double>(room);
  const double rounds = static_cast<double>(strips / room) +
                        (last > 0 ? std::max(last, speed.of_copy / speed.alone) : 0);
  const int bytes = speed.lanes * facts.bytes_of_lane;
  const double ends = facts.has_sectors ? 1 : 1 + static_cast<double>(bytes_of_ends) / bytes;
  return rounds * static_cast<double>(room) * static_cast<double>(columns) /
         static_cast<double>(facts.outer * facts.inner) * ends / of_copy;
}

/// The width that takes least: with idle lanes, a last round of few strips and multiprocessors that
/// have none weighed against each other. (1, 13278, 20192) has 0.94 with 79 strips of 64 lanes, on
/// as many of 132 multiprocessors, 0.66 with 158 of 32 and 0.81 with 631 of 8.
constexpr StripPlan plan_strips(const StripFacts& facts) {
  StripPlan best{0, 0, 0};
  for (const StripSpeed& speed : strip_speeds) {
    const bool is_last = &speed == std::end(strip_speeds) - 1;
    if (speed.lanes * half_row_of_chunks > facts.most_threads && !is_last) continue;
    const double time = time_of_strips(facts, speed);
    if (best.lanes != 0 && time >= best.time) continue;
    best = {speed.lanes, groups_of_strip(facts, speed.lanes), time};
  }
  return best;
}

/// What other kernels reach with such elements, as fractions of a copy, and columns for each
/// multiprocessor below which blocks share long ones rather than take tiles of wide columns, where
/// rows are whole sectors.
struct ColumnSpeeds {
  double wide;    ///< tiles of wide columns
  double shared;  ///< blocks that share long columns
  int shared_columns;
};

/// What is known of elements.
struct ColumnElements {
  bool are_plain;            ///< of arrays, combined by a built-in operator
  bool have_several_arrays;  ///< a mask, too
  int bytes;                 ///< of an accumulator
  int least_bytes;           ///< of an element or a result
};

/// What was measured of them on H100 and H200.
constexpr ColumnSpeeds column_speeds(const ColumnElements& e) {
  if (!e.are_plain) return {0.50, 0.74, lines_of_shared_columns};
  if (e.have_several_arrays) return {0.66, 0.70, 24};
  if (e.least_bytes < 4) return {0.70, 0.74, lines_of_shared_columns};
  if (e.bytes <= 4) return {0.87, 0.74, 24};
  if (e.least_bytes < e.bytes) return {0.83, 0.74, 75};
  return {0.88, 0.72, columns_of_wider_rows};
}

/// How long strips may take at most where threads have a column each otherwise.
inline constexpr double time_of_column_threads = 1 / 0.78;

/// Whether blocks walk down strips: where one keeps the threads of a block busy, or else tiles have
/// too few columns, and where tiles of wide columns do not take less time.
constexpr bool takes_strips(const StripFacts& facts, const StripPlan& plan, double time_of_wide) {
  return facts.n >= 16 && facts.inner >= 16 && facts.n * facts.inner >= 1024 &&
         plan.time <= time_of_wide;
}

}  // namespace KokkosScan::impl::cuda
