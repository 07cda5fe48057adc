// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows in order: up to 32 lines go through shared memory tile by tile, so that accesses to global
/// memory are coalesced along the lines. A warp combines them, one line per lane.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/in_order_pipeline.hpp>
#include <KokkosScan/impl/cuda/in_order_row_plan.hpp>
#include <KokkosScan/impl/cuda/in_order_row_tiles.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The part of a lane's line in a tile in shared memory.
template <class P>
class RowOfTile {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  static constexpr int size = sizeof(A);
  static constexpr int pack = T::pack;
  /// Packs that a lane prefetches from shared memory while it combines as many.
  static constexpr int packs = std::max(1, 64 / (pack * size));

 public:
  /// \param counts flags of elements that count, if there is a mask
  __device__ __forceinline__ RowOfTile(const P& problem, A* line, const unsigned char* counts,
                                       int length)
      : p(problem), m_line(line), m_counts(counts), m_packs(length / pack), m_length(length) {}

  /// Replaces the elements by results.
  ///
  /// \tparam backward whether they are in reverse scan order
  template <bool backward>
  __device__ __forceinline__ void scan(RunningFold<P>& fold) const {
    // Branches here, once per tile, instead of once per element.
    if (p.form == Form::exclusive) {
      scan<backward>(fold, Known<true>());
    } else {
      scan<backward>(fold, Known<false>());
    }
  }

 private:
  template <bool backward, class IsExclusive>
  __device__ __forceinline__ void scan(RunningFold<P>& fold, IsExclusive is_exclusive) const {
    // Elements after the last whole pack are the last in memory.
    if (backward) scan_rest<backward>(fold, is_exclusive);
    Elements<packs> next;
    if (packs <= m_packs) get<backward>(next, 0);
    int first = 0;
#pragma unroll 2
    for (; first + packs <= m_packs; first += packs) {
      Elements<packs> chunk = next;
      // Before the stores, which the compiler must assume to alias the next elements.
      if (first + 2 * packs <= m_packs) get<backward>(next, first + packs);
      scan<backward>(fold, chunk, first, is_exclusive);
    }
#pragma unroll 1
    for (; first < m_packs; ++first) {
      Elements<1> one;
      get<backward>(one, first);
      scan<backward>(fold, one, first, is_exclusive);
    }
    if (!backward) scan_rest<backward>(fold, is_exclusive);
  }
  /// Elements in scan order.
  template <int count>
  struct Elements {
    A x[count * pack];
    unsigned counts;
  };
  /// The position of a pack, from its index in scan order.
  template <bool backward>
  [[nodiscard]] __device__ __forceinline__ int place_of(int number) const {
    return (backward ? m_packs - 1 - number : number) * pack;
  }
  template <bool backward, int count>
  __device__ __forceinline__ void get(Elements<count>& to, int first) const {
    to.counts = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int at = place_of<backward>(first + i);
      A raw[pack];
      move_pack(raw, reinterpret_cast<const std::byte*>(m_line + at));
#pragma unroll
      for (int e = 0; e < pack; ++e) to.x[i * pack + e] = raw[backward ? pack - 1 - e : e];
      if constexpr (T::is_masked) {
        unsigned char flags[pack];
        move_pack(flags, reinterpret_cast<const std::byte*>(m_counts + at));
#pragma unroll
        for (int e = 0; e < pack; ++e) {
          // The bytes of the mask are copied unchanged: any nonzero byte counts.
          const bool is_counted = flags[backward ? pack - 1 - e : e] != 0;
          to.counts |= static_cast<unsigned>(is_counted) << (i * pack + e);
        }
      }
    }
  }
  template <bool backward, int count, class IsExclusive>
  __device__ __forceinline__ void scan(RunningFold<P>& fold, Elements<count>& elements, int first,
                                       IsExclusive is_exclusive) const {
    fold.template scan<T::is_masked>(p, elements.x, count * pack, elements.counts, is_exclusive);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      A raw[pack];
#pragma unroll
      for (int e = 0; e < pack; ++e) {
        raw[e] = elements.x[i * pack + (backward ? pack - 1 - e : e)];
      }
      move_pack(reinterpret_cast<std::byte*>(m_line + place_of<backward>(first + i)), raw);
    }
  }
  template <bool backward, class IsExclusive>
  __device__ __forceinline__ void scan_rest(RunningFold<P>& fold, IsExclusive is_exclusive) const {
    const int first = m_packs * pack;
#pragma unroll 1
    for (int i = 0; i < m_length - first; ++i) {
      const int at = backward ? m_length - 1 - i : first + i;
      A x[1] = {m_line[at]};
      unsigned counts = 1;
      if constexpr (T::is_masked) counts = m_counts[at] != 0 ? 1 : 0;
      fold.template scan<T::is_masked>(p, x, 1, counts, is_exclusive);
      m_line[at] = x[0];
    }
  }

  const P& p;
  A* m_line;
  const unsigned char* m_counts;
  int m_packs;
  int m_length;
};

