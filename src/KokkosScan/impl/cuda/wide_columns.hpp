// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for wide columns: 32 or more lines side by side that are neighbours in memory,
/// whatever their alignment.
///
/// A block walks down a strip of columns, 64 rows at a time: 8 warps below each other, of which
/// each takes 8 rows. A thread loads its chunks of up to four columns element by element into
/// registers and folds them, the totals of chunks meet in shared memory, and it scans its chunks
/// with all that comes before. The columns of a thread are a warp's width apart, so that a warp
/// stores a row of 128 columns at once: where a row ends within 32 bytes, the memory must read what
/// is missing, unless the rest follows soon. column_tree.hpp has the combination tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Asks for the 128 bytes in which an address lies, which are brought to the L2.
__device__ __forceinline__ void bring_to_cache([[maybe_unused]] const void* at) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/// Where a thread reads its columns, a warp's width apart.
///
///     get(k, e)                element k of column e
///     prefetch_row(k, column)  brings element k of columns nearer, 128 bytes of those from
///                              `column` on, counted from the thread's first
///
/// Most inputs: their lines know how.
template <class In, int E>
struct WideColumns {
  using Line = decltype(std::declval<In>().line(std::declval<ColumnPlace>()));

  Line line[E];

  /// \param columns that are there
  __device__ __forceinline__ WideColumns(const In& in, const ColumnPlace& place, int columns)
      : WideColumns(in, place, columns, std::make_integer_sequence<int, E>{}) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const { return line[e](k); }
  __device__ __forceinline__ void prefetch_row(std::int64_t, int) const {}

 private:
  template <int... e>
  __device__ __forceinline__ WideColumns(const In& in, const ColumnPlace& place, int columns,
                                         std::integer_sequence<int, e...>)
      : line{in.line(ColumnPlace{place.batch, place.outer,
                                 place.column + (e < columns ? e * lanes : 0)})...} {}
};
template <class T, int E>
struct WideColumns<Array<const T>, E> {
  const T* data;
  std::int64_t along;

  __device__ __forceinline__ WideColumns(const Array<const T>& in, const ColumnPlace& place,
                                         int /* columns */)
      : data(in.line(place).data), along(in.strides.along) {}
  __device__ __forceinline__ T get(std::int64_t k, int e) const {
    return data[k * along + e * lanes];
  }
  __device__ __forceinline__ void prefetch_row(std::int64_t k, int column) const {
    bring_to_cache(data + k * along + column);
  }
};
template <class A, class Values, class Mask, int E>
struct WideColumns<Selected<A, Values, Mask>, E> {
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
  __device__ __forceinline__ void prefetch_row(std::int64_t k, int column) const {
    values.prefetch_row(k, column);
    mask.prefetch_row(k, column);
  }
};
template <int E>
struct WideColumns<List<>, E> {
  __device__ __forceinline__ WideColumns(const List<>&, const ColumnPlace&, int) {}
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, std::int64_t, int,
                                       const Elements&... elements) const {
    return rounded(function(elements...));
  }
  __device__ __forceinline__ void prefetch_row(std::int64_t, int) const {}
};
template <class First, class... Rest, int E>
struct WideColumns<List<First, Rest...>, E> {
  WideColumns<First, E> first;
  WideColumns<List<Rest...>, E> rest;

  __device__ __forceinline__ WideColumns(const List<First, Rest...>& parts,
                                         const ColumnPlace& place, int columns)
      : first(parts.first, place, columns), rest(parts.rest, place, columns) {}
  /// function(elements..., element k of column e of each part).
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, std::int64_t k, int e,
                                       const Elements&... elements) const {
    return rest.call(function, k, e, elements..., first.get(k, e));
  }
  __device__ __forceinline__ void prefetch_row(std::int64_t k, int column) const {
    first.prefetch_row(k, column);
    rest.prefetch_row(k, column);
  }
};
template <class Function, class Parts, int E>
struct WideColumns<ZippedInput<Function, Parts>, E> {
  WideColumns<Parts, E> parts;
  const Function& function;

  __device__ __forceinline__ WideColumns(const ZippedInput<Function, Parts>& in,
                                         const ColumnPlace& place, int columns)
      : parts(in.parts, place, columns), function(in.function) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const {
    return parts.call(function, k, e);
  }
  __device__ __forceinline__ void prefetch_row(std::int64_t k, int column) const {
    parts.prefetch_row(k, column);
  }
};

/// Where a thread stores its columns, a warp's width apart.
///
///     store(first, k, count, columns, x)  stores x[v][e] as element k + v of column e, of those
///     that
///                                         are there; `first` is where column 0 is
///
template <class Out, int E>
struct WideResults;
template <class Value, int E>
struct WideResults<Array<Value>, E> {
  Value* const data;
  const std::int64_t along;

