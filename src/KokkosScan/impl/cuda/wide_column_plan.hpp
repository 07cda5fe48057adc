// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How wide columns are cut into strips (wide_columns.hpp): pure functions, which decide no bits.
/// docs/experiments/cuda-wide-columns.md has the figures.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int lanes_of_strip = 32;
inline constexpr int threads_of_wide_columns = lanes_of_strip * half_row_of_chunks;
inline constexpr int rows_of_wide_tile = chunk_of_column * half_row_of_chunks;

/// Columns of a thread: its chunks take 32 registers.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int columns_of_wide_thread(int bytes) {
  return bytes <= 4 ? 4 : (bytes <= 8 ? 2 : 1);
}
/// Blocks of a multiprocessor for which it must have registers.
KOKKOS_FUNCTION constexpr int blocks_of_wide_columns(int bytes) {
  return bytes <= 16 ? 3 : (bytes <= 32 ? 2 : 1);
}

/// The longest columns for which a multiprocessor has as many blocks as it has room for. Blocks
/// that walk further drift apart, and what they write of a sector in part is not completed in time:
/// then two are faster than three.
inline constexpr int longest_of_many_blocks = 256;

/// Widths of strips are multiples of so many columns, sectors of floats.
inline constexpr int unit_of_strip = 8;

/// How wide columns are cut into strips.
struct WideColumnPlan {
  int inner;            ///< columns that are neighbours
  int columns;          ///< of a strip
  int strips_of_row;    ///< of neighbouring columns
  int tiles;            ///< of a column
  std::int64_t strips;  ///< of all
  int blocks_at_once;   ///< of a multiprocessor
};

/// \param inner columns that are neighbours
/// \param outer so many times
/// \param bytes of the accumulator
constexpr WideColumnPlan plan_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                           int bytes, int multiprocessors) {
  const int widest = lanes_of_strip * columns_of_wide_thread(bytes);
  const int at_once = blocks_of_wide_columns(bytes);
  const std::int64_t room = std::int64_t{std::max(1, multiprocessors)} * at_once;
  std::int64_t of_row = divide_up(inner, widest);
  const bool are_few = of_row * outer < room;
  // Narrower strips rather than idle multiprocessors, but none narrower than a warp.
  if (are_few) of_row = std::max(of_row, std::min(room / outer, inner / lanes_of_strip));
  const bool has_few_blocks = !are_few && n > longest_of_many_blocks;
  const int blocks_at_once = has_few_blocks ? std::min(2, at_once) : at_once;
  // And rather than a last round of few strips.
  const std::int64_t in_round = std::int64_t{std::max(1, multiprocessors)} * blocks_at_once;
  if (!are_few) {
    const std::int64_t rounds = divide_up(of_row * outer, in_round);
    of_row = std::max(of_row, std::min(rounds * in_round / outer, inner / lanes_of_strip));
  }
  const std::int64_t columns = divide_up(divide_up(inner, of_row), unit_of_strip) * unit_of_strip;
  of_row = divide_up(inner, columns);
  return {static_cast<int>(inner),  static_cast<int>(columns),
          static_cast<int>(of_row), static_cast<int>(divide_up(n, rows_of_wide_tile)),
          of_row * outer,           blocks_at_once};
}

}  // namespace KokkosScan::impl::cuda
