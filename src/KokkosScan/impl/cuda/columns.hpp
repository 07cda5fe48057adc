// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns, lines whose elements are not neighbours in memory. A thread keeps a chunk
/// of a line in registers, or some whole short lines; threads side by side have neighbouring lines,
/// those below each other the chunks of a line. They combine their totals at a barrier, a block walks
/// down its lines step by step, and where lines are few several blocks share them. As each element is
/// loaded by itself, nothing asks for alignment, and a mask, a conversion or a computed input costs
/// an expression in the load. Rows of so few columns that a warp would find little side by side pass
/// through shared memory, in the order of memory. trees.hpp has the combination tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_plan.hpp>
#include <KokkosScan/impl/cuda/published.hpp>
#include <KokkosScan/impl/cuda/trees.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

// ---- Where columns are --------------------------------------------------------------------------

/// The offset of a slab, all lines that are neighbours, in a batch of more dimensions than two: rare.
__device__ __forceinline__ std::int64_t offset_of_rare_slab(const Batch& batch,
                                                                const Strides& strides,
                                                                std::int64_t slab) {
  std::int64_t sum = 0;
#pragma unroll 1
  for (int d = batch.rank - 2; d >= 0; --d) {
    const Division at(slab, batch.extent[d]);
    sum += at.remainder * strides.batch[d];
    slab = at.quotient;
  }
  return sum;
}
__device__ __forceinline__ std::int64_t offset_of_slab(const Batch& batch, const Strides& strides,
                                                       std::int64_t slab) {
  if (batch.rank <= 1) return 0;
  return batch.rank == 2 ? slab * strides.batch[0] : offset_of_rare_slab(batch, strides, slab);
}

/// A column: the how-manieth of a slab, and of which.
struct ColumnPlace {
  const Batch& batch;
  std::int64_t slab;
  int column;

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset(const Strides& strides) const {
    const int last = batch.rank > 0 ? batch.rank - 1 : 0;
    return offset_of_slab(batch, strides, slab) + column * strides.batch[last];
  }
};

/// Where a run of memory begins, the rows of a chunk of all lines of a slab, in a batch of slabs at
/// equal distances.
struct FlatPlace {
  const Batch& batch;
  std::int64_t slab;
  std::int64_t rest;  ///< elements from the slab's first line and row
  std::int64_t k;     ///< the first row
  int elements;
  int inner;
  bool backward;  ///< whether the last row comes first

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset_of_slab(
      const Strides& strides) const {
    return batch.rank == 2 ? slab * strides.batch[0] : 0;
  }
};

/// Element i of a run of an input.
template <class T>
__device__ __forceinline__ T flat_element(const Array<T>& in, const FlatPlace& at, int i) {
  return in.data[at.offset_of_slab(in.strides) + at.rest + i];
}
template <int Rank, class Function>
__device__ __forceinline__ auto flat_element(const Computed<Rank, Function>& in,
                                             const FlatPlace& at, int i) {
  const int row = i / at.inner;
  return in.line(ColumnPlace{at.batch, at.slab, i - row * at.inner})(
      at.k + (at.backward ? at.elements / at.inner - 1 - row : row));
}
template <class A, class Values, class Mask>
__device__ __forceinline__ A flat_element(const Selected<A, Values, Mask>& in, const FlatPlace& at,
                                          int i) {
  const bool selected = static_cast<bool>(flat_element(in.mask, at, i));
  const A value = static_cast<A>(flat_element(in.values, at, i));
  return selected ? value : in.identity;
}

/// Groups of a warp, each of them the rows of a chunk of all lines of a slab: a run of memory, which
/// lies in shared memory in the same order. (Where scans go backward, the last row comes first.)
template <class P>
struct FlatGroups {
  const P& p;
  const ColumnPlan& plan;
  std::int64_t strip;
  std::int64_t first_chunk;  ///< of the step
  int rows;                  ///< of a chunk

