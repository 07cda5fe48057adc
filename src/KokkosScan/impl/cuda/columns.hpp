// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for many long columns made of aligned packs.
///
/// A block walks down a strip of columns, then down its next strip. Lanes lie across the strip, so
/// that every load and store covers neighbouring addresses; groups of lanes take consecutive chunks
/// of rows. A software pipeline prefetches the next chunks of each thread into slots of its own in
/// shared memory. A thread folds its chunk in registers, the totals of the chunks meet in shared
/// memory, and each thread scans its chunk with its prefix. column_tree.hpp has the combination
/// tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/strip_plan.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The slots of a thread in shared memory for its prefetched chunks.
struct ColumnSlots {
  std::byte* memory;
  Threads threads;

  /// The slot of row v, for rows of `bytes`. Slots of neighbouring threads are adjacent.
  [[nodiscard]] __device__ __forceinline__ std::byte* at(int v, int bytes) const {
    return memory + (v * threads.count + threads.own) * bytes;
  }
  /// The slots after those with rows of `bytes`.
  [[nodiscard]] __device__ __forceinline__ ColumnSlots behind(int bytes) const {
    return {memory + chunk_of_column * threads.count * bytes, threads};
  }
};

/// How a thread reads E neighbouring columns, with one memory instruction per row.
///
///     begin_load(k, v, slots)   begins to load element k, the v-th of the chunk
///     load(k, v, slots, x)      reads it after it has arrived
///
template <class In, int E>
struct Columns;

template <class T, int E>
struct Columns<Array<const T>, E> {
  using Value = T;
  static constexpr int bytes = sizeof(T) * E;
  /// Less than a word is copied with the word that it is a part of (see has_aligned_columns).
  static constexpr int copied = std::max(bytes, bytes_of_word);
  static constexpr int bytes_of_slot = copied;

  const T* data;
  std::int64_t along;

  __device__ __forceinline__ Columns(const Array<const T>& in, const ColumnPlace& place)
      : data(in.line(place).data), along(in.strides.along) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v,
                                             const ColumnSlots& slots) const {
    const auto* const from = reinterpret_cast<const std::byte*>(data + k * along);
    __pipeline_memcpy_async(slots.at(v, copied), from - bytes_before(), copied);
  }
  template <class A>
  __device__ __forceinline__ void load(std::int64_t, int v, const ColumnSlots& slots,
                                       A (&x)[E]) const {
    using Word = typename UnitOf<copied>::type;
    Word word = *reinterpret_cast<const Word*>(slots.at(v, copied));
    if constexpr (bytes < copied) word >>= 8 * bytes_before();
    T raw[E];
    memcpy(static_cast<void*>(raw), &word, bytes);
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = static_cast<A>(raw[e]);
  }

 private:
  /// Of the word that elements are a part of: the same in every row.
  [[nodiscard]] __device__ __forceinline__ unsigned bytes_before() const {
    if constexpr (bytes == copied) {
      return 0;
    } else {
      return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(data)) % bytes_of_word;
    }
  }
};
template <class T, int E>
struct Columns<ValueOfLine<T>, E> {
  using Value = std::remove_const_t<T>;
  static constexpr int bytes_of_slot = 0;

  Value values[E];

  __device__ __forceinline__ Columns(const ValueOfLine<T>& in, const ColumnPlace& place) {
#pragma unroll
    for (int e = 0; e < E; ++e)
      values[e] = in.line(ColumnPlace{place.batch, place.outer, place.column + e})(0);
  }
  __device__ __forceinline__ void begin_load(std::int64_t, int, const ColumnSlots&) const {}
  template <class A>
  __device__ __forceinline__ void load(std::int64_t, int, const ColumnSlots&, A (&x)[E]) const {
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = static_cast<A>(values[e]);
  }
};
template <int Rank, class Index, int E>
struct Columns<Computed<Rank, IndexAlong<Index>>, E> {
  using In = Computed<Rank, IndexAlong<Index>>;
  using Value = Index;
  static constexpr int bytes_of_slot = 0;

  const In& in;

  __device__ __forceinline__ Columns(const In& of, const ColumnPlace&) : in(of) {}
  __device__ __forceinline__ void begin_load(std::int64_t, int, const ColumnSlots&) const {}
  template <class A>
  __device__ __forceinline__ void load(std::int64_t k, int, const ColumnSlots&, A (&x)[E]) const {
    const auto index = static_cast<Index>(in.first + in.step * k);
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = static_cast<A>(index);
  }
};
template <class In, class... Parts, int E>
struct Columns<Composition<In, Parts...>, E> {
  using Value = typename Composition<In, Parts...>::Value;
  static constexpr int bytes_of_slot = (0 + ... + Columns<Parts, E>::bytes_of_slot);

