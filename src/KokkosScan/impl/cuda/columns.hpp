// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for lines whose neighbours are neighbours in memory: columns, as along any axis but
/// the contiguous one.
///
/// A block walks down a strip of columns. Its lanes lie across the strip, so that every load and
/// store covers neighbouring addresses; groups of lanes take chunks of rows below each other. A
/// thread folds its chunk in registers, the totals of the chunks meet in shared memory, and each
/// thread scans its chunk with all that comes before. Where there are too few strips for all
/// blocks, each block takes one tile of a strip, in three steps: fold the tiles, scan their totals,
/// scan the tiles with what comes before them.
///
/// The combination tree counts from the element that is scanned first. Four elements make a pack,
/// which combines in the accumulator, two packs a chunk, 512 chunks a tile; chunks combine left to
/// right within their tile, and tiles left to right. Chunks and all above combine in the carried
/// type. With P the fold of the starting value and all earlier tiles, q that of the earlier chunks
/// of the tile, p that of the packs before the own one in the chunk, and x the elements so far of
/// the pack,
///
///     B(k) = ((P * q) * p) * x    within a pack, what is in front being rounded to the
///     accumulator, B(k) = (P * q) * p          at the end of a pack, where p includes it, B(k) = P
///     * q                at the end of a chunk, where q includes it, B(k) = P at the end of a
///     tile, where P includes it,
///
/// and a part that is empty is left out. How wide strips are and how many rows a block takes at
/// once does not matter.

#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tiles.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Elements of a column that combine in the accumulator, and those of a chunk.
inline constexpr int pack_of_column = 4;
inline constexpr int chunk_of_column = 8;

/// Elements of a tile of a column.
inline constexpr int tile_of_column = 4096;

/// Where a thread reads E neighbouring columns.
template <class In, int E>
struct Columns;

template <class T, int E>
struct Columns<Array<const T>, E> {
  const T* data;
  std::int64_t along;

  __device__ __forceinline__ Columns(const Array<const T>& in, const LineNumber& line)
      : data(in.line(line).data), along(in.strides.along) {}
  template <class A>
  __device__ __forceinline__ void load(std::int64_t k, A (&x)[E]) const {
    T raw[E];
    const T* const from = data + k * along;
    if constexpr (E == 1) {
      raw[0] = *from;
    } else {
      using Word = typename UnitOf<sizeof(T) * E>::type;
      const Word word = __ldcs(reinterpret_cast<const Word*>(from));
      memcpy(static_cast<void*>(raw), &word, sizeof(Word));
    }
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = static_cast<A>(raw[e]);
  }
};
template <int Rank, class Function>
struct Columns<Computed<Rank, Function>, 1> {
  ComputedLine<Rank, Function> line;

  __device__ __forceinline__ Columns(const Computed<Rank, Function>& in, const LineNumber& number)
      : line(in.line(number)) {}
  template <class A>
  __device__ __forceinline__ void load(std::int64_t k, A (&x)[1]) const {
    x[0] = static_cast<A>(line(k));
  }
};
template <class A, class Values, class Mask, int E>
struct Columns<Selected<A, Values, Mask>, E> {
  Columns<Values, E> values;
  Columns<Mask, E> mask;
  const A& identity;

  __device__ __forceinline__ Columns(const Selected<A, Values, Mask>& in, const LineNumber& line)
      : values(in.values, line), mask(in.mask, line), identity(in.identity) {}
  template <class Accumulator>
  __device__ __forceinline__ void load(std::int64_t k, Accumulator (&x)[E]) const {
    bool selected[E];
    values.load(k, x);
    mask.load(k, selected);
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = selected[e] ? x[e] : identity;
  }
};

/// Stores E neighbouring values that will not be needed again.
template <int E, class Value>
__device__ __forceinline__ void store_columns(Value* to, const Value (&y)[E]) {
  if constexpr (E == 1) {
    *to = y[0];
  } else {
    using Word = typename UnitOf<sizeof(Value) * E>::type;
    Word word;
    memcpy(&word, y, sizeof(Word));
    __stcs(reinterpret_cast<Word*>(to), word);
  }
}

