// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The elements of a tile of columns in shared memory, row by row.
///
/// Rows are in scan order. Each row of an array begins at the same offset from a multiple of 16 as
/// in global memory, so that it can be copied as whole quads, whatever its alignment. The bytes
/// before a row in its first quad belong to neighbours that other blocks may be storing; they are
/// copied, but not used. Rows of equal alignment are copied with 16 bytes per thread, which then
/// takes few instructions and is faster; long rows of varying alignment are copied with one bulk
/// copy each. Elements that are computed, or not contiguous in memory, are loaded one by one.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/column_tiles.hpp>
#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/staged_inputs.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The rows of an input that belong to a tile of columns.
///
///     bytes_of_element                   in shared memory, without padding for alignment
///     bytes(rows, columns)               of a tile
///     place(in, tile, memory)            allocates the rows from the memory
///     begin_load(in, tile, barrier, threads)
///                                        loads the tile, or begins copies for which the barrier
///                                        waits
///     get_chunk<is_whole>(k, column, length, x)
///                                        reads a chunk of a column, from element k on
template <class In>
struct StagedRows;

/// Fewest bytes of a row for a bulk copy: a multiprocessor needs about 50 cycles to issue one
/// (H200), too long for shorter rows.
inline constexpr int least_bytes_in_bulk = 128;

/// Rows of values. Row k begins `begin + k * step` bytes (modulo 16) after a multiple of 16.
template <class T>
class RowsOfValues {
 public:
  using Value = T;
  static constexpr int size = sizeof(T);
  static constexpr int bytes_of_element = size;

  /// The distance between rows in shared memory.
  __host__ __device__ static constexpr int pitch(int columns) {
    return (columns * size + 2 * quad - 1 - unit_of<T>) / quad * quad;
  }
  static constexpr int bytes(int rows, int columns) { return rows * pitch(columns); }

  /// Reads a chunk of a column.
  ///
  /// \param k the first element, in scan order; a multiple of eight
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int k, int column, int length, A (&x)[V]) const {
    // Rows that are eight apart have equal alignment, unless elements are single bytes.
    const int begin = size > 1 ? m_begin : m_begin + k * m_step;
    const std::byte* const chunk = m_rows + k * m_pitch + column * size;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int distance = v * m_pitch + ((begin + v * m_step) & (quad - 1));
      x[v] = is_whole || v < length ? static_cast<A>(*reinterpret_cast<const T*>(chunk + distance))
                                    : A{};
    }
  }

 protected:
  /// \param begin, step of rows in bytes, modulo 16
  __device__ __forceinline__ void place(const ColumnTile& tile, std::byte*& memory, int begin,
                                        int step) {
    m_rows = memory;
    m_pitch = pitch(tile.tiling.columns);
    m_begin = begin;
    m_step = step;
    memory += tile.tiling.rows * m_pitch;
  }
  /// Whether all rows have equal alignment.
  [[nodiscard]] __device__ __forceinline__ bool begin_alike() const { return m_step == 0; }
  /// Where row k begins.
  [[nodiscard]] __device__ __forceinline__ std::byte* row(int k) const {
    return m_rows + k * m_pitch + ((m_begin + k * m_step) & (quad - 1));
  }
  template <class In>
  __device__ __forceinline__ void load_one_by_one(const In& in, const ColumnTile& tile,
                                                  const Threads& threads) const {
    load_chunks<T>(in, tile, threads, [&](int k, int column, const T& value) {
      *reinterpret_cast<T*>(row(k) + column * size) = value;
    });
  }

 private:
  std::byte* m_rows;  ///< aligned to 16 bytes
  int m_pitch;
  int m_begin;
  int m_step;
};