  Each<Columns<Parts, E>...> parts;
  const In& in;

  __device__ __forceinline__ Columns(const In& of, const ColumnPlace& place)
      : parts(parts_of(of), place), in(of) {}
  __device__ __forceinline__ void begin_load(std::int64_t k, int v, ColumnSlots slots) const {
    parts.visit([&](const auto& part) {
      part.begin_load(k, v, slots);
      slots = slots.behind(part.bytes_of_slot);
    });
  }
  template <class A>
  __device__ __forceinline__ void load(std::int64_t k, int v, ColumnSlots slots, A (&x)[E]) const {
    combine_some(parts, function_of(in), x, [&](const auto& part, auto& elements) {
      part.load(k, v, slots, elements);
      slots = slots.behind(part.bytes_of_slot);
    });
  }
};
template <class In, int E>
requires is_composed<In>
struct Columns<In, E> : Columns<composition_t<In>, E> {
  using Columns<composition_t<In>, E>::Columns;
};

/// The part of a strip that a thread works on: E columns, or none.
struct ColumnStrip {
  std::int64_t outer;
  int column;  ///< the first one; some other one if that does not exist
  bool exists;

  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int e = 0) const {
    return {batch, outer, column + e};
  }
};

/// How a thread stores E neighbouring columns.
///
///     store(k, length, slots, x)  stores x[v] as element k + v, for v < length. The slots must be
///                                 free, and all lanes of the warp must call it
///
template <class Out, int E>
struct ColumnResults;
template <class Value, int E>
struct ColumnResults<Array<Value>, E> {
  static constexpr int bytes_of_slot = 0;

  Value* const data;
  const std::int64_t along;

  __device__ __forceinline__ ColumnResults(const Array<Value>& out, const ColumnPlace& place)
      : data(out.line(place).data), along(out.strides.along) {}
  template <class A, int V>
  __device__ __forceinline__ void store(std::int64_t k, int length, const ColumnSlots&,
                                        const A (&x)[V][E]) const {
    Value* to = data + k * along;
#pragma unroll
    for (int v = 0; v < V; ++v, to += along) {
      Value y[E];
#pragma unroll
      for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
      if (v < length) move_pack(reinterpret_cast<std::byte*>(to), y);
    }
  }
};
/// A function: the lanes of a warp exchange their columns, so that neighbouring lanes store
/// neighbours. Column e of a lane is then column e * lanes + lane of the warp.
template <class Value, int Rank, class Function, int E>
struct ColumnResults<Called<Value, Rank, Function>, E> {
  static constexpr int bytes_of_slot = E > 1 ? static_cast<int>(sizeof(Value)) * E : 0;

  const Called<Value, Rank, Function>& out;
  // Computed once per strip, as that takes divisions.
  std::int64_t index[E][Rank];

  /// Called by all lanes of the warp.
  __device__ __forceinline__ ColumnResults(const Called<Value, Rank, Function>& of,
                                           const ColumnPlace& place)
      : out(of) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
#pragma unroll 1
    for (int e = 0; e < E; ++e) {
      const int number = e * lanes + lane;
      const auto found = out.line(
          ColumnPlace{place.batch, place.outer, shuffle(place.column, number / E) + number % E});
#pragma unroll
      for (int d = 0; d < Rank; ++d) index[e][d] = found.of_indices.index[d];
    }
  }
  template <class A, int V>
  __device__ __forceinline__ void store(std::int64_t k, int length, const ColumnSlots& slots,
                                        const A (&x)[V][E]) const {
    constexpr int bytes = sizeof(Value) * E;
    if constexpr (E > 1) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (length == 0) continue;
        Value y[E];
#pragma unroll
        for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
        move_pack(slots.at(v, bytes), y);
      }
      __syncwarp();
    }
#pragma unroll 1
    for (int e = 0; e < E; ++e) {
      const int number = e * lanes + slots.threads.own;
      const std::int64_t first = E > 1 ? shuffle(k, number / E) : k;
      const int count = E > 1 ? shuffle(length, number / E) : length;
      if (count == 0) continue;
      CalledLine<Value, Rank, Function> line{
          {out.indices.function, {}, out.indices.axis, out.indices.first, out.indices.step}};
#pragma unroll
      for (int d = 0; d < Rank; ++d) line.of_indices.index[d] = index[e][d];
      if constexpr (E == 1) {
        call_for_chunk(line, first, count, x, 0);
      } else {
        const ColumnSlots from{slots.memory, {number / E, lanes}};
        Value y[V][1];
#pragma unroll
        for (int v = 0; v < V; ++v) {
          y[v][0] = reinterpret_cast<const Value*>(from.at(v, bytes))[number % E];
        }
        call_for_chunk(line, first, count, y, 0);
      }
    }
    if constexpr (E > 1) __syncwarp();
  }
};

