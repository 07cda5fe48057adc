// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns are cut into strips (wide_columns.hpp): pure functions, which do not affect bits.
/// docs/limits.md says what was tried.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int lanes_of_strip = 32;
/// The most warps of a block, each of which has a quarter of a row of chunks of its columns.
inline constexpr int warps_of_wide_block = 8;
inline constexpr int threads_of_wide_columns = lanes_of_strip * warps_of_wide_block;

/// The unit of memory transactions.
inline constexpr int bytes_of_sector = 32;

/// Quarters of rows of chunks per thread: they take 64 registers.
///
/// \param bytes of the type in which elements are kept
KOKKOS_FUNCTION constexpr int quarters_of_wide_thread(int bytes) { return bytes <= 4 ? 2 : 1; }
/// The most columns of a strip that has several tiles, each of one row of chunks or, so that large
/// values fit in shared memory, two.
KOKKOS_FUNCTION constexpr int widest_strip(int bytes) {
  return threads_of_wide_columns * quarters_of_wide_thread(bytes) / quarters_of_row /
         (bytes > 16 ? 2 : 1);
}
/// The most columns of a strip that is one tile.
KOKKOS_FUNCTION constexpr int widest_whole_strip(int bytes) { return 2 * widest_strip(bytes); }
/// Blocks per multiprocessor, for the launch bounds.
///
/// \param bytes of the type in which elements are kept
KOKKOS_FUNCTION constexpr int blocks_of_wide_columns(int bytes) { return bytes <= 8 ? 2 : 1; }

/// Strips are multiples of this many columns: a sector of floats.
inline constexpr int unit_of_strip = 8;

/// Rows of chunks and sections of a column.
constexpr std::int64_t rows_of_column(std::int64_t n) { return divide_up(n, elements_of_row); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// Where layouts change: elements between quarters in shared memory, an odd number to avoid bank
/// conflicts, and between those of a thread. Elements of more bytes are not exchanged.
inline constexpr int pitch_of_exchange = elements_of_quarter + 1;
inline constexpr int apart_of_exchange = lanes_of_strip * pitch_of_exchange;
inline constexpr int bytes_of_exchanged = 8;

/// How columns are cut into strips, and strips into tiles.
struct WideColumnPlan {
  int inner;               ///< neighbouring columns
  int columns;             ///< of a strip
  int width;               ///< the most columns of a strip
  int quarters_of_tile;    ///< of rows of chunks: several tiles have whole rows
  int strips_of_row;       ///< of neighbouring columns
  std::int64_t tiles;      ///< of a column
  std::int64_t strips;     ///< in total
  bool looks_back;         ///< whether strips are so few that the tile above is in progress
  int sections_in_flight;  ///< that tiles in progress may belong to, of a column
  bool is_stacked;         ///< whether the quarters of a thread belong to one column
  bool are_packs;          ///< whether they belong to neighbouring columns, which are aligned packs
  int threads;             ///< of a block
  /// Where layouts change: shared memory of a warp for its elements, and of the block before it.
  int bytes_of_exchange;
  int bytes_before_exchange;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int rows_of_tile() const {
    return quarters_of_tile / quarters_of_row;
  }
};

/// Whether strips are so few that three and more tiles of each are in progress.
constexpr bool are_few_strips(std::int64_t strips, int bytes, int multiprocessors) {
  return 3 * strips <= std::int64_t{multiprocessors} * blocks_of_wide_columns(bytes);
}

/// Warps lie side by side or one below the other, and so do the quarters of a thread. A column of
/// up to eight quarters is one tile, as wide as the other warps allow. Longer ones have tiles that
/// are as high as possible, unless wider ones have fewer partial sectors.
///
/// \param inner       neighbouring columns
/// \param outer       groups of neighbouring columns
/// \param bytes       of the type in which elements are kept
/// \param has_sectors whether all rows are whole sectors
/// \param has_packs   whether neighbouring columns are aligned packs that one instruction moves
constexpr WideColumnPlan plan_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                           int bytes, bool has_sectors, bool has_packs,
                                           int multiprocessors) {
  WideColumnPlan plan{};
  const int most = quarters_of_wide_thread(bytes);
  const auto slots = [&](int unit) { return divide_up(inner, unit) * unit; };
  // Narrow strips leave fewer lanes idle.
  plan.is_stacked = most > 1 && 6 * slots(lanes_of_strip) <= 5 * slots(lanes_of_strip * most);
  plan.are_packs = has_packs && !plan.is_stacked;
  const int quarters = plan.is_stacked ? most : 1;  // of a thread in a column
  const int unit = lanes_of_strip * most / quarters;
  int across = 1;  // warps
  int down = warps_of_wide_block;
  if (n <= down * quarters * elements_of_quarter) {
    down = static_cast<int>(divide_up(n, quarters * elements_of_quarter));
    across = static_cast<int>(std::min<std::int64_t>(
        std::min(warps_of_wide_block / down, widest_whole_strip(bytes) / unit),
        divide_up(inner, unit)));
  } else if (!has_sectors && inner > unit && !plan.is_stacked &&
             !are_few_strips(divide_up(inner, widest_strip(bytes)) * outer, bytes,
                             multiprocessors)) {
    across = widest_strip(bytes) / unit;
    down /= across;
  }
  plan.inner = static_cast<int>(inner);
  plan.width = across * unit;
  plan.quarters_of_tile = down * quarters;
  plan.threads = across * down * lanes_of_strip;
  // Strips of equal width.
  plan.columns = static_cast<int>(
      divide_up(divide_up(inner, divide_up(inner, plan.width)), unit_of_strip) * unit_of_strip);
  plan.strips_of_row = static_cast<int>(divide_up(inner, plan.columns));
  plan.strips = plan.strips_of_row * outer;
  const int rows = plan.quarters_of_tile * elements_of_quarter;
  plan.tiles = divide_up(n, rows);
  plan.looks_back = plan.tiles > 1 && are_few_strips(plan.strips, bytes, multiprocessors);
  const std::int64_t tiles_in_flight = divide_up(
      std::int64_t{std::max(1, multiprocessors)} * blocks_of_wide_columns(bytes), plan.strips);
  plan.sections_in_flight = static_cast<int>(std::min<std::int64_t>(
      rows_of_section, 1 + divide_up(tiles_in_flight * rows, elements_of_section)));
  return plan;
}

}  // namespace KokkosScan::impl::cuda