  /// Calls f(slot, elements, place, own) for each group; a lane has every 32nd element from `own` on.
  template <class F>
  __device__ __forceinline__ void for_each_run(const F& f) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int first_group = static_cast<int>(threadIdx.x) / lanes * plan.groups_of_warp;
    const std::int64_t first_slab = strip * plan.slabs_of_block;
    const std::int64_t left = p.n - first_chunk * rows;
#pragma unroll 1
    for (int group = 0; group < plan.groups_of_warp; ++group) {
      const int number = first_group + group;
      const int slab = number >> plan.log2_chunks;
      const int chunk = number & (plan.chunks_of_step - 1);
      const std::int64_t rows_left = left - chunk * rows;
      if (rows_left <= 0 || slab >= plan.slabs_of_block ||
          (first_slab + slab) * plan.inner >= p.batch.count) {
        continue;
      }
      const int elements = static_cast<int>(rows_left < rows ? rows_left : rows) * plan.inner;
      f(group * plan.pitch, elements, place(first_slab + slab, first_chunk + chunk, elements), lane);
    }
  }
  /// The place of element 0 of a group.
  [[nodiscard]] __device__ __forceinline__ FlatPlace place(std::int64_t slab, std::int64_t chunk,
                                                           int elements) const {
    const std::int64_t k = chunk * rows;
    const bool backward = p.output.strides.along < 0;
    return {p.batch, slab, backward ? plan.inner - elements - k * plan.inner : k * plan.inner, k,
            elements, plan.inner, backward};
  }
};

/// Copies a run to shared memory.
template <class A, class In>
__device__ __forceinline__ void load_run(const In& in, const FlatPlace& place, int elements,
                                         int own, A* slots) {
  constexpr int at_once = sizeof(A) <= 8 ? 8 : 2;
#pragma unroll 1
  for (int i = own; i < elements; i += at_once * lanes) {
    A x[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      if (i + j * lanes < elements) x[j] = static_cast<A>(flat_element(in, place, i + j * lanes));
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      if (i + j * lanes < elements) slots[i + j * lanes] = x[j];
    }
  }
}
/// The same without registers; wait_for_runs() ends it.
template <class T>
requires is_copied_apart<T>
__device__ __forceinline__ void load_run(const Array<const T>& in, const FlatPlace& place,
                                         int elements, int own, T* slots) {
  const T* from = in.data + place.offset_of_slab(in.strides) + place.rest;
#pragma unroll 4
  for (int i = own; i < elements; i += lanes) {
    __pipeline_memcpy_async(slots + i, from + i, sizeof(T));
  }
}
__device__ __forceinline__ void wait_for_runs() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
/// Copies a run to the output.
template <class Value>
__device__ __forceinline__ void store_run(const Array<Value>& out, const FlatPlace& place,
                                          int elements, int own, const Value* slots) {
  Value* const to = out.data + place.offset_of_slab(out.strides) + place.rest;
#pragma unroll 4
  for (int i = own; i < elements; i += lanes) to[i] = slots[i];
}

/// Loads rows of a line; those from `length` on are A{}.
///
/// \param begin the first
template <int N, class A, class T>
__device__ __forceinline__ void load_rows(const ArrayLine<T>& line, std::int64_t begin, int length,
                                          A* x) {
  const T* row = line.data + begin * line.stride;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x[i] = i < length ? static_cast<A>(*row) : A{};
    row += line.stride;
  }
}
template <int N, class A, int Rank, class Function>
__device__ __forceinline__ void load_rows(const ComputedLine<Rank, Function>& line,
                                          std::int64_t begin, int length, A* x) {
  if (length >= N) {  // without conditions, as a load behind one may wait for the last
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = static_cast<A>(line(begin + i));
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = i < length ? static_cast<A>(line(begin + i)) : A{};
  }
}
template <int N, class A, class Accumulator, class Values, class Mask>
__device__ __forceinline__ void load_rows(const SelectedLine<Accumulator, Values, Mask>& line,
                                          std::int64_t begin, int length, A* x) {
  // Half of them at once, as registers hold twice as much until values are selected.
  constexpr int at_once = N > 16 ? N / 2 : N;
#pragma unroll
  for (int i = 0; i < N; i += at_once) {
    bool selected[at_once];
    load_rows<at_once>(line.values, begin + i, length - i, x + i);
    load_rows<at_once>(line.mask, begin + i, length - i, selected);
#pragma unroll
    for (int j = 0; j < at_once; ++j) x[i + j] = selected[j] ? x[i + j] : line.identity;
  }
}

/// Writes rows to shared memory.
template <int N, class A>
__device__ __forceinline__ void put_rows(const ArrayLine<A>& line, int length, const A (&x)[N]) {
  A* row = line.data;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < length) *row = x[i];
    row += line.stride;
  }
}

// ---- A chunk ------------------------------------------------------------------------------------