/// How a launch distributes columns; results do not depend on it.
struct ColumnShape {
  int inner;          ///< columns that are neighbours
  int lanes_of_row;   ///< a power of two
  int groups;         ///< that take consecutive chunks; whole quarters of rows if there are several
                      ///< rounds
  int strips_of_row;  ///< of neighbouring columns
  std::int64_t strips;  ///< of all columns
  int chunks;           ///< of a column
};

/// The part of strip `number` that a lane works on.
template <int E>
__device__ __forceinline__ ColumnStrip find_strip(const ColumnShape& shape, int lane,
                                                  std::int64_t number) {
  // In memory order: strips of the same rows are neighbours.
  const std::int64_t outer = number / shape.strips_of_row;
  const int strip = static_cast<int>(number - outer * shape.strips_of_row);
  const int column = (strip * shape.lanes_of_row + lane) * E;
  const bool exists = column < shape.inner;
  return {outer, exists ? column : 0, exists};
}

/// Bytes of a thread's slot for one row of its elements or, if a function is called, results.
template <class P, int E>
inline constexpr int bytes_of_column_slot =
    std::max(Columns<typename Types<P>::In, E>::bytes_of_slot,
             ColumnResults<typename Types<P>::Out, E>::bytes_of_slot);

/// Scans columns.
///
/// \tparam E columns of a thread, a pack
template <int E, class P>
__global__ void __launch_bounds__(most_threads_of_strip,
                                  threads_of_strips<E> / most_threads_of_strip)
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnShape shape) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Input = Columns<typename T::In, E>;
  using Output = ColumnResults<typename T::Out, E>;
  constexpr int V = chunk_of_column;
  const auto op = carrying(problem.op);

  const Threads threads = threads_of_block();
  const int lane = threads.own % shape.lanes_of_row;
  const int group = threads.own / shape.lanes_of_row;
  const int groups = shape.groups;
  // The last warp may have threads that belong to no group.
  const bool is_spare = group >= groups;
  const int own_quarter = group / quarter_of_chunks;
  const bool ends_quarter = group % quarter_of_chunks == quarter_of_chunks - 1;

  // Shared memory holds slots, then two buffers each for the totals of chunks, those of quarters
  // of rows, and the carry between rounds.
  const int width = shape.lanes_of_row * E;
  const int stride = shape.lanes_of_row;  // between the columns of a thread
  std::byte* const slots = shared_memory();
  constexpr int bytes_of_slots = V * bytes_of_column_slot<P, E>;
  R* const all_totals =
      reinterpret_cast<R*>(slots + chunks_in_flight * bytes_of_slots * threads.count) + lane;
  R* const all_quarters = all_totals + 2 * groups * width;
  R* const carries = all_quarters + 2 * (groups / quarter_of_chunks) * width;
  // Slots interleave over the block or, if lanes exchange results of another size, over the warp.
  const auto slots_of = [&](int slot) {
    if constexpr (Output::bytes_of_slot == 0) {
      return ColumnSlots{slots + slot * bytes_of_slots * threads.count, threads};
    } else {
      const int lane_of_warp = threads.own % lanes;
      const int of_warp = slot * threads.count + threads.own - lane_of_warp;
      return ColumnSlots{slots + of_warp * bytes_of_slots, {lane_of_warp, lanes}};
    }
  };

  // Begins to load this thread's chunk of the next round, which may belong to the next strip.
  std::int64_t number_ahead = blockIdx.x;
  ColumnStrip ahead = find_strip<E>(shape, lane, number_ahead);
  int first_ahead = 0;
  int slot_ahead = 0;
  const auto begin_load = [&] {
    if (number_ahead < shape.strips) {
      if constexpr (Input::bytes_of_slot > 0) {
        const Input input(problem.input, ahead.place(problem.batch));
        const std::int64_t k = std::int64_t{first_ahead + group} * V;
        const bool exists = !is_spare && ahead.exists && first_ahead + group < shape.chunks;
        if (exists && k + V <= problem.n) {
#pragma unroll
          for (int v = 0; v < V; ++v) {
            input.begin_load(k + v, v, slots_of(slot_ahead));
          }
        } else if (exists) {
          for (int v = 0; v < V && k + v < problem.n; ++v) {
            input.begin_load(k + v, v, slots_of(slot_ahead));
          }
        }
      }
      first_ahead += groups;
      if (first_ahead >= shape.chunks) {
        first_ahead = 0;
        number_ahead += gridDim.x;
        ahead = find_strip<E>(shape, lane, number_ahead);
      }
    }
    __pipeline_commit();
    slot_ahead = slot_ahead == chunks_in_flight - 1 ? 0 : slot_ahead + 1;
  };

  int slot = 0;
  int turn = 0;
  for (int i = 0; i < chunks_in_flight - 1; ++i) begin_load();
  for (std::int64_t number = blockIdx.x; number < shape.strips; number += gridDim.x) {
    const ColumnStrip strip = find_strip<E>(shape, lane, number);
    const auto place_of = [&](int e) { return strip.place(problem.batch, e); };
    // Built-in operators may also combine the undefined values of columns that do not exist.
    const bool are_there = is_harmless<typename T::Op> || strip.exists;
    const Input input(problem.input, place_of(0));
    const Output results(problem.output, place_of(0));
    const bool has_start = problem.start.exists();

    for (int first = 0; first < shape.chunks; first += groups, turn ^= 1) {
      const int chunk = first + group;
      const std::int64_t k = std::int64_t{chunk} * V;
      const std::int64_t left = problem.n - k;
      const int length = is_spare || !strip.exists || chunk >= shape.chunks
                             ? 0
                             : (left < V ? static_cast<int>(left) : V);

      // Load: another chunk is requested before this one is awaited.
      begin_load();
      __pipeline_wait_prior(chunks_in_flight - 1);
      const ColumnSlots loaded = slots_of(slot);
      slot = slot == chunks_in_flight - 1 ? 0 : slot + 1;
      A x[V][E];
      // Without conditions, so that the loads do not wait for each other. Slots past the end of a
      // column are read, but not used.
#pragma unroll
      for (int v = 0; v < V; ++v) input.load(k + v, v, loaded, x[v]);

      // Fold. Only the last chunk of a column can be partial, and nothing needs its total.
      const bool is_full = length == V;
      R* const totals = all_totals + turn * groups * width;
      R* const quarters = all_quarters + turn * (groups / quarter_of_chunks) * width;
      R* const own_totals = totals + group * width;
      const ColumnCarry<R> carry{carries + (turn ^ 1) * ColumnCarry<R>::folds * width, width};
      if (is_harmless<typename T::Op> ? !is_spare : is_full) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (!are_there) continue;
          own_totals[e * stride] = fold_chunk_of_column<R>(problem.op, op, x, e);
        }
      }
      // The starting value is read now, since totals may later overwrite it.
      if (first == 0 && has_start && group == 0) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (!strip.exists) continue;
          carry.memory[e * stride] = static_cast<R>(problem.start.at(place_of(e)).value);
        }
      }
      __syncthreads();

      // Carry.
      Prefix chunks_before[E];