/// From the elements x[p][e], x[p + 1][e], ... of a pack to B after each of them. `run`, all before
/// the pack, becomes all with it.
///
/// \param valid elements from the pack's first on
template <class Op, class Carrying, class R, class A, int V, int E>
__device__ __forceinline__ void scan_pack_of_column(const Op& op, const Carrying& carrying_op,
                                                    Fold<Carrying, R>& run, A (&x)[V][E], int p,
                                                    int e, int valid) {
  constexpr int pack = pack_of_column;
  constexpr bool eager = is_eager<Op>;
  const Fold<Op, A> before =
      run.exists() ? Fold<Op, A>(op, static_cast<A>(run.value())) : Fold<Op, A>(op);
  const bool is_full = eager || valid >= pack;
  if (is_full) {
    const A all[pack] = {x[p][e], x[p + 1][e], x[p + 2][e], x[p + 3][e]};
    run = Fold<Carrying, R>(carrying_op,
                            run.then(carrying_op, static_cast<R>(fold_pack<0, pack>(op, all))));
  }
#pragma unroll
  for (int v = 1; v < pack - 1; ++v) {
    if (eager || v < valid) x[p + v][e] = op(x[p + v - 1][e], x[p + v][e]);
  }
#pragma unroll
  for (int v = 0; v < pack - 1; ++v) {
    if (eager || v < valid) x[p + v][e] = before.then(op, x[p + v][e]);
  }
  if (is_full) x[p + pack - 1][e] = static_cast<A>(run.value());
}

/// What a launch does.
enum class ColumnStep {
  all,         ///< blocks scan whole columns
  fold_tiles,  ///< blocks fold a tile each
  scan_tiles   ///< blocks scan a tile each
};

/// How a launch shares columns; results do not depend on it.
struct ColumnShape {
  int inner;         ///< columns that are neighbours
  int lanes_of_row;  ///< a power of two up to 32
  int strips;        ///< of the neighbours
  int tiles;         ///< of a column
  ColumnStep step;
};

/// The second step for columns that several blocks share: totals of tiles become what comes before
/// each tile. The first tile has nothing before it but the starting value.
///
/// \param totals that of tile t of line l is number t * lines + l
template <class P>
__global__ void scan_totals_of_columns(const __grid_constant__ P problem,
                                       typename Types<P>::R* totals, int tiles) {
  using R = typename Types<P>::R;
  const std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= problem.batch.count) return;
  const auto op = carrying(problem.op);
  auto prefix = fold_of_start<R>(op, problem.start.at(LineNumber{problem.batch, line}));
  for (int tile = 0; tile < tiles - 1; ++tile) {
    R& total = totals[tile * problem.batch.count + line];
    prefix = Fold<typename Types<P>::Carrying, R>(op, prefix.then(op, total));
    total = prefix.value();  // before the next tile
  }
}