/// Scans chunks: what combines in a problem, and in which groups.
template <class P, int N>
struct ChunkOfRows {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Op = typename T::Op;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  static constexpr bool is_grouped = !std::is_same_v<A, R>;
  static constexpr int group = is_grouped && rows_of_group < N ? rows_of_group : N;

  /// From rows to their folds within their group; returns the fold of all, where all N are there.
  static __device__ __forceinline__ R fold(const Op& op, const Carrying& carrying_op, A (&x)[N],
                                           int length) {
#pragma unroll
    for (int i = 1; i < N; ++i) {
      if (i % group != 0 && (is_eager<Op> || i < length)) x[i] = op(x[i - 1], x[i]);
    }
    R total = static_cast<R>(x[group - 1]);
    if (is_eager<Carrying> || length == N) {
#pragma unroll
      for (int i = 2 * group - 1; i < N; i += group) {
        total = carrying_op(total, static_cast<R>(x[i]));
      }
    }
    return total;
  }

  /// Calls store(is_row, result) for each of N rows.
  ///
  /// \param x        as fold() leaves it
  /// \param before   all before the chunk
  /// \param at_begin B at the begin of the chunk
  /// \param at_end   B at its end, if all N rows are there and others follow it in the tree
  /// \return B behind the last row
  template <class Store>
  static __device__ __forceinline__ A scan(const P& p, const Carrying& carrying_op,
                                           const A (&x)[N], int length, const Prefix& before,
                                           const A& at_begin, const Maybe<A>& at_end,
                                           const Store& store) {
    const Op& op = p.op;
    const bool inclusive = p.form == Form::inclusive;
    Prefix run = before;
    Fold<Op, A> rounded = run.exists() ? Fold<Op, A>(op, static_cast<A>(run.value())) : Fold<Op, A>(op);
    A last = at_begin;
    A previous = at_begin;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const bool exists = i < length;
      A b = x[i];
      if (is_eager<Op> || exists) b = rounded.then(op, x[i]);
      if (is_grouped && i % group == group - 1 && (is_eager<Carrying> || exists)) {
        run = Prefix(carrying_op, run.then(carrying_op, static_cast<R>(x[i])));
        b = static_cast<A>(run.value());
        rounded = Fold<Op, A>(op, b);
      }
      if (i == N - 1 && at_end.exists) b = at_end.value;
      store(exists, inclusive ? b : previous);
      last = exists ? b : last;
      previous = b;
    }
    return last;
  }
};

/// All that comes before a chunk, as the tree has it.
template <class Op, class R>
struct ColumnPrefix {
  Fold<Op, R> sections, tiles, chunks;

  __device__ __forceinline__ explicit ColumnPrefix(const Op& op)
      : sections(op), tiles(op), chunks(op) {}

  [[nodiscard]] __device__ __forceinline__ Fold<Op, R> all(const Op& op) const {
    return join(op, sections, join(op, tiles, chunks));
  }
  /// Goes on with a whole tile.
  ///
  /// \param number of tiles of the line with it
  __device__ __forceinline__ void add_tile(const Op& op, const R& tile, std::int64_t number) {
    tiles = Fold<Op, R>(op, tiles.then(op, tile));
    if ((number & (tiles_of_section - 1)) == 0) {
      sections = join(op, sections, tiles);
      tiles = Fold<Op, R>(op);
    }
  }
  /// Goes on with a chunk.
  ///
  /// \param number of chunks of the line with it
  __device__ __forceinline__ void add(const Op& op, const R& chunk, std::int64_t number) {
    chunks = Fold<Op, R>(op, chunks.then(op, chunk));
    if ((number & (chunks_of_tile - 1)) == 0) {
      add_tile(op, chunks.value(), number / chunks_of_tile);
      chunks = Fold<Op, R>(op);
    }
  }
};

/// `count` values in memory, `stride` apart, from left to right.
template <class Op, class R>
__device__ __forceinline__ Fold<Op, R> fold_all(const Op& op, const R* values, int stride,
                                                int count) {
  Fold<Op, R> fold(op);
#pragma unroll 1
  for (int i = 0; i < count; ++i) fold = Fold<Op, R>(op, fold.then(op, values[i * stride]));
  return fold;
}

// ---- Lines that blocks share --------------------------------------------------------------------

