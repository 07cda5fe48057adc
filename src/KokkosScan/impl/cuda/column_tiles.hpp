// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns that no other kernel takes: short, few, unaligned, computed, or not
/// neighbours in memory.
///
/// A block takes a tile of rows and columns. Each thread folds chunks of its columns, the totals
/// meet in shared memory, and each thread scans its chunks with their prefixes (column_tree.hpp has
/// the combination tree). Wide rows are read and written in place. Narrow ones go through shared
/// memory, so that threads move elements in memory order. A column that is longer than the tile is
/// scanned tile after tile by the same block.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/staged_inputs.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// A chunk of a column of a tile.
struct ColumnChunk {
  int chunk;  ///< index in the tile's part of the column, in scan order
  int column;
};

/// Rows of neighbouring columns of a slab. Elements are numbered in memory order: row by row within
/// these columns. Where elements are not contiguous in memory, rows are a pitch apart.
struct ColumnTile {
  const Batch& batch;
  const ColumnTiling& tiling;
  std::int64_t outer;  ///< the slab
  std::int64_t begin;  ///< the first row, in scan order
  int first_column;
  int rows;
  int columns;
  bool backward;

  [[nodiscard]] __device__ __forceinline__ int elements() const { return rows * tiling.pitch; }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(int column) const {
    return {batch, outer, first_column + column};
  }
  /// Converts a row from scan order to memory order, or back.
  [[nodiscard]] __device__ __forceinline__ int in_memory_order(int k) const {
    return backward ? rows - 1 - k : k;
  }
  /// The number of a column's element in row k, in scan order.
  [[nodiscard]] __device__ __forceinline__ int element(int k, int column) const {
    return in_memory_order(k) * tiling.pitch + column;
  }
  /// The difference between the numbers of neighbours in scan order.
  [[nodiscard]] __device__ __forceinline__ int step() const {
    return backward ? -tiling.pitch : tiling.pitch;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnChunk chunk(int item) const {
    const int chunk = tiling.by_columns.quotient(item);
    return {chunk, item - chunk * tiling.columns};
  }
  /// The number of elements of a chunk, 0 if it does not exist.
  [[nodiscard]] __device__ __forceinline__ int length(const ColumnChunk& c) const {
    const int left = rows - c.chunk * chunk_of_column;
    const bool exists = c.chunk < tiling.groups && c.column < columns && left > 0;
    return exists ? (left < chunk_of_column ? left : chunk_of_column) : 0;
  }
  /// Null, since the layout of a tile differs from that of memory.
  template <class T>
  [[nodiscard]] static __device__ __forceinline__ T* flat(const Array<T>&) {
    return nullptr;
  }
  template <class Value, int Rank, class Function>
  [[nodiscard]] static __device__ __forceinline__ Value* flat(
      const Called<Value, Rank, Function>&) {
    return nullptr;
  }
};

/// Equidistant values.
template <class T, class Distance, int count>
struct SeveralOf {
  static constexpr int size = count;
  T* first;
  Distance distance;

