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
inline constexpr int warps_of_wide_block = 8;
inline constexpr int threads_of_wide_columns = lanes_of_strip * warps_of_wide_block;

/// Columns per thread: a quarter of a row of each takes 64 registers.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int columns_of_wide_thread(int bytes) { return bytes <= 4 ? 2 : 1; }
/// The most columns of a strip, whose tiles have one row of chunks or, so that large values fit in
/// shared memory, two.
KOKKOS_FUNCTION constexpr int widest_strip(int bytes) {
  return threads_of_wide_columns * columns_of_wide_thread(bytes) / quarters_of_row /
         (bytes > 16 ? 2 : 1);
}
/// Blocks per multiprocessor, for the launch bounds.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int blocks_of_wide_columns(int bytes) { return bytes <= 8 ? 2 : 1; }

/// Strips are multiples of this many columns: a sector of floats.
inline constexpr int unit_of_strip = 8;

/// Rows of chunks and sections of a column.
constexpr std::int64_t rows_of_column(std::int64_t n) { return divide_up(n, elements_of_row); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// How columns are cut into strips, and strips into tiles.
struct WideColumnPlan {
  int inner;               ///< neighbouring columns
  int columns;             ///< of a strip
  int width;               ///< the most columns of a strip, a power of two
  int quarters_of_tile;    ///< of rows of chunks: one row or two
  int strips_of_row;       ///< of neighbouring columns
  std::int64_t tiles;      ///< of a column
  std::int64_t strips;     ///< in total
  int sections_in_flight;  ///< that tiles in progress may belong to, of a column

  [[nodiscard]] KOKKOS_FUNCTION constexpr int rows_of_tile() const {
    return quarters_of_tile / quarters_of_row;
  }
};

/// Whether strips are so few that tiles usually look back over others in progress.
constexpr bool are_few_strips(std::int64_t strips, int multiprocessors) {
  return 2 * strips < multiprocessors;
}

/// Tiles of two rows of chunks have half as many columns. They are faster unless they have more
/// partial sectors than wider ones.
///
/// \param inner       neighbouring columns
/// \param outer       groups of neighbouring columns
/// \param bytes       of the accumulator
/// \param has_sectors whether all rows are whole sectors
constexpr WideColumnPlan plan_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                           int bytes, bool has_sectors, int multiprocessors) {
  const int most = widest_strip(bytes);
  const int least = lanes_of_strip * columns_of_wide_thread(bytes);
  const bool has_two_rows =
      n > elements_of_row && (has_sectors || inner <= least ||
                              are_few_strips(divide_up(inner, most) * outer, multiprocessors));
  const int width = has_two_rows ? least : most;
  const int quarters = warps_of_wide_block * least / width;
  // Strips of equal width.
  const std::int64_t columns =
      divide_up(divide_up(inner, divide_up(inner, width)), unit_of_strip) * unit_of_strip;
  const std::int64_t strips_of_row = divide_up(inner, columns);
  const std::int64_t strips = strips_of_row * outer;
  const std::int64_t tiles_in_flight =
      divide_up(std::int64_t{std::max(1, multiprocessors)} * blocks_of_wide_columns(bytes), strips);
  return {static_cast<int>(inner),
          static_cast<int>(columns),
          width,
          quarters,
          static_cast<int>(strips_of_row),
          divide_up(n, quarters * elements_of_quarter),
          strips,
          static_cast<int>(std::min<std::int64_t>(
              rows_of_section, 1 + divide_up(tiles_in_flight * quarters * elements_of_quarter,
                                             elements_of_section)))};
}

/// The cost of filling and draining the pipeline, in rounds of tiles: small arrays keep strips.
inline constexpr double ends_of_wide_tiles = 1.5;

/// What is left of the throughput where tiles look back over others in progress.
inline constexpr double look_back_of_copy = 0.83;

/// The time of tiles of wide columns, relative to a copy. It assumes whole tiles and adds the
/// rounds without stores at first and without loads at last.
///
/// \param of_copy throughput for many tiles, as a fraction of a copy
constexpr double time_of_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                      int bytes, int multiprocessors, bool has_sectors,
                                      double of_copy) {
  const WideColumnPlan plan =
      plan_wide_columns(n, inner, outer, bytes, has_sectors, multiprocessors);
  const auto tiles = static_cast<double>(plan.strips * plan.tiles);
  const int elements =
      threads_of_wide_columns * columns_of_wide_thread(bytes) * elements_of_quarter;
  const double at_once =
      std::min<double>(tiles, std::max(1, multiprocessors) * blocks_of_wide_columns(bytes));
  if (are_few_strips(plan.strips, multiprocessors)) of_copy *= look_back_of_copy;
  return (tiles + ends_of_wide_tiles * at_once) * elements /
         static_cast<double>(n * inner * outer) / of_copy;
}

}  // namespace KokkosScan::impl::cuda
