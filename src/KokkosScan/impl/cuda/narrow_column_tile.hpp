// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of short and narrow columns: where they are in memory and in shared memory, and how their
/// elements travel, as runs of bytes or one by one.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Rows and columns of a slab, or several whole slabs. Rows are numbered in the order of memory.
struct NarrowColumnTile {
  std::int64_t strip;
  int step;           ///< tiles of the strip before it
  std::int64_t slab;  ///< the first
  int first_column;
  std::int64_t begin;  ///< the first row in scan order
  int slabs;
  int rows;
  int columns;
  int shift, shift_of_mask,
      shift_of_results;  ///< bytes behind a multiple of 128, where each begins
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

/// The address of a tile's first element in memory.
template <class T>
__device__ __forceinline__ T* first_in_memory(const Batch& batch, const NarrowColumnTile& tile,
                                              const Array<T>& array) {
  const int last = array.strides.along < 0 ? tile.rows - 1 : 0;
  return &array.line(tile.place(batch, 0, 0))(tile.begin + last);
}
KOKKOS_FORCEINLINE_FUNCTION std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

/// A tile in shared memory. What is moved in runs begins as many bytes behind a multiple of 16 as
/// it does in global memory, and rows are as far apart up to a multiple of 16, so that the same 16
/// bytes can be moved at once on both sides.
template <class T>
struct TileSlots {
  int begin;  ///< byte of the shared memory

  [[nodiscard]] __device__ __forceinline__ T& operator[](int i) const {
    return reinterpret_cast<T*>(shared_memory() + begin)[i];
  }
};

/// An element of a run, or where a run begins.
struct RunPlace {
  std::byte* global;
  std::byte* shared;

  [[nodiscard]] __device__ __forceinline__ RunPlace operator+(int bytes) const {
    return {global + bytes, shared + bytes};
  }
};

/// The runs of a tile that are moved together: its pieces, or the rows of these.
template <class T>
struct TileRuns {
  static constexpr int size = sizeof(T);

  std::byte* global;  ///< the first byte of the first run
  std::byte* shared;
  std::int64_t distance, more_distance;  ///< bytes from run to run, and more from piece to piece
  int pitch, more_pitch;                 ///< the same in shared memory
  int bytes, last_bytes;                 ///< of a run, and of the last
  int count;
  Divisor by_runs_of_piece;

