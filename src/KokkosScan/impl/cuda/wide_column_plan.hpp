// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns are cut into strips (wide_columns.hpp): pure functions, which decide no bits.
/// docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int lanes_of_strip = 32;
/// Warps of a block, and rows of a thread, of a row of chunks each.
inline constexpr int warps_of_wide_block = 8;
inline constexpr int threads_of_wide_columns = lanes_of_strip * warps_of_wide_block;
inline constexpr int rows_of_wide_thread = elements_of_row / warps_of_wide_block;
static_assert(rows_of_wide_thread % chunk_of_column == 0);

/// Bytes of the largest accumulator, and of the largest where columns are so long and few that
/// blocks must share them. (Of 16 bytes, two numbers that are composed in double spill.)
inline constexpr int largest_of_wide_columns = 8;
inline constexpr int largest_of_shared_columns = 16;

/// Slots of a thread, each 16 elements of a column: they take 64 registers.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int slots_of_wide_thread(int bytes) {
  return bytes <= 4 ? 4 : (bytes <= 8 ? 2 : 1);
}
/// Blocks of a multiprocessor for which it must have registers. (Three of half as many columns,
/// which spill: (1, 3871, 69345) has 0.68 instead of 0.81.)
inline constexpr int blocks_of_wide_columns = 2;

/// Widths of strips are multiples of so many columns: sectors of floats.
inline constexpr int unit_of_strip = 8;

/// Rows of chunks and sections of a column.
constexpr std::int64_t rows_of_column(std::int64_t n) { return divide_up(n, elements_of_row); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// How columns are cut into strips, and these into tiles.
struct WideColumnPlan {
  int inner;            ///< columns that are neighbours
  int columns;          ///< of a strip
  int groups;           ///< of 32 columns of a strip
  int rows;             ///< of chunks in a tile
  int strips_of_row;    ///< of neighbouring columns
  int tiles;            ///< of a column
  int blocks_of_strip;  ///< that walk down it, or 0: tiles are taken in the order of memory
  std::int64_t strips;  ///< of all
};

/// What is cut.
struct WideColumnFacts {
  std::int64_t n;
  std::int64_t inner;  ///< columns that are neighbours
  std::int64_t outer;  ///< so many times
  int bytes;           ///< of the accumulator
  bool has_lines;      ///< whether all rows begin at multiples of 128 bytes
  bool has_packs;      ///< whether they begin at multiples of packs
  int multiprocessors;
};

/// \param groups of 32 columns in a strip at most
constexpr WideColumnPlan cut_wide_columns(const WideColumnFacts& facts, int groups) {
  const int slots = slots_of_wide_thread(facts.bytes);
  const std::int64_t of_row = divide_up(facts.inner, lanes_of_strip * groups);
  // Strips of equal width.
  const int unit = facts.has_lines ? lanes_of_strip : unit_of_strip;
  const std::int64_t columns = divide_up(divide_up(facts.inner, of_row), unit) * unit;
  const auto needed = static_cast<int>(divide_up(columns, lanes_of_strip));
  WideColumnPlan plan{};
  plan.inner = static_cast<int>(facts.inner);
  plan.columns = static_cast<int>(columns);
  plan.groups = needed;
  plan.rows = slots / (needed > 2 ? 4 : needed);
  plan.strips_of_row = static_cast<int>(divide_up(facts.inner, columns));
  plan.tiles = static_cast<int>(divide_up(rows_of_column(facts.n), plan.rows));
  plan.strips = plan.strips_of_row * facts.outer;
  return plan;
}

/// Strips for each multiprocessor from which on tiles are taken in the order of memory: with fewer
/// what comes before a tile has not been published when it is taken. So many are better than wide
/// ones, and so many narrow ones suffice. ((10, 9000, 700) has 0.67 with 60 strips of up to 128
/// columns, 0.72 with 110 of up to 64; (1, 141898, 1872) has 0.78 with 59 narrow ones.)
inline constexpr double wide_strips_in_order = 0.75;
inline constexpr double narrow_strips_in_order = 0.4;

/// The widest strips that are enough for the order of memory. Else blocks walk down strips, narrow
/// ones, as each reads what others have published of its columns; but rows that are not aligned
/// cost more at the ends of these. ((1, 1048576, 256): 0.705 instead of 0.51 in strips of 32 and of
/// 128 columns, (1, 264514, 1015): 0.40 instead of 0.605.)
constexpr WideColumnPlan plan_wide_columns(const WideColumnFacts& facts) {
  const int slots = slots_of_wide_thread(facts.bytes);
  const auto multiprocessors = static_cast<double>(std::max(1, facts.multiprocessors));
  for (int groups = slots; groups > 0; groups /= 2) {
    const WideColumnPlan plan = cut_wide_columns(facts, groups);
    const double least = groups == 1 ? narrow_strips_in_order : wide_strips_in_order;
    if (plan.tiles == 1 || static_cast<double>(plan.strips) >= least * multiprocessors) return plan;
  }
  WideColumnPlan plan =
      cut_wide_columns(facts, std::min(slots, facts.has_lines ? 1 : (facts.has_packs ? 2 : 4)));
  const std::int64_t at_once =
      std::int64_t{std::max(1, facts.multiprocessors)} * blocks_of_wide_columns;
  plan.blocks_of_strip =
      static_cast<int>(std::clamp<std::int64_t>(at_once / plan.strips, 1, plan.tiles));
  return plan;
}

/// What blocks that walk down strips reach, as a fraction of what those reach that take tiles in
/// the order of memory.
inline constexpr double speed_of_walks = 0.8;

/// What a first and a last round of tiles cost, in rounds: strips keep small arrays. ((2, 2048,
/// 2048), floats summed in double, on an H100: 0.61 in tiles, 0.775 in strips.)
inline constexpr double ends_of_wide_tiles = 2.5;

/// How long tiles of wide columns take, in units of a copy: whole ones, whose blocks have nothing
/// to store at first and nothing to load at last.
///
/// \param of_copy what they reach where there are many, as a fraction of a copy; blocks that walk
///                reach less
constexpr double time_of_wide_columns(const WideColumnFacts& facts, double of_copy) {
  const WideColumnPlan plan = plan_wide_columns(facts);
  const auto tiles = static_cast<double>(plan.strips * plan.tiles);
  const int elements = elements_of_row * lanes_of_strip * slots_of_wide_thread(facts.bytes);
  const double at_once = std::max(1, facts.multiprocessors) * blocks_of_wide_columns;
  return (tiles + ends_of_wide_tiles * at_once) * elements /
         static_cast<double>(facts.n * facts.inner * facts.outer) /
         (plan.blocks_of_strip > 0 ? speed_of_walks * of_copy : of_copy);
}

}  // namespace KokkosScan::impl::cuda
