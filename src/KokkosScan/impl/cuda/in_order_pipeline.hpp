// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles that pass through shared memory: one warp loads them, one combines and one stores, at the
/// same time. A single warp would stall on the latency of its own instructions.

#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The most tiles that are being loaded into shared memory.
inline constexpr int most_ahead_in_order = 7;
/// Bytes of shared memory for all blocks on a multiprocessor.
inline constexpr int shared_bytes_in_order = 200 * 1024;

/// The stages of shared memory that tiles pass through.
struct TilePipeline {
  static constexpr int threads = 3 * lanes;

  int ahead;   ///< tiles that are being loaded
  int stages;  ///< tiles that fit into shared memory
  int needed;  ///< stages that are used

  TilePipeline() = default;
  /// \param tiles    of a block, one after another
  /// \param blocks   on a multiprocessor
  /// \param bytes    of a tile
  /// \param others   other bytes of shared memory in each block
  constexpr TilePipeline(std::int64_t tiles, std::int64_t blocks, int bytes, int others,
                         int shared_bytes_of_block) {
    // One stage is combined, one is stored, and the others are loaded.
    const std::int64_t room = std::min<std::int64_t>(
        shared_bytes_in_order / std::max<std::int64_t>(1, blocks), shared_bytes_of_block);
    ahead = static_cast<int>(
        std::clamp<std::int64_t>((room - others) / bytes - 2, 1, most_ahead_in_order));
    stages = ahead + 2;
    needed = static_cast<int>(std::min<std::int64_t>(tiles, stages));
  }
};

/// Waits until at most this many groups of copies are in flight, fewer than most_ahead_in_order.
__device__ __forceinline__ void wait_for_copies(int groups) {
  switch (groups) {
    case 0:
      return __pipeline_wait_prior(0);
    case 1:
      return __pipeline_wait_prior(1);
    case 2:
      return __pipeline_wait_prior(2);
    case 3:
      return __pipeline_wait_prior(3);
    case 4:
      return __pipeline_wait_prior(4);
    case 5:
      return __pipeline_wait_prior(5);
    default:
      return __pipeline_wait_prior(6);
  }
}

/// Passes tiles 0 ... count - 1 through shared memory.
///
/// \param load    load(tile, stage) begins to load a tile
/// \param combine combine(tile, stage) replaces elements by results
/// \param store   store(tile, stage) stores them
template <class Load, class Combine, class Store>
__device__ __forceinline__ void run_pipeline(const TilePipeline& pipeline, std::int64_t count,
                                             const Load& load, const Combine& combine,
                                             const Store& store) {
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  std::int64_t tile = 0;  // of this warp
  int stage = 0;
  const auto advance = [&] {
    ++tile;
    stage = stage + 1 == pipeline.stages ? 0 : stage + 1;
  };
  const auto load_next = [&] {
    if (tile < count) load(tile, stage);
    __pipeline_commit();
    advance();
  };
  if (warp == 0) {
    for (int i = 1; i < pipeline.ahead; ++i) load_next();
  }
  // A tile is combined one step after it has arrived, and stored one step later.
#pragma unroll 1
  for (std::int64_t step = 0; step < count + 2; ++step) {
    if (warp == 0) {
      // Into the stage of a tile that has been stored.
      load_next();
      wait_for_copies(pipeline.ahead - 1);
    } else if (step >= warp && tile < count) {
      if (warp == 1) {
        combine(tile, stage);
      } else {
        store(tile, stage);
      }
      advance();
    }
    __syncthreads();
  }
}

}  // namespace KokkosScan::impl::cuda
