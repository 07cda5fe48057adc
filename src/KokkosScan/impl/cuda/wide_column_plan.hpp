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
/// Warps per block, rows per thread, and rows per tile, which is a row of chunks.
inline constexpr int warps_of_wide_block = 8;
inline constexpr int threads_of_wide_columns = lanes_of_strip * warps_of_wide_block;
inline constexpr int rows_of_wide_thread = elements_of_row / warps_of_wide_block;
inline constexpr int rows_of_wide_tile = elements_of_row;
static_assert(rows_of_wide_thread % chunk_of_column == 0);

/// Bytes of the largest accumulator. (With 16 bytes, affine compositions in double spill.)
inline constexpr int largest_of_wide_columns = 8;

/// Columns per thread: its elements take 64 registers.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int columns_of_wide_thread(int bytes) { return bytes <= 4 ? 4 : 2; }
/// Blocks per multiprocessor, for the launch bounds. (Three, with half as many columns, spill.)
inline constexpr int blocks_of_wide_columns = 2;

/// Strips are multiples of this many columns: a sector of floats.
inline constexpr int unit_of_strip = 8;

/// Tiles and sections of a column.
constexpr std::int64_t tiles_of_column(std::int64_t n) { return divide_up(n, rows_of_wide_tile); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// How columns are cut into strips, and strips into tiles.
struct WideColumnPlan {
  int inner;            ///< neighbouring columns
  int columns;          ///< of a strip
  int strips_of_row;    ///< of neighbouring columns
  int tiles;            ///< of a column
  std::int64_t strips;  ///< in total
};

/// \param inner     neighbouring columns
/// \param outer     groups of neighbouring columns
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

/// The cost of filling and draining the pipeline, in rounds of tiles: small arrays keep strips
/// (tuned on an H100).
inline constexpr double ends_of_wide_tiles = 2.5;

/// The time of tiles of wide columns, relative to a copy. It assumes whole tiles and adds the
/// rounds without stores at first and without loads at last.
///
/// \param of_copy throughput for many tiles, as a fraction of a copy
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
