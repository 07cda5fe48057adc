// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns that are many, long and aligned.
///
/// A block walks down a strip of columns, then down the next of its strips. Its lanes lie across
/// the strip, so that every load and store covers neighbouring addresses; groups of lanes take
/// chunks of rows below each other. While a thread works on one chunk its next ones are on their
/// way to slots of its own in shared memory. It folds its chunk in registers, the totals of the
/// chunks meet in shared memory, and each thread scans its chunk with all that comes before.
/// column_tree.hpp has the combination tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
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

/// Where a thread reads E columns that are neighbours, which one instruction moves.
///
///     begin_load(k, v, slots)   begins to load element k, the chunk's v-th
///     load(k, v, slots, x)      its values, which have arrived
template <class In, int E>
struct Columns;

template <class T, int E>
struct Columns<Array<const T>, E> {
  static constexpr int bytes = sizeof(T) * E;
  /// Whether elements go through slots.
  static constexpr bool is_async = bytes == 4 || bytes == 8 || bytes == 16;
  static constexpr int bytes_of_slot = is_async ? bytes : 0;

  const T* data;
  std::int64_t along;

  __device__ __forceinline__ Columns(const Array<const T>& in, const LineNumber& line)
      : data(in.line(line).data), along(in.strides.along) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v,
                                             const ColumnSlots& slots) const {
    if constexpr (is_async) {
      __pipeline_memcpy_async(slots.at(v, bytes), data + k * along, bytes);
    }
  }
  /// \param exists whether the element does; else there are no values
  template <class A>
  __device__ __forceinline__ void load([[maybe_unused]] std::int64_t k, int v,
                                       const ColumnSlots& slots, bool exists, A (&x)[E]) const {
    using Word = typename UnitOf<bytes>::type;
    Word word{};
    if constexpr (is_async) {
      word = *reinterpret_cast<const Word*>(slots.at(v, bytes));
    } else {
      if (exists) word = __ldcs(reinterpret_cast<const Word*>(data + k * along));
    }
    T raw[E];
    memcpy(static_cast<void*>(raw), &word, sizeof(Word));
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = static_cast<A>(raw[e]);
  }
};
template <class A, class Values, class Mask, int E>
struct Columns<Selected<A, Values, Mask>, E> {
  static constexpr int bytes_of_values = Columns<Values, E>::bytes_of_slot;
  static constexpr int bytes_of_slot = bytes_of_values + Columns<Mask, E>::bytes_of_slot;

  Columns<Values, E> values;
  Columns<Mask, E> mask;
  const A& identity;

  __device__ __forceinline__ Columns(const Selected<A, Values, Mask>& in, const LineNumber& line)
      : values(in.values, line), mask(in.mask, line), identity(in.identity) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v,
                                             const ColumnSlots& slots) const {
    values.begin_load(k, v, slots);
    mask.begin_load(k, v, slots.behind(bytes_of_values));
  }
  template <class Accumulator>
  __device__ __forceinline__ void load(std::int64_t k, int v, const ColumnSlots& slots, bool exists,
                                       Accumulator (&x)[E]) const {
    bool selected[E];
    values.load(k, v, slots, exists, x);
    mask.load(k, v, slots.behind(bytes_of_values), exists, selected);
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = selected[e] ? x[e] : identity;
  }
};

/// Chunks of a thread in shared memory: one in use, one on its way. With three there is no room for
/// a second block of 256 threads on a multiprocessor.
inline constexpr int chunks_in_flight = 2;

/// Stores E neighbours that will not be needed again, with one instruction.
template <int E, class Value>
__device__ __forceinline__ void store_columns(Value* to, const Value (&y)[E]) {
  using Word = typename UnitOf<sizeof(Value) * E>::type;
  Word word;
  memcpy(&word, y, sizeof(Word));
  __stcs(reinterpret_cast<Word*>(to), word);
}

/// How a launch shares columns; results do not depend on it.
struct ColumnShape {
  int inner;            ///< columns that are neighbours
  int lanes_of_row;     ///< a power of two up to 32
  int groups;           ///< that take chunks below each other: whole rows of chunks, a power of two
  int strips_of_row;    ///< of neighbouring columns
  std::int64_t strips;  ///< of all, or sections of strips where blocks share them
  int chunks;           ///< of a column
  int sections;         ///< of a column
  ColumnStep step;
};

/// What a thread has of a strip: columns from `line` on, from chunk `begin` to before `end`.
struct StripPart {
  std::int64_t line;  ///< -1 where there is none
  int begin;
  int end;