/// The memory through which blocks share lines: a ticket a strip, then totals of tiles, then those of
/// sections.
template <class R>
struct SharedColumns {
  std::uint64_t* memory;  ///< null where nothing is shared
  std::int64_t tiles;     ///< of a line
  std::int64_t sections;

  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets(std::int64_t strip) const {
    return memory + strip;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tile(const ColumnPlan& plan,
                                                               std::int64_t strip,
                                                               std::int64_t number) const {
    return memory + plan.strips +
           (strip * tiles + number) * plan.width * Published<R>::words;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(const ColumnPlan& plan,
                                                                  std::int64_t strip,
                                                                  std::int64_t number) const {
    return memory + plan.strips +
           (plan.strips * tiles + strip * sections + number) * plan.width * Published<R>::words;
  }
};

/// What comes before a step of a line that blocks share, as one thread learns it from step to step
/// of its block. It lies in shared memory, as registers hold rows.
template <class Op, class R>
struct SharedPrefix {
  R* memory;   ///< of the line: sections and tiles before the step, and before the next
  int stride;  ///< between these four
  bool has_start;

  /// The sections and tiles before a step.
  ///
  /// \param tile the first of the step
  [[nodiscard]] __device__ __forceinline__ ColumnPrefix<Op, R> get(const Op& op,
                                                                   std::int64_t tile) const {
    return get(op, tile, memory);
  }
  /// Begins with a starting value.
  __device__ __forceinline__ void start(const Fold<Op, R>& fold) const {
    if (has_start) memory[2 * stride] = fold.value();
  }
  /// Publishes the totals of a step's tiles, and learns what comes before it.
  ///
  /// \param line   of the strip
  /// \param known  tiles up to the end of the block's last step
  /// \param tile   the first of this one
  /// \param totals of its tiles, in memory, `step_of_totals` apart
  /// \param count  of them
  /// \param is_last whether nothing follows that would need the totals
  __device__ __forceinline__ void move_to(const Op& op, const SharedColumns<R>& shared,
                                          const ColumnPlan& plan, std::int64_t strip, int line,
                                          std::int64_t known, std::int64_t tile, const R* totals,
                                          int step_of_totals, int count, bool is_last) const {
    constexpr int words = Published<R>::words;
    const std::int64_t step = std::int64_t{plan.width} * words;
    std::uint64_t* const at = shared.tile(plan, strip, tile) + line * words;
    if (!is_last && count < tiles_of_section) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) publish(at + i * step, totals[i * step_of_totals]);
    }
    // First the tiles of the section, so that whoever ends it can publish its total: sections must
    // not wait for each other.
    ColumnPrefix<Op, R> prefix = get(op, known, memory + 2 * stride);
    const std::int64_t section = tile / tiles_of_section;
    const std::int64_t known_sections = known / tiles_of_section;
    if (known_sections < section) {
      prefix.tiles = Fold<Op, R>(op);
      known = section * tiles_of_section;
    }
    fold_published(op, at - (tile - known) * step, step, tile - known, prefix.tiles);
    Fold<Op, R> tiles = prefix.tiles;
    const bool ends_section = ((tile + count) & (tiles_of_section - 1)) == 0;
    if (!is_last) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        tiles = Fold<Op, R>(op, tiles.then(op, totals[i * step_of_totals]));
      }
      if (ends_section) {
        publish(shared.section(plan, strip, section) + line * words, tiles.value());
      }
    }
    fold_published(op, shared.section(plan, strip, known_sections) + line * words, step,
                   section - known_sections, prefix.sections);
    put(prefix, memory);
    if (is_last) return;
    if (ends_section) prefix.sections = join(op, prefix.sections, tiles);
    prefix.tiles = tiles;
    put(prefix, memory + 2 * stride);
  }

 private:
  [[nodiscard]] __device__ __forceinline__ ColumnPrefix<Op, R> get(const Op& op, std::int64_t tile,
                                                                   const R* from) const {
    ColumnPrefix<Op, R> prefix(op);
    if (has_start || tile >= tiles_of_section) prefix.sections = Fold<Op, R>(op, from[0]);
    if ((tile & (tiles_of_section - 1)) != 0) prefix.tiles = Fold<Op, R>(op, from[stride]);
    return prefix;
  }
  __device__ __forceinline__ void put(const ColumnPrefix<Op, R>& prefix, R* to) const {
    to[0] = prefix.sections.value();
    to[stride] = prefix.tiles.value();
  }
};

// ---- The kernel ---------------------------------------------------------------------------------