template <class T>
class StagedRows<Array<const T>> : public RowsOfValues<T> {
 public:
  __device__ __forceinline__ void place(const Array<const T>& in, const ColumnTile& tile,
                                        std::byte*& memory) {
    const std::int64_t along = in.strides.along;
    m_first = in.data + tile.place(0).offset(in.strides) + tile.begin * along;
    m_distance = along * this->size;
    RowsOfValues<T>::place(tile, memory, misalignment(m_first),
                           static_cast<int>(m_distance & (quad - 1)));
  }
  __device__ __forceinline__ void begin_load(const Array<const T>& in, const ColumnTile& tile,
                                             Barrier& barrier, const Threads& threads) const {
    if (tile.batch.rank > 0 && in.strides.batch[tile.batch.rank - 1] != 1) {
      return this->load_one_by_one(in, tile, threads);
    }
    const int bytes = tile.columns * this->size;
    if (this->begin_alike()) {
      begin_copies_alike(tile, bytes, threads);
    } else if (has_bulk_copies() && bytes >= least_bytes_in_bulk) {
      begin_bulk_copies(tile, bytes, barrier, threads);
    } else {
      begin_copies(tile, bytes, threads);
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ const std::byte* global_row(int k) const {
    return reinterpret_cast<const std::byte*>(m_first) + k * m_distance;
  }
  /// Copies rows of equal alignment: a thread copies the same quad of several rows.
  __device__ __forceinline__ void begin_copies_alike(const ColumnTile& tile, int bytes,
                                                     const Threads& threads) const {
    const int before = misalignment(m_first);
    const int quads = (before + bytes + quad - 1) / quad;
    const int rows_at_once = threads.count / quads;
    int k = threads.own / quads;
    if (k >= rows_at_once) return;
    const int own = (threads.own - k * quads) * quad - before;
    const std::byte* from = global_row(k) + own;
    std::byte* to = this->row(k) + own;
    const std::int64_t step = rows_at_once * m_distance;
    const int step_of_slots = rows_at_once * this->pitch(tile.tiling.columns);
#pragma unroll 4
    for (; k < tile.rows; k += rows_at_once) {
      begin_copy_of_quad(to, from, bytes - own);
      from += step;
      to += step_of_slots;
    }
  }
  /// The same for rows of any alignment.
  __device__ __forceinline__ void begin_copies(const ColumnTile& tile, int bytes,
                                               const Threads& threads) const {
    const int quads = (quad - unit_of<T> + bytes + quad - 1) / quad;
    const int rows_at_once = threads.count / quads;
    int k = threads.own / quads;
    if (k >= rows_at_once) return;
    const int own = (threads.own - k * quads) * quad;
#pragma unroll 4
    for (; k < tile.rows; k += rows_at_once) {
      const std::byte* const row = global_row(k);
      const int b = own - misalignment(row);
      if (b < bytes) begin_copy_of_quad(this->row(k) + b, row + b, bytes - b);
    }
  }
  __device__ __forceinline__ void begin_bulk_copies(const ColumnTile& tile, int bytes,
                                                    Barrier& barrier,
                                                    const Threads& threads) const {
    for (int k = threads.own; k < tile.rows; k += threads.count) {
      begin_bulk_load_of_quads(this->row(k), global_row(k), bytes, barrier);
    }
  }

  const T* m_first;  ///< in global memory
  std::int64_t m_distance;
};

/// Computed elements.
template <int Rank, class Function>
class StagedRows<Computed<Rank, Function>>
    : public RowsOfValues<typename Stage<Computed<Rank, Function>>::Value> {
  using In = Computed<Rank, Function>;

 public:
  __device__ __forceinline__ void place(const In&, const ColumnTile& tile, std::byte*& memory) {
    RowsOfValues<typename StagedRows::Value>::place(tile, memory, 0, 0);
  }
  __device__ __forceinline__ void begin_load(const In& in, const ColumnTile& tile, Barrier&,
                                             const Threads& threads) const {
    this->load_one_by_one(in, tile, threads);
  }
};

/// Indices along the axis are computed when they are read.
template <int Rank, class Index>
class StagedRows<Computed<Rank, IndexAlong<Index>>> {
  using In = Computed<Rank, IndexAlong<Index>>;

 public:
  using Value = Index;
  static constexpr int bytes_of_element = 0;
  static constexpr int bytes(int, int) { return 0; }

  __device__ __forceinline__ void place(const In& in, const ColumnTile& tile, std::byte*&) {
    m_first = in.first + in.step * tile.begin;
    m_step = in.step;
  }
  __device__ __forceinline__ void begin_load(const In&, const ColumnTile&, Barrier&,
                                             const Threads&) const {}
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int k, int, int, A (&x)[V]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[v] = static_cast<A>(static_cast<Index>(m_first + m_step * (k + v)));
    }
  }

 private:
  std::int64_t m_first, m_step;
};

/// One value per line, which is read in place.
template <class T>
struct StagedRows<ValueOfLine<T>> {
  using Value = std::remove_const_t<T>;

  static constexpr int bytes_of_element = 0;
  static constexpr int bytes(int, int) { return 0; }
  __device__ __forceinline__ void place(const ValueOfLine<T>& in, const ColumnTile& tile,
                                        std::byte*&) {
    const Strides& strides = in.values.strides;
    m_first = in.values.data + tile.place(0).offset(strides);
    m_across = strides.batch[tile.batch.rank - 1];
  }
  __device__ __forceinline__ void begin_load(const ValueOfLine<T>&, const ColumnTile&, Barrier&,
                                             const Threads&) const {}
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
/// An input that is made of others.
template <class In, class... Parts>
struct StagedRows<Composition<In, Parts...>> {
  using Value = typename Composition<In, Parts...>::Value;

  static constexpr int bytes_of_element = (0 + ... + StagedRows<Parts>::bytes_of_element);
  static constexpr int bytes(int rows, int columns) {
    return (0 + ... + StagedRows<Parts>::bytes(rows, columns));
  }
  __device__ __forceinline__ void place(const In& in, const ColumnTile& tile, std::byte*& memory) {
    m_function.keep(function_of(in));
    m_parts.visit(parts_of(in),
                  [&](auto& rows, const auto& part) { rows.place(part, tile, memory); });
  }
  __device__ __forceinline__ void begin_load(const In& in, const ColumnTile& tile, Barrier& barrier,
                                             const Threads& threads) {
    m_parts.visit(parts_of(in), [&](auto& rows, const auto& part) {
      rows.begin_load(part, tile, barrier, threads);
    });
  }
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get_chunk(int k, int column, int length, A (&x)[V]) const {
    combine_some(m_parts, m_function.function, x, [&](const auto& rows, auto& elements) {
      rows.template get_chunk<is_whole>(k, column, length, elements);
    });
  }

 private:
  Each<StagedRows<Parts>...> m_parts;
  KeptFunction<std::remove_cvref_t<typename Composition<In, Parts...>::Function>> m_function;
};
template <class In>
requires is_composed<In>
struct StagedRows<In> : StagedRows<composition_t<In>> {
};

}  // namespace KokkosScan::impl::cuda