  __device__ __forceinline__ WideResults(const Array<Value>& out, const ColumnPlace& first)
      : data(out.line(first).data), along(out.strides.along) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const ColumnPlace&, std::int64_t k, int count, int columns,
                                        const A (&x)[V][E]) const {
    Value* to = data + k * along;
#pragma unroll
    for (int v = 0; v < V; ++v, to += along) {
      if (v >= count) continue;
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e < columns) to[e * lanes] = static_cast<Value>(x[v][e]);
      }
    }
  }
};
/// A function, column by column: each knows its own indices.
template <class Value, int Rank, class Function, int E>
struct WideResults<Called<Value, Rank, Function>, E> {
  const Called<Value, Rank, Function>& out;

  __device__ __forceinline__ WideResults(const Called<Value, Rank, Function>& of,
                                         const ColumnPlace&)
      : out(of) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const ColumnPlace& first, std::int64_t k, int count,
                                        int columns, const A (&x)[V][E]) const {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (e >= columns) continue;
      const auto line = out.line(ColumnPlace{first.batch, first.outer, first.column + e * lanes});
      call_for_chunk(line, k, count, x, e);
    }
  }
};

/// What a block has in shared memory.
template <class P>
struct WideColumnBlock {
  using R = typename Types<P>::R;
  static constexpr int E = columns_of_wide_thread(sizeof(typename P::A));
  static constexpr int width = lanes * E;

  R totals[2][half_row_of_chunks][width];      ///< of chunks, in turns
  R carries[2][ColumnCarry<R>::folds][width];  ///< what comes before a tile, in turns
  R before[half_row_of_chunks][width];         ///< what comes before a chunk,
  R behind[half_row_of_chunks][width];         ///< and before what follows it
};

/// A thread of a block that walks down a strip.
template <class P>
class WideColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Block = WideColumnBlock<P>;
  static constexpr int E = Block::E;
  using Input = WideColumns<typename T::In, E>;
  static constexpr int V = chunk_of_column;
  static constexpr int G = half_row_of_chunks;
  static constexpr int width = Block::width;
  using Totals = R[G][width];

 public:
  __device__ __forceinline__ WideColumnScan(const P& p, const WideColumnPlan& plan)
      : m_p(p),
        m_op(carrying(p.op)),
        m_plan(plan),
        m_strip(blockIdx.x),
        m_outer(m_strip / plan.strips_of_row),
        m_first_column(static_cast<int>(m_strip - m_outer * plan.strips_of_row) * plan.columns),
        m_strip_columns(plan.inner - m_first_column < plan.columns ? plan.inner - m_first_column
                                                                   : plan.columns),
        m_lane(static_cast<int>(threadIdx.x) % lanes),
        m_group(static_cast<int>(threadIdx.x) / lanes),
        m_columns(m_lane < m_strip_columns ? (m_strip_columns - m_lane + lanes - 1) / lanes : 0),
        m_input(p.input, place(0), m_columns),
        m_results(p.output, place(0)) {}

  __device__ __forceinline__ void run() {
    // What comes before the strip: read before others may store totals in its place.
    if (m_p.start.exists()) {
      for (int c = own(); c < m_strip_columns; c += threads_of_wide_columns) {
        const ColumnPlace of_column{m_p.batch, m_outer, m_first_column + c};
        block().carries[0][0][c] = static_cast<R>(m_p.start.at(of_column).value);
      }
    }
    int turn = 0;
#pragma unroll 1
    for (int tile = 0; tile < m_plan.tiles; ++tile, turn ^= 1) {
      A x[V][E];
      load(tile, x);
      prefetch(tile + 1);
      fold(tile, x, block().totals[turn]);
      __syncthreads();
      scan(tile, x, turn);
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
    return is_harmless<typename T::Op> || e < m_columns;
  }
  /// The first element of the thread's chunk, and how many there are.
  [[nodiscard]] __device__ __forceinline__ std::int64_t first(std::int64_t tile) const {
    return (tile * G + m_group) * V;
  }
  [[nodiscard]] __device__ __forceinline__ int length(std::int64_t tile) const {
    const std::int64_t left = m_p.n - first(tile);
    return m_columns == 0 || left <= 0 ? 0 : (left < V ? static_cast<int>(left) : V);
  }

  /// Asks for the rows of the warp in a tile, of which each lane takes a part.
  __device__ __forceinline__ void prefetch(std::int64_t tile) const {
    constexpr int parts = lanes / V;
    constexpr int columns = width / parts;
    const std::int64_t k = (tile * G + m_group) * V + m_lane / parts;
    const int column = m_lane % parts * columns;
    if (k >= m_p.n || column >= m_strip_columns) return;
    m_input.prefetch_row(k, column - (m_columns > 0 ? m_lane : 0));
  }

  __device__ __forceinline__ void load(std::int64_t tile, A (&x)[V][E]) const {
    const std::int64_t k = first(tile);
    const int length = this->length(tile);
    if (length == V) {
      // Without other conditions, which would make each load wait for the last.
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          x[v][e] = e < m_columns ? static_cast<A>(m_input.get(k + v, e)) : A{};
        }
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
    if (!is_harmless<typename T::Op> && length(tile) < V) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!is_there(e)) continue;
      totals[m_group][m_lane + e * lanes] = fold_chunk_of_column<R>(m_p.op, m_op, x, e);
    }
  }

  /// From the elements of a chunk to results, which are stored.
  __device__ __forceinline__ void scan(int tile, A (&x)[V][E], int turn) const {
    const std::int64_t k = first(tile);
    const int length = this->length(tile);
    if (length == 0) return;
    carry(tile, length == V, turn);
    // x becomes B after each element.
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!is_there(e)) continue;
      const int c = m_lane + e * lanes;
      Prefix run(m_op);
      if (is_eager<Carrying> || has_before(k)) run = Prefix(m_op, block().before[m_group][c]);
