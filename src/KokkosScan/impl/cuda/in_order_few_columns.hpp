// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Columns in order, if they are so few that registers cannot hold enough elements in flight. Tiles
/// of some rows of 32 columns go through shared memory, 16 bytes at a time if rows are aligned.
/// Otherwise columns may have any layout.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/in_order_pipeline.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Fewer columns than this for each multiprocessor are few.
inline constexpr int few_columns_in_order = 192;
/// Elements of a column in a tile.
template <class A>
inline constexpr int rows_of_few_columns = 256 / static_cast<int>(sizeof(A));

/// The tiles of up to 32 columns.
///
/// \tparam E elements that are moved at once, of neighbouring columns
template <int E, class P>
class TilesOfColumns {
  using A = typename P::A;
  static constexpr int rows = rows_of_few_columns<A>;
  static constexpr int lanes_of_row = lanes / E;
  static constexpr int moves = rows / E;  ///< of a lane in a tile
  static_assert(rows % E == 0);
  /// Moves with independent addresses.
  static constexpr int at_once = std::min(4, moves);
  static constexpr int chunk = 64 / static_cast<int>(sizeof(A));

 public:
  /// \param first index of the first column
  __device__ __forceinline__ TilesOfColumns(const P& problem, std::int64_t first)
      : p(problem),
        m_lane(static_cast<int>(threadIdx.x) % lanes),
        m_row(E == 1 ? 0 : m_lane / lanes_of_row),
        m_exists(first + m_lane < p.batch.count),
        m_place(p.batch.coordinates(m_exists ? first + m_lane : first)),
        m_slots(reinterpret_cast<A*>(shared_memory())) {
    // A lane that moves packs needs the address of its pack, not that of the column it scans.
    const Coordinates begin =
        E == 1 ? m_place : p.batch.coordinates(first + m_lane % lanes_of_row * E);
    m_from = p.input.line(begin).data;
    m_to = p.output.line(begin).data;
  }

  [[nodiscard]] __device__ __forceinline__ bool has_column() const { return m_exists; }
  [[nodiscard]] __device__ __forceinline__ const Coordinates& place() const { return m_place; }

  __device__ __forceinline__ void load(std::int64_t tile, int stage) const {
    if (!m_exists) return;
    const std::int64_t along = p.input.strides.along;
    const A* at[at_once];
    begin(at, m_from, tile, along);
    A* const slots = slots_of(stage) + m_lane * E;
    const int count = rows_of(tile);
#pragma unroll
    for (int i = 0; i < moves; ++i) {
      if (i * E + m_row < count) {
        __pipeline_memcpy_async(slots + i * (lanes * E), at[i % at_once], sizeof(A) * E);
      }
      at[i % at_once] += at_once * E * along;
    }
  }
  __device__ __forceinline__ void combine(RunningFold<P>& fold, std::int64_t tile,
                                          int stage) const {
    if (!m_exists) return;
    A* const slots = slots_of(stage) + m_lane;
    const int count = rows_of(tile);
    // Branches here, once per tile, instead of once per element.
    if (p.form == Form::exclusive) {
      combine(fold, slots, count, Known<true>());
    } else {
      combine(fold, slots, count, Known<false>());
    }
  }
  __device__ __forceinline__ void store(std::int64_t tile, int stage) const {
    if (!m_exists) return;
    const std::int64_t along = p.output.strides.along;
    A* at[at_once];
    begin(at, m_to, tile, along);
    const A* const slots = slots_of(stage) + m_lane * E;
    const int count = rows_of(tile);
    constexpr int waiting = moves < 8 ? moves : 8;
#pragma unroll
    for (int first = 0; first < moves; first += waiting) {
      A x[waiting][E];
#pragma unroll
      for (int i = 0; i < waiting; ++i) {
        move_pack(x[i], reinterpret_cast<const std::byte*>(slots + (first + i) * (lanes * E)));
      }
#pragma unroll
      for (int i = 0; i < waiting; ++i) {
        if ((first + i) * E + m_row < count) {
          move_pack(reinterpret_cast<std::byte*>(at[i % at_once]), x[i]);
        }
        at[i % at_once] += at_once * E * along;
      }
    }
  }

