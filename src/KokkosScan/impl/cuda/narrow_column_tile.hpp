// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of narrow columns: what they hold, their place in global and shared memory, and how they
/// are moved, as runs of bytes whatever their alignment, or element by element.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// What a tile holds of an input in shared memory: the elements of an array and of its mask, or
/// computed elements if they are needed twice.
template <class A, class In>
struct NarrowInput {
  using Value = A;
  using Mask = std::byte;
  static constexpr bool is_stored = false;
  static constexpr bool is_run = false;
  static constexpr bool has_mask = false;
  static constexpr int bytes = sizeof(A);  ///< of an element

  static KOKKOS_FORCEINLINE_FUNCTION const In& values(const In& in) { return in; }
};
template <class A, class T>
struct NarrowInput<A, Array<const T>> {
  using Value = T;
  using Mask = std::byte;
  static constexpr bool is_stored = true;
  /// Whether rows can be moved as runs of bytes.
  static constexpr bool is_run = is_one_move<sizeof(T)> && alignof(T) == sizeof(T);
  static constexpr bool has_mask = false;
  static constexpr int bytes = sizeof(T);

  static KOKKOS_FORCEINLINE_FUNCTION const Array<const T>& values(const Array<const T>& in) {
    return in;
  }
};
template <class A, class V, class M>
struct NarrowInput<A, Selected<A, Array<const V>, Array<const M>>> {
  using Value = V;
  /// One byte, so that a tile with any mask fits.
  using Mask = std::conditional_t<sizeof(M) == 1, M, bool>;
  using In = Selected<A, Array<const V>, Array<const M>>;
  static constexpr bool is_stored = true;
  static constexpr bool is_run = NarrowInput<A, Array<const V>>::is_run && sizeof(M) == 1;
  static constexpr bool has_mask = true;
  static constexpr int bytes = sizeof(V) + sizeof(Mask);

  static KOKKOS_FORCEINLINE_FUNCTION const Array<const V>& values(const In& in) {
    return in.values;
  }
  static KOKKOS_FORCEINLINE_FUNCTION const Array<const M>& mask(const In& in) { return in.mask; }
};

/// Whether results overwrite the elements.
template <class Input, class Value>
inline constexpr bool narrow_in_place = may_share_slots<typename Input::Value, Value>;

/// Several whole slabs, or some rows of one, or some columns. Rows are numbered in memory order.
struct NarrowColumnTile {
  std::int64_t slab;   ///< the first
  std::int64_t step;   ///< tiles above it
  std::int64_t begin;  ///< the first row in scan order
  int first_column;
  int slabs;
  int rows;
  int columns;
  int shift, shift_of_mask,
      shift_of_results;  ///< offsets of their starts modulo 128 bytes
  bool is_last;          ///< of its slab
  bool stores_runs;

  NarrowColumnTile() = default;
  /// \param strip index among the strips of all slabs
  __device__ __forceinline__ NarrowColumnTile(const NarrowColumnPlan& plan, std::int64_t strip,
                                              std::int64_t number_of_step)
      : slab(strip * plan.slabs_of_tile),
        step(number_of_step),
        begin(number_of_step * plan.rows),
        first_column(0),
        columns(plan.columns),
        shift(0),
        shift_of_mask(0),
        shift_of_results(0),
        is_last(step == plan.steps - 1),
        stores_runs(false) {
    if (plan.strips > 1) {
      const Division at(strip, plan.strips);
      slab = at.quotient;
      first_column = static_cast<int>(at.remainder) * plan.columns;
      const int columns_left = plan.neighbours - first_column;
      columns = columns_left < columns ? columns_left : columns;
    }
    const std::int64_t slabs_left = plan.slabs - slab;
    const std::int64_t rows_left = plan.n - begin;
    slabs = static_cast<int>(slabs_left < plan.slabs_of_tile ? slabs_left : plan.slabs_of_tile);
    rows = rows_left < plan.rows ? static_cast<int>(rows_left) : plan.rows;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch,
                                                             const NarrowColumnPlan& plan,
                                                             int slab_of_tile, int column) const {
    const std::int64_t number = slab + slab_of_tile;
    if (plan.are_rows) return {batch, number, first_column + column};
    const Division at(number, plan.neighbours);
    return {batch, at.quotient, static_cast<int>(at.remainder)};
  }
};