/// Those tiles, and the fold of the line that a lane combines.
template <class P>
class LinesOfWarp : public TilesOfRows<P> {
  using Tiles = TilesOfRows<P>;
  using Tiles::p, Tiles::m_lane, Tiles::m_shape;

 public:
  __device__ __forceinline__ LinesOfWarp(const P& problem, const RowsInOrder& shape,
                                         std::int64_t group, std::byte* memory)
      : Tiles(problem, shape, group, memory),
        m_place(p.batch.coordinates(Tiles::m_first + (Tiles::has_line() ? m_lane : 0))),
        m_fold(p.start.at(m_place)) {}

  __device__ __forceinline__ void begin() const {
    if (Tiles::has_line()) Ends<P>{p}.store_begin(m_place, m_fold.result(p));
  }
  __device__ __forceinline__ void combine(std::int64_t tile, int stage) {
    if (!Tiles::has_line()) return;
    const RowOfTile<P> row(p, Tiles::slots(stage) + m_lane * m_shape.pitch,
                           Tiles::counts(stage) + m_lane * m_shape.mask_pitch,
                           Tiles::length_of(tile));
    if (Tiles::is_backward()) {
      row.template scan<true>(m_fold);
    } else {
      row.template scan<false>(m_fold);
    }
  }
  __device__ __forceinline__ void end() const {
    if (Tiles::has_line()) Ends<P>{p}.store_end(m_place, m_fold.result(p));
  }

 private:
  Coordinates m_place;
  RunningFold<P> m_fold;
};

/// Scans short rows: each warp scans a tile of whole lines.
template <class P>
__global__ void __launch_bounds__(threads_of_rows_in_order)
    scan_short_rows_in_order(const __grid_constant__ P p,
                             const __grid_constant__ RowsInOrder shape) {
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t group = std::int64_t{blockIdx.x} * (blockDim.x / lanes) + warp;
  if (group * shape.lines >= p.batch.count) return;
  LinesOfWarp<P> lines_of_warp(p, shape, group, shared_memory() + warp * shape.bytes);
  lines_of_warp.find_places();
  __syncwarp();
  lines_of_warp.load(0, 0);
  lines_of_warp.begin();
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  lines_of_warp.combine(0, 0);
  __syncwarp();
  lines_of_warp.store(0, 0);
  lines_of_warp.end();
}

/// Scans rows in several tiles: the three warps of a block share the lines.
template <class P>
__global__ void __launch_bounds__(TilePipeline::threads, 5)
    scan_rows_in_order(const __grid_constant__ P p, const __grid_constant__ RowsInOrder shape) {
  LinesOfWarp<P> lines_of_warp(p, shape, blockIdx.x, shared_memory());
  const bool combines = threadIdx.x / lanes == 1;
  if (combines) {
    lines_of_warp.find_places();
    lines_of_warp.begin();
  }
  __syncthreads();
  run_pipeline(
      shape.pipeline, (p.n + shape.length - 1) / shape.length,
      [&](std::int64_t tile, int stage) { lines_of_warp.load(tile, stage); },
      [&](std::int64_t tile, int stage) { lines_of_warp.combine(tile, stage); },
      [&](std::int64_t tile, int stage) { lines_of_warp.store(tile, stage); });
  if (combines) lines_of_warp.end();
}

}  // namespace KokkosScan::impl::cuda