  /// \param column of the strip
  static __device__ __forceinline__ StripPart find(const ColumnShape& shape, std::int64_t number,
                                                   int width, int column) {
    // In the order of memory: strips of the same rows follow each other.
    const std::int64_t row = number / shape.strips_of_row;
    column += static_cast<int>(number - row * shape.strips_of_row) * width;
    std::int64_t outer = row;
    int begin = 0;
    int end = shape.chunks;
    if (shape.step != ColumnStep::all) {
      outer = row / shape.sections;
      begin = static_cast<int>(row - outer * shape.sections) * chunks_of_section;
      end = end - begin > chunks_of_section ? begin + chunks_of_section : end;
    }
    return {column < shape.inner ? outer * shape.inner + column : -1, begin, end};
  }
};

/// Scans columns.
///
/// \tparam E columns of a thread
/// \param  totals_of_sections or what comes before the section after them; null for
///                            ColumnStep::all
template <int E, class P>
__global__ void __launch_bounds__(threads_of_strip, strips_of_multiprocessor)
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnShape shape,
                 typename Types<P>::R* totals_of_sections) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Input = Columns<typename T::In, E>;
  constexpr int V = chunk_of_column;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};

  const Threads threads = threads_of_block();
  const int lane = threads.own % shape.lanes_of_row;
  const int group = threads.own / shape.lanes_of_row;
  const int groups = shape.groups;
  const int row = group / row_of_chunks;
  const int rows_of_chunks = groups / row_of_chunks;
  const bool ends_row = group % row_of_chunks == row_of_chunks - 1;

  // In shared memory: slots; in turns, the totals of chunks and of rows of chunks, and what comes
  // before the block's rows.
  const int width = shape.lanes_of_row * E;
  const int stride = shape.lanes_of_row;  // between the columns of a thread: without bank conflicts
  std::byte* const slots = shared_memory();
  constexpr int bytes_of_slots = V * Input::bytes_of_slot;
  R* const all_totals =
      reinterpret_cast<R*>(slots + chunks_in_flight * bytes_of_slots * threads.count) + lane;
  R* const all_rows = all_totals + 2 * groups * width;
  R* const carries = all_rows + 2 * rows_of_chunks * width;
  const auto slots_of = [&](int turn) {
    return ColumnSlots{slots + turn * bytes_of_slots * threads.count, threads};
  };

  const auto find = [&](std::int64_t number) {
    return StripPart::find(shape, number, width, lane * E);
  };
  // Begins to load the chunk of this thread in the round that begins with chunk `first`.
  const auto begin_load = [&](const StripPart& part, int first, int turn) {
    if constexpr (Input::bytes_of_slot > 0) {
      if (part.line < 0 || first + group >= part.end) return;
      const Input input(problem.input, LineNumber{problem.batch, part.line});
      const std::int64_t k = std::int64_t{first + group} * V;
      if (k + V <= problem.n) {
#pragma unroll
        for (int v = 0; v < V; ++v) input.begin_load(k + v, v, slots_of(turn));
      } else {
        for (int v = 0; v < V && k + v < problem.n; ++v) {
          input.begin_load(k + v, v, slots_of(turn));
        }
      }
    }
  };

  int turn = 0;
  StripPart next = find(blockIdx.x);
  begin_load(next, next.begin, turn);
  __pipeline_commit();
  for (std::int64_t number = blockIdx.x; number < shape.strips; number += gridDim.x) {
    const StripPart part = next;
    const bool has_columns = part.line >= 0;
    const LineNumber line{problem.batch, has_columns ? part.line : 0};
    const auto line_of = [&](int e) { return LineNumber{problem.batch, line.number + e}; };
    const Input input(problem.input, line);
    Value* const output = problem.output.line(line).data;
    const bool has_start = problem.start.exists();
    const int section = part.begin / chunks_of_section;

    for (int first = part.begin; first < part.end; first += groups, turn ^= 1) {
      const int chunk = first + group;
      const std::int64_t k = std::int64_t{chunk} * V;
      const std::int64_t left = problem.n - k;
      const bool exists = has_columns && chunk < part.end;
      const int length = exists ? (left < V ? static_cast<int>(left) : V) : 0;

      // Load: the next chunk is asked for before this one is waited for.
      if (first + groups < part.end) {
        begin_load(part, first + groups, turn ^ 1);
      } else if (number + gridDim.x < shape.strips) {
        next = find(number + gridDim.x);
        begin_load(next, next.begin, turn ^ 1);
      }
      __pipeline_commit();
      __pipeline_wait_prior(1);
      A x[V][E];
#pragma unroll
      for (int v = 0; v < V; ++v) input.load(k + v, v, slots_of(turn), v < length, x[v]);

      // Fold. Chunks that are not full are the last of their columns: nothing needs their totals.
      const bool is_full = length == V;
      const bool has_total = is_eager<typename T::Op> || is_full;
      R* const totals = all_totals + turn * groups * width;
      R* const rows = all_rows + turn * rows_of_chunks * width;
      R* const own_totals = totals + group * width;
      R* const memory_of_carry = carries + turn * ColumnCarry<R>::folds * width;
      R* const memory_of_next = carries + (turn ^ 1) * ColumnCarry<R>::folds * width;
      const ColumnCarry<R> carry{memory_of_carry, width};
      const ColumnCarry<R> next_carry{memory_of_next, width};
      if (has_total) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          own_totals[e * stride] = fold_chunk_of_column<R>(problem.op, op, x, e);
        }
      }
      // What comes before the strip: read before others may store totals in its place.
      if (first == part.begin && group == 0 && has_columns) {
        if (shape.step == ColumnStep::all && has_start) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            memory_of_carry[e * stride] = static_cast<R>(problem.start.at(line_of(e)).value);
          }
        } else if (shape.step == ColumnStep::scan_sections && (has_start || section > 0)) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            memory_of_carry[e * stride] =
                totals_of_sections[section * problem.batch.count + line_of(e).number];
          }
        }
      }
      __syncthreads();

      // Carry.
      Prefix chunks_before[E];
