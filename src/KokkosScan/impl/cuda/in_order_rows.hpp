// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows in order: a warp has up to 32 lines, a lane each, and brings tiles of them through shared
/// memory, so that global memory is read and written along the lines. Tiles that follow are on
/// their way meanwhile.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/in_order_row_plan.hpp>
#include <KokkosScan/impl/cuda/in_order_row_tiles.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// A lane's line in a tile, as it lies in shared memory.
template <class P>
class RowOfTile {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  static constexpr int size = sizeof(A);
  static constexpr int pack = T::pack;
  /// Packs that a lane loads while it combines as many.
  static constexpr int packs = std::max(1, 64 / (pack * size));

 public:
  /// \param counts whether elements count, where there is a mask
  __device__ __forceinline__ RowOfTile(const P& problem, A* line, const unsigned char* counts,
                                       int length)
      : p(problem), m_line(line), m_counts(counts), m_packs(length / pack), m_length(length) {}

  /// Combines the elements, which become results.
  ///
  /// \tparam backward whether they lie against the scan order
  template <bool backward>
  __device__ __forceinline__ void scan(RunningFold<P>& fold) const {
    // Elements that are no whole pack are the last in memory.
    if (backward) scan_rest<backward>(fold);
    Elements<packs> next;
    if (packs <= m_packs) get<backward>(next, 0);
    int first = 0;
#pragma unroll 1
    for (; first + packs <= m_packs; first += packs) {
      Elements<packs> chunk = next;
      // Before these are stored, as the next may seem to be in their places.
      if (first + 2 * packs <= m_packs) get<backward>(next, first + packs);
      scan<backward>(fold, chunk, first);
    }
#pragma unroll 1
    for (; first < m_packs; ++first) {
      Elements<1> one;
      get<backward>(one, first);
      scan<backward>(fold, one, first);
    }
    if (!backward) scan_rest<backward>(fold);
  }

 private:
  /// Elements in scan order.
  template <int count>
  struct Elements {
    A x[count * pack];
    unsigned counts;
  };
  /// The place of a pack, by its number in scan order.
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
          to.counts |= static_cast<unsigned>(flags[backward ? pack - 1 - e : e]) << (i * pack + e);
        }
      }
    }
  }
  template <bool backward, int count>
  __device__ __forceinline__ void scan(RunningFold<P>& fold, Elements<count>& elements,
                                       int first) const {
    fold.template scan<T::is_masked>(p, elements.x, count * pack, elements.counts,
                                     p.form == Form::exclusive);
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
  template <bool backward>
  __device__ __forceinline__ void scan_rest(RunningFold<P>& fold) const {
    const int first = m_packs * pack;
#pragma unroll 1
    for (int i = 0; i < m_length - first; ++i) {
      const int at = backward ? m_length - 1 - i : first + i;
      A x[1] = {m_line[at]};
      unsigned counts = 1;
      if constexpr (T::is_masked) counts = m_counts[at];
      fold.template scan<T::is_masked>(p, x, 1, counts, p.form == Form::exclusive);
      m_line[at] = x[0];
    }
  }

  const P& p;
  A* m_line;
  const unsigned char* m_counts;
  int m_packs;
  int m_length;
};

/// Scans lines whose elements are neighbours in memory.
template <class P>
__global__ void __launch_bounds__(threads_of_rows_in_order)
    scan_rows_in_order(const __grid_constant__ P p, const __grid_constant__ RowsInOrder shape) {
  constexpr bool is_copied = InOrderTypes<P>::is_copied;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t first = (std::int64_t{blockIdx.x} * (blockDim.x / 32) + warp) * shape.lines;
  if (first >= p.batch.count) return;
  const std::int64_t left = p.batch.count - first;
  const int lines = left < shape.lines ? static_cast<int>(left) : shape.lines;
  const TilesOfRows<P> tiles(p, shape, lane, first, lines, shared_memory() + warp * shape.warp);
  int stage_to_load = 0;
  std::int64_t k_to_load = 0;
  const auto load_next = [&] {
    if (k_to_load < p.n) tiles.load(k_to_load, stage_to_load);
    if constexpr (is_copied) __pipeline_commit();
    k_to_load += shape.length;
    stage_to_load = stage_to_load + 1 == shape.stages ? 0 : stage_to_load + 1;
  };
  for (int i = 1; i < shape.stages; ++i) load_next();

  const bool has_line = lane < lines;
  const Coordinates place = p.batch.coordinates(first + (has_line ? lane : 0));
  const Ends<P> ends{p};
  RunningFold<P> fold(p.start.at(place));
  if (has_line) ends.store_begin(place, fold.result(p));
  int stage = 0;
  for (std::int64_t k = 0; k < p.n; k += shape.length) {
    load_next();
    if constexpr (is_copied) wait_for_copies(shape.stages - 1);
    __syncwarp();
    if (has_line) {
      const RowOfTile<P> row(p, tiles.slots(stage) + lane * shape.pitch,
                             tiles.counts(stage) + lane * shape.mask_pitch, tiles.length_at(k));
      if (tiles.is_backward()) {
        row.template scan<true>(fold);
      } else {
        row.template scan<false>(fold);
      }
    }
    __syncwarp();
    tiles.store(k, stage);
    __syncwarp();
    stage = stage + 1 == shape.stages ? 0 : stage + 1;
  }
  if (has_line) ends.store_end(place, fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
