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

  R totals[shared ? 3 : 2][half_row_of_chunks][width];  ///< of chunks, in turns
  R carries[shared ? 1 : 2][ColumnCarry<R>::folds][width];
  R others[shared ? totals_at_once : 1][width];  ///< totals of tiles of others
  std::int64_t tickets[2];                       ///< in turns
};

/// A thread of a block that scans a strip.
template <class P, bool shared>
class WideColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Block = WideColumnBlock<P, shared>;
  static constexpr int E = Block::E;
  using Input = WideColumns<typename T::In, E>;
  static constexpr int V = chunk_of_column;
  static constexpr int G = half_row_of_chunks;
  static constexpr int width = Block::width;
  using Totals = R[G][width];

 public:
  __device__ __forceinline__ WideColumnScan(const P& p, const WideColumnPlan& plan,
                                            const TotalsOfTiles<R>& published)
      : m_p(p),
        m_op(carrying(p.op)),
        m_plan(plan),
        m_published(published),
        m_strip(shared ? blockIdx.x % plan.strips : blockIdx.x),
        m_outer(m_strip / plan.strips_of_row),
        m_first_column(static_cast<int>(m_strip - m_outer * plan.strips_of_row) * plan.columns),
        m_strip_columns(plan.inner - m_first_column < plan.columns ? plan.inner - m_first_column
                                                                   : plan.columns),
        m_lane(static_cast<int>(threadIdx.x) % lanes),
        m_group(static_cast<int>(threadIdx.x) / lanes),
        m_columns(m_lane < m_strip_columns ? (m_strip_columns - m_lane + lanes - 1) / lanes : 0),
        m_input(p.input, place(0), m_columns) {}

  __device__ __forceinline__ void run() {
    // What comes before the strip: read before others may store totals in its place.
    if (m_p.start.exists()) {
      for (int c = own(); c < m_strip_columns; c += threads_of_wide_columns) {
        const ColumnPlace of_column{m_p.batch, m_outer, m_first_column + c};
        block().carries[0][0][c] = static_cast<R>(m_p.start.at(of_column).value);
      }
    }
    if constexpr (shared) {
      take_tiles();
    } else {
      walk_down();
    }
  }

 private:
  static __device__ __forceinline__ int own() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ Block& block() {
    return *reinterpret_cast<Block*>(shared_memory());
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(int e) const {
    return {m_p.batch, m_outer, m_first_column + (m_columns > 0 ? m_lane : 0) + e * lanes};
  }
  /// Whether column e takes part: built-in operators do no harm where there is none.
  [[nodiscard]] __device__ __forceinline__ bool is_there(int e) const {
    return is_eager<typename T::Op> || e < m_columns;
  }
  /// The first element of the thread's chunk, and how many there are.
  [[nodiscard]] __device__ __forceinline__ std::int64_t first(std::int64_t tile) const {
    return (tile * G + m_group) * V;
  }
  [[nodiscard]] __device__ __forceinline__ int length(std::int64_t tile) const {
    const std::int64_t left = m_p.n - first(tile);
    return m_columns == 0 || left <= 0 ? 0 : (left < V ? static_cast<int>(left) : V);
  }

  __device__ __forceinline__ void walk_down() {
    int turn = 0;
#pragma unroll 1
    for (int tile = 0; tile < m_plan.tiles; ++tile, turn ^= 1) {
      A x[V][E];
      load(tile, x);
      m_input.prefetch_rows(first(tile + 1), m_p.n, m_lane);
      fold(tile, x, block().totals[turn]);
      __syncthreads();
      scan(tile, x, block().totals[turn], block().carries[turn][0],
           block().carries[shared ? 0 : turn ^ 1][0]);
    }
  }

  __device__ __forceinline__ void take_tiles() {
    std::int64_t ticket = 0;
    if (own() == 0) {
      take_ticket_if(true, m_published.memory + m_strip, ticket);
      block().tickets[1] = ticket;
    }
    __syncthreads();
    int known = 0;
    std::int64_t tile = m_plan.tiles;
    std::int64_t next = block().tickets[1];
    int turn = 0;
    int buffer = 0;
#pragma unroll 1
    while (tile < m_plan.tiles || next < m_plan.tiles) {
      const int before = buffer == 0 ? 2 : buffer - 1;
      if (next < m_plan.tiles) {
        A x[V][E];
        load(next, x);
        fold(next, x, block().totals[buffer]);
        if (own() == 0) {
          take_ticket_if(true, m_published.memory + m_strip, ticket);
          block().tickets[turn] = ticket;
        }
      }
      __syncthreads();
      if (next < m_plan.tiles) {
        ticket = block().tickets[turn];
        if (next + 1 < m_plan.tiles) publish(next, block().totals[buffer]);
        if (ticket < m_plan.tiles) m_input.prefetch_rows(first(ticket), m_p.n, m_lane);
      }
      if (tile < m_plan.tiles) {
        for (; known < tile; known += totals_at_once) {
          add_others(known, tile - known < totals_at_once ? static_cast<int>(tile) - known
                                                          : totals_at_once);
        }
        known = static_cast<int>(tile);
        A x[V][E];
        load(tile, x);
        scan(tile, x, block().totals[before], block().carries[0][0], nullptr);
      }
      tile = next;
      next = ticket;
      turn ^= 1;
      buffer = buffer == 2 ? 0 : buffer + 1;
    }
  }

  __device__ __forceinline__ void load(std::int64_t tile, A (&x)[V][E]) const {
    const std::int64_t k = first(tile);
    const int length = this->length(tile);
    if (length == V && (Input::is_stored || m_columns == E)) {
      // Without conditions, which would make each load wait for the last.
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(m_input.get(k + v, e));
      }
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          x[v][e] = v < length && e < m_columns ? static_cast<A>(m_input.get(k + v, e)) : A{};
        }
      }
    }
  }

  /// Chunks that are not full are the last of their columns: nothing needs their totals.
  __device__ __forceinline__ void fold(std::int64_t tile, const A (&x)[V][E],
                                       Totals& totals) const {
    if (!is_eager<typename T::Op> && length(tile) < V) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!is_there(e)) continue;
      totals[m_group][m_lane + e * lanes] = fold_chunk_of_column<R>(m_p.op, m_op, x, e);
    }
  }

  __device__ __forceinline__ std::int64_t number(int column) const {
    return m_outer * m_plan.inner + m_first_column + column;
  }

  /// Publishes the totals of a tile, by its last warp.
  __device__ __forceinline__ void publish(std::int64_t tile, const Totals& totals) const {
    if (m_group < G - 1) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (e >= m_columns) continue;
      const int c = m_lane + e * lanes;
      R total = totals[0][c];
#pragma unroll
      for (int g = 1; g < G; ++g) total = m_op(total, totals[g][c]);
      const Published<R> value(total);
      std::uint64_t* const to = m_published.at(tile, number(c));
#pragma unroll
      for (int w = 0; w < Published<R>::words; ++w) store_word(to + w, value.word[w]);
    }
  }

  /// Continues the carry with the totals of tiles, when they are there.
  __device__ __forceinline__ void add_others(int tile, int count) const {
    constexpr int W = Published<R>::words;
    constexpr int at_once = words_at_once_of_wide / W > 0 ? words_at_once_of_wide / W : 1;
    constexpr int step = threads_of_wide_columns / width;  // tiles that threads read at once
    const int column = own() % width;
    if (column < m_strip_columns) {
      for (int i = own() / width; i < count; i += step * at_once) {
        Published<R> value[at_once];
        bool are_there;
        do {
          are_there = true;
#pragma unroll
          for (int j = 0; j < at_once; ++j) {
            const int other = i + j * step < count ? i + j * step : i;
            const std::uint64_t* from = m_published.at(tile + other, number(column));
#pragma unroll
            for (int w = 0; w < W; ++w) value[j].word[w] = load_word<0>(from + w);
          }
#pragma unroll
          for (int j = 0; j < at_once; ++j) {
#pragma unroll
            for (int w = 0; w < W; ++w) are_there = are_there && value[j].word[w] != 0;
          }
          if (!are_there) pause();
        } while (!are_there);
#pragma unroll
        for (int j = 0; j < at_once; ++j) {
          R total;
          value[j].get(total);
          if (i + j * step < count) block().others[i + j * step][column] = total;
        }
      }
    }
    __syncthreads();
    const ColumnCarry<R> carry{block().carries[0][0], width};
    for (int c = own(); c < m_strip_columns; c += threads_of_wide_columns) {
      const int chunk = tile * G;
      auto prefix = carry.get(m_op, c, chunk, m_p.start.exists() || has_section_before(chunk));
      for (int i = 0; i < count; ++i) prefix.add_half(m_op, tile + i, block().others[i][c]);
      carry.store(c, prefix);
    }
    __syncthreads();
  }

  /// \param next_carry where the last chunk leaves what comes before the next tile, or null
  __device__ __forceinline__ void scan(std::int64_t tile, A (&x)[V][E], const Totals& totals,
                                       R* carried, R* next_carried) const {
    const std::int64_t k = first(tile);
    const int length = this->length(tile);
    if (length == 0) return;
    const int chunk = static_cast<int>(tile) * G;
    const bool is_full = length == V;
    const bool has_start = m_p.start.exists();
    const bool has_sections = has_start || has_section_before(chunk);
    const bool hands_on = !shared && m_group == G - 1 && tile + 1 < m_plan.tiles;
    A at_begin[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!is_there(e)) continue;
      const int c = m_lane + e * lanes;
      Prefix chunks_before(m_op);
      for (int g = 0; g < m_group; ++g) {
        chunks_before = Prefix(m_op, chunks_before.then(m_op, totals[g][c]));
      }
      const auto prefix = ColumnCarry<R>{carried, width}.get(m_op, c, chunk, has_sections);
      const Prefix before = prefix.join_all(m_op, chunks_before);
      R with{};
      if (is_eager<typename T::Op> || is_full) {
        const R chunks = chunks_before.then(m_op, totals[m_group][c]);
        with = prefix.join_all(m_op, Prefix(m_op, chunks)).value();
        if (hands_on) ColumnCarry<R>{next_carried, width}.put(m_op, c, chunk + G, prefix, chunks);
      }

      // x becomes B after each element.
      at_begin[e] = k == 0 && !has_start ? m_p.identity.value : static_cast<A>(before.value());
      Prefix run = before;
#pragma unroll
      for (int p = 0; p < V; p += pack_of_column) {
        scan_pack_of_column(m_p.op, m_op, run, x, p, e, length - p);
      }
      if (is_full) x[V - 1][e] = static_cast<A>(with);
    }
    const Ends<P> ends{m_p};
    if (ends.exist()) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e >= m_columns) continue;
        if (k == 0) ends.store_begin(place(e), at_begin[e]);
        A last = x[0][e];
