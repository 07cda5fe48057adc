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

/// What a tile holds of an input in shared memory: elements of type T.
///
/// \tparam may_be_run whether rows can be moved as runs of bytes
template <class T, bool may_be_run>
struct NarrowElements {
  using Value = T;
  using Mask = std::byte;
  static constexpr bool is_stored = true;
  static constexpr bool is_run = may_be_run;
  static constexpr bool has_mask = false;
  static constexpr int bytes = sizeof(T);  ///< of an element

  template <class In>
  static KOKKOS_FORCEINLINE_FUNCTION const In& values(const In& in) {
    return in;
  }
};
/// The same by the type of the input: computed elements, those of an array, and those of an array
/// and of its mask.
template <class A, class In>
struct NarrowInput : NarrowElements<A, false> {
  static constexpr bool is_stored = false;
};
template <class A, class T>
struct NarrowInput<A, Array<const T>>
    : NarrowElements<T, is_one_move<sizeof(T)> && alignof(T) == sizeof(T)> {};
template <class A, class V, class M>
struct NarrowInput<A, Selected<A, Array<const V>, Array<const M>>>
    : NarrowElements<V, NarrowInput<A, Array<const V>>::is_run && sizeof(M) == 1> {
  /// One byte, so that a tile with any mask fits.
  using Mask = std::conditional_t<sizeof(M) == 1, M, bool>;
  static constexpr bool has_mask = true;
  static constexpr int bytes = sizeof(V) + sizeof(Mask);

  template <class In>
  static KOKKOS_FORCEINLINE_FUNCTION const auto& values(const In& in) {
    return in.values;
  }
};

/// Whether results overwrite the elements.
template <class Input, class Value>
inline constexpr bool narrow_in_place = may_share_slots<typename Input::Value, Value>;

/// Several whole slabs, or some rows of one, or some columns. Rows are numbered in memory order.
struct NarrowColumnTile {
  std::int64_t slab;   ///< the first
  std::int64_t line;   ///< the first
  std::int64_t step;   ///< tiles above it
  std::int64_t begin;  ///< the first row in scan order
  int first_column;
  int slabs;
  int rows;
  int columns;
  bool is_last;  ///< of its slab
  /// Where the runs of each operand begin in global memory; null if its elements are moved one at a
  /// time.
  std::byte *elements, *mask, *results;

  NarrowColumnTile() = default;
  /// \param strip index among the strips of all slabs
  __device__ __forceinline__ NarrowColumnTile(const NarrowColumnPlan& plan, std::int64_t strip,
                                              std::int64_t number_of_step)
      : slab(strip * plan.slabs_of_tile),
        step(number_of_step),
        begin(number_of_step * plan.rows),
        first_column(0),
        is_last(step == plan.steps - 1),
        elements(nullptr),
        mask(nullptr),
        results(nullptr) {
    if (plan.strips > 1) {
      const Division at(strip, plan.strips);
      slab = at.quotient;
      first_column = static_cast<int>(at.remainder) * plan.columns;
    }
    line = slab * plan.neighbours + first_column;
    const auto at_most = [](std::int64_t left, int most) {
      return left < most ? static_cast<int>(left) : most;
    };
    columns = at_most(plan.neighbours - first_column, plan.columns);
    slabs = at_most(plan.slabs - slab, plan.slabs_of_tile);
    rows = at_most(plan.n - begin, plan.rows);
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int slab_of_tile,
                                                             int column) const {
    return {batch, slab + slab_of_tile, first_column + column};
  }
  /// The address of the first element in global memory.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ std::byte* first_in_memory(const Batch& batch,
                                                                      const Array<T>& array) const {
    const int last = array.strides.along < 0 ? rows - 1 : 0;
    T* const first = &array.line(place(batch, 0, 0))(begin + last);
    return reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(first));
  }
};