/// Scans columns.
///
/// \tparam E columns of a thread, which one instruction moves
/// \param totals_of_tiles or what comes before the tile after them; null for ColumnStep::all
template <int E, class P>
__global__ void __launch_bounds__(most_threads_of_columns)
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnShape shape,
                 typename Types<P>::R* totals_of_tiles) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  constexpr int V = chunk_of_column;
  std::byte* const shared = shared_memory();
  const auto op = carrying(problem.op);

  // The columns of this thread, and its chunk among those that the block has at once.
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes_of_row;
  const int group = static_cast<int>(threadIdx.x) / shape.lanes_of_row;
  const int groups = static_cast<int>(blockDim.x) / shape.lanes_of_row;
  // Blocks in the order of memory: strips of the same rows follow each other.
  const int strip = static_cast<int>(blockIdx.x % shape.strips);
  const auto row_of_strips = static_cast<int>(blockIdx.x / shape.strips);
  const bool is_whole = shape.step == ColumnStep::all;
  const int tile = is_whole ? 0 : row_of_strips % shape.tiles;
  const std::int64_t outer = is_whole ? row_of_strips : row_of_strips / shape.tiles;
  const std::int64_t begin = static_cast<std::int64_t>(tile) * tile_of_column;
  const std::int64_t end =
      is_whole || problem.n - begin < tile_of_column ? problem.n : begin + tile_of_column;
  const int column = (strip * shape.lanes_of_row + lane) * E;
  const bool exists = column < shape.inner;
  const LineNumber line{problem.batch, outer * shape.inner + (exists ? column : 0)};
  const auto line_of = [&](int e) { return LineNumber{problem.batch, line.number + e}; };
  const Columns<typename T::In, E> input(problem.input, line);
  const std::int64_t along = problem.output.strides.along;

  // In shared memory, in turns: the totals of the chunks, and what comes before the block's rows, P
  // and q.
  const int width = shape.lanes_of_row * E;
  R* const all_totals = reinterpret_cast<R*>(shared) + lane * E;
  R* const carries = all_totals + 2 * groups * width;

  // What comes before the first row: nothing, the starting value, or the tiles before.
  const bool has_carry = tile == 0 ? problem.start.exists() : shape.step == ColumnStep::scan_tiles;
  if (has_carry && group == 0) {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      R& carry = carries[2 * width + e];
      if (tile == 0) {
        carry = static_cast<R>(problem.start.at(line_of(exists ? e : 0)).value);
      } else {
        carry = totals_of_tiles[(tile - 1) * problem.batch.count + line_of(exists ? e : 0).number];
      }
    }
  }

  const Ends<P> ends{problem};
  int round = 0;
  for (std::int64_t first = begin; first < end; first += groups * V, ++round) {
    const std::int64_t k = first + group * V;
    const std::int64_t left = end - k;
    const int length = !exists || left <= 0 ? 0 : (left < V ? static_cast<int>(left) : V);

    // Load.
    A x[V][E];
#pragma unroll
    for (int v = 0; v < V; ++v) {
#pragma unroll
      for (int e = 0; e < E; ++e) x[v][e] = A{};
      if (v < length) input.load(k + v, x[v]);
    }

    // Fold.
    R* const totals = all_totals + (round % 2) * groups * width;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      R total{};
      // Chunks that are not full are the last of their columns: nothing needs their totals.
      if (length == V) {
        const A a[4] = {x[0][e], x[1][e], x[2][e], x[3][e]};
        const A b[4] = {x[4][e], x[5][e], x[6][e], x[7][e]};
        total = op(static_cast<R>(fold_pack<0, 4>(problem.op, a)),
                   static_cast<R>(fold_pack<0, 4>(problem.op, b)));
      }
      totals[group * width + e] = total;
    }
    __syncthreads();

    // Carry.
    const bool begins_tile = first % tile_of_column == 0;
    const bool has_tiles_before = has_carry || first - begin >= tile_of_column;
    const R* const carry = carries + ((round + 1) % 2) * 2 * width;
    R* const next_carry = carries + (round % 2) * 2 * width;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (length == 0) continue;
      const Prefix tiles_before = has_tiles_before ? Prefix(op, carry[e]) : Prefix(op);
      Prefix chunks_before(op);
      if (!begins_tile) chunks_before = Prefix(op, carry[width + e]);
      for (int g = 0; g < group; ++g) {
        chunks_before = Prefix(op, chunks_before.then(op, totals[g * width + e]));
      }
      const Prefix before = join(op, tiles_before, chunks_before);
      R with{};
      if (length == V) {
        const R chunks = chunks_before.then(op, totals[group * width + e]);
        with = tiles_before.then(op, chunks);
        if (group == groups - 1) {
          const bool ends_tile = (k + V) % tile_of_column == 0;
          next_carry[e] = ends_tile ? with : tiles_before.value();
          next_carry[width + e] = chunks;
          if (ends_tile && shape.step == ColumnStep::fold_tiles && tile < shape.tiles - 1) {
            totals_of_tiles[tile * problem.batch.count + line.number + e] = chunks;
          }
        }
      }
      if (shape.step == ColumnStep::fold_tiles) continue;

      // Scan: x becomes B after each element.
      const bool is_none = k == 0 && !problem.start.exists();
      const A at_begin = is_none ? problem.identity.value : static_cast<A>(before.value());
      Prefix run = before;
#pragma unroll
      for (int p = 0; p < V; p += pack_of_column) {
        scan_pack_of_column(problem.op, op, run, x, p, e, length - p);
      }
      if (length == V) x[V - 1][e] = static_cast<A>(with);
      if (ends.exist()) {
        if (k == 0) ends.store_begin(line_of(e), at_begin);
        A last = x[0][e];
#pragma unroll
        for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
        if (k + length == problem.n) ends.store_end(line_of(e), last);
      }
      if (problem.form == Form::exclusive) {
#pragma unroll
        for (int v = V - 1; v > 0; --v) x[v][e] = x[v - 1][e];
        x[0][e] = at_begin;
      }
    }
    if (shape.step == ColumnStep::fold_tiles) continue;

    // Store.
    Value* const to = problem.output.line(line).data + k * along;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v >= length) continue;
      Value y[E];
#pragma unroll
      for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
      store_columns(to + v * along, y);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
