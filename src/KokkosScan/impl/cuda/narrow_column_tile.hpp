// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of short and narrow columns: their place in global and shared memory, and element-wise
/// copies.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Rows and columns of one slab, or several whole slabs. Rows are numbered in memory order.
struct NarrowColumnTile {
  std::int64_t strip;
  int step;           ///< tiles before it in the strip
  std::int64_t slab;  ///< the first
  int first_column;
  std::int64_t begin;  ///< the first row in scan order
  int slabs;
  int rows;
  int columns;
  int shift, shift_of_mask,
      shift_of_results;  ///< offsets of their starts modulo 128 bytes
  bool exists;
  bool is_last;  ///< of its strip
  bool stores_runs;

  NarrowColumnTile() = default;
  __device__ __forceinline__ NarrowColumnTile(const NarrowColumnPlan& plan,
                                              std::int64_t number_of_strip, int number_of_step)
      : strip(number_of_strip),
        step(number_of_step),
        begin(std::int64_t{step} * plan.rows),
        shift(0),
        shift_of_mask(0),
        shift_of_results(0),
        exists(strip < plan.strips),
        is_last(step == plan.steps - 1),
        stores_runs(false) {
    const Division at(strip, plan.strips_of_slab);
    slab = at.quotient * plan.slabs_of_tile;
    first_column = static_cast<int>(at.remainder) * plan.columns;
    const std::int64_t slabs_left = plan.slabs - slab;
    const int columns_left = plan.inner - first_column;
    const std::int64_t rows_left = plan.n - begin;
    slabs = static_cast<int>(slabs_left < plan.slabs_of_tile ? slabs_left : plan.slabs_of_tile);
    columns = columns_left < plan.columns ? columns_left : plan.columns;
    rows = rows_left < plan.rows ? static_cast<int>(rows_left) : plan.rows;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int slab_of_tile,
                                                             int column) const {
    return {batch, slab + slab_of_tile, first_column + column};
  }
};

/// The address of the first element of a tile in global memory.
template <class T>
__device__ __forceinline__ T* first_in_memory(const Batch& batch, const NarrowColumnTile& tile,
                                              const Array<T>& array) {
  const int last = array.strides.along < 0 ? tile.rows - 1 : 0;
  return &array.line(tile.place(batch, 0, 0))(tile.begin + last);
}
KOKKOS_FORCEINLINE_FUNCTION std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

/// A tile in shared memory. Runs have the same offset modulo 16 bytes as in global memory, and so
/// has the row pitch, so that both sides can be accessed in aligned quads.
template <class T>
struct TileSlots {
  int begin;  ///< byte of the shared memory

  [[nodiscard]] __device__ __forceinline__ T& operator[](int i) const {
    return reinterpret_cast<T*>(shared_memory() + begin)[i];
  }
};

/// Whether neighbours in memory belong to one line rather than to one row.
template <class T>
KOKKOS_FUNCTION bool is_along(const Batch& batch, const Array<T>& array) {
  if (batch.rank == 0) return false;
  return magnitude(array.strides.batch[batch.rank - 1]) > magnitude(array.strides.along);
}
template <int Rank, class Function>
KOKKOS_FUNCTION bool is_along(const Batch&, const Computed<Rank, Function>&) {
  return false;
}
template <class Value, int Rank, class Function>
KOKKOS_FUNCTION bool is_along(const Batch&, const Called<Value, Rank, Function>&) {
  return false;
}
template <class In>
requires is_composed<In> KOKKOS_FUNCTION bool is_along(const Batch& batch, const In& in) {
  return is_along(batch, parts_of(in).first);
}

/// Some elements of a line of a tile: rows row, row + step, ... in memory order.
struct PartOfLine {
  int slab, column;
  int row, step;
};