#pragma unroll
      for (int e = 0; e < E; ++e) chunks_before[e] = Prefix(op);
      if (length > 0) {
        const R* other = totals + own_quarter * quarter_of_chunks * width;
        for (; other < own_totals; other += width) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            if (!are_there) continue;
            chunks_before[e] = Prefix(op, chunks_before[e].then(op, other[e * stride]));
          }
        }
      }
      if (groups > quarter_of_chunks) {
        if (ends_quarter && is_full) {
#pragma unroll
          for (int e = 0; e < E; ++e) {
            if (!are_there) continue;
            quarters[own_quarter * width + e * stride] =
                chunks_before[e].then(op, own_totals[e * stride]);
          }
        }
        __syncthreads();
      }
      if (length > 0) {
        const bool has_sections = has_start || has_section_before(first);
        const bool hands_on = group == groups - 1 && chunk + 1 < shape.chunks;
        const bool is_none = k == 0 && !has_start;
        const ColumnCarry<R> next_carry{carries + turn * ColumnCarry<R>::folds * width, width};
        A at_begin[E];
#pragma unroll
        for (int e = 0; e < E; ++e) {
          if (!are_there) continue;
          auto prefix = carry.get(op, e * stride, first, has_sections);
          prefix.add_quarters(op, quarters + e * stride, width, own_quarter);
          const Prefix before = prefix.join_all(op, chunks_before[e]);
          R with{};
          if (is_harmless<typename T::Op> || is_full) {
            const R chunks = chunks_before[e].then(op, own_totals[e * stride]);
            with = prefix.join_all(op, Prefix(op, chunks)).value();
            if (hands_on) next_carry.put(op, e * stride, first + groups, prefix, chunks);
          }

          // Scan: replaces x by B after each element.
          at_begin[e] = is_none ? problem.identity.value : static_cast<A>(before.value());
          Prefix run = before;
#pragma unroll
          for (int p = 0; p < V; p += pack_of_column) {
            scan_pack_of_column(problem.op, op, run, x, p, e, length - p);
          }
          if (is_full) x[V - 1][e] = static_cast<A>(with);
        }
#pragma unroll
        for (int e = 0; e < E; ++e) {
          finish_chunk(problem, place_of(e), strip.exists, k == 0, left <= V, length, at_begin[e],
                       x, e);
        }
      }

      // Store.
      results.store(k, length, loaded, x);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