#pragma unroll
      for (int e = 0; e < E; ++e) chunks_before[e] = Prefix(op);
      if (length > 0) {
        const R* other = totals + row * row_of_chunks * width;
        for (; other < own_totals; other += width) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            chunks_before[e] = Prefix(op, chunks_before[e].then(op, other[e * stride]));
          }
        }
      }
      if (groups > row_of_chunks) {
        if (ends_row && is_full) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            rows[row * width + e * stride] = chunks_before[e].then(op, own_totals[e * stride]);
          }
        }
        __syncthreads();
      }
      if (length == 0) continue;
      const bool hands_on = group == groups - 1 && chunk + 1 < part.end;
      const bool folds_only = shape.step == ColumnStep::fold_sections;
      const bool ends_section = chunk + 1 == part.end && part.end < shape.chunks;
      if (folds_only && !hands_on && !ends_section) continue;
      // In steps, of the other sections only one fold is there.
      const int relative = shape.step == ColumnStep::all ? first : first - part.begin;
      const bool has_groups = shape.step == ColumnStep::all
                                  ? has_start || first >= chunks_of_group
                                  : !folds_only && (has_start || section > 0);
      A at_begin[E];
#pragma unroll
      for (int e = 0; e < E; ++e) {
        auto prefix = carry.get(op, e * stride, relative, has_groups);
        for (int r = 0; r < row; ++r) {
          prefix.rows = Prefix(op, prefix.rows.then(op, rows[r * width + e * stride]));
        }
        const Prefix before = prefix.join_all(op, chunks_before[e]);
        R with{};
        if (has_total) {
          const R chunks = chunks_before[e].then(op, own_totals[e * stride]);
          with = prefix.groups.then(op, prefix.sections.then(op, prefix.rows.then(op, chunks)));
          if (hands_on) next_carry.put(op, e * stride, chunk + 1, prefix, chunks);
          if (folds_only && ends_section) {
            totals_of_sections[(section + 1) * problem.batch.count + line_of(e).number] =
                prefix.rows.then(op, chunks);
          }
        }
        if (folds_only) continue;

        // Scan: x becomes B after each element.
        at_begin[e] =
            k == 0 && !has_start ? problem.identity.value : static_cast<A>(before.value());
        Prefix run = before;
#pragma unroll
        for (int p = 0; p < V; p += pack_of_column) {
          scan_pack_of_column(problem.op, op, run, x, p, e, length - p);
        }
        if (is_full) x[V - 1][e] = static_cast<A>(with);
      }
      if (folds_only) continue;
      if (ends.exist()) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
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
      Value* to = output + k * problem.output.strides.along;
#pragma unroll
      for (int v = 0; v < V; ++v, to += problem.output.strides.along) {
        Value y[E];
#pragma unroll
        for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
        if (v < length) store_columns(to, y);
      }
    }
  }
}

}  // namespace KokkosScan::impl::cuda
