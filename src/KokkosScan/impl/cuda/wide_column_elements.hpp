// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a thread of the kernel for wide columns (wide_columns.hpp) finds its part of a tile, and how
/// it loads and stores it.

#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The type in which a thread keeps elements, and then results: that of input, output and totals,
/// if they are arrays of one type smaller than the accumulator, so that twice as many fit.
template <class P, class T = Types<P>>
using KeptType =
    std::conditional_t<std::is_same_v<typename T::In, Array<const typename T::Value>> &&
                           std::is_same_v<typename T::Out, Array<typename T::Value>> &&
                           std::is_same_v<typename T::Total, typename T::Value> &&
                           sizeof(typename T::Value) < sizeof(typename T::A) &&
                           sizeof(typename T::A) <= 8,
                       typename T::Value, typename T::A>;

/// A tile. Found by one thread, as that takes divisions.
struct WideColumnTile {
  std::int64_t outer;
  std::int64_t number;     ///< in the strip
  std::int64_t first_row;  ///< of chunks
  int first_column;        ///< of the strip
  int columns;             ///< of the strip that exist
  bool exists;

  /// \param ticket index among the tiles of all strips
  static __device__ __forceinline__ WideColumnTile find(const WideColumnPlan& plan,
                                                        std::int64_t ticket) {
    const Division at(ticket, plan.strips);
    const Division strip(at.remainder, plan.strips_of_row);
    const int first_column = static_cast<int>(strip.remainder) * plan.columns;
    const int left = plan.inner - first_column;
    return {strip.quotient,
            at.quotient,
            at.quotient * plan.rows_of_tile(),
            first_column,
            left < plan.columns ? left : plan.columns,
            at.quotient < plan.tiles};
  }
  /// The section, and the first row in it.
  [[nodiscard]] __device__ __forceinline__ std::int64_t section() const {
    return first_row / rows_of_section;
  }
  [[nodiscard]] __device__ __forceinline__ int row() const {
    return static_cast<int>(first_row % rows_of_section);
  }
};

/// Elements in memory between neighbouring columns.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t stride_of_columns(const Batch& batch,
                                                           const Strides& strides) {
  return batch.rank == 0 ? 0 : strides.batch[batch.rank - 1];
}

/// This thread's part of a tile: E quarters of rows of chunks, side by side or, in strips too
/// narrow for that, one below the other.
template <int E>
struct WideColumnPart {
  const WideColumnTile& tile;
  const WideColumnPlan& plan;
  std::int64_t n;
  std::int64_t k;     ///< the first element of quarter 0
  int column;         ///< of quarter 0, in the strip
  int quarter;        ///< the number of quarter 0 in the tile
  int first_of_warp;  ///< column of quarter 0 of its first lane, in the strip
  int length[E];      ///< elements of each quarter, none if it does not exist

  __device__ __forceinline__ WideColumnPart(const WideColumnTile& of_block,
                                            const WideColumnPlan& of_strips, std::int64_t elements)
      : tile(of_block), plan(of_strips), n(elements) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const bool is_stacked = plan.is_stacked;
    const int quarters = is_stacked ? E : 1;  // of the thread, in a column
    const int warps = plan.quarters_of_tile / quarters;
    const int across = warp / warps;
    quarter = (warp - across * warps) * quarters;
    first_of_warp = across * (is_stacked ? 1 : E) * lanes;
    column = first_of_warp + (plan.are_packs ? lane * E : lane);
    k = tile.first_row * elements_of_row + quarter * elements_of_quarter;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const std::int64_t left = column_of(e) < tile.columns ? n - first(e) : 0;
      length[e] = left <= 0 ? 0 : (left < elements_of_quarter ? left : elements_of_quarter);
    }
    if (length[0] == 0) column = 0;
  }
  /// Columns from one quarter to the next.
  [[nodiscard]] __device__ __forceinline__ int beside() const {
    return plan.is_stacked ? 0 : (plan.are_packs ? 1 : lanes);
  }
  [[nodiscard]] __device__ __forceinline__ bool exists(int e) const { return length[e] > 0; }
  [[nodiscard]] __device__ __forceinline__ int column_of(int e) const {
    return column + e * beside();
  }
  [[nodiscard]] __device__ __forceinline__ int quarter_of(int e) const {
    return plan.is_stacked ? quarter + e : quarter;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t first(int e) const {
    return plan.is_stacked ? k + e * elements_of_quarter : k;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int e = 0) const {
    return {batch, tile.outer, tile.first_column + column_of(e)};
  }
  /// Elements in memory from one quarter to the next.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance(const Batch& batch,
                                                                 const Strides& strides) const {
    return plan.is_stacked ? elements_of_quarter * strides.along
                           : beside() * stride_of_columns(batch, strides);
  }
  /// Whether the warp has elements.
  [[nodiscard]] __device__ __forceinline__ bool has_elements() const {
    return first_of_warp < tile.columns && k < n;
  }
  /// The first of the columns of which the lanes have quarter e, unless they have packs.
  [[nodiscard]] __device__ __forceinline__ int first_column_of_warp(int e) const {
    return first_of_warp + (plan.is_stacked ? 0 : e * lanes);
  }
};