 private:
  __device__ __forceinline__ static void get(A (&x)[chunk], const A* slots) {
#pragma unroll
    for (int i = 0; i < chunk; ++i) x[i] = slots[i * lanes];
  }
  template <class IsExclusive>
  __device__ __forceinline__ void combine(RunningFold<P>& fold, A* slots, int count,
                                          IsExclusive is_exclusive) const {
    int first = 0;
    if (count == rows) {
      // Software pipeline: each chunk is read from shared memory while the one before is combined.
      A next[chunk];
      get(next, slots);
#pragma unroll
      for (; first < rows; first += chunk) {
        A x[chunk];
#pragma unroll
        for (int i = 0; i < chunk; ++i) x[i] = next[i];
        // Before the stores, which the compiler must assume to alias the next elements.
        if (first + chunk < rows) get(next, slots + (first + chunk) * lanes);
        if (first == 0) {
          fold.template scan<false>(p, x, chunk, 0, is_exclusive);
        } else {
          fold.scan_all(p, x, is_exclusive);
        }
#pragma unroll
        for (int i = 0; i < chunk; ++i) slots[(first + i) * lanes] = x[i];
      }
      return;
    }
#pragma unroll 1
    for (; first + chunk <= count; first += chunk) {
      A x[chunk];
      get(x, slots + first * lanes);
      fold.template scan<false>(p, x, chunk, 0, is_exclusive);
#pragma unroll
      for (int i = 0; i < chunk; ++i) slots[(first + i) * lanes] = x[i];
    }
#pragma unroll 1
    for (; first < count; ++first) {
      A x[1] = {slots[first * lanes]};
      fold.template scan<false>(p, x, 1, 0, is_exclusive);
      slots[first * lanes] = x[0];
    }
  }
  [[nodiscard]] __device__ __forceinline__ A* slots_of(int stage) const {
    return m_slots + stage * (rows * lanes);
  }
  [[nodiscard]] __device__ __forceinline__ int rows_of(std::int64_t tile) const {
    const std::int64_t left = p.n - tile * rows;
    return left < rows ? static_cast<int>(left) : rows;
  }
  template <class T>
  __device__ __forceinline__ void begin(T* (&at)[at_once], T* column, std::int64_t tile,
                                        std::int64_t along) const {
#pragma unroll
    for (int j = 0; j < at_once; ++j) at[j] = column + (tile * rows + m_row + j * E) * along;
  }

  const P& p;
  int m_lane;
  int m_row;  ///< the first row that a lane moves in a tile
  bool m_exists;
  Coordinates m_place;
  A* m_slots;
  const A* m_from;
  A* m_to;
};

/// Scans columns whose elements are copied, without a mask.
///
/// \tparam E elements that are moved at once: if several, the number of columns is a multiple of
///           32, and the 32 columns of a block are neighbours
template <int E, class P>
__global__ void __launch_bounds__(TilePipeline::threads)
    scan_few_columns_in_order(const __grid_constant__ P p,
                              const __grid_constant__ TilePipeline pipeline) {
  const TilesOfColumns<E, P> tiles(p, std::int64_t{blockIdx.x} * lanes);
  const Ends<P> ends{p};
  RunningFold<P> fold(p.start.at(tiles.place()));
  const bool combines = tiles.has_column() && threadIdx.x / lanes == 1;
  if (combines) ends.store_begin(tiles.place(), fold.result(p));
  constexpr int rows = rows_of_few_columns<typename P::A>;
  run_pipeline(
      pipeline, (p.n + rows - 1) / rows,
      [&](std::int64_t tile, int stage) { tiles.load(tile, stage); },
      [&](std::int64_t tile, int stage) { tiles.combine(fold, tile, stage); },
      [&](std::int64_t tile, int stage) { tiles.store(tile, stage); });
  if (combines) ends.store_end(tiles.place(), fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