  [[nodiscard]] __device__ __forceinline__ T& operator[](int i) const {
    return first[i * distance];
  }
};

/// Calls f(slots, addresses) for all elements of an array, several at a time, in memory order. The
/// threads share the elements. Slots are not padded.
template <class T, class F>
__device__ __forceinline__ void for_each_element(const ColumnTile& tile, const Array<T>& array,
                                                 const Slots<std::remove_const_t<T>>& slots,
                                                 const Threads& threads, const F& f) {
  using Value = std::remove_const_t<T>;
  const Strides& strides = array.strides;
  const std::int64_t along = tile.backward ? -strides.along : strides.along;
  const std::int64_t across = tile.batch.rank == 0 ? 0 : strides.batch[tile.batch.rank - 1];
  // Neighbouring threads take elements that are neighbours in memory, of a row or of a column. If
  // that is long, those are the threads of a warp.
  const bool by_rows = (across < 0 ? -across : across) <= (along < 0 ? -along : along);
  const int inner = by_rows ? tile.columns : tile.rows;
  const int outer = by_rows ? tile.rows : tile.columns;
  const std::int64_t inner_stride = by_rows ? across : along;
  const std::int64_t outer_stride = by_rows ? along : across;
  const int inner_step = by_rows ? 1 : tile.tiling.pitch;
  const int outer_step = by_rows ? tile.tiling.pitch : 1;
  int lanes_of_inner = lanes;
  int at_once = threads.count >> 5;  // a division would be merged with the one below
  int first = threads.own >> 5;
  if (inner < lanes) {
    lanes_of_inner = inner;
    at_once = threads.count / inner;
    first = threads.own / inner;
  }
  if (first >= at_once) return;
  const std::int64_t stride = at_once * outer_stride;
  const int step = at_once * outer_step;
  constexpr int most = 4;  // handled without conditions, so that loads do not wait for each other
  T* const data = array.data + tile.place(0).offset(strides) +
                  (tile.begin + tile.in_memory_order(0)) * strides.along;
  for (int i = threads.own - first * lanes_of_inner; i < inner; i += lanes_of_inner) {
    T* at = data + i * inner_stride + first * outer_stride;
    const int e = tile.element(tile.in_memory_order(0), 0) + i * inner_step + first * outer_step;
    Value* slot = slots.data() + e;
    int o = first;
    for (; o + (most - 1) * at_once < outer; o += most * at_once) {
      f(SeveralOf<Value, int, most>{slot, step}, SeveralOf<T, std::int64_t, most>{at, stride});
      at += most * stride;
      slot += most * step;
    }
    for (; o < outer; o += at_once) {
      f(SeveralOf<Value, int, 1>{slot, step}, SeveralOf<T, std::int64_t, 1>{at, stride});
      at += stride;
      slot += step;
    }
  }
}

/// Calls put(k, column, element) for the elements of a tile, where k is the row in scan order. The
/// threads share the chunks.
template <class T, class In, class Put>
__device__ __forceinline__ void load_chunks(const In& in, const ColumnTile& tile,
                                            const Threads& threads, const Put& put) {
  constexpr int V = chunk_of_column;
  for (int item = threads.own; item < tile.tiling.items(); item += threads.count) {
    const ColumnChunk c = tile.chunk(item);
    const int length = tile.length(c);
    if (length == 0) continue;
    const auto line = in.line(tile.place(c.column));
    const int first = c.chunk * V;
    const std::int64_t k = tile.begin + first;
    if (length == V) {
      // Without conditions, so that the loads do not wait for each other.
      T x[V];
#pragma unroll
      for (int v = 0; v < V; ++v) x[v] = line(k + v);
#pragma unroll
      for (int v = 0; v < V; ++v) put(first + v, c.column, x[v]);
    } else {
      for (int v = 0; v < length; ++v) put(first + v, c.column, T(line(k + v)));
    }
  }
}
/// Computes the elements of a tile.
template <class T, class In>
__device__ __forceinline__ void fill_columns(const Slots<T>& slots, const In& in,
                                             const ColumnTile& tile, const Threads& threads) {
  load_chunks<T>(in, tile, threads, [&](int k, int column, const T& value) {
    slots.data()[tile.element(k, column)] = value;
  });
}

/// Calls a function for the results of a tile; neighbouring threads take neighbouring columns.
template <class Value, int Rank, class Function>
__device__ __forceinline__ void call_for_results(const Slots<Value>& results,
                                                 const Called<Value, Rank, Function>& output,
                                                 const ColumnTile& tile, const Threads& threads) {
  const int rows_at_once = threads.count > tile.columns ? threads.count / tile.columns : 1;
  const int first = rows_at_once > 1 ? threads.own / tile.columns : 0;
  if (first >= rows_at_once) return;
  for (int column = threads.own - first * tile.columns; column < tile.columns;
       column += threads.count) {
    const auto line = output.line(tile.place(column));
    int e = tile.element(first, column);
    const int step = rows_at_once * tile.step();
#pragma unroll 8
    for (int k = first; k < tile.rows; k += rows_at_once, e += step) {
      line(tile.begin + k) = results.data()[e];
    }
  }
}

/// The task of a block: tiles of the same columns, one after the other.
struct ColumnTask {
  std::int64_t outer;  ///< the slab
  int first_column;
  int columns;

