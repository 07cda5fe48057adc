// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What blocks that share narrow columns publish of their tiles.

#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The global memory through which blocks communicate: a ticket counter, and entries that are
/// published for each column. Entry 0 is a copy of the starting value, since a total may overwrite
/// that while others still need it; entry 1 + s is the total of group s; the tiles follow.
template <class R>
struct PublishedColumns {
  std::uint64_t* memory;
  std::int64_t columns;
  std::int64_t groups;  ///< of a column

  static constexpr int words = Published<R>::words;

  static constexpr std::int64_t bytes(std::int64_t columns, std::int64_t tiles) {
    return 8 * (1 + columns * (1 + divide_up(tiles, tiles_of_narrow_group) + tiles) * words);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* turns() const { return memory; }
  [[nodiscard]] __device__ __forceinline__ std::int64_t entry_of_row(std::int64_t row) const {
    return 1 + groups + row;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* at(std::int64_t entry,
                                                             std::int64_t column) const {
    return memory + 1 + (entry * columns + column) * words;
  }
  __device__ __forceinline__ void publish(std::int64_t entry, std::int64_t column,
                                          const R& value) const {
    cuda::publish(at(entry, column), value);
  }
};

/// Published words that a lane holds in registers at once.
inline constexpr int words_at_once = 8;

}  // namespace KokkosScan::impl::cuda
