// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for lines whose neighbours are neighbours in memory: columns, as along any axis but
/// the contiguous one.
///
/// A block walks down a strip of columns, then down the next of its strips. Its lanes lie across
/// the strip, so that every load and store covers neighbouring addresses; groups of lanes take
/// chunks of rows below each other. While a thread works on one chunk its next ones are on their
/// way to slots of its own in shared memory. It folds its chunk in registers, the totals of the
/// chunks meet in shared memory, and each thread scans its chunk with all that comes before. Where
/// there are too few strips for all blocks, each block takes one tile of a strip, in three steps:
/// fold the tiles, scan their totals, scan the tiles with what comes before them.
///
/// The combination tree counts from the element that is scanned first. Four elements make a pack,
/// which combines in the accumulator, two packs a chunk, eight chunks a row of chunks, 64 of those
/// a tile; each combine left to right, chunks and all above in the carried type. With P the fold of
/// the starting value and all earlier tiles, Q that of the earlier rows of chunks of the tile, q of
/// the earlier chunks of the row, p of the packs before the own one in the chunk, and x the
/// elements so far of the pack,
///
///     B(k) = ((P * (Q * q)) * p) * x    within a pack, what is in front being rounded to the
///                                       accumulator,
///     B(k) = (P * (Q * q)) * p          at the end of a pack, where p includes it,
///     B(k) = P * (Q * q)                at the end of a chunk, where q includes it,
///
/// and a part that is empty is left out. How wide strips are and how many rows a block takes at
/// once does not matter.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Elements of a column that combine in the accumulator, those of a chunk, and chunks of a row.
inline constexpr int pack_of_column = 4;
inline constexpr int chunk_of_column = 8;
inline constexpr int row_of_chunks = 8;

/// Elements of a tile of a column, and chunks.
inline constexpr int tile_of_column = 4096;
inline constexpr int chunks_of_tile = tile_of_column / chunk_of_column;

/// Totals of tiles that a block has at once, one a thread.
inline constexpr int totals_at_once = 256;

/// The distance in memory of lines that are `distance` lines apart in the last dimension.
__device__ __forceinline__ std::int64_t distance_of(const Strides& strides, const Batch& batch,
                                                    int distance) {
  return batch.rank == 0 ? 0 : strides.batch[batch.rank - 1] * distance;
}

/// Where a thread keeps the chunks that are on their way, in shared memory that no other thread
/// uses.
struct ColumnSlots {
  std::byte* memory;
  Threads threads;

  /// The slot of row v, for rows of `bytes`: neighbouring threads are neighbours.
  [[nodiscard]] __device__ __forceinline__ std::byte* at(int v, int bytes) const {
    return memory + (v * threads.count + threads.own) * bytes;
  }
  /// Slots behind those with rows of `bytes`.
  [[nodiscard]] __device__ __forceinline__ ColumnSlots behind(int bytes) const {
    return {memory + chunk_of_column * threads.count * bytes, threads};
  }
};

/// Which columns a thread has.
enum class Spacing {
  packed,  ///< E neighbours, which one instruction moves
  apart    ///< E columns, each as far from the next as the strip has lanes
};

/// Where a thread reads E columns.
///
///     begin_load(k, v, slots, columns)   begins to load element k, the chunk's v-th
///     load(k, v, slots, columns, x)      its values, which have arrived
///
/// for the first `columns` of them.
template <class In, int E, Spacing spacing>
struct Columns;

template <class T, int E, Spacing spacing>
struct Columns<Array<const T>, E, spacing> {
  static constexpr bool is_packed = spacing == Spacing::packed;
  static constexpr int bytes = sizeof(T) * E;
  static constexpr int bytes_of_copy = is_packed ? bytes : sizeof(T);
  /// Whether elements go through slots.
  static constexpr bool is_async = bytes_of_copy == 4 || bytes_of_copy == 8 || bytes_of_copy == 16;
  static constexpr int bytes_of_slot = is_async ? bytes : 0;
  /// Whether nothing is read but what has arrived in slots.
  static constexpr bool reads_slots = is_async;

  const T* data;
  std::int64_t along;
  std::int64_t across;  ///< between the columns

