// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How wide columns are cut into strips, and whether blocks share them: a pure function.

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int threads_of_wide_columns = 32 * half_row_of_chunks;
#ifndef NARROWEST
#define NARROWEST 32
#endif
inline constexpr int narrowest_wide_columns = NARROWEST;
inline constexpr int totals_at_once = 16;
inline constexpr int words_at_once_of_wide = 4;
KOKKOS_FUNCTION constexpr int columns_of_wide_thread(int bytes) {
  return bytes <= 4 ? 4 : (bytes <= 8 ? 2 : 1);
}
KOKKOS_FUNCTION constexpr int blocks_of_wide_columns(int bytes) {
  return bytes <= 16 ? BLOCKS : (bytes <= 32 ? 2 : 1);
}
/// How strips are shared; results do not depend on it.
struct WideColumnPlan {
  int inner;          ///< columns that are neighbours
  int columns;        ///< of a strip
  int strips_of_row;  ///< of neighbouring columns
  int tiles;          ///< of a column
  std::int64_t strips;
  std::int64_t blocks;
  [[nodiscard]] bool is_shared() const { return blocks > strips; }
};

inline WideColumnPlan plan_wide_columns(std::int64_t n, std::int64_t inner, std::int64_t outer,
                                        int bytes, int multiprocessors) {
  const int widest = 32 * columns_of_wide_thread(bytes);
  const std::int64_t resident = std::int64_t{multiprocessors} * blocks_of_wide_columns(bytes);
  const std::int64_t tiles = divide_up(n, chunk_of_column * half_row_of_chunks);
  WideColumnPlan best{};
  double most = 0;
  const std::int64_t fewest = divide_up(inner, widest);
  for (std::int64_t s = fewest; s <= 2 * fewest; ++s) {
    std::int64_t columns = divide_up(inner, s);
    if (columns > 32) columns = divide_up(columns, 8) * 8;
    const std::int64_t of_row = divide_up(inner, columns);
    const std::int64_t strips = of_row * outer;
    double value = static_cast<double>(inner) / static_cast<double>(of_row * (divide_up(columns, 32) * 32 + 12));
    std::int64_t blocks = strips;
    if (2 * strips <= resident && tiles > 1) {
      blocks = std::min(resident / strips, tiles) * strips;
      value *= static_cast<double>(blocks) / static_cast<double>(resident);
    } else {
      value *= static_cast<double>(strips) /
               static_cast<double>(std::min<std::int64_t>(8, divide_up(strips, resident)) > 7
                                       ? strips
                                       : divide_up(strips, resident) * resident);
    }
    if (value > most) {
      most = value;
      best = {static_cast<int>(inner), static_cast<int>(columns), static_cast<int>(of_row),
              static_cast<int>(tiles), strips, blocks};
    }
    if (s - fewest > 64) s += fewest / 16;
  }
  return best;
}

}  // namespace KokkosScan::impl::cuda
