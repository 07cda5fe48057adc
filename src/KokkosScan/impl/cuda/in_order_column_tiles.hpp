// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Columns in order, through shared memory: where there are so few of them that registers cannot
/// hold what must be on its way, and where their rows are not aligned. A block has neighbouring
/// columns, of which some threads have one each; all of them move elements. Tiles of some rows come
/// ahead, 16 bytes at a time whatever the alignment of a row: it begins as many bytes behind a
/// multiple of 16 in shared memory as it does in global memory. Results take the place of elements,
/// and leave in the same way.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Threads of a block, and its columns: where there are few columns, and where not.
inline constexpr int threads_of_column_tile = 128;
inline constexpr int few_columns_of_tile = 32;
inline constexpr int columns_of_tile = 128;
/// Columns for each multiprocessor below which they are few.
inline constexpr int few_columns_in_order = 256;
/// Blocks on a multiprocessor that are worth shared memory.
inline constexpr int most_column_tiles_resident = 8;
/// The fewest neighbouring columns that are worth it.
inline constexpr int least_columns_of_tile = 16;

/// A tile of columns.
template <class A, int width>
struct ColumnTileShape {
  static constexpr int quads_of_row = width * static_cast<int>(sizeof(A)) / quad + 1;
  static constexpr int pitch = quads_of_row * quad;  ///< bytes from row to row
  static constexpr int rows =
      std::max(4, (width > few_columns_of_tile ? 64 : 128) / static_cast<int>(sizeof(A)));
  static constexpr int bytes = rows * pitch;
};

/// Rows of some neighbouring columns in global memory.
template <class T>
struct RowsOfColumns {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

  Byte* first;             ///< of the row that is scanned first
  std::int64_t distance;   ///< bytes from row to row
  int shift, shift_along;  ///< bytes behind a multiple of 16: of the first row; more in each other

  __device__ __forceinline__ RowsOfColumns(T* data, std::int64_t along)
      : first(reinterpret_cast<Byte*>(data)),
        distance(along * static_cast<std::int64_t>(sizeof(T))),
        shift(static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % quad)),
        shift_along(static_cast<int>(distance % quad)) {}
  /// Bytes that row k begins behind a multiple of 16.
  [[nodiscard]] __device__ __forceinline__ int shift_of(std::int64_t k) const {
    return (shift + static_cast<int>(k % quad) * shift_along) & (quad - 1);
  }
};

/// A block of columns.
template <int width, class P>
class BlockOfColumns {
  using A = typename P::A;
  using Shape = ColumnTileShape<A, width>;
  static constexpr int size = sizeof(A);
  static constexpr int rows = Shape::rows;
  /// Elements that a thread has in registers.
  static constexpr int chunk = std::min(rows, 8);
  static_assert(rows % chunk == 0);

 public:
  __device__ __forceinline__ BlockOfColumns(const P& problem, int stages)
      : BlockOfColumns(problem, stages, strip_of(problem)) {}

  __device__ __forceinline__ void run() {
    const bool has_column = m_thread < m_columns;
    const Coordinates place = m_p.batch.coordinates(m_number + (has_column ? m_thread : 0));
    const Ends<P> ends{m_p};
    RunningFold<P> fold(m_p.start.at(place));
    int loaded = 0;
    std::int64_t k_to_load = 0;
    const auto load_next = [&] {
      if (k_to_load < m_p.n) load(k_to_load, loaded);
      __pipeline_commit();
      k_to_load += rows;
      loaded = loaded + 1 == m_stages ? 0 : loaded + 1;
    };
    for (int i = 1; i < m_stages; ++i) load_next();
    if (has_column) ends.store_begin(place, fold.result(m_p));
    int stage = 0;
    for (std::int64_t k = 0; k < m_p.n; k += rows) {
      wait_for_copies(m_stages - 2);
      __syncthreads();
      // To where the tile before was, which all threads have stored.
      load_next();
      if (has_column) combine(fold, k, stage);
      if (m_stores_quads) {
        __syncthreads();
        store(k, stage);
      }
      stage = stage + 1 == m_stages ? 0 : stage + 1;
    }
    if (has_column) ends.store_end(place, fold.result(m_p));
  }

 private:
  /// Which columns a block has.
  struct Strip {
    std::int64_t number;  ///< of the first
    int columns;
  };
  __device__ __forceinline__ static Strip strip_of(const P& p) {
    const std::int64_t inner = p.batch.extent[p.batch.rank - 1];
    const Division at(blockIdx.x, (inner + width - 1) / width);
    const std::int64_t left = inner - at.remainder * width;
    return {at.quotient * inner + at.remainder * width,
            left < width ? static_cast<int>(left) : width};
  }
  __device__ __forceinline__ BlockOfColumns(const P& problem, int stages, const Strip& strip)
      : m_p(problem),
        m_thread(static_cast<int>(threadIdx.x)),
        m_stages(stages),
        m_number(strip.number),
        m_columns(strip.columns),
        m_in(problem.input.line(problem.batch.coordinates(strip.number)).data,
             problem.input.strides.along),
        m_out(problem.output.line(problem.batch.coordinates(strip.number)).data,
              problem.output.strides.along),
        m_stores_quads(m_in.shift == m_out.shift &&
                       (m_in.shift_along - m_out.shift_along) % quad == 0) {}

