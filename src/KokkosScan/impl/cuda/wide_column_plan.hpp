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
/// Warps of a block, rows of a thread, and of a tile, which is a row of chunks.
inline constexpr int warps_of_wide_block = 8;
inline constexpr int threads_of_wide_columns = lanes_of_strip * warps_of_wide_block;
inline constexpr int rows_of_wide_thread = elements_of_row / warps_of_wide_block;
inline constexpr int rows_of_wide_tile = elements_of_row;
static_assert(rows_of_wide_thread % chunk_of_column == 0);

/// Bytes of the largest accumulator. (Of 16 bytes, two numbers that are composed in double spill.)
inline constexpr int largest_of_wide_columns = 8;

/// Columns of a thread: its elements take 64 registers.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int columns_of_wide_thread(int bytes) { return bytes <= 4 ? 4 : 2; }
/// Blocks of a multiprocessor for which it must have registers. (Three of half as many columns,
/// which spill: (1, 3871, 69345) has 0.68 instead of 0.81.)
inline constexpr int blocks_of_wide_columns = 2;

/// Widths of strips are multiples of so many columns: sectors of floats.
inline constexpr int unit_of_strip = 8;

/// Rows and sections of a column.
constexpr std::int64_t tiles_of_column(std::int64_t n) { return divide_up(n, rows_of_wide_tile); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// How columns are cut into strips, and these into tiles.
struct WideColumnPlan {
  int inner;            ///< columns that are neighbours
  int columns;          ///< of a strip
  int strips_of_row;    ///< of neighbouring columns
  int tiles;            ///< of a column
  std::int64_t strips;  ///< of all
};

/// \param inner     columns that are neighbours
/// \param outer     so many times
/// \param bytes     of the accumulator
/// \param has_lines whether all rows begin at multiples of 128 bytes
constexpr WideColumnPlan plan_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                           int bytes, bool has_lines) {
  const std::int64_t of_row = divide_up(inner, lanes_of_strip * columns_of_wide_thread(bytes));
  // Strips of equal width.
  const int unit = has_lines ? lanes_of_strip : unit_of_strip;
  const std::int64_t columns = divide_up(divide_up(inner, of_row), unit) * unit;
  return {static_cast<int>(inner), static_cast<int>(columns),
          static_cast<int>(divide_up(inner, columns)), static_cast<int>(tiles_of_column(n)),
          divide_up(inner, columns) * outer};
}

/// What a first and a last round of tiles cost, in rounds: strips keep small arrays. ((2, 2048,
/// 2048), floats summed in double, on an H100: 0.61 in tiles, 0.775 in strips.)
inline constexpr double ends_of_wide_tiles = 2.5;

/// How long tiles of wide columns take, in units of a copy: whole ones, whose blocks have nothing
/// to store at first and nothing to load at last.
///
/// \param of_copy what they reach where there are many, as a fraction of a copy
constexpr double time_of_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                      int bytes, int multiprocessors, double of_copy) {
  const WideColumnPlan plan = plan_wide_columns(n, inner, outer, bytes, true);
  const auto tiles = static_cast<double>(plan.strips * plan.tiles);
  const int elements = rows_of_wide_tile * lanes_of_strip * columns_of_wide_thread(bytes);
  const double at_once = std::max(1, multiprocessors) * blocks_of_wide_columns;
  return (tiles + ends_of_wide_tiles * at_once) * elements /
         static_cast<double>(n * inner * outer) / of_copy;
}

}  // namespace KokkosScan::impl::cuda
