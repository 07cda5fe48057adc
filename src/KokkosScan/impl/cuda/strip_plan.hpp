// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How columns are cut into strips (columns.hpp): pure functions, which decide no bits.
/// docs/experiments/cuda-strips.md has the figures.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int lanes_of_strip = 32;
/// Warps of a block, rows of a thread, and of a tile, which is a row of chunks.
inline constexpr int warps_of_strip = 8;
inline constexpr int threads_of_strip = lanes_of_strip * warps_of_strip;
inline constexpr int rows_of_strip_thread = elements_of_row / warps_of_strip;
inline constexpr int rows_of_strip_tile = elements_of_row;
static_assert(rows_of_strip_thread % chunk_of_column == 0);

/// Bytes of the largest accumulator, of which registers hold a thread's rows.
inline constexpr int largest_in_strip = 16;

/// Columns of a thread: in wide strips its elements take 64 registers, in others 32.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int columns_of_strip_thread(int bytes, bool is_wide) {
  const int columns = bytes <= 4 ? 4 : (bytes <= 8 ? 2 : 1);
  return is_wide || columns == 1 ? columns : columns / 2;
}
/// Blocks of a multiprocessor for which it must have registers.
KOKKOS_FUNCTION constexpr int blocks_of_strips(int bytes, int columns) {
  return (bytes > 4 ? bytes : 4) * columns > 8 ? 2 : 3;
}

/// Widths of strips are multiples of so many columns: sectors of floats.
inline constexpr int unit_of_strip = 8;

/// Rows and sections of a column.
constexpr std::int64_t tiles_of_column(std::int64_t n) { return divide_up(n, rows_of_strip_tile); }
constexpr std::int64_t sections_of_column(std::int64_t n) {
  return divide_up(n, elements_of_section);
}

/// How columns are cut into strips, and these into tiles.
struct StripPlan {
  int inner;            ///< columns that are neighbours
  int columns;          ///< of a strip
  int strips_of_row;    ///< of neighbouring columns
  int tiles;            ///< of a column
  std::int64_t strips;  ///< of all
  bool is_wide;         ///< whether threads have twice as many columns
};

/// Wide strips, unless these would be few: what a block writes of 32 bytes in part must be read, so
/// that (1, 3871, 69345) has 0.81 instead of 0.68; but (1, 61461, 4352) has 0.76 instead of 0.85,
/// as fewer blocks find room at once.
///
/// \param inner     columns that are neighbours
/// \param outer     so many times
/// \param bytes     of the accumulator
/// \param has_lines whether all rows begin at multiples of 128 bytes
constexpr StripPlan plan_strips(std::int64_t n, std::int64_t inner, std::int64_t outer, int bytes,
                                bool has_lines, int multiprocessors) {
  const int widest = lanes_of_strip * columns_of_strip_thread(bytes, true);
  const int narrow = lanes_of_strip * columns_of_strip_thread(bytes, false);
  const bool are_few = 2 * divide_up(inner, widest) * outer < multiprocessors;
  const bool is_wide = widest == narrow || (inner > narrow && !are_few);
  const std::int64_t of_row = divide_up(inner, is_wide ? widest : narrow);
  // Strips of equal width.
  const int unit = has_lines ? lanes_of_strip : unit_of_strip;
  const std::int64_t columns = divide_up(divide_up(inner, of_row), unit) * unit;
  return {static_cast<int>(inner),
          static_cast<int>(columns),
          static_cast<int>(divide_up(inner, columns)),
          static_cast<int>(tiles_of_column(n)),
          divide_up(inner, columns) * outer,
          is_wide};
}

}  // namespace KokkosScan::impl::cuda
