// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a tile of narrow columns travels between global and shared memory: in bulk, 16 bytes at a
/// time whatever its alignment, or element by element.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/narrow_column_tile.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

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

  /// \param how as pieces, or else the rows of these
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

/// Begins to load some elements without registers, if that is possible; else loads all at once.
template <class T>
struct LoadElements {
  template <int count>
  __device__ __forceinline__ void operator()(const RunPlace (&places)[count],
                                             const bool (&exist)[count]) const {
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
};
/// Stores some elements.
template <class T>
struct StoreElements {
  template <int count>
  __device__ __forceinline__ void operator()(const RunPlace (&places)[count],
                                             const bool (&exist)[count]) const {
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
};

/// Begins to load runs by a bulk copy each. For the lanes of a warp.
template <class T>
__device__ __forceinline__ void load_in_bulk(const TileRuns<T>& runs, int lane, Barrier& loaded) {
  runs.for_each_run(
      lane,
      [&](const RunPlace& at, int bytes) { loaded.begin_bulk_load(at.shared, at.global, bytes); },
      LoadElements<T>());
}
/// The same 16 bytes at a time.
template <class T>
__device__ __forceinline__ void load_in_quads(const TileRuns<T>& runs, const Threads& threads) {
  runs.for_each_quad(
      threads, [](const RunPlace& at) { __pipeline_memcpy_async(at.shared, at.global, quad); },
      LoadElements<T>());
}
/// The same of rows, one by one.
template <class T>
__device__ __forceinline__ void load_elements(const TileRuns<T>& rows, const Threads& threads) {
  rows.template for_each_element<8>(threads, LoadElements<T>());
}
// And back.
template <class T>
__device__ __forceinline__ void store_in_bulk(const TileRuns<T>& runs, int lane) {
  runs.for_each_run(
      lane, [](const RunPlace& at, int bytes) { begin_bulk_store(at.global, at.shared, bytes); },
      StoreElements<T>());
}
template <class T>
__device__ __forceinline__ void store_in_quads(const TileRuns<T>& runs, const Threads& threads) {
  runs.for_each_quad(
      threads,
      [](const RunPlace& at) {
        *reinterpret_cast<uint4*>(at.global) = *reinterpret_cast<const uint4*>(at.shared);
      },
      StoreElements<T>());
}
template <class T>
__device__ __forceinline__ void store_elements(const TileRuns<T>& rows, const Threads& threads) {
  rows.template for_each_element<4>(threads, StoreElements<T>());
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

}  // namespace KokkosScan::impl::cuda