/// The address of the first element of a tile in global memory.
template <class T>
__device__ __forceinline__ T* first_in_memory(const Batch& batch, const NarrowColumnPlan& plan,
                                              const NarrowColumnTile& tile, const Array<T>& array) {
  const int last = array.strides.along < 0 ? tile.rows - 1 : 0;
  return &array.line(tile.place(batch, plan, 0, 0))(tile.begin + last);
}

/// An operand of a tile in shared memory. Runs have the same offset modulo 16 bytes as in global
/// memory, so that both sides can be accessed in aligned quads.
template <class T>
struct TileSlots {
  int begin;  ///< byte of the shared memory

  [[nodiscard]] __device__ __forceinline__ T& operator[](int i) const {
    return reinterpret_cast<T*>(shared_memory() + begin)[i];
  }
};

/// Calls f(bytes in global memory, span in shared memory, number of bytes, threads) for the runs of
/// a tile. The threads are numbered so that each run has another first one.
template <class T, class U, class F>
__device__ __forceinline__ void for_each_run(const Batch& batch, const NarrowColumnPlan& plan,
                                             const NarrowColumnTile& tile, const Array<U>& array,
                                             const TileSlots<T>& slots, Threads threads,
                                             const F& f) {
  constexpr int size = sizeof(T);
  auto* global =
      reinterpret_cast<std::byte*>(const_cast<T*>(first_in_memory(batch, plan, tile, array)));
  const std::int64_t distance = plan.rows_of_run * magnitude(array.strides.along) * size;
  const int pitch = (plan.strips > 1 ? plan.pitch : plan.pitch_of_piece) * size;
  int begin = slots.begin;
#pragma unroll 1
  for (int left = tile.slabs * tile.rows; left > 0; left -= plan.rows_of_run) {
    const int rows = left < plan.rows_of_run ? left : plan.rows_of_run;
    const Span span{shared_memory() + begin / quad * quad, begin % quad, 0};
    f(global, span, ((rows - 1) * plan.pitch + tile.columns) * size, threads);
    global += distance;
    begin += pitch;
    threads.own = (threads.own == 0 ? threads.count : threads.own) - 1;
  }
}

/// Some elements of a line of a tile: rows row, row + step, ... in memory order.
struct PartOfLine {
  int slab, column;
  int row, step;
};

/// Calls f(part) for this thread's parts of lines. Neighbouring threads have neighbours in memory,
/// within a row, or within a line that is alone. Each thread has few lines, as finding the start of
/// a line in a function takes divisions.
template <class F>
__device__ __forceinline__ void for_each_part(const NarrowColumnTile& tile, const Threads& threads,
                                              const F& f) {
  const int columns = tile.columns < threads.count ? tile.columns : threads.count;
  // Groups of about one warp share rows of a slab.
  const int rows_of_group = columns < lanes ? lanes / columns : 1;
  const int group_size = columns * rows_of_group;
  const int groups = threads.count / group_size;
  const int group = threads.own / group_size;
  if (group >= groups) return;
  const int member = threads.own - group * group_size;
  const int row_of_member = member / columns;
  // If there are more groups than slabs, several share one.
  const int sharing = tile.slabs < groups ? groups / tile.slabs : 1;
  const int row = group % sharing * rows_of_group + row_of_member;
#pragma unroll 1
  for (int slab = group / sharing; slab < tile.slabs; slab += groups / sharing) {
#pragma unroll 1
    for (int c = member - row_of_member * columns; c < tile.columns; c += columns) {
      f(PartOfLine{slab, c, row, sharing * rows_of_group});
    }
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
  for_each_part(tile, threads, [&](const PartOfLine& part) {
    const auto line = in.line(tile.place(batch, plan, part.slab, part.column));
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
/// Stores the results of a tile one at a time.
template <class T, class Out>
__device__ __noinline__ void store_one_by_one(const Batch& batch, const NarrowColumnPlan& plan,
                                              const NarrowColumnTile& tile, const Out& out,
                                              const TileSlots<T> slots, const Threads threads) {
  constexpr int at_once = sizeof(T) <= 8 ? 4 : 2;
  const bool backward = is_backward(out);
  const int last = tile.rows - 1;
  const std::int64_t first_k = tile.begin + (backward ? last : 0);
  const int direction = backward ? -1 : 1;
  for_each_part(tile, threads, [&](const PartOfLine& part) {
    const auto line = out.line(tile.place(batch, plan, part.slab, part.column));
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
  });
}

}  // namespace KokkosScan::impl::cuda