  /// \param distance of the columns
  __device__ __forceinline__ Columns(const Array<const T>& in, const LineNumber& line, int distance,
                                     int /* columns */)
      : data(in.line(line).data),
        along(in.strides.along),
        across(distance_of(in.strides, line.batch, distance)) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v, const ColumnSlots& slots,
                                             [[maybe_unused]] int columns) const {
    if constexpr (is_async && is_packed) {
      __pipeline_memcpy_async(slots.at(v, bytes), data + k * along, bytes);
    } else if constexpr (is_async) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e >= columns) continue;
        __pipeline_memcpy_async(slots.at(v * E + e, sizeof(T)), data + k * along + e * across,
                                sizeof(T));
      }
    }
  }
  template <class A>
  __device__ __forceinline__ void load([[maybe_unused]] std::int64_t k, [[maybe_unused]] int v,
                                       [[maybe_unused]] const ColumnSlots& slots,
                                       [[maybe_unused]] int columns, A (&x)[E]) const {
    if constexpr (is_packed) {
      using Word = typename UnitOf<bytes>::type;
      Word word;
      if constexpr (is_async) {
        word = *reinterpret_cast<const Word*>(slots.at(v, bytes));
      } else {
        word = __ldcs(reinterpret_cast<const Word*>(data + k * along));
      }
      T raw[E];
      memcpy(static_cast<void*>(raw), &word, sizeof(Word));
#pragma unroll
      for (int e = 0; e < E; ++e) x[e] = static_cast<A>(raw[e]);
    } else {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if constexpr (is_async) {
          x[e] = static_cast<A>(*reinterpret_cast<const T*>(slots.at(v * E + e, sizeof(T))));
        } else {
          if (e < columns) x[e] = static_cast<A>(data[k * along + e * across]);
        }
      }
    }
  }
};
template <int Rank, class Function>
struct Columns<Computed<Rank, Function>, 1, Spacing::apart> {
  static constexpr int bytes_of_slot = 0;
  static constexpr bool reads_slots = false;

  ComputedLine<Rank, Function> line;

  __device__ __forceinline__ Columns(const Computed<Rank, Function>& in, const LineNumber& number,
                                     int, int)
      : line(in.line(number)) {}
  __device__ __forceinline__ void begin_load(std::int64_t, int, const ColumnSlots&, int) const {}
  template <class A>
  __device__ __forceinline__ void load(std::int64_t k, int, const ColumnSlots&, int,
                                       A (&x)[1]) const {
    x[0] = static_cast<A>(line(k));
  }
};
template <class A, class Values, class Mask, int E, Spacing spacing>
struct Columns<Selected<A, Values, Mask>, E, spacing> {
  static constexpr int bytes_of_values = Columns<Values, E, spacing>::bytes_of_slot;
  static constexpr int bytes_of_slot = bytes_of_values + Columns<Mask, E, spacing>::bytes_of_slot;
  static constexpr bool reads_slots =
      Columns<Values, E, spacing>::reads_slots && Columns<Mask, E, spacing>::reads_slots;

  Columns<Values, E, spacing> values;
  Columns<Mask, E, spacing> mask;
  const A& identity;

  __device__ __forceinline__ Columns(const Selected<A, Values, Mask>& in, const LineNumber& line,
                                     int distance, int columns)
      : values(in.values, line, distance, columns),
        mask(in.mask, line, distance, columns),
        identity(in.identity) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v, const ColumnSlots& slots,
                                             int columns) const {
    values.begin_load(k, v, slots, columns);
    mask.begin_load(k, v, slots.behind(bytes_of_values), columns);
  }
  template <class Accumulator>
  __device__ __forceinline__ void load(std::int64_t k, int v, const ColumnSlots& slots, int columns,
                                       Accumulator (&x)[E]) const {
    bool selected[E] = {};
    values.load(k, v, slots, columns, x);
    mask.load(k, v, slots.behind(bytes_of_values), columns, selected);
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = selected[e] ? x[e] : identity;
  }
};

/// Chunks of a thread in shared memory: one in use, one on its way. With three there is no room for
/// a second block of 256 threads on a multiprocessor.
inline constexpr int chunks_in_flight = 2;