#pragma unroll
      for (int p = 0; p < V; p += pack_of_column) {
        scan_pack_of_column(m_p.op, m_op, run, x, p, e, length - p);
      }
      if (length == V) {
        x[V - 1][e] = static_cast<A>(block().behind[m_group][c]);
      } else if (e < m_columns) {
        A last = x[0][e];
#pragma unroll
        for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
        block().behind[m_group][c] = static_cast<R>(last);
      }
    }
    store(k, length, x);
    const Ends<P> ends{m_p};
    if (!ends.exist()) return;
#pragma unroll 1
    for (int e = 0; e < m_columns; ++e) {
      if (k == 0) ends.store_begin(place(e), at_begin(k, e));
      if (k + length < m_p.n) continue;
      ends.store_end(place(e), static_cast<A>(block().behind[m_group][m_lane + e * lanes]));
    }
  }

  [[nodiscard]] __device__ __forceinline__ bool has_before(std::int64_t k) const {
    return k > 0 || m_p.start.exists();
  }
  /// B(k), k being the first element of the chunk.
  [[nodiscard]] __device__ __forceinline__ A at_begin(std::int64_t k, int e) const {
    return has_before(k) ? static_cast<A>(block().before[m_group][m_lane + e * lanes])
                         : m_p.identity.value;
  }

  /// \param x B after each of the elements from k on
  __device__ __forceinline__ void store(std::int64_t k, int length, const A (&x)[V][E]) const {
    const ColumnPlace first = place(0);
    if (m_p.form == Form::exclusive) {
      A begin[1][E];
#pragma unroll
      for (int e = 0; e < E; ++e) begin[0][e] = e < m_columns ? at_begin(k, e) : A{};
      m_results.store(first, k, 1, m_columns, begin);
      ++k;
      --length;
    }
    m_results.store(first, k, length, m_columns, x);
  }

  /// Finds what comes before and behind the thread's chunk: in memory, as registers are full.
  __device__ __forceinline__ void carry(int tile, bool is_full, int turn) const {
    const int chunk = tile * G;
    const bool has_sections = m_p.start.exists() || has_section_before(chunk);
    const bool hands_on = m_group == G - 1 && tile + 1 < m_plan.tiles;
    const ColumnCarry<R> carried{block().carries[turn][0], width};
    const ColumnCarry<R> next_carried{block().carries[turn ^ 1][0], width};
    const auto& totals = block().totals[turn];
#pragma unroll 1
    for (int e = 0; e < m_columns; ++e) {
      const int c = m_lane + e * lanes;
      Prefix chunks_before(m_op);
      for (int g = 0; g < m_group; ++g) {
        chunks_before = Prefix(m_op, chunks_before.then(m_op, totals[g][c]));
      }
      const auto prefix = carried.get(m_op, c, chunk, has_sections);
      const Prefix before = prefix.join_all(m_op, chunks_before);
      if (before.exists()) block().before[m_group][c] = before.value();
      if (!is_full) continue;
      const R chunks = chunks_before.then(m_op, totals[m_group][c]);
      block().behind[m_group][c] = prefix.join_all(m_op, Prefix(m_op, chunks)).value();
      if (hands_on) next_carried.put(m_op, c, chunk + G, prefix, chunks);
    }
  }

  const P& m_p;
  const Carrying m_op;
  const WideColumnPlan& m_plan;
  const std::int64_t m_strip;
  const std::int64_t m_outer;
  const int m_first_column;
  const int m_strip_columns;
  const int m_lane;
  const int m_group;    ///< of those that take chunks below each other
  const int m_columns;  ///< of the thread that are there
  const Input m_input;
  const WideResults<decltype(P::output), E> m_results;
};

/// Scans wide columns.
template <class P>
__global__ void __launch_bounds__(threads_of_wide_columns,
                                  blocks_of_wide_columns(sizeof(typename P::A)))
    scan_wide_columns(const __grid_constant__ P problem,
                      const __grid_constant__ WideColumnPlan plan) {
  WideColumnScan<P>(problem, plan).run();
}

}  // namespace KokkosScan::impl::cuda
