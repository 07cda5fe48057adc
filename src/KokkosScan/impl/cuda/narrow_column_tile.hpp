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
/// \tparam M          of what it holds of a mask: one byte, so that a tile with any mask fits
template <class T, bool may_be_run, class M = void>
struct NarrowElements {
  using Value = T;
  using Mask = std::conditional_t<std::is_void_v<M>, std::byte, M>;
  static constexpr bool is_stored = true;
  static constexpr bool is_run = may_be_run;
  static constexpr bool has_mask = !std::is_void_v<M>;
  static constexpr int bytes = sizeof(T) + (has_mask ? 1 : 0);  ///< of an element

  template <class In>
  static KOKKOS_FORCEINLINE_FUNCTION const auto& values(const In& in) {
    if constexpr (has_mask)
      return in.values;
    else
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
    : NarrowElements<V, NarrowInput<A, Array<const V>>::is_run && sizeof(M) == 1,
                     std::conditional_t<sizeof(M) == 1, M, bool>> {};

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
  std::byte *elements = nullptr, *mask = nullptr, *results = nullptr;

  /// \param strip index among the strips of all slabs
  __device__ __forceinline__ NarrowColumnTile(const NarrowColumnPlan& plan, std::int64_t strip,
                                              std::int64_t number_of_step)
      : slab(strip * plan.slabs_of_tile),
        step(number_of_step),
        begin(number_of_step * plan.rows),
        first_column(0),
        is_last(step == plan.steps - 1) {
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

/// Slots as they are for the elements of a piece of a tile.
template <class T>
__device__ __forceinline__ T* in_piece(T* slots, int piece) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(slots) + piece * quad);
}

/// Whether elements are moved to slots in shared memory or results from there.
enum class Moves { in, out };

/// Begins to move the runs of a tile: its pieces, or the rows of a strip; if they are several, each
/// by a warp.
///
/// \param slots with the same offset modulo 16 bytes as in global memory, so that both sides can be
///              accessed in aligned quads
template <Moves moves, class T>
__device__ __forceinline__ void move_runs(const NarrowColumnPlan& plan,
                                          const NarrowColumnTile& tile, std::byte* global, T* slots,
                                          Barrier& loaded) {
  constexpr int size = sizeof(T);
  const int all = tile.slabs * tile.rows;
  const int of_run = plan.rows_of_run;
  const Threads block = threads_of_block();
  const bool by_warps = all > of_run;
  const Threads threads = by_warps ? Threads{block.own % lanes, lanes} : block;
  const int step = by_warps ? threads_of_narrow_columns / lanes : 1;
#pragma unroll 1
  for (int run = by_warps ? block.own / lanes : 0; run * of_run < all; run += step) {
    const int row = run * of_run;
    const int rows = all - row < of_run ? all - row : of_run;
    const int bytes = ((rows - 1) * plan.pitch + tile.columns) * size;
    std::byte* const at = global + std::int64_t{row} * plan.neighbours * size;
    T* const first = in_piece(slots + row * plan.pitch, plan.strips > 1 ? 0 : run);
    const int begin = misalignment(at);
    const auto place = static_cast<int>(reinterpret_cast<std::byte*>(first) - shared_memory());
    const Span span{place - begin, begin, 0};
    if constexpr (moves == Moves::in) {
      begin_copy_in(at, span, bytes, loaded, threads);
    } else {
      copy_out<unit_of<T>, true>(span, at, bytes, threads);
    }
  }
}

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
  // As many threads as have eight rows each share those of a slab.
  const int sharing = tile.rows < 16 ? 1 : tile.rows / 8 < groups ? tile.rows / 8 : groups;
  if (threads.own >= groups * side_by_side) return;
  // Cached: `tile` is in shared memory and would be reloaded after each store to a slot.
  const int rows = tile.rows;
  const int columns = tile.columns;
  const std::int64_t begin = tile.begin;
#pragma unroll 1
  for (int i = threads.own / side_by_side; i < tile.slabs * sharing; i += groups) {
    const int slab = i / sharing;
    T* const of_piece = in_piece(slots, slab * plan.rows / plan.rows_of_run);
#pragma unroll 1
    for (int c = threads.own % side_by_side; c < columns; c += side_by_side) {
      const auto line = operand.line(tile.place(batch, slab, c));
      const auto element = [&](int row) -> decltype(auto) {
        return line(begin + (backward ? rows - 1 - row : row));
      };
      const auto slot = [&](int row) -> T& {
        return of_piece[(slab * plan.rows + row) * plan.pitch + c];
      };
      if constexpr (moves == Moves::in) {
        move_rows<T>(element, slot, rows, i % sharing, sharing);
      } else {
        move_rows<T>(slot, element, rows, i % sharing, sharing);
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
