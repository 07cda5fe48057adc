// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of columns between global and shared memory that are not made of aligned packs.
///
/// Rows follow each other in scan order. Each begins as many bytes behind a multiple of 16 as in
/// global memory, so that it can be copied with all of the quads in which it lies, whatever its
/// alignment: a copy in bulk for each, where loads of 4 bytes a lane took a third of all
/// instructions, and 0.51 instead of 0.63 of (1, 117649, 2401). What else these quads hold belongs
/// to neighbours that others may be storing; it is copied, but not read.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/column_tiles.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The rows of an input in memory that belong to a tile of columns.
template <class In>
struct StagedRows;

template <class T>
struct StagedRows<Array<const T>> {
  using Value = T;
  static constexpr int size = sizeof(T);

  /// How far apart rows are in shared memory.
  __host__ __device__ static constexpr int pitch(int columns) {
    return (columns * size + 2 * quad - 1 - unit_of<T>) / quad * quad;
  }
  /// Bytes of shared memory.
  static constexpr int bytes(int rows, int columns) { return rows * pitch(columns); }

  /// \param memory of which the rows take their share
  template <class Tile>
  __device__ __forceinline__ void place(const Array<const T>& in, const Tile& tile,
                                        std::byte*& memory) {
    const std::int64_t along = in.strides.along;
    m_rows = memory;
    m_pitch = pitch(tile.tiling.columns);
    m_first = in.data + tile.place(0).offset(in.strides) + tile.begin * along;
    m_begin = misalignment(m_first);
    m_step = static_cast<int>(along * size & (quad - 1));
    memory += tile.tiling.rows * m_pitch;
  }
  /// \param n elements of a column
  template <class Tile>
  __device__ __forceinline__ void begin_load(const Array<const T>& in, const Tile& tile,
                                             std::int64_t n, Barrier& barrier,
                                             const Threads& threads) const {
    // The bytes that surely belong to the array: those of the slab and between its rows.
    const std::int64_t along = in.strides.along;
    const std::int64_t last = (n - 1) * along;
    const T* const slab = m_first - tile.begin * along - tile.first_column;
    const std::byte* const lowest = bytes_of(slab + (last < 0 ? last : 0));
    const std::byte* const highest = bytes_of(slab + (last > 0 ? last : 0) + tile.tiling.inner);

    // A row for each thread, which copies it in bulk, or for each warp.
    const int of_row = has_bulk_copies() ? 1 : lanes;
    const int bytes = tile.columns * size;
    const int own = threads.own % of_row;
    for (int k = threads.own / of_row; k < tile.rows; k += threads.count / of_row) {
      const std::byte* const row = bytes_of(m_first + k * along);
      std::byte* const to = m_rows + k * m_pitch;
      const int before = misalignment(row);
      const std::byte* const quads = row - before;
      const int bytes_of_quads = (before + bytes + quad - 1) / quad * quad;
      if (quads >= lowest && quads + bytes_of_quads <= highest) {
        if (has_bulk_copies()) {
          barrier.begin_bulk_load(to, quads, bytes_of_quads);
        } else {
          for (int b = own * quad; b < bytes_of_quads; b += of_row * quad) {
            __pipeline_memcpy_async(to + b, quads + b, quad);
          }
        }
      } else {
        for (int b = own * unit_of<T>; b < bytes; b += of_row * unit_of<T>) {
          using Word = typename UnitOf<unit_of<T>>::type;
          *reinterpret_cast<Word*>(to + before + b) = *reinterpret_cast<const Word*>(row + b);
        }
      }
    }
  }
  /// Reads a chunk of a column.
  ///
  /// \param k the first element, in scan order; a multiple of eight
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int k, int column, int length, A (&x)[V]) const {
    // Rows that are eight apart begin alike, unless they are made of single bytes.
    const int begin = size > 1 ? m_begin : m_begin + k * m_step;
    const std::byte* const chunk = m_rows + k * m_pitch + column * size;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int distance = v * m_pitch + ((begin + v * m_step) & (quad - 1));
      x[v] = is_whole || v < length ? static_cast<A>(*reinterpret_cast<const T*>(chunk + distance))
                                    : A{};
    }
  }

 private:
  static __device__ __forceinline__ const std::byte* bytes_of(const T* at) {
    return reinterpret_cast<const std::byte*>(at);
  }

  const T* m_first;   ///< in global memory
  std::byte* m_rows;  ///< a multiple of 16
  int m_pitch;
  int m_begin;  ///< bytes of the first row behind a multiple of 16
  int m_step;   ///< from row to row, as far as that changes
};

/// One value a line: read where it is.
template <class T>
struct StagedRows<ValueOfLine<T>> {
  using Value = std::remove_const_t<T>;