/// Stores the first `columns` of E values that will not be needed again.
///
/// \param across between them, if they are apart
template <Spacing spacing, int E, class Value>
__device__ __forceinline__ void store_columns(Value* to, [[maybe_unused]] std::int64_t across,
                                              [[maybe_unused]] int columns, const Value (&y)[E]) {
  if constexpr (spacing == Spacing::packed) {
    using Word = typename UnitOf<sizeof(Value) * E>::type;
    Word word;
    memcpy(&word, y, sizeof(Word));
    __stcs(reinterpret_cast<Word*>(to), word);
  } else {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (e < columns) store_once(to + e * across, y[e]);
    }
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
  int groups;  ///< that take chunks below each other: if in several rounds, whole rows of chunks
  int strips_of_row;    ///< of neighbouring columns
  std::int64_t strips;  ///< of all, or tiles of strips where blocks share them
  int chunks;           ///< of a column
  int tiles;            ///< of a column
  ColumnStep step;
};

/// The second step for columns that several blocks share: totals of tiles become what comes before
/// each tile. The first tile has nothing before it but the starting value.
///
/// \param totals that of tile t of line l is number t * lines + l; a block has one line
template <class P>
__global__ void __launch_bounds__(totals_at_once)
    scan_totals_of_columns(const __grid_constant__ P problem, typename Types<P>::R* totals,
                           int tiles) {
  using R = typename Types<P>::R;
  __shared__ __align__(16) std::byte memory[totals_at_once * sizeof(R)];
  R* const folds = reinterpret_cast<R*>(memory);
  const std::int64_t line = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const auto op = carrying(problem.op);
  auto prefix = fold_of_start<R>(op, problem.start.at(LineNumber{problem.batch, line}));
  // One thread combines, since tiles combine left to right; all together load and store.
  for (int first = 0; first < tiles - 1; first += totals_at_once) {
    const int left = tiles - 1 - first;
    const int count = left < totals_at_once ? left : totals_at_once;
    R* const total = totals + (std::int64_t{first} + thread) * problem.batch.count + line;
    if (thread < count) folds[thread] = *total;
    __syncthreads();
    if (thread == 0) {
#pragma unroll 8
      for (int i = 0; i < count; ++i) {
        prefix = Fold<typename Types<P>::Carrying, R>(op, prefix.then(op, folds[i]));
        folds[i] = prefix.value();  // before the next tile
      }
    }
    __syncthreads();
    if (thread < count) *total = folds[thread];
    __syncthreads();
  }
}

/// The part of a strip that a thread works on: E columns, from chunk `begin` to before `end`.
struct ColumnStrip {
  std::int64_t line;  ///< number of the first column; of another one where this is not there
  int begin;
  int end;
  int columns;  ///< that are there

  template <int E, Spacing spacing>
  static __device__ __forceinline__ ColumnStrip find(const ColumnShape& shape, int lane,
                                                     std::int64_t number) {
    // In the order of memory: strips of the same rows follow each other.
    const std::int64_t row = number / shape.strips_of_row;
    const int strip = static_cast<int>(number - row * shape.strips_of_row);
    const bool is_whole = shape.step == ColumnStep::all;
    const std::int64_t outer = is_whole ? row : row / shape.tiles;
    const int begin = is_whole ? 0 : static_cast<int>(row - outer * shape.tiles) * chunks_of_tile;
    constexpr bool is_packed = spacing == Spacing::packed;
    const int column = strip * shape.lanes_of_row * E + (is_packed ? lane * E : lane);
    const int left = shape.inner - column;
    const int here = is_packed ? left : (left + shape.lanes_of_row - 1) / shape.lanes_of_row;
    const int columns = left <= 0 ? 0 : (here < E ? here : E);
    const bool is_last = is_whole || shape.chunks - begin < chunks_of_tile;
    return {outer * shape.inner + (columns > 0 ? column : 0), begin,
            is_last ? shape.chunks : begin + chunks_of_tile, columns};
  }
};