  [[nodiscard]] __device__ __forceinline__ std::byte* row(int stage, int r) const {
    return shared_memory() + stage * Shape::bytes + r * Shape::pitch;
  }
  [[nodiscard]] __device__ __forceinline__ int rows_at(std::int64_t k) const {
    const std::int64_t left = m_p.n - k;
    return left < rows ? static_cast<int>(left) : rows;
  }

  /// Calls of_quad(global, shared) for the whole quads of a tile's rows, and of_element likewise
  /// for the elements before and behind them.
  template <class Rows, class Quad, class Element>
  __device__ __forceinline__ void for_each_quad(const Rows& global, std::int64_t k, int stage,
                                                const Quad& of_quad,
                                                const Element& of_element) const {
    constexpr int all = rows * Shape::quads_of_row;
    const int count = rows_at(k);
    const int bytes = m_columns * size;
#pragma unroll
    for (int first = 0; first < all; first += threads_of_column_tile) {
      const int i = first + m_thread;
      const int r = i / Shape::quads_of_row;
      if (r >= count) continue;
      const int q = i % Shape::quads_of_row;
      const int shift = m_in.shift_of(k + r);
      const auto from = global.first + (k + r) * global.distance;
      std::byte* const slots = row(stage, r) + shift;
      const int begin = q * quad - shift;
      if (begin >= 0 && begin + quad <= bytes) {
        of_quad(from + begin, slots + begin);
      } else {
#pragma unroll 1
        for (int b = begin < 0 ? 0 : begin; b < bytes && b < begin + quad; b += size) {
          of_element(from + b, slots + b);
        }
      }
    }
  }
  __device__ __forceinline__ void load(std::int64_t k, int stage) const {
    for_each_quad(
        m_in, k, stage,
        [](const std::byte* global, std::byte* shared) {
          __pipeline_memcpy_async(shared, global, quad);
        },
        [](const std::byte* global, std::byte* shared) {
          __pipeline_memcpy_async(shared, global, size);
        });
  }
  __device__ __forceinline__ void store(std::int64_t k, int stage) const {
    for_each_quad(
        m_out, k, stage,
        [](std::byte* global, const std::byte* shared) {
          *reinterpret_cast<uint4*>(global) = *reinterpret_cast<const uint4*>(shared);
        },
        [](std::byte* global, const std::byte* shared) {
          *reinterpret_cast<A*>(global) = *reinterpret_cast<const A*>(shared);
        });
  }
  [[nodiscard]] __device__ __forceinline__ A* slot(std::int64_t k, int stage, int r) const {
    return reinterpret_cast<A*>(row(stage, r) + m_in.shift_of(k + r)) + m_thread;
  }
  /// Combines a thread's elements of a tile. Where the results lie otherwise than the elements, it
  /// stores them as well.
  __device__ __forceinline__ void combine(RunningFold<P>& fold, std::int64_t k, int stage) const {
    const bool is_exclusive = m_p.form == Form::exclusive;
    const int count = rows_at(k);
    A next[chunk];
#pragma unroll
    for (int i = 0; i < chunk; ++i) next[i] = *slot(k, stage, i);
#pragma unroll
    for (int first = 0; first < rows; first += chunk) {
      if (first >= count) continue;
      A x[chunk];
#pragma unroll
      for (int i = 0; i < chunk; ++i) x[i] = next[i];
      // Before these are stored, as the next may seem to be in their places.
      if (first + chunk < rows) {
#pragma unroll
        for (int i = 0; i < chunk; ++i) next[i] = *slot(k, stage, first + chunk + i);
      }
      const int length = count - first < chunk ? count - first : chunk;
      fold.template scan<false>(m_p, x, length, 0, is_exclusive);
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        if (m_stores_quads) {
          *slot(k, stage, first + i) = x[i];
        } else if (i < length) {
          reinterpret_cast<A*>(m_out.first + (k + first + i) * m_out.distance)[m_thread] = x[i];
        }
      }
    }
  }

  const P& m_p;
  int m_thread;
  int m_stages;
  std::int64_t m_number;
  int m_columns;
  RowsOfColumns<const A> m_in;
  RowsOfColumns<A> m_out;
  bool m_stores_quads;
};

/// Scans columns whose elements are copied, without a mask.
///
/// \param stages tiles of a block that are there at once, two or more
template <int width, class P>
__global__ void __launch_bounds__(threads_of_column_tile)
    scan_column_tiles_in_order(const __grid_constant__ P p, const int stages) {
  BlockOfColumns<width, P>(p, stages).run();
}

}  // namespace KokkosScan::impl::cuda