  static constexpr int bytes(int, int) { return 0; }
  template <class Tile>
  __device__ __forceinline__ void place(const ValueOfLine<T>& in, const Tile& tile, std::byte*&) {
    const Strides& strides = in.values.strides;
    m_first = in.values.data + tile.place(0).offset(strides);
    m_across = strides.batch[tile.batch.rank - 1];
  }
  template <class Tile>
  __device__ __forceinline__ void begin_load(const ValueOfLine<T>&, const Tile&, std::int64_t,
                                             Barrier&, const Threads&) const {}
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int, int column, int, A (&x)[V]) const {
    const A value = static_cast<A>(m_first[column * m_across]);
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = value;
  }

 private:
  const T* m_first;
  std::int64_t m_across;
};
template <>
struct StagedRows<List<>> {
  static constexpr int bytes(int, int) { return 0; }
  template <class Tile>
  __device__ __forceinline__ void place(const List<>&, const Tile&, std::byte*&) {}
  template <class Tile>
  __device__ __forceinline__ void begin_load(const List<>&, const Tile&, std::int64_t, Barrier&,
                                             const Threads&) const {}
  template <bool is_whole, class Function, class A, int V, class... Chunks>
  __device__ __forceinline__ void call(const Function& function, int, int, int, A (&x)[V],
                                       const Chunks&... chunks) const {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = static_cast<A>(rounded(function(chunks[v]...)));
  }
};
template <class First, class... Rest>
struct StagedRows<List<First, Rest...>> {
  using In = List<First, Rest...>;

  static constexpr int bytes(int rows, int columns) {
    return StagedRows<First>::bytes(rows, columns) +
           StagedRows<List<Rest...>>::bytes(rows, columns);
  }
  template <class Tile>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, std::byte*& memory) {
    m_first.place(in.first, tile, memory);
    m_rest.place(in.rest, tile, memory);
  }
  template <class Tile>
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, std::int64_t n,
                                             Barrier& barrier, const Threads& threads) const {
    m_first.begin_load(in.first, tile, n, barrier, threads);
    m_rest.begin_load(in.rest, tile, n, barrier, threads);
  }
  /// x becomes function(chunks..., those of this list).
  template <bool is_whole, class Function, class A, int V, class... Chunks>
  __device__ __forceinline__ void call(const Function& function, int k, int column, int length,
                                       A (&x)[V], const Chunks&... chunks) const {
    typename StagedRows<First>::Value own[V];
    m_first.template get_chunk<is_whole>(k, column, length, own);
    m_rest.template call<is_whole>(function, k, column, length, x, chunks..., own);
  }

 private:
  StagedRows<First> m_first;
  StagedRows<List<Rest...>> m_rest;
};
template <class Function, class Parts>
struct StagedRows<ZippedInput<Function, Parts>> {
  using In = ZippedInput<Function, Parts>;
  using Value = std::remove_cvref_t<decltype(std::declval<In>().line(Coordinates{})(0))>;

  static constexpr int bytes(int rows, int columns) {
    return StagedRows<Parts>::bytes(rows, columns);
  }
  template <class Tile>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, std::byte*& memory) {
    m_function.keep(in.function);
    m_parts.place(in.parts, tile, memory);
  }
  template <class Tile>
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, std::int64_t n,
                                             Barrier& barrier, const Threads& threads) const {
    m_parts.begin_load(in.parts, tile, n, barrier, threads);
  }
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int k, int column, int length, A (&x)[V]) const {
    m_parts.template call<is_whole>(m_function.function, k, column, length, x);
  }

 private:
  StagedRows<Parts> m_parts;
  KeptFunction<Function> m_function;
};

template <class A, class Values, class Mask>
struct StagedRows<Selected<A, Values, Mask>> {
  using In = Selected<A, Values, Mask>;
  using Value = A;

  static constexpr int bytes(int rows, int columns) {
    return StagedRows<Values>::bytes(rows, columns) + StagedRows<Mask>::bytes(rows, columns);
  }
  template <class Tile>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, std::byte*& memory) {
    m_values.place(in.values, tile, memory);
    m_mask.place(in.mask, tile, memory);
    m_identity = in.identity;
  }
  template <class Tile>
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, std::int64_t n,
                                             Barrier& barrier, const Threads& threads) const {
    m_values.begin_load(in.values, tile, n, barrier, threads);
    m_mask.begin_load(in.mask, tile, n, barrier, threads);
  }
  template <bool is_whole, class Accumulator, int V>
  __device__ __forceinline__ void get_chunk(int k, int column, int length,
                                            Accumulator (&x)[V]) const {
    typename StagedRows<Mask>::Value selected[V];
    m_values.template get_chunk<is_whole>(k, column, length, x);
    m_mask.template get_chunk<is_whole>(k, column, length, selected);
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = static_cast<bool>(selected[v]) ? x[v] : m_identity;
  }

 private:
  StagedRows<Values> m_values;
  StagedRows<Mask> m_mask;
  A m_identity;
};

}  // namespace KokkosScan::impl::cuda