/// Scans columns.
///
/// \tparam E columns of a thread
/// \param totals_of_tiles or what comes before the tile after them; null for ColumnStep::all
template <int E, Spacing spacing, class P>
__global__ void __launch_bounds__(most_threads_of_columns,
                                  threads_of_columns<E> / most_threads_of_columns)
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnShape shape,
                 typename Types<P>::R* totals_of_tiles) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Input = Columns<typename T::In, E, spacing>;
  constexpr int V = chunk_of_column;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};

  const Threads threads = threads_of_block();
  const int lane = threads.own % shape.lanes_of_row;
  const int group = threads.own / shape.lanes_of_row;
  const int groups = shape.groups;
  const int row_begin = group / row_of_chunks * row_of_chunks;
  const bool ends_row = group % row_of_chunks == row_of_chunks - 1;

  // In shared memory: slots; in turns, the totals of chunks and of rows of chunks, and what comes
  // before the block's rows, P and Q.
  const int width = shape.lanes_of_row * E;
  const int stride = shape.lanes_of_row;  // between the columns of a thread
  const int distance = spacing == Spacing::packed ? 1 : shape.lanes_of_row;
  std::byte* const slots = shared_memory();
  constexpr int bytes_of_slots = V * Input::bytes_of_slot;
  R* const all_totals =
      reinterpret_cast<R*>(slots + chunks_in_flight * bytes_of_slots * threads.count) + lane;
  R* const all_rows = all_totals + 2 * groups * width;
  R* const carries = all_rows + 2 * (groups / row_of_chunks) * width;
  const auto slots_of = [&](int slot) {
    return ColumnSlots{slots + slot * bytes_of_slots * threads.count, threads};
  };

  // Begins to load the chunk of this thread in the round that begins with chunk `first`.
  int slot = 0;
  const auto begin_load = [&](const ColumnStrip& strip, int first) {
    if constexpr (Input::bytes_of_slot > 0) {
      const Input input(problem.input, LineNumber{problem.batch, strip.line}, distance,
                        strip.columns);
      const std::int64_t k = std::int64_t{first + group} * V;
      const bool exists = strip.columns > 0 && first + group < strip.end;
      if (exists && k + V <= problem.n) {
#pragma unroll
        for (int v = 0; v < V; ++v) {
          input.begin_load(k + v, v, slots_of(slot), strip.columns);
        }
      } else if (exists) {
        for (int v = 0; v < V && k + v < problem.n; ++v) {
          input.begin_load(k + v, v, slots_of(slot), strip.columns);
        }
      }
    }
    __pipeline_commit();
    slot ^= 1;
  };

  int turn = 0;
  std::int64_t number = blockIdx.x;
  ColumnStrip strip = ColumnStrip::find<E, spacing>(shape, lane, number);
  begin_load(strip, strip.begin);
  for (; number < shape.strips; number += gridDim.x) {
    const LineNumber line{problem.batch, strip.line};
    const auto line_of = [&](int e) {
      return LineNumber{problem.batch, strip.line + e * distance};
    };
    // Whether column e takes part: built-in operators do no harm where there is none.
    const auto is_there = [&](int e) { return is_eager<typename T::Op> || e < strip.columns; };
    const Input input(problem.input, line, distance, strip.columns);
    Value* const output = problem.output.line(line).data;
    const bool is_first_tile = strip.begin == 0;
    const std::int64_t tile_before = strip.begin / chunks_of_tile - 1;
    const bool has_carry =
        is_first_tile ? problem.start.exists() : shape.step == ColumnStep::scan_tiles;
    ColumnStrip next = strip;

    for (int first = strip.begin; first < strip.end; first += groups, turn ^= 1) {
      const int chunk = first + group;
      const std::int64_t k = std::int64_t{chunk} * V;
      const std::int64_t left = problem.n - k;
      const int length =
          strip.columns == 0 || chunk >= strip.end ? 0 : (left < V ? static_cast<int>(left) : V);

      // Load: the next chunk is asked for before this one is waited for.
      if (first + groups < strip.end) {
        begin_load(strip, first + groups);
      } else if (number + gridDim.x < shape.strips) {
        next = ColumnStrip::find<E, spacing>(shape, lane, number + gridDim.x);
        begin_load(next, next.begin);
      } else {
        __pipeline_commit();
        slot ^= 1;
      }
      __pipeline_wait_prior(1);
      A x[V][E];
      if (Input::reads_slots || (E == 1 && length == V)) {
        // Without conditions, which would make each load wait for the last. What slots hold behind
        // the end of a column is of no use.
#pragma unroll
        for (int v = 0; v < V; ++v) input.load(k + v, v, slots_of(slot), E, x[v]);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) {
#pragma unroll
          for (int e = 0; e < E; ++e) x[v][e] = A{};
          if (v < length) input.load(k + v, v, slots_of(slot), strip.columns, x[v]);
        }
      }

      // Fold. Chunks that are not full are the last of their columns: nothing needs their totals.
      const bool is_full = length == V;
      R* const totals = all_totals + turn * groups * width;
      R* const rows = all_rows + turn * (groups / row_of_chunks) * width;
      R* const own_totals = totals + group * width;
      R* const carry = carries + (turn ^ 1) * 2 * width;
      if (is_eager<typename T::Op> || is_full) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (!is_there(e)) continue;
          const A a[4] = {x[0][e], x[1][e], x[2][e], x[3][e]};
          const A b[4] = {x[4][e], x[5][e], x[6][e], x[7][e]};
          own_totals[e * stride] = op(static_cast<R>(fold_pack<0, 4>(problem.op, a)),
                                      static_cast<R>(fold_pack<0, 4>(problem.op, b)));
        }
      }
      // What comes before the strip: read before others may store totals in its place.
      if (first == strip.begin && has_carry && group == 0) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (e >= strip.columns) continue;
          carry[e * stride] =
              is_first_tile
                  ? static_cast<R>(problem.start.at(line_of(e)).value)
                  : totals_of_tiles[tile_before * problem.batch.count + line_of(e).number];
        }
      }
      __syncthreads();

      // Carry.
      Prefix chunks_before[E];