/// Whether elements of a line are closer in memory than those of neighbouring lines, as where
/// layouts change. Warps then access memory line by line, and their lanes exchange elements in
/// shared memory.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool lies_along_lines(const Array<T>& array, const Batch& batch) {
  return sizeof(T) <= bytes_of_exchanged &&
         magnitude(array.strides.along) < magnitude(stride_of_columns(batch, array.strides));
}
/// Shared memory of a warp for such an array.
template <class T, int E>
__device__ __forceinline__ T* exchanged(const WideColumnPart<E>& at) {
  return reinterpret_cast<T*>(shared_memory() + at.plan.bytes_before_exchange +
                              threadIdx.x / lanes * at.plan.bytes_of_exchange);
}
/// Copies the quarters of a warp from such an array to shared memory or, if it is not constant,
/// from there to the array. Not inlined, as that would take the caller's registers.
///
/// \param shift the place of a quarter's first element in the array, from its place in the line;
///              elements that this moves to the next quarter are not copied
template <class T, int E>
__device__ __noinline__ void exchange(const Array<T>& array, const Batch& batch,
                                      const WideColumnPart<E> at, int shift) {
  using Value = std::remove_const_t<T>;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t across = stride_of_columns(batch, array.strides);
  Value* slot = exchanged<Value>(at) + lane;
  __syncwarp();
  for (int e = 0; e < E; ++e) {
    const std::int64_t k = at.first(e) + lane + shift;
    const int column = at.first_column_of_warp(e);
    const int left = at.tile.columns - column;
    const bool exists = lane + shift < elements_of_quarter && k < at.n;
    const int count = exists ? (left < lanes ? left : lanes) : 0;
    T* element = array.line(ColumnPlace{batch, at.tile.outer, at.tile.first_column + column}).data +
                 k * array.strides.along;
#pragma unroll 8
    for (int c = 0; c < count; ++c, element += across) {
      Value& in_shared_memory = slot[c * pitch_of_exchange];
      if constexpr (!std::is_const_v<T>) {
        *element = in_shared_memory;
      } else if constexpr (is_copied_apart<T>) {
        __pipeline_memcpy_async(&in_shared_memory, element, sizeof(T));
      } else {
        in_shared_memory = *element;
      }
    }
    slot += apart_of_exchange;
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
}

/// Loads the quarters of a thread: x[v][e] becomes the v-th element of quarter e, or A{} behind its
/// end. Nothing is computed before the last load is requested, as that would wait for the first.
template <class In, int E, class A, int V>
__device__ __forceinline__ void load_quarters(const In& in, const Batch& batch,
                                              const WideColumnPart<E>& at, A (&x)[V][E]) {
#pragma unroll
  for (int e = 0; e < E; ++e) {
    const auto line = in.line(at.place(batch, at.exists(e) ? e : 0));
    if (at.length[e] == V) {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][e] = static_cast<A>(line(at.first(e) + v));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        x[v][e] = v < at.length[e] ? static_cast<A>(line(at.first(e) + v)) : A{};
      }
    }
  }
}
template <class T, int E, class A, int V>
__device__ __forceinline__ void load_quarters(const Array<const T>& in, const Batch& batch,
                                              const WideColumnPart<E>& at, A (&x)[V][E]) {
  const std::int64_t along = in.strides.along;
  const T* row = in.line(at.place(batch)).data + at.k * along;
  if constexpr (E > 1 && is_one_move<static_cast<int>(sizeof(T)) * E>) {
    if (at.beside() == 1) {
      using Word = typename UnitOf<sizeof(T) * E>::type;
      Word words[V];
#pragma unroll
      for (int v = 0; v < V; ++v, row += along) {
        words[v] = v < at.length[0] ? *reinterpret_cast<const Word*>(row) : Word{};
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        T pack[E];
        memcpy(static_cast<void*>(pack), &words[v], sizeof(Word));
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(pack[e]);
      }
      return;
    }
  }
  T raw[V][E];
  const auto load = [&](const T* from, std::int64_t step, std::int64_t apart) {
#pragma unroll
    for (int v = 0; v < V; ++v, from += step) {
#pragma unroll
      for (int e = 0; e < E; ++e) raw[v][e] = v < at.length[e] ? from[e * apart] : T{};
    }
  };
  // Bytes cannot be copied asynchronously, and L1 serves them well.
  if (is_copied_apart<T> && lies_along_lines(in, batch)) {
    exchange(in, batch, at, 0);
    load(exchanged<T>(at) + threadIdx.x % lanes * pitch_of_exchange, 1, apart_of_exchange);
  } else {
    load(row, along, at.distance(batch, in.strides));
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
#pragma unroll
    for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(raw[v][e]);
  }
}