#pragma unroll
        for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
        if (k + length == m_p.n) ends.store_end(place(e), last);
      }
    }
    if (m_p.form == Form::exclusive) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
#pragma unroll
        for (int v = V - 1; v > 0; --v) x[v][e] = x[v - 1][e];
        x[0][e] = at_begin[e];
      }
    }
    const auto output = m_p.output.line(place(0));
    Value* to = &output(k);
#pragma unroll
    for (int v = 0; v < V; ++v, to += output.stride) {
      if (v >= length) continue;
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e < m_columns) to[e * lanes] = static_cast<Value>(x[v][e]);
      }
    }
  }

  const P& m_p;
  const Carrying m_op;
  const WideColumnPlan& m_plan;
  const TotalsOfTiles<R>& m_published;
  const std::int64_t m_strip;
  const std::int64_t m_outer;
  const int m_first_column;
  const int m_strip_columns;
  const int m_lane;
  const int m_group;    ///< of those that take chunks below each other
  const int m_columns;  ///< of the thread that are there
  const Input m_input;
};

/// Scans wide columns.
///
/// \tparam shared whether blocks share strips
template <bool shared, class P>
__global__ void __launch_bounds__(threads_of_wide_columns,
                                  blocks_of_wide_columns(sizeof(typename P::A)))
    scan_wide_columns(const __grid_constant__ P problem,
                      const __grid_constant__ WideColumnPlan plan,
                      const __grid_constant__ TotalsOfTiles<typename Types<P>::R> published) {
  WideColumnScan<P, shared>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