#pragma unroll
      for (int e = 0; e < E; ++e) chunks_before[e] = Prefix(op);
      if (length > 0) {
        for (const R* other = totals + row_begin * width; other < own_totals; other += width) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            if (!is_there(e)) continue;
            chunks_before[e] = Prefix(op, chunks_before[e].then(op, other[e * stride]));
          }
        }
      }
      if (groups > row_of_chunks) {
        if (ends_row && is_full) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            if (!is_there(e)) continue;
            rows[group / row_of_chunks * width + e * stride] =
                chunks_before[e].then(op, own_totals[e * stride]);
          }
        }
        __syncthreads();
      }
      if (length == 0) continue;
      const bool begins_tile = first % chunks_of_tile == 0;
      const bool ends_tile = (chunk + 1) % chunks_of_tile == 0;
      const bool has_tiles_before = has_carry || first - strip.begin >= chunks_of_tile;
      const bool hands_on = group == groups - 1 && chunk + 1 < strip.end;
      const bool ends_shared_tile = shape.step == ColumnStep::fold_tiles &&
                                    chunk + 1 == strip.end && strip.end < shape.chunks;
      const bool is_none = k == 0 && !problem.start.exists();
      R* const next_carry = carries + turn * 2 * width;
      A at_begin[E];
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (!is_there(e)) continue;
        const Prefix tiles_before = has_tiles_before ? Prefix(op, carry[e * stride]) : Prefix(op);
        Prefix rows_before(op);
        if (!begins_tile) rows_before = Prefix(op, carry[width + e * stride]);
        for (int r = 0; r < group / row_of_chunks; ++r) {
          rows_before = Prefix(op, rows_before.then(op, rows[r * width + e * stride]));
        }
        const Prefix before = join(op, tiles_before, join(op, rows_before, chunks_before[e]));
        R with{};
        if (is_eager<typename T::Op> || is_full) {
          const R of_tile = rows_before.then(op, chunks_before[e].then(op, own_totals[e * stride]));
          with = tiles_before.then(op, of_tile);
          if (hands_on) {
            next_carry[e * stride] = ends_tile ? with : tiles_before.value();
            next_carry[width + e * stride] = of_tile;
          }
          if (ends_shared_tile && e < strip.columns) {
            totals_of_tiles[(tile_before + 1) * problem.batch.count + line_of(e).number] = of_tile;
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
      if (shape.step == ColumnStep::fold_tiles) continue;
      if (ends.exist()) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (e >= strip.columns) continue;
          if (k == 0) ends.store_begin(line_of(e), at_begin[e]);
          A last = x[0][e];
#pragma unroll
          for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
          if (k + length == problem.n) ends.store_end(line_of(e), last);
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
      const std::int64_t along = problem.output.strides.along;
      const std::int64_t across = distance_of(problem.output.strides, problem.batch, distance);
      Value* to = output + k * along;
#pragma unroll
      for (int v = 0; v < V; ++v, to += along) {
        Value y[E];
#pragma unroll
        for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
        if (v < length) store_columns<spacing>(to, across, strip.columns, y);
      }
    }
    strip = next;
  }
}

}  // namespace KokkosScan::impl::cuda