/// Stores the quarters of a thread: x[v][e] becomes the element `shift` behind the v-th of quarter
/// e, unless that is behind the quarter.
template <class Value, int E, class A, int V>
__device__ __forceinline__ void store_quarters(const Array<Value>& out, const Batch& batch,
                                               const WideColumnPart<E>& at, int shift,
                                               const A (&x)[V][E]) {
  const std::int64_t along = out.strides.along;
  const std::int64_t apart = at.distance(batch, out.strides);
  Value* to = out.line(at.place(batch)).data + (at.k + shift) * along;
  if (V > 1 && lies_along_lines(out, batch)) {
    Value* own = exchanged<Value>(at) + threadIdx.x % lanes * pitch_of_exchange;
    __syncwarp();
#pragma unroll
    for (int v = 0; v < V; ++v, ++own) {
#pragma unroll
      for (int e = 0; e < E; ++e) own[e * apart_of_exchange] = static_cast<Value>(x[v][e]);
    }
    return exchange(out, batch, at, shift);
  }
  if (at.beside() == 1) {
    if constexpr (E > 1 && is_one_move<static_cast<int>(sizeof(Value)) * E>) {
      const int count = at.length[0] - shift;
#pragma unroll
      for (int v = 0; v < V; ++v, to += along) {
        Value y[E];
#pragma unroll
        for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
        if (v < count) move_pack(reinterpret_cast<std::byte*>(to), y);
      }
    }
    return;
  }
#pragma unroll
  for (int v = 0; v < V; ++v, to += along) {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (v < at.length[e] - shift) to[e * apart] = static_cast<Value>(x[v][e]);
    }
  }
}
/// A function, called quarter by quarter, as each has its own indices.
template <class Value, int Rank, class Function, int E, class A, int V>
__device__ __forceinline__ void store_quarters(const Called<Value, Rank, Function>& out,
                                               const Batch& batch, const WideColumnPart<E>& at,
                                               int shift, const A (&x)[V][E]) {
#pragma unroll
  for (int e = 0; e < E; ++e) {
    if (!at.exists(e)) continue;
    const auto line = out.line(at.place(batch, e));
    const int count = V == 1 ? 1 : at.length[e] - shift;
#pragma unroll
    for (int v = 0; v < V; v += chunk_of_column) {
      call_for_chunk(line, at.first(e) + shift + v, count - v, x, e, v);
    }
  }
}

/// Whether one instruction moves the neighbouring columns of a thread, if they are aligned.
template <class P>
inline constexpr bool has_wide_packs = [] {
  constexpr int E = quarters_of_wide_thread(sizeof(KeptType<P>));
  return E > 1 && OperandAccess<decltype(P::input)>::is_stored &&
         OperandAccess<decltype(P::input)>::template moves_columns<E> &&
         OperandAccess<decltype(P::output)>::template moves_columns<E>;
}();

}  // namespace KokkosScan::impl::cuda