/// Calls f(bytes in global memory, span in shared memory, number of bytes, threads) for the runs of
/// a tile: one, or the rows of a strip. The threads are numbered so that each has another first
/// one.
///
/// \param slots with the same offset modulo 16 bytes as in global memory, so that both sides can be
///              accessed in aligned quads
template <class T, class F>
__device__ __forceinline__ void for_each_run(const NarrowColumnPlan& plan,
                                             const NarrowColumnTile& tile, std::byte* global,
                                             T* slots, const F& f) {
  constexpr int size = sizeof(T);
  Threads threads = threads_of_block();
  const int runs = plan.strips > 1 ? tile.rows : 1;
  const int rows = tile.slabs * tile.rows / runs;
  const int bytes = ((rows - 1) * plan.pitch + tile.columns) * size;
#pragma unroll 1
  for (int run = 0; run < runs; ++run) {
    const int begin = misalignment(global);
    const auto place = static_cast<int>(reinterpret_cast<std::byte*>(slots) - shared_memory());
    f(global, Span{place - begin, begin, 0}, bytes, threads);
    global += std::int64_t{plan.neighbours} * size;
    slots += plan.pitch;
    threads.own = (threads.own == 0 ? threads.count : threads.own) - 1;
  }
}

/// Whether elements are moved to slots in shared memory or results from there.
enum class Moves { in, out };

/// to(row) = from(row) for this thread's rows row, row + step, ... in memory order.
template <class T, class From, class To>
__device__ __forceinline__ void move_rows(const From& from, const To& to, int rows, int row,
                                          int step) {
  constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;
#pragma unroll 1
  for (int first = row; first < rows; first += at_once * step) {
    T x[at_once];
    // No conditions: loads behind a branch would wait for earlier ones.
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      x[i] = static_cast<T>(from(first + i * step < rows ? first + i * step : rows - 1));
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (first + i * step < rows) to(first + i * step) = x[i];
    }
  }
}
/// Moves the elements of an operand one at a time. Neighbouring threads have neighbours in memory,
/// within a row, or within a line that is alone. Each thread has few lines, as finding the start of
/// a line in a function takes divisions.
///
/// \param backward whether scan order runs against the order of rows
template <Moves moves, class T, class Operand>
__device__ __forceinline__ void move_one_by_one(const Batch& batch, const NarrowColumnPlan& plan,
                                                const NarrowColumnTile& tile,
                                                const Operand& operand, bool backward, T* slots) {
  const Threads threads = threads_of_block();
  const int side_by_side = tile.columns < threads.count ? tile.columns : threads.count;
  const int groups = threads.count / side_by_side;
  // About a warp shares the rows of a slab if they are many, or more if slabs are few.
  const int most = side_by_side < lanes ? lanes / side_by_side : 1;
  const int least = most * 8 < tile.rows ? most : tile.rows / 8;
  const int sharing = groups / tile.slabs > least ? groups / tile.slabs : least > 0 ? least : 1;
  const int slabs_at_once = groups / sharing;
  const int group = threads.own / side_by_side;
  if (group >= slabs_at_once * sharing) return;
  // Cached: `tile` is in shared memory and would be reloaded after each store to a slot.
  const int rows = tile.rows;
  const int columns = tile.columns;
  const std::int64_t first_k = tile.begin + (backward ? rows - 1 : 0);
  const int direction = backward ? -1 : 1;
#pragma unroll 1
  for (int slab = group / sharing; slab < tile.slabs; slab += slabs_at_once) {
#pragma unroll 1
    for (int c = threads.own % side_by_side; c < columns; c += side_by_side) {
      const auto line = operand.line(tile.place(batch, slab, c));
      const auto element = [&](int row) -> decltype(auto) {
        return line(first_k + std::int64_t{direction} * row);
      };
      const auto slot = [&](int row) -> T& {
        return slots[(slab * plan.rows + row) * plan.pitch + c];
      };
      if constexpr (moves == Moves::in) {
        move_rows<T>(element, slot, rows, group % sharing, sharing);
      } else {
        move_rows<T>(slot, element, rows, group % sharing, sharing);
      }
    }
  }
}
/// Not inlined, for what is rare. (Behind a call, the members of a functor would be reloaded after
/// each store.)
template <Moves moves, class T, class Operand>
__device__ __noinline__ void move_rarely(const Batch& batch, const NarrowColumnPlan& plan,
                                         const NarrowColumnTile& tile, const Operand& operand,
                                         bool backward, T* slots) {
  move_one_by_one<moves>(batch, plan, tile, operand, backward, slots);
}

}  // namespace KokkosScan::impl::cuda
