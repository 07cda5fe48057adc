// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for wide columns: many neighbouring lines that are neighbours in memory, whatever
/// their alignment.
///
/// A block walks down a strip of columns, 64 rows at a time: 8 warps below each other, of which
/// each takes 8 rows. A thread loads its chunk element by element into registers, folds it, the
/// totals of the chunks meet in shared memory, and it scans its chunk with all that comes before.
/// A warp has up to 4 columns a lane side by side, as it stores a row at once then: what it writes
/// of a sector in part, two ends of a row, the memory reads first.
///
/// Where strips are few, blocks share them (shared_columns.hpp): they take tiles by ticket, publish
/// the totals of tiles, and read those of the tiles since their last one.
///
/// column_tree.hpp has the combination tree.

#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Asks for the 128 bytes of an address to be brought to the L2, which no register waits for.
__device__ __forceinline__ void prefetch([[maybe_unused]] const void* at) {
#if defined(__CUDACC__) && !defined(NOPF)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/// Where a thread reads its columns, `lanes` apart.
///
///     get(k, e)      element k of the e-th
///     prefetch(k, lane)   brings the rows of a chunk from k on nearer, together with other lanes
///
template <class In, int E>
struct WideColumns;

template <class T, int E>
struct WideColumns<Array<const T>, E> {
  /// Whether an element may be read more than once, and so where it is not needed.
  static constexpr bool is_stored = true;

  const T* data;
  std::int64_t along;
  int column[E];

  /// \param columns that are there; others are read in place of those that are not
  __device__ __forceinline__ WideColumns(const Array<const T>& in, const ColumnPlace& place,
                                         int columns)
      : data(in.line(place).data), along(in.strides.along) {
#pragma unroll
    for (int e = 0; e < E; ++e) column[e] = e < columns ? e * lanes : 0;
  }
  __device__ __forceinline__ T get(std::int64_t k, int e) const {
    return data[k * along + column[e]];
  }
  __device__ __forceinline__ void prefetch_rows(std::int64_t k, std::int64_t n, int lane) const {
    constexpr int pieces = lanes / chunk_of_column;
    constexpr int apart = (lanes * E + pieces - 1) / pieces;
    const std::int64_t row = k + lane / pieces;
    if (row < n) prefetch(data + row * along + (lane % pieces) * apart - lane);
  }
};
template <class A, class Values, class Mask, int E>
struct WideColumns<Selected<A, Values, Mask>, E> {
  static constexpr bool is_stored = WideColumns<Values, E>::is_stored;

  WideColumns<Values, E> values;
  WideColumns<Mask, E> mask;
  const A& identity;

  __device__ __forceinline__ WideColumns(const Selected<A, Values, Mask>& in,
                                         const ColumnPlace& place, int columns)
      : values(in.values, place, columns), mask(in.mask, place, columns), identity(in.identity) {}
  __device__ __forceinline__ A get(std::int64_t k, int e) const {
    const bool selected = static_cast<bool>(mask.get(k, e));
    const A value = static_cast<A>(values.get(k, e));
    return selected ? value : identity;
  }
  __device__ __forceinline__ void prefetch_rows(std::int64_t k, std::int64_t n, int lane) const {
    values.prefetch_rows(k, n, lane);
    mask.prefetch_rows(k, n, lane);
  }
};
template <int Rank, class Function, int E>
struct WideColumns<Computed<Rank, Function>, E> {
  static constexpr bool is_stored = false;

  ComputedLine<Rank, Function> line[E];

  __device__ __forceinline__ WideColumns(const Computed<Rank, Function>& in,
                                         const ColumnPlace& place, int columns)
      : WideColumns(in, place, columns, std::make_integer_sequence<int, E>{}) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const { return line[e](k); }
  __device__ __forceinline__ void prefetch_rows(std::int64_t, std::int64_t, int) const {}

 private:
  template <int... e>
  __device__ __forceinline__ WideColumns(const Computed<Rank, Function>& in,
                                         const ColumnPlace& place, int columns,
                                         std::integer_sequence<int, e...>)
      : line{in.line(ColumnPlace{place.batch, place.outer,
                                 place.column + (e < columns ? e * lanes : 0)})...} {}
};

/// The memory through which blocks that share strips communicate, zero before: the tickets of each
/// strip, and the totals of tiles, of all columns.
template <class R>
struct TotalsOfTiles {
  std::uint64_t* memory;
  std::int64_t strips;
  std::int64_t columns;  ///< of all

  static constexpr int words = Published<R>::words;
  static constexpr std::int64_t bytes(std::int64_t strips, std::int64_t columns,
                                      std::int64_t tiles) {
    return 8 * (strips + columns * tiles * words);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* at(std::int64_t tile,
                                                             std::int64_t column) const {
    return memory + strips + (tile * columns + column) * words;
  }
};

/// What a block has in shared memory.
template <class P, bool shared>
struct WideColumnBlock {
  using R = typename Types<P>::R;
  static constexpr int E = columns_of_wide_thread(sizeof(typename P::A));
  static constexpr int width = lanes * E;
  static constexpr int rows_of_totals = shared ? totals_at_once : 1;

  R totals[2][half_row_of_chunks][width];  ///< of chunks, in turns
  R carries[2][ColumnCarry<R>::folds][width];
  R others[rows_of_totals][width];  ///< totals of tiles of others
  std::int64_t tickets[2];  ///< in turns
};

/// Scans wide columns.
///
/// \tparam shared whether blocks share strips
template <bool shared, class P>
__global__ void __launch_bounds__(threads_of_wide_columns,
                                  blocks_of_wide_columns(sizeof(typename P::A)))
    scan_wide_columns(const __grid_constant__ P problem,
                      const __grid_constant__ WideColumnPlan plan,
                      const TotalsOfTiles<typename Types<P>::R> published) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Block = WideColumnBlock<P, shared>;
  constexpr int E = Block::E;
  constexpr int V = chunk_of_column;
  constexpr int G = half_row_of_chunks;
  constexpr int tile_rows = V * G;
  constexpr int width = Block::width;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};
  Block& block = *reinterpret_cast<Block*>(shared_memory());

  const int own = static_cast<int>(threadIdx.x);
  const int lane = own % lanes;
  const int group = own / lanes;
  const std::int64_t strip = shared ? blockIdx.x % plan.strips : blockIdx.x;
  const std::int64_t outer = strip / plan.strips_of_row;
  const int first_column = static_cast<int>(strip - outer * plan.strips_of_row) * plan.columns;
  const int columns_left = plan.inner - first_column;
  const int strip_columns = columns_left < plan.columns ? columns_left : plan.columns;
  const int columns = lane < strip_columns ? (strip_columns - lane + lanes - 1) / lanes : 0;
  const ColumnPlace place{problem.batch, outer, first_column + (columns > 0 ? lane : 0)};
  const auto place_of = [&](int e) {
    return ColumnPlace{problem.batch, outer, place.column + e * lanes};
  };
  const auto is_there = [&](int e) { return is_eager<typename T::Op> || e < columns; };
  const WideColumns<typename T::In, E> input(problem.input, place, columns);
  const auto output = problem.output.line(place);
  const bool has_start = problem.start.exists();

  // What comes before the strip: read before others may store totals in its place.
  if (has_start) {
    for (int c = own; c < strip_columns; c += threads_of_wide_columns) {
      block.carries[0][0][c] = static_cast<R>(
          problem.start.at(ColumnPlace{problem.batch, outer, first_column + c}).value);
    }
  }
  [[maybe_unused]] int known = 0;  // tiles of which the totals are in the carry
  int turn = 0;
  std::int64_t next = 0;
  if constexpr (shared) {
    if (own == 0) {
      take_ticket_if(true, published.memory + strip, next);
      block.tickets[1] = next;
    }
    __syncthreads();
    next = block.tickets[1];
  }
#pragma unroll 1
  for (int tile = static_cast<int>(next); tile < plan.tiles; turn ^= 1) {
    const int chunk = tile * G + group;
    const std::int64_t k = std::int64_t{chunk} * V;
    const std::int64_t left = problem.n - k;
    const int length = columns == 0 || left <= 0 ? 0 : (left < V ? static_cast<int>(left) : V);

    // Load.
    A x[V][E];
    if (length == V && (WideColumns<typename T::In, E>::is_stored || columns == E)) {
      // Without conditions, which would make each load wait for the last.
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(input.get(k + v, e));
      }
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          x[v][e] = v < length && e < columns ? static_cast<A>(input.get(k + v, e)) : A{};
        }
      }
    }
    if constexpr (shared) {
      if (own == 0) take_ticket_if(true, published.memory + strip, next);
    } else {
      ++next;
      if (next < plan.tiles) input.prefetch_rows(k + tile_rows, problem.n, lane);
    }

    // Fold. Chunks that are not full are the last of their columns: nothing needs their totals.
    const bool is_full = length == V;
    auto& totals = block.totals[turn];
    if (is_eager<typename T::Op> || is_full) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (!is_there(e)) continue;
        totals[group][lane + e * lanes] = fold_chunk_of_column<R>(problem.op, op, x, e);
      }
    }
    if constexpr (shared) {
      if (own == 0) block.tickets[turn] = next;
    }
    __syncthreads();
    if constexpr (shared) next = block.tickets[turn];

    // Carry.
    const ColumnCarry<R> carry{&block.carries[shared ? 0 : turn][0][0], width};
    if constexpr (shared) {
      // Publish.
      if (group == G - 1 && tile + 1 < plan.tiles) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (e >= columns) continue;
          R total = totals[0][lane + e * lanes];
#pragma unroll
          for (int g = 1; g < G; ++g) total = op(total, totals[g][lane + e * lanes]);
          const Published<R> words(total);
          std::uint64_t* const to =
              published.at(tile, outer * plan.inner + first_column + lane + e * lanes);
#pragma unroll
          for (int w = 0; w < Published<R>::words; ++w) store_word(to + w, words.word[w]);
        }
      }
      if (next < plan.tiles) {
        input.prefetch_rows((next * G + group) * V, problem.n, lane);
      }
      // Look for the totals of the tiles since the last one.
      while (known < tile) {
        const int now = tile - known < totals_at_once ? tile - known : totals_at_once;
        constexpr int step = threads_of_wide_columns / width;  // tiles that threads read at once
        const int column = own % width;
        const std::int64_t number = outer * plan.inner + first_column + column;
        if (column < strip_columns) {
          constexpr int W = Published<R>::words;
          constexpr int at_once = words_at_once_of_wide / W > 0 ? words_at_once_of_wide / W : 1;
          for (int i = own / width; i < now; i += step * at_once) {
            Published<R> value[at_once];
            bool is_there;
            do {
              is_there = true;
#pragma unroll
              for (int j = 0; j < at_once; ++j) {
                const int other = i + j * step < now ? i + j * step : i;
                const std::uint64_t* from = published.at(known + other, number);
#pragma unroll
                for (int w = 0; w < W; ++w) value[j].word[w] = load_word<0>(from + w);
#pragma unroll
                for (int w = 0; w < W; ++w) is_there = is_there && value[j].word[w] != 0;
              }
              if (!is_there) pause();
            } while (!is_there);
#pragma unroll
            for (int j = 0; j < at_once; ++j) {
              R total;
              value[j].get(total);
              if (i + j * step < now) block.others[i + j * step][column] = total;
            }
          }
        }
        __syncthreads();
        for (int c = own; c < strip_columns; c += threads_of_wide_columns) {
          const int first = known * G;
          auto prefix = carry.get(op, c, first, has_start || has_section_before(first));
          for (int i = 0; i < now; ++i) prefix.add_half(op, known + i, block.others[i][c]);
          carry.store(c, prefix);
        }
        known += now;
        __syncthreads();
      }
    }
    if (length > 0) {
      const bool has_sections = has_start || has_section_before(tile * G);
      const bool is_none = k == 0 && !has_start;
      A at_begin[E];
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (!is_there(e)) continue;
        const int c = lane + e * lanes;
        Prefix chunks_before(op);
        for (int g = 0; g < group; ++g) {
          chunks_before = Prefix(op, chunks_before.then(op, totals[g][c]));
        }
        const auto prefix = carry.get(op, c, tile * G, has_sections);
        const Prefix before = prefix.join_all(op, chunks_before);
        R with{};
        if (is_eager<typename T::Op> || is_full) {
          const R chunks = chunks_before.then(op, totals[group][c]);
          with = prefix.join_all(op, Prefix(op, chunks)).value();
          if (!shared && group == G - 1 && tile + 1 < plan.tiles) {
            const ColumnCarry<R> next_carry{&block.carries[turn ^ 1][0][0], width};
            next_carry.put(op, c, (tile + 1) * G, prefix, chunks);
          }
        }

        // Scan: x becomes B after each element.
        at_begin[e] = is_none ? problem.identity.value : static_cast<A>(before.value());
        Prefix run = before;
#pragma unroll
        for (int p = 0; p < V; p += pack_of_column) {
          scan_pack_of_column(problem.op, op, run, x, p, e, length - p);
        }
        if (is_full) x[V - 1][e] = static_cast<A>(with);
      }
      if (ends.exist()) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (e >= columns) continue;
          if (k == 0) ends.store_begin(place_of(e), at_begin[e]);
          A last = x[0][e];
#pragma unroll
          for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
          if (k + length == problem.n) ends.store_end(place_of(e), last);
        }
      }
      if (problem.form == Form::exclusive) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
#pragma unroll
          for (int v = V - 1; v > 0; --v) x[v][e] = x[v - 1][e];
          x[0][e] = at_begin[e];
        }
      }

      // Store.
      Value* to = &output(k);
#pragma unroll
      for (int v = 0; v < V; ++v, to += output.stride) {
        if (v >= length) continue;
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (e < columns) to[e * lanes] = static_cast<Value>(x[v][e]);
        }
      }
    }
    tile = static_cast<int>(next);
  }
}

}  // namespace KokkosScan::impl::cuda