  static __device__ __forceinline__ ColumnTask find(const ColumnTiling& tiling, unsigned number) {
    // In memory order: strips of the same rows are neighbours.
    const auto strips = static_cast<unsigned>(tiling.strips);
    const unsigned outer = strips == 1 ? number : number / strips;
    const int strip = static_cast<int>(number - outer * strips);
    const int first_column = strip * tiling.columns;
    const int columns = tiling.inner - first_column;
    return {outer, first_column, columns < tiling.columns ? columns : tiling.columns};
  }
};

/// Whether each line has a starting value of its own.
template <class P>
inline constexpr bool has_starts_of_lines =
    !std::is_same_v<decltype(P::start), CommonStart<typename P::A>>;

/// Which operands of a tile go through shared memory.
struct ColumnStaging {
  bool input;
  bool results;
};

/// Bytes of shared memory before the elements of a tile.
template <class P>
__host__ __device__ constexpr int bytes_before_tile(const ColumnTiling& tiling) {
  using R = typename Types<P>::R;
  int folds = tiling.totals() + tiling.full_quarters * tiling.columns;
  if (tiling.is_carried()) {
    folds += 2 * ColumnCarry<R>::folds * tiling.columns;
  } else if (has_starts_of_lines<P>) {
    folds += tiling.columns;
  }
  return (folds * static_cast<int>(sizeof(R)) + quad - 1) / quad * quad;
}

/// Scans columns.
template <class P>
__global__ void __launch_bounds__(most_threads_of_columns, blocks_of_columns(sizeof(typename P::A)))
    scan_column_tiles(const __grid_constant__ P problem,
                      const __grid_constant__ ColumnTiling tiling, ColumnStaging staging) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Prefix = Fold<typename T::Carrying, R>;
  constexpr int V = chunk_of_column;
  constexpr int Q = chunks_of_thread(sizeof(A));
  const bool stages_input = staging.input;
  const bool stages_results = staging.results;
  const auto op = carrying(problem.op);
  const Threads threads = threads_of_block();
  const int width = tiling.columns;
  const bool carried = tiling.is_carried();  // whether columns have several tiles
  const bool has_start = problem.start.exists();

  // Shared memory holds the totals of chunks and of quarters of rows, two buffers for the carry
  // between tiles (or only the starting values), elements and results.
  R* const totals = reinterpret_cast<R*>(shared_memory());
  R* const totals_of_quarters = totals + tiling.totals();
  R* const carries = totals_of_quarters + tiling.full_quarters * width;
  std::byte* const memory = shared_memory() + bytes_before_tile<P>(tiling);

  const ColumnTask task = ColumnTask::find(tiling, blockIdx.x);

