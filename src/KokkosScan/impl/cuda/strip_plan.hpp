// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns whose rows are aligned packs are cut into strips (columns.hpp), and how long that
/// takes: pure functions, which do not affect bits. docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Limits for threads per block and per multiprocessor where blocks walk down strips, by columns
/// per thread: they leave enough registers.
inline constexpr int most_threads_of_strip = 512;
template <int E>
inline constexpr int threads_of_strips = E > 1 ? 512 : 1024;

/// Maximum bytes of a thread's accumulators in a row: eight rows take 64 registers. Half if several
/// arrays are loaded, which have as many bytes in flight.
constexpr int bytes_of_strip_thread(bool is_zipped) { return is_zipped ? 16 : 32; }

/// Neighbouring columns per thread of such a block: a pack, or as many as its registers hold, but
/// at least two of small accumulators, as one is slower.
///
/// \param bytes of the accumulator
constexpr int columns_of_strip_thread(int pack, int bytes, bool is_zipped) {
  const int least = bytes <= 16 ? 2 : 1;
  int columns = pack;
  while (columns > least && columns * bytes > bytes_of_strip_thread(is_zipped)) columns /= 2;
  return columns;
}

/// Threads of a block that walks down strips, if their shared memory fits. Large accumulators take
/// more computation and are faster with two smaller blocks per multiprocessor.
///
/// \param bytes of the accumulators of a thread in a row
constexpr int usual_threads_of_strip(int bytes) {
  return bytes > 16 ? most_threads_of_strip / 2 : most_threads_of_strip;
}

/// The unit of memory transactions.
inline constexpr int bytes_of_sector = 32;

/// What is cut into strips.
struct StripFacts {
  std::int64_t n;       ///< elements of a column
  std::int64_t inner;   ///< neighbouring columns
  std::int64_t outer;   ///< groups of neighbouring columns
  int pack;             ///< columns per lane
  int bytes_of_lane;    ///< in a row of the widest operand
  bool has_sectors;     ///< whether rows are whole sectors
  int most_threads;     ///< of a block
  int threads_at_once;  ///< maximum per multiprocessor
  int multiprocessors;
  bool has_several_arrays = false;  ///< including a mask
};

/// How columns are cut into strips.
struct StripPlan {
  int lanes;    ///< across a strip, a power of two
  int groups;   ///< chunks of a column in a tile: all, or a divisor of a section
  double time;  ///< in total, relative to a copy of the same bytes
};

/// The throughput of blocks of a width when all multiprocessors are busy, as a fraction of a copy,
/// and the speedup of a block beyond its share of a copy when other blocks are idle.
struct StripSpeed {
  int lanes;
  double of_copy;
  double alone;
};
inline constexpr StripSpeed strip_speeds[] = {{64, 0.94, 1.4}, {32, 0.92, 1.4}, {16, 0.86, 1.3},
                                              {8, 0.80, 1.05}, {4, 0.70, 0.97}, {2, 0.60, 0.85}};

/// A lower bound for strips that are whole rows, and so contiguous with each other.
inline constexpr double of_copy_in_whole_rows = 0.85;

/// The cost of the two partial sectors of a strip's row, in bytes, unless rows are whole sectors.
inline constexpr int bytes_of_ends = 150;

constexpr int groups_of_strip(const StripFacts& facts, int width) {
  return static_cast<int>(
      std::min<std::int64_t>(divide_up(facts.n, chunk_of_column), facts.most_threads / width));
}

/// The time of strips of a width: full rounds, in which each block has one strip, and a last,
/// partial round, whose strips have more bandwidth each, but take no less time than a strip alone.
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

/// The fastest width. It balances idle lanes, a partial last round and idle multiprocessors: wide
/// strips can win even if some multiprocessors have none.
constexpr StripPlan plan_strips(const StripFacts& facts) {
  StripPlan best{0, 0, 0};
  for (const StripSpeed& speed : strip_speeds) {
    if (speed.lanes * quarter_of_chunks > facts.most_threads) continue;
    if (speed.lanes < 8 && facts.has_several_arrays) continue;  // slower than wide columns
    const double time = time_of_strips(facts, speed);
    if (best.lanes != 0 && time >= best.time) continue;
    best = {speed.lanes, groups_of_strip(facts, speed.lanes), time};
  }
  return best;
}

/// The throughput of tiles of wide columns, as a fraction of a copy. Measured on an H200.
///
/// \param are_plain   whether elements are in arrays and combined by a built-in operator
/// \param has_several whether in several arrays, including a mask
/// \param bytes       of an accumulator
/// \param least_bytes of an element or a result
constexpr double speed_of_wide_columns(bool are_plain, bool has_several, int bytes,
                                       int least_bytes) {
  if (!are_plain) return 0.50;
  if (has_several || least_bytes < 4) return 0.70;
  if (least_bytes < bytes) return 0.72;
  return bytes > 4 ? 0.91 : 0.84;
}

/// Whether blocks walk down strips: where a strip keeps the threads of a block busy, or tiles would
/// have too few columns, and tiles of wide columns are not faster.
constexpr bool takes_strips(const StripFacts& facts, const StripPlan& plan, double time_of_wide) {
  return facts.n >= 16 && facts.inner >= 16 && facts.n * facts.inner >= 1024 &&
         plan.time <= time_of_wide;
}

}  // namespace KokkosScan::impl::cuda