/// Shared memory of a block.
template <class P>
struct ColumnMemory {
  using R = typename Types<P>::R;
  using A = typename Types<P>::A;
  using Value = typename Types<P>::Value;
  static constexpr int slot = static_cast<int>(std::max(sizeof(A), sizeof(Value)));
  static constexpr int of_chunks = threads_of_columns * static_cast<int>(sizeof(R));
  static constexpr int most_tiles = 2 * threads_of_columns / chunks_of_tile;
  static constexpr int of_tiles = most_tiles * static_cast<int>(sizeof(R));
  /// Bytes of a warp's slots.
  static KOKKOS_FUNCTION constexpr int of_warp(const ColumnPlan& plan) {
    return (plan.groups_of_warp * plan.pitch * slot + 15) / 16 * 16;
  }
  /// Totals twice, as a block writes those of a step while threads still read those of the last.
  static constexpr int bytes(const ColumnPlan& plan) {
    int all = 16;
    if (plan.lines_of_thread == 1) all += 2 * (of_chunks + of_tiles);
    if (plan.blocks_of_strip > 1) all += 4 * plan.width * static_cast<int>(sizeof(R));
    if (plan.is_staged) {
      all += threads_of_columns / lanes * of_warp(plan);
    } else if (plan.blocks_of_strip > 1) {  // where rows wait
      all += lanes * rows_of_chunk(sizeof(A)) * static_cast<int>(sizeof(A));
    }
    return (all + 15) / 16 * 16;
  }
};