/// Calls f(part) for this thread's parts of lines. Neighbouring threads have neighbours in memory,
/// within a row or, if `along`, within a line. Each thread has few lines, as finding the start of a
/// line in a function takes divisions.
template <class F>
__device__ __forceinline__ void for_each_part(const NarrowColumnTile& tile, bool along,
                                              const Threads& threads, const F& f) {
  const int columns = tile.columns;
  // Groups of about one warp share a line, or rows of a slab.
  const int columns_of_group = along ? 1 : (columns < threads.count ? columns : threads.count);
  const int rows_of_group = along ? (tile.rows < lanes ? tile.rows : lanes)
                                  : (columns_of_group < lanes ? lanes / columns_of_group : 1);
  const int group_size = columns_of_group * rows_of_group;
  const int groups = threads.count / group_size;
  const int group = threads.own / group_size;
  if (group >= groups) return;
  const int member = threads.own - group * group_size;
  const int row_of_member = member / columns_of_group;
  const int column_of_member = member - row_of_member * columns_of_group;
  // If there are more groups than lines or slabs, several share one.
  const int shares = along ? tile.slabs * columns : tile.slabs;
  const int sharing = shares < groups ? groups / shares : 1;
  const int row = group % sharing * rows_of_group + row_of_member;
  const int step = sharing * rows_of_group;
#pragma unroll 1
  for (int share = group / sharing; share < shares; share += groups / sharing) {
    // A single call of f, as f is inlined.
    const int slab = along ? share / columns : share;
    const int first = along ? share - slab * columns : column_of_member;
    const int end = along ? first + 1 : columns;
#pragma unroll 1
    for (int c = first; c < end; c += columns_of_group) f(PartOfLine{slab, c, row, step});
  }
}

template <class T, class Line>
__device__ __forceinline__ void load_part(const NarrowColumnPlan& plan,
                                          const NarrowColumnTile& tile, const Line& line,
                                          bool backward, const TileSlots<T>& slots,
                                          const PartOfLine& part) {
  constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;
  // Cached: `tile` is in shared memory and would be reloaded after each store to a slot.
  const int last = tile.rows - 1;
  const std::int64_t first_k = tile.begin + (backward ? last : 0);
  const int direction = backward ? -1 : 1;
  T* slot = &slots[plan.slot_of_slab(part.slab) + part.column + part.row * plan.pitch];
  const int pitch = part.step * plan.pitch;
#pragma unroll 1
  for (int first = part.row; first <= last; first += at_once * part.step) {
    T x[at_once];
    // No conditions: loads behind a branch would wait for earlier ones.
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = first + i * part.step < last ? first + i * part.step : last;
      x[i] = static_cast<T>(line(first_k + std::int64_t{direction} * row));
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (first + i * part.step <= last) *slot = x[i];
      slot += pitch;
    }
  }
}
/// Loads the elements of a tile one at a time.
template <class T, class In>
__device__ __forceinline__ void load_one_by_one(const Batch& batch, const NarrowColumnPlan& plan,
                                                const NarrowColumnTile& tile, const In& in,
                                                bool backward, const TileSlots<T>& slots,
                                                const Threads& threads) {
  for_each_part(tile, is_along(batch, in), threads, [&](const PartOfLine& part) {
    const auto line = in.line(tile.place(batch, part.slab, part.column));
    load_part(plan, tile, line, backward, slots, part);
  });
}
/// For arrays, not inlined, as this path is rare. (Behind a call, the members of a functor would be
/// reloaded after each store.)
template <class T, class E>
__device__ __noinline__ void load_one_by_one(const Batch& batch, const NarrowColumnPlan& plan,
                                             const NarrowColumnTile& tile, const Array<E>& array,
                                             bool backward, const TileSlots<T> slots,
                                             const Threads threads) {
  load_one_by_one<T, Array<E>>(batch, plan, tile, array, backward, slots, threads);
}

template <class T, class Line>
__device__ __forceinline__ void store_part(const NarrowColumnPlan& plan,
                                           const NarrowColumnTile& tile, const Line& line,
                                           bool backward, const TileSlots<T>& slots,
                                           const PartOfLine& part) {
  constexpr int at_once = sizeof(T) <= 8 ? 4 : 2;
  const int last = tile.rows - 1;
  const std::int64_t first_k = tile.begin + (backward ? last : 0);
  const int direction = backward ? -1 : 1;
  const T* slot = &slots[plan.slot_of_slab(part.slab) + part.column];
#pragma unroll 1
  for (int first = part.row; first <= last; first += at_once * part.step) {
    T x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = first + i * part.step < last ? first + i * part.step : last;
      x[i] = slot[row * plan.pitch];
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = first + i * part.step;
      if (row <= last) line(first_k + std::int64_t{direction} * row) = x[i];
    }
  }
}
/// Stores the results of a tile one at a time.
template <class T, class Out>
__device__ __noinline__ void store_one_by_one(const Batch& batch, const NarrowColumnPlan& plan,
                                              const NarrowColumnTile& tile, const Out& out,
                                              const TileSlots<T> slots, const Threads threads) {
  for_each_part(tile, is_along(batch, out), threads, [&](const PartOfLine& part) {
    const auto line = out.line(tile.place(batch, part.slab, part.column));
    store_part(plan, tile, line, is_backward(out), slots, part);
  });
}

}  // namespace KokkosScan::impl::cuda