  int turn = 0;
  for (int first = 0; first < tiling.chunks; first += tiling.groups, turn ^= 1) {
    const std::int64_t begin = std::int64_t{first} * V;
    const int chunks_left = tiling.chunks - first;
    const int most_rows = (chunks_left < tiling.groups ? chunks_left : tiling.groups) * V;
    const std::int64_t rows_left = problem.n - begin;
    const ColumnTile tile{
        problem.batch,     tiling,
        task.outer,        begin,
        task.first_column, static_cast<int>(rows_left < most_rows ? rows_left : most_rows),
        task.columns,      is_backward(problem.output)};

    // Load.
    Stage<typename T::In> input;
    Region region{memory, tiling.elements(), 0};
    Value* const flat = tile.flat(problem.output);
    input.place(problem.input, tile, region, flat);
    const Slots<Value> results = place_results<P>(flat, region, input);
    if (stages_input) {
      input.load(problem.input, tile);
      __syncthreads();
    }
    ColumnChunk chunk_of[Q];
    int length_of[Q];
    A x[Q][V][1];
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      chunk_of[q] = tile.chunk(threads.own + q * threads.count);
      length_of[q] = tile.length(chunk_of[q]);
      const ColumnChunk& c = chunk_of[q];
      const int length = length_of[q];
      // Without conditions if possible, so that the loads do not wait for each other.
      if (stages_input) {
        int e = tile.element(c.chunk * V, c.column);
        const int e_step = tile.step();
#pragma unroll
        for (int v = 0; v < V; ++v, e += e_step) {
          x[q][v][0] = v < length ? static_cast<A>(input.get(e)) : A{};
        }
      } else {
        const auto line = problem.input.line(tile.place(length > 0 ? c.column : 0));
        const std::int64_t k = begin + c.chunk * V;
        if (length == V) {
#pragma unroll
          for (int v = 0; v < V; ++v) x[q][v][0] = static_cast<A>(line(k + v));
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v) x[q][v][0] = v < length ? static_cast<A>(line(k + v)) : A{};
        }
      }
    }
    const ColumnCarry<R> carry{carries + turn * ColumnCarry<R>::folds * width, width};
    const ColumnCarry<R> next_carry{carries + (turn ^ 1) * ColumnCarry<R>::folds * width, width};
    if (has_start && (carried ? first == 0 : has_starts_of_lines<P>)) {
      // Read now, since totals may later overwrite the starting values.
      for (int i = threads.own; i < width; i += threads.count) {
        const ColumnPlace place = tile.place(i);
        if (place.column < tiling.inner) {
          carries[i] = static_cast<R>(problem.start.at(place).value);
        }
      }
    }

    // Fold. Only the last chunk of a column can be partial, and nothing needs its total.
    R total[Q] = {};
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      if (length_of[q] < V) continue;
      total[q] = fold_chunk_of_column<R>(problem.op, op, x[q], 0);
      if (tiling.chunks > 1) totals[threads.own + q * threads.count] = total[q];
    }
    if (tiling.chunks > 1 || has_starts_of_lines<P>) __syncthreads();

    // Carry: from chunk to chunk within a quarter, then from quarter to quarter.
    if (tiling.full_quarters > 0) {
      for (int i = threads.own; i < tiling.full_quarters * width; i += threads.count) {
        constexpr int chunks = quarter_of_chunks;
        const int quarter = tiling.by_columns.quotient(i);
        const ColumnChunk last{(quarter + 1) * chunks - 1, i - quarter * width};
        if (tile.length(last) < V) continue;
        const R* const of_quarter = totals + (last.chunk + 1 - chunks) * width + last.column;
        R fold = of_quarter[0];
#pragma unroll
        for (int c = 1; c < chunks; ++c) fold = op(fold, of_quarter[c * width]);
        totals_of_quarters[i] = fold;
      }
      __syncthreads();
    }

    // Whether anything comes before the section.
    const bool has_sections = has_start || has_section_before(first);
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const ColumnChunk& c = chunk_of[q];
      const int length = length_of[q];
      if (length == 0) continue;
      const int chunk = first + c.chunk;
      const int quarter = c.chunk / quarter_of_chunks;
      const bool is_full = length == V;
      const bool hands_on = carried && c.chunk == tiling.groups - 1 && chunk + 1 < tiling.chunks;

      // The prefix of the chunk.
      Prefix before(op);
      const R* const own = totals + threads.own + q * threads.count;
      const R* other = own - c.chunk % quarter_of_chunks * width;
      for (; other < own; other += width) {
        before = Prefix(op, before.then(op, *other));
      }
      R with{};  // the prefix of the next chunk
      if (is_full) with = before.then(op, total[q]);
      const R* const quarters = totals_of_quarters + c.column;
      if (carried) {
        auto prefix = carry.get(op, c.column, first, has_sections);
        prefix.add_quarters(op, quarters, width, quarter);
        before = prefix.join_all(op, before);
        if (hands_on) next_carry.put(op, c.column, chunk + 1, prefix, with);
        if (is_full) with = prefix.join_all(op, Prefix(op, with)).value();
      } else {
        // Most columns are too short to have earlier quarters.
        if (quarter > 0) {
          ColumnPrefix<typename T::Carrying, R> prefix(op);
          prefix.add_quarters(op, quarters, width, quarter);
          before = prefix.join_all(op, before);
          if (is_full) with = prefix.join_all(op, Prefix(op, with)).value();
        }
        if (has_start) {
          const R start = has_starts_of_lines<P>
                              ? carries[c.column]
                              : static_cast<R>(problem.start.at(tile.place(0)).value);
          before = join(op, Prefix(op, start), before);
          if (is_full) with = op(start, with);
        }
      }

      // Scan: replaces x by B after each element.
      const A at_begin =
          chunk == 0 && !has_start ? problem.identity.value : static_cast<A>(before.value());
      Prefix run = before;
#pragma unroll
      for (int p = 0; p < V; p += pack_of_column) {
        if (p == 0 || length > p) scan_pack_of_column(problem.op, op, run, x[q], p, 0, length - p);
      }
      if (is_full) x[q][V - 1][0] = static_cast<A>(with);
      finish_chunk(problem, tile.place(c.column), true, chunk == 0,
                   begin + c.chunk * V + length == problem.n, length, at_begin, x[q], 0);
      // Store.
      if (stages_results) {
        int e = tile.element(c.chunk * V, c.column);
        const int e_step = tile.step();
#pragma unroll
        for (int v = 0; v < V; ++v, e += e_step) {
          if (v < length) results.data()[e] = static_cast<Value>(x[q][v][0]);
        }
      } else {
        const auto line = problem.output.line(tile.place(c.column));
        const std::int64_t k = begin + c.chunk * V;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (v < length) line(k + v) = static_cast<Value>(x[q][v][0]);
        }
      }
    }
    if (stages_results) {
      __syncthreads();
      begin_store(results, problem.output, tile, flat, tile.elements());
    }
    if (carried) __syncthreads();
  }
}

}  // namespace KokkosScan::impl::cuda