/// Scans columns.
///
/// \tparam U      lines of a thread: one, of which it has a chunk at a time, or whole ones
/// \tparam staged whether elements pass through shared memory
template <int U, bool staged, class P>
__global__ void __launch_bounds__(threads_of_columns, blocks_of_columns(sizeof(typename P::A)))
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnPlan plan,
                 const SharedColumns<typename Types<P>::R> shared) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Memory = ColumnMemory<P>;
  constexpr int N = rows_of_thread(sizeof(A), U);
  using Rows = ChunkOfRows<P, N>;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};
  const bool shares = plan.blocks_of_strip > 1;
  const std::int64_t strip = shares ? blockIdx.x % plan.strips : blockIdx.x;

  // Where this thread stands: the chunk of a step, and among whose totals its own is.
  const int thread = static_cast<int>(threadIdx.x);
  int w, at, at_tiles, line_of_strip, stride;
  bool has_place;
  [[maybe_unused]] int slot = 0;            // of its first row
  [[maybe_unused]] const int groups = plan.groups_of_warp / U;
  if constexpr (staged) {
    const int group = plan.by_inner.quotient(thread % lanes);
    const int column = thread % lanes - group * plan.inner;
    const int number = thread / lanes * plan.groups_of_warp + group;
    const int slab = number >> plan.log2_chunks;
    w = number & (plan.chunks_of_step - 1);
    at = number * plan.inner + column;
    at_tiles = slab * ((plan.chunks_of_step + chunks_of_tile - 1) / chunks_of_tile) * plan.inner + column;
    line_of_strip = slab * plan.inner + column;
    stride = plan.inner;
    has_place = group < groups && slab < plan.slabs_of_block;
    slot = group * plan.pitch + column;
  } else {
    w = plan.by_width.quotient(thread);
    at = thread;
    at_tiles = thread - w * plan.width;
    line_of_strip = thread - w * plan.width;
    stride = plan.width;
    has_place = w < plan.chunks_of_step;
  }
  const auto line = [&](int u) {
    return staged ? strip * plan.width + line_of_strip + u * groups * plan.inner
                  : (strip * U + u) * plan.width + line_of_strip;
  };
  const auto place = [&](int u) {
    const Division of_slab(line(u), plan.inner);
    return ColumnPlace{problem.batch, of_slab.quotient, static_cast<int>(of_slab.remainder)};
  };

  // Shared memory.
  std::byte* memory = shared_memory();
  std::int64_t& next_step = *reinterpret_cast<std::int64_t*>(memory);
  memory += 16;
  R* const totals = reinterpret_cast<R*>(memory);
  R* const tiles = reinterpret_cast<R*>(memory + 2 * Memory::of_chunks);
  if (U == 1) memory += 2 * (Memory::of_chunks + Memory::of_tiles);
  const SharedPrefix<Carrying, R> shared_prefix{reinterpret_cast<R*>(memory) + line_of_strip,
                                                plan.width, problem.start.exists()};
  if (shares) memory += 4 * plan.width * static_cast<int>(sizeof(R));
  if (staged) memory += thread / lanes * Memory::of_warp(plan);
  [[maybe_unused]] A* const elements = reinterpret_cast<A*>(memory);
  [[maybe_unused]] Value* const results = reinterpret_cast<Value*>(memory);

  // A line's chunk in shared memory, in scan order.
  [[maybe_unused]] const auto staged_line = [&](auto* slots, int u, int rows) {
    const bool backward = problem.output.strides.along < 0;
    slots += slot + u * groups * plan.pitch + (backward ? (rows - 1) * plan.inner : 0);
    return ArrayLine<std::remove_pointer_t<decltype(slots)>>{slots,
                                                             backward ? -plan.inner : plan.inner};
  };

  // What comes before a step, and the ticket of the next.
  ColumnPrefix<Carrying, R> prefix(op);
  const bool exists = has_place && line(0) < problem.batch.count;
  // Of the only line, found once, or else of none.
  [[maybe_unused]] const auto input_line = problem.input.line(place(0));
  [[maybe_unused]] const auto output_line = problem.output.line(place(0));
  const bool has_start = problem.start.exists();
  if (U == 1 && exists) prefix.sections = fold_of_start<R>(op, problem.start.at(place(0)));
  [[maybe_unused]] std::int64_t ticket = 0;
  [[maybe_unused]] std::int64_t known_tiles = 0;  // up to the end of the block's last step
  if (U == 1 && shares) {
    if (w == 0 && exists) shared_prefix.start(prefix.sections);
    // Starting values are read before totals of others allow one to be stored in their place.
    fence();
    take_ticket_if(thread == 0, shared.tickets(strip), ticket);
  }

  for (std::int64_t step = 0;; ++step) {
    if (U == 1 && shares) {
      if (thread == 0) next_step = ticket;
      __syncthreads();
      step = next_step;
      if (step >= plan.steps) return;
      take_ticket_if(thread == 0, shared.tickets(strip), ticket);
    } else if (step >= plan.steps) {
      return;
    }
    const std::int64_t first = step * plan.chunks_of_step;
    const std::int64_t chunk = first + w;
    const std::int64_t begin = chunk * N;
    const std::int64_t left = problem.n - begin;
    const int rows = static_cast<int>(left < N ? left : N);
    int length[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      length[u] = has_place && rows > 0 && line(u) < problem.batch.count ? rows : 0;
    }

    // Load.
    A x[U][N];
    [[maybe_unused]] const FlatGroups<P> runs{problem, plan, strip, first, N};
    if constexpr (staged) {
      runs.for_each_run([&](int begin_of_run, int count, const FlatPlace& at, int own) {
        load_run(problem.input, at, count, own, elements + begin_of_run);
      });
      wait_for_runs();
      __syncwarp();
#pragma unroll
      for (int u = 0; u < U; ++u) {
        load_rows<N>(staged_line(elements, u, length[u]), 0, length[u], x[u]);
      }
      __syncwarp();
    } else {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if (U == 1) {
          load_rows<N>(input_line, begin, length[u], x[u]);
        } else if (length[u] > 0) {
          load_rows<N>(problem.input.line(place(u)), begin, length[u], x[u]);
        }
      }
    }

    // Scan and store.
    const auto scan = [&](int u, const Prefix& before, const Maybe<A>& at_end) {
      if (length[u] == 0) return;
      const A at_begin = chunk == 0 && !has_start ? problem.identity.value
                                                  : static_cast<A>(before.value());
      A last;
      if constexpr (staged) {
        const ArrayLine<Value> line_of_results = staged_line(results, u, length[u]);
        Value* result = line_of_results.data;
        last = Rows::scan(problem, op, x[u], length[u], before, at_begin, at_end,
                          [&](bool is_row, const A& b) {
                            if (is_row) *result = static_cast<Value>(b);
                            result += line_of_results.stride;
                          });
      } else {
        const ArrayLine<Value> output = U == 1 ? output_line : problem.output.line(place(u));
        Value* row = output.data + begin * output.stride;
        last = Rows::scan(problem, op, x[u], length[u], before, at_begin, at_end,
                          [&](bool is_row, const A& b) {
                            if (is_row) *row = static_cast<Value>(b);
                            row += output.stride;
                          });
      }
      if (ends.exist()) {
        if (chunk == 0) ends.store_begin(place(u), at_begin);
        if (begin + length[u] == problem.n) ends.store_end(place(u), last);
      }
    };
    if constexpr (U > 1) {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if (length[u] == 0) continue;
        Rows::fold(problem.op, op, x[u], length[u]);
        scan(u, fold_of_start<R>(op, problem.start.at(place(u))), Maybe<A>());
      }
    } else {
      const R total = Rows::fold(problem.op, op, x[0], length[0]);
      const bool is_full = length[0] == N;
      const bool is_last = step == plan.steps - 1;
      const int buffer = static_cast<int>(step & 1);
      R* const of_chunks = totals + buffer * threads_of_columns + at - w * stride;
      R* const of_tiles = tiles + buffer * Memory::most_tiles + at_tiles;
      const int tiles_of_step = staged ? plan.chunks_of_step / chunks_of_tile : 1;
      const int chunk_of_tile = static_cast<int>(chunk & (chunks_of_tile - 1));

      // Chunks before the own one in its tile; the tile may have begun in an earlier step.
      ColumnPrefix<Carrying, R> before = prefix;
      if (plan.chunks_of_step > 1) {
        if (is_full) of_chunks[w * stride] = total;
        __syncthreads();
        if (w >= chunk_of_tile) before.chunks = Prefix(op);
        if (length[0] > 0) {
#pragma unroll 1
          for (int v = w < chunk_of_tile ? 0 : w - chunk_of_tile; v < w; ++v) {
            before.chunks = Prefix(op, before.chunks.then(op, of_chunks[v * stride]));
          }
        }
      }
      // Tiles of the step before the own one, and what comes before the step.
      if (staged && plan.chunks_of_step > chunks_of_tile) {
        if (is_full && chunk_of_tile == chunks_of_tile - 1) {
          of_tiles[w / chunks_of_tile * stride] = before.chunks.then(op, total);
        }
        __syncthreads();
      }
      if (shares) {
        if (w == 0 && exists) {
          // Rows wait in shared memory, as registers hold what other blocks publish.
          const ArrayLine<A> waiting = staged ? staged_line(elements, 0, length[0])
                                              : ArrayLine<A>{elements + thread, lanes};
          put_rows<N>(waiting, length[0], x[0]);
          if (tiles_of_step == 1 && !is_last) {
            *of_tiles = fold_all(op, of_chunks, stride, chunks_of_tile).value();
          }
          shared_prefix.move_to(op, shared, plan, strip, line_of_strip, known_tiles,
                                first / chunks_of_tile, of_tiles, stride, tiles_of_step, is_last);
          load_rows<N>(waiting, 0, length[0], x[0]);
        }
        __syncthreads();
        known_tiles = first / chunks_of_tile + tiles_of_step;
        if (exists) {
          const Prefix chunks_before = before.chunks;
          before = shared_prefix.get(op, first / chunks_of_tile);
          before.chunks = chunks_before;
        }
      }
      if (length[0] > 0) {
#pragma unroll 1
        for (int v = 0; staged && v < w / chunks_of_tile; ++v) {
          before.tiles = Prefix(op, before.tiles.then(op, of_tiles[v * stride]));
        }
        Maybe<A> at_end;
        if (is_full) {
          ColumnPrefix<Carrying, R> after = before;
          after.add(op, total, chunk + 1);
          at_end = Maybe<A>(static_cast<A>(after.all(op).value()));
        }
        scan(0, before.all(op), at_end);
        if (!shares && !is_last) {
          if (plan.chunks_of_step == 1) {
            prefix.add(op, total, chunk + 1);
          } else if (!staged || plan.chunks_of_step <= chunks_of_tile) {
#pragma unroll 1
            for (int v = 0; v < plan.chunks_of_step; ++v) {
              prefix.add(op, of_chunks[v * stride], first + v + 1);
            }
          } else {
#pragma unroll 1
            for (int v = 0; v < tiles_of_step; ++v) {
              prefix.add_tile(op, of_tiles[v * stride], first / chunks_of_tile + v + 1);
            }
          }
        }
      }
    }
    if constexpr (staged) {
      __syncwarp();
      runs.for_each_run([&](int begin_of_run, int count, const FlatPlace& at, int own) {
        store_run(problem.output, at, count, own, results + begin_of_run);
      });
      __syncwarp();
    }
  }
}

}  // namespace KokkosScan::impl::cuda
