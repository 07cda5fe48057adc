// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Columns in order, where there are so few that registers cannot hold what must be on its way:
/// tiles of some rows of 32 of them go through shared memory. Each lane has a column, of any
/// layout, so that no lane waits for another.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/in_order_pipeline.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Columns for each multiprocessor below which they are few.
inline constexpr int few_columns_in_order = 96;
/// Elements of a column in a tile.
template <class A>
inline constexpr int rows_of_few_columns = 256 / static_cast<int>(sizeof(A));

/// The tiles of a lane's column.
template <class P>
class TilesOfColumn {
  using A = typename P::A;
  static constexpr int rows = rows_of_few_columns<A>;
  /// Rows whose addresses do not wait for each other.
  static constexpr int at_once = std::min(4, rows);
  static constexpr int chunk = std::min(8, rows);

 public:
  __device__ __forceinline__ TilesOfColumn(const P& problem, const Coordinates& place, int lane)
      : p(problem),
        m_from(problem.input.line(place).data),
        m_to(problem.output.line(place).data),
        m_slots(reinterpret_cast<A*>(shared_memory()) + lane) {}

  __device__ __forceinline__ void load(std::int64_t tile, int stage) const {
    const std::int64_t along = p.input.strides.along;
    for_each_row(m_from + tile * rows * along, along, tile, stage,
                 [](const A* at, A* slot) { __pipeline_memcpy_async(slot, at, sizeof(A)); });
  }
  __device__ __forceinline__ void combine(RunningFold<P>& fold, std::int64_t tile,
                                          int stage) const {
    const int count = rows_of(tile);
    A* const slots = slots_of(stage);
    A next[chunk];
#pragma unroll
    for (int i = 0; i < chunk; ++i) next[i] = slots[i * lanes];
#pragma unroll
    for (int first = 0; first < rows; first += chunk) {
      if (first >= count) continue;
      A x[chunk];
#pragma unroll
      for (int i = 0; i < chunk; ++i) x[i] = next[i];
      // Before these are stored, as the next may seem to be in their places.
      if (first + chunk < rows) {
#pragma unroll
        for (int i = 0; i < chunk; ++i) next[i] = slots[(first + chunk + i) * lanes];
      }
      fold.template scan<false>(p, x, count - first, 0, p.form == Form::exclusive);
#pragma unroll
      for (int i = 0; i < chunk; ++i) slots[(first + i) * lanes] = x[i];
    }
  }
  __device__ __forceinline__ void store(std::int64_t tile, int stage) const {
    const std::int64_t along = p.output.strides.along;
    A* const to = m_to + tile * rows * along;
    if (rows_of(tile) < rows) {
      return for_each_row(to, along, tile, stage, [](A* at, const A* slot) { *at = *slot; });
    }
    const A* const slots = slots_of(stage);
    A* at[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) at[j] = to + j * along;
#pragma unroll
    for (int first = 0; first < rows; first += chunk) {
      A x[chunk];
#pragma unroll
      for (int i = 0; i < chunk; ++i) x[i] = slots[(first + i) * lanes];
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        *at[i % at_once] = x[i];
        at[i % at_once] += at_once * along;
      }
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ A* slots_of(int stage) const {
    return m_slots + stage * (rows * lanes);
  }
  [[nodiscard]] __device__ __forceinline__ int rows_of(std::int64_t tile) const {
    const std::int64_t left = p.n - tile * rows;
    return left < rows ? static_cast<int>(left) : rows;
  }
  /// Calls move(address, slot) for each element of a tile.
  template <class T, class Move>
  __device__ __forceinline__ void for_each_row(T* first, std::int64_t along, std::int64_t tile,
                                               int stage, const Move& move) const {
    A* const slots = slots_of(stage);
    const int count = rows_of(tile);
    if (count < rows) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) move(first + i * along, slots + i * lanes);
      return;
    }
    T* at[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) at[j] = first + j * along;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      move(at[i % at_once], slots + i * lanes);
      at[i % at_once] += at_once * along;
    }
  }

  const P& p;
  const A* m_from;
  A* m_to;
  A* m_slots;
};

/// Scans columns whose elements are copied, without a mask.
template <class P>
__global__ void __launch_bounds__(TilePipeline::threads)
    scan_few_columns_in_order(const __grid_constant__ P p,
                              const __grid_constant__ TilePipeline pipeline) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t number = std::int64_t{blockIdx.x} * lanes + lane;
  // What is behind the last column takes part as if it were that, and does nothing.
  const bool has_column = number < p.batch.count;
  const Coordinates place = p.batch.coordinates(has_column ? number : p.batch.count - 1);
  const TilesOfColumn<P> tiles(p, place, lane);
  const Ends<P> ends{p};
  RunningFold<P> fold(p.start.at(place));
  const bool combines = has_column && threadIdx.x / lanes == 1;
  if (combines) ends.store_begin(place, fold.result(p));
  run_pipeline(
      pipeline, (p.n + rows_of_few_columns<typename P::A> - 1) / rows_of_few_columns<typename P::A>,
      [&](std::int64_t tile, int stage) {
        if (has_column) tiles.load(tile, stage);
      },
      [&](std::int64_t tile, int stage) {
        if (has_column) tiles.combine(fold, tile, stage);
      },
      [&](std::int64_t tile, int stage) {
        if (has_column) tiles.store(tile, stage);
      });
  if (combines) ends.store_end(place, fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