  template <class U>
  __device__ __forceinline__ TileRuns(const Batch& batch, const NarrowColumnPlan& plan,
                                      const NarrowColumnTile& tile, const Array<U>& array,
                                      const TileSlots<T>& slots, MoveRows how)
      : global(reinterpret_cast<std::byte*>(const_cast<T*>(first_in_memory(batch, tile, array)))),
        shared(shared_memory() + slots.begin),
        more_distance(0),
        more_pitch(0),
        by_runs_of_piece(plan.by_rows_of_piece) {
    const std::int64_t row = magnitude(array.strides.along);
    const int slabs = plan.slabs_of_piece;
    const std::int64_t piece =
        plan.slabs_of_tile > 1 ? slabs * array.strides.batch[batch.rank - 2] * size : 0;
    if (how == MoveRows::as_pieces) {
      const auto of_slabs = [&](int count_of_slabs) {
        return ((count_of_slabs * tile.rows - 1) * plan.pitch + tile.columns) * size;
      };
      bytes = of_slabs(slabs);
      distance = piece;
      pitch = plan.pitch_of_piece * size;
      count = slabs == 1 ? tile.slabs : plan.by_slabs_of_piece.quotient(tile.slabs - 1) + 1;
      last_bytes = of_slabs(tile.slabs - (count - 1) * slabs);
    } else {
      bytes = last_bytes = tile.columns * size;
      distance = row * size;
      pitch = plan.pitch * size;
      count = tile.slabs * tile.rows;
      if (plan.slabs_of_tile > 1) {
        more_distance = piece - slabs * tile.rows * distance;
        more_pitch = plan.pitch_of_piece * size - slabs * tile.rows * pitch;
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ RunPlace at(int run) const {
    const int piece = by_runs_of_piece.quotient(run);
    return {global + run * distance + piece * more_distance,
            shared + run * pitch + piece * more_pitch};
  }
  [[nodiscard]] __device__ __forceinline__ int bytes_of(int run) const {
    return run == count - 1 ? last_bytes : bytes;
  }

  // Below, move_elements(places, exist) moves those of a few elements that exist.

  /// Moves the elements of a run from a byte to another.
  template <class Elements>
  static __device__ __forceinline__ void move_some(const RunPlace& run, int begin, int end,
                                                   const Elements& move_elements) {
    constexpr int at_once = size < 4 ? 4 : 1;  // where a load waits for its element
#pragma unroll 1
    for (int b = begin; b < end; b += at_once * size) {
      RunPlace places[at_once];
      bool exist[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        places[i] = run + (b + i * size);
        exist[i] = b + i * size < end;
      }
      move_elements(places, exist);
    }
  }

  /// Calls of_quads(place, bytes) for the whole quads of each run, and moves the elements before
  /// and behind them. For the lanes of a warp.
  template <class Quads, class Elements>
  __device__ __forceinline__ void for_each_run(int lane, const Quads& of_quads,
                                               const Elements& move_elements) const {
    if (count == 1) {  // all lanes share it: some have an element
      const RunPlace run{global, shared};
      const Pieces pieces(misalignment(global), last_bytes);
      if (lane == 0 && pieces.quads > 0) of_quads(run + pieces.head, pieces.quads * quad);
      const bool is_before = lane < quad;
      const int b = lane % quad * size;
      if (b < (is_before ? pieces.head : pieces.tail)) {
        move_elements({run + (is_before ? b : last_bytes - pieces.tail + b)}, {true});
      }
      return;
    }
#pragma unroll 1
    for (int r = lane; r < count; r += lanes) {
      const RunPlace run = at(r);
      const int of_run = bytes_of(r);
      const Pieces pieces(misalignment(run.global), of_run);
      if (pieces.quads > 0) of_quads(run + pieces.head, pieces.quads * quad);
      move_some(run, 0, pieces.head, move_elements);
      move_some(run, of_run - pieces.tail, of_run, move_elements);
    }
  }
  /// Calls of_quad(place) for each of these quads, and moves elements as above. All threads share
  /// one run, or groups of them have one after another.
  template <class Quad, class Elements>
  __device__ __forceinline__ void for_each_quad(const Threads& threads, const Quad& of_quad,
                                                const Elements& move_elements) const {
    // Threads of a run: a power of two.
    int step = quad;
    while (step < bytes && step < lanes * quad) step *= 2;
    if (count == 1) step = threads.count * quad;
    const int runs_at_once = threads.count * quad / step;
    const int first = threads.own * quad / step;
    const int own = threads.own * quad - first * step;
#pragma unroll 1
    for (int r = first; r < count; r += runs_at_once) {
      const RunPlace run = at(r);
      const int end = bytes_of(r);
#pragma unroll 1
      for (int b = own - misalignment(run.global); b < end; b += step) {
        if (b >= 0 && b + quad <= end) {
          of_quad(run + b);
        } else {
          move_some(run, b < 0 ? 0 : b, b + quad < end ? b + quad : end, move_elements);
        }
      }
    }
  }
  /// Moves the elements of rows, some of a column at a time.
  ///
  /// \tparam at_once as many, then one after another
  template <int at_once, class Elements>
  __device__ __forceinline__ void for_each_element(const Threads& threads,
                                                   const Elements& move_elements) const {
    const int columns = bytes / size;
    const int width = columns < threads.count ? columns : threads.count;
    const int rows = threads.count / width;
    const int first = threads.own / width;
    if (first >= rows) return;
#pragma unroll 1
    for (int c = threads.own - first * width; c < columns; c += width) {
      int r = first;
      const auto some = [&](auto of) {
        RunPlace places[of.value];
        bool exist[of.value];
#pragma unroll
        for (int i = 0; i < of.value; ++i) {
          places[i] = at(r + i * rows) + c * size;
          exist[i] = true;
        }
        move_elements(places, exist);
        r += of.value * rows;
      };
#pragma unroll 1
      while (r + (at_once - 1) * rows < count) some(std::integral_constant<int, at_once>{});
#pragma unroll 1
      while (r < count) some(std::integral_constant<int, 1>{});
    }
  }
};

/// Begins to load elements without registers, if that is possible; else loads all at once.
template <class T, int count>
__device__ __forceinline__ void load_elements(const RunPlace (&places)[count],
                                              const bool (&exist)[count]) {
  if constexpr (is_one_copy<sizeof(T)>) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (exist[i]) __pipeline_memcpy_async(places[i].shared, places[i].global, sizeof(T));
    }
  } else {
    T x[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (exist[i]) x[i] = *reinterpret_cast<const T*>(places[i].global);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (exist[i]) *reinterpret_cast<T*>(places[i].shared) = x[i];
    }
  }
}
template <class T, int count>
__device__ __forceinline__ void store_elements(const RunPlace (&places)[count],
                                               const bool (&exist)[count]) {
  T x[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if (exist[i]) x[i] = *reinterpret_cast<const T*>(places[i].shared);
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if (exist[i]) *reinterpret_cast<T*>(places[i].global) = x[i];
  }
}

/// Whether a warp moves runs by bulk copies. Those of a few hundred bytes would be too many: a
/// multiprocessor begins one in about 90 cycles.
template <class T>
__device__ __forceinline__ bool moves_in_bulk(const NarrowColumnPlan& plan, MoveRows how) {
  const int least = bytes_of_bulk_row / static_cast<int>(sizeof(T));
  if (how == MoveRows::as_rows) return has_bulk_copies() && plan.columns >= least;
  return has_bulk_copies() && how == MoveRows::as_pieces &&
         (plan.slabs_of_tile == 1 || plan.slabs_of_piece > 1 || plan.pitch_of_slab >= least);
}

/// Whether elements of the same line are neighbours rather than those of the same row.
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
template <class Function, class Parts>
KOKKOS_FUNCTION bool is_along(const Batch& batch, const ZippedInput<Function, Parts>& in) {
  return is_along(batch, in.parts.first);
}
template <class A, class Values, class Mask>
KOKKOS_FUNCTION bool is_along(const Batch& batch, const Selected<A, Values, Mask>& in) {
  return is_along(batch, in.values);
}

/// Some elements of a line of a tile: those of rows row, row + step, ... in the order of memory.
struct PartOfLine {
  int slab, column;
  int row, step;
};

/// Calls f(part) for this thread's parts of the lines of a tile. Neighbouring threads have
/// neighbours in memory, those of a row or, `along` the lines, of a line; each has parts of as few
/// lines as can be, since where the line of a function begins takes divisions.
template <class F>
__device__ __forceinline__ void for_each_part(const NarrowColumnTile& tile, bool along,
                                              const Threads& threads, const F& f) {
  const int columns = tile.columns;
  // Groups of about a warp share a line, or rows of a slab.
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
  // Several groups share what one would have, if there are so many.
  const int shares = along ? tile.slabs * columns : tile.slabs;
  const int sharing = shares < groups ? groups / shares : 1;
  const int row = group % sharing * rows_of_group + row_of_member;
  const int step = sharing * rows_of_group;
#pragma unroll 1
  for (int share = group / sharing; share < shares; share += groups / sharing) {
    if (along) {
      const int slab = share / columns;
      f(PartOfLine{slab, share - slab * columns, row, step});
    } else {
#pragma unroll 1
      for (int c = column_of_member; c < columns; c += columns_of_group) {
        f(PartOfLine{share, c, row, step});
      }
    }
  }
}

template <class T, class Line>
__device__ __forceinline__ void load_part(const NarrowColumnPlan& plan,
                                          const NarrowColumnTile& tile, const Line& line,
                                          bool backward, const TileSlots<T>& slots,
                                          const PartOfLine& part) {
  constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;
  // Read here: tiles are in shared memory, where they might change with each store to a slot.
  const int last = tile.rows - 1;
  const std::int64_t first_k = tile.begin + (backward ? last : 0);
  const int direction = backward ? -1 : 1;
  T* slot = &slots[plan.slot_of_slab(part.slab) + part.column + part.row * plan.pitch];
  const int pitch = part.step * plan.pitch;
#pragma unroll 1
  for (int first = part.row; first <= last; first += at_once * part.step) {
    T x[at_once];
    // Without conditions, behind which a function would wait for what it reads.
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
/// Loads the elements of a tile one by one.
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
/// The same for arrays, which are seldom loaded so: a call. (Behind a call, what a function keeps
/// would be read again after each store.)
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
/// Stores the results of a tile one by one.
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
