// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a tile of narrow columns is moved between global and shared memory: in bulk, in quads,
/// whatever its alignment, or element by element.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/narrow_column_tile.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// An element of a run, or the start of a run.
struct RunPlace {
  std::byte* global;
  std::byte* shared;

  [[nodiscard]] __device__ __forceinline__ RunPlace operator+(int bytes) const {
    return {global + bytes, shared + bytes};
  }
};

/// The runs in which a tile is moved: its pieces, or their rows.
template <class T>
struct TileRuns {
  static constexpr int size = sizeof(T);

  std::byte* global;  ///< the first byte of the first run
  std::byte* shared;
  std::int64_t distance, more_distance;  ///< bytes between runs, and what is added between pieces
  int pitch, more_pitch;                 ///< the same in shared memory
  int bytes, last_bytes;                 ///< of a run, and of the last one
  int count;
  Divisor by_runs_of_piece;

  /// \param how as pieces, or else row by row
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

  /// Calls f(run, b, end) for each quad that overlaps bytes 0 to end of a run; the quad begins at
  /// byte b. All threads share a single run; otherwise groups of threads take runs in turn.
  template <class F>
  __device__ __forceinline__ void for_each_quad(const Threads& threads, const F& f) const {
    // Bytes that the threads of a run cover at once: a power of two.
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
      for (int b = own - misalignment(run.global); b < end; b += step) f(run, b, end);
    }
  }
  /// Calls move_elements(places) for the elements of rows, several of a column at a time.
  ///
  /// \tparam at_once elements per call; the rest are moved one at a time
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
#pragma unroll
        for (int i = 0; i < of.value; ++i) places[i] = at(r + i * rows) + c * size;
        move_elements(places);
        r += of.value * rows;
      };
#pragma unroll 1
      while (r + (at_once - 1) * rows < count) some(std::integral_constant<int, at_once>{});
#pragma unroll 1
      while (r < count) some(std::integral_constant<int, 1>{});
    }
  }
};

/// Loads or stores elements; loads are asynchronous where their size permits.
template <class T, bool loads>
struct MoveElements {
  template <int count>
  __device__ __forceinline__ void operator()(const RunPlace (&places)[count]) const {
    if constexpr (loads && is_one_copy<sizeof(T)>) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        __pipeline_memcpy_async(places[i].shared, places[i].global, sizeof(T));
      }
    } else {
      T x[count];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        x[i] = *reinterpret_cast<const T*>(loads ? places[i].global : places[i].shared);
      }
#pragma unroll
      for (int i = 0; i < count; ++i) {
        *reinterpret_cast<T*>(loads ? places[i].shared : places[i].global) = x[i];
      }
    }
  }
};

/// Begins to load runs, one bulk copy each. Called by all lanes of a warp.
template <class T>
__device__ __forceinline__ void load_in_bulk(const TileRuns<T>& runs, int lane, Barrier& loaded) {
#pragma unroll 1
  for (int r = lane; r < runs.count; r += lanes) {
    const RunPlace run = runs.at(r);
    begin_bulk_load_of_quads(run.shared, run.global, runs.bytes_of(r), loaded);
  }
}
/// The same by asynchronous copies of quads.
template <class T>
__device__ __forceinline__ void load_in_quads(const TileRuns<T>& runs, const Threads& threads) {
  runs.for_each_quad(threads, [](const RunPlace& run, int b, int end) {
    const RunPlace at = run + b;
    begin_copy_of_quad(at.shared, at.global, end - b);
  });
}
/// The same for rows, element by element.
template <class T>
__device__ __forceinline__ void load_elements(const TileRuns<T>& rows, const Threads& threads) {
  rows.template for_each_element<8>(threads, MoveElements<T, true>());
}
/// Stores the elements between two bytes of a run, one at a time.
template <class T>
__device__ __forceinline__ void store_some(const RunPlace& run, int begin, int end) {
#pragma unroll 1
  for (int b = begin; b < end; b += sizeof(T)) MoveElements<T, false>()({run + b});
}
template <class T>
__device__ __forceinline__ void store_in_bulk(const TileRuns<T>& runs, int lane) {
  const auto store_quads = [](const RunPlace& run, const Pieces& pieces) {
    const RunPlace first = run + pieces.head;
    if (pieces.quads > 0) begin_bulk_store(first.global, first.shared, pieces.quads * quad);
  };
  if (runs.count == 1) {  // shared by all lanes: an element each at the edges
    const RunPlace run = runs.at(0);
    const int bytes = runs.bytes_of(0);
    const Pieces pieces(misalignment(run.global), bytes);
    if (lane == 0) store_quads(run, pieces);
    const bool is_before = lane < quad;
    const int b = lane % quad * runs.size;
    if (b < (is_before ? pieces.head : pieces.tail)) {
      MoveElements<T, false>()({run + (is_before ? b : bytes - pieces.tail + b)});
    }
    return;
  }
#pragma unroll 1
  for (int r = lane; r < runs.count; r += lanes) {
    const RunPlace run = runs.at(r);
    const int bytes = runs.bytes_of(r);
    const Pieces pieces(misalignment(run.global), bytes);
    store_quads(run, pieces);
    store_some<T>(run, 0, pieces.head);
    store_some<T>(run, bytes - pieces.tail, bytes);
  }
}
template <class T>
__device__ __forceinline__ void store_in_quads(const TileRuns<T>& runs, const Threads& threads) {
  runs.for_each_quad(threads, [](const RunPlace& run, int b, int end) {
    const int next = b + quad;
    if (b >= 0 && next <= end) {
      const RunPlace at = run + b;
      *reinterpret_cast<uint4*>(at.global) = *reinterpret_cast<const uint4*>(at.shared);
    } else {
      store_some<T>(run, b < 0 ? 0 : b, next < end ? next : end);
    }
  });
}
template <class T>
__device__ __forceinline__ void store_elements(const TileRuns<T>& rows, const Threads& threads) {
  rows.template for_each_element<4>(threads, MoveElements<T, false>());
}

}  // namespace KokkosScan::impl::cuda
