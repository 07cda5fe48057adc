// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for short and for narrow columns: lines that are not contiguous, with few elements or
/// a small stride. A block moves a tile to shared memory, as runs of bytes where possible, whatever
/// their alignment: whole columns, or some rows of long ones. Threads fold chunks of columns, one
/// thread per column combines its chunks, threads scan the chunks in place, and the block moves the
/// tile back. Blocks that share a multiprocessor hide each other's latencies.
/// (narrow_column_carry.hpp says how tiles of long columns obtain their prefixes.)
///
/// The combination tree starts at the element that is scanned first. Elements combine to chunks,
/// chunks to tiles, tiles to groups, groups to sets (trees.hpp), all left to right in the carried
/// type; the first tile includes the starting value. Let S be the fold of earlier sets, G that of
/// earlier groups of the set, T that of earlier tiles of the group (in the first tile the starting
/// value), c that of earlier chunks of the tile, and x_1, x_2, ... the elements of the chunk. With
/// P = S * (G * T):
///
///     B(k) = (P * c) * x_1 * x_2 ...    within a chunk, and at the end of the line,
///     B(k) = P * c                      at the end of any other chunk, where c includes it,
///     B(k) = P                          at the end of any other tile, where T includes it.
///
/// Empty parts are left out.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/narrow_column_carry.hpp>
#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/narrow_column_tile.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// What a block keeps in shared memory besides a tile.
struct NarrowColumnBlock {
  Barrier loaded;
  NarrowColumnTile tile;
};
static_assert(sizeof(NarrowColumnBlock) <= bytes_of_narrow_block);

/// A thread of a block that scans a tile.
template <class P>
class NarrowColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Input = NarrowInput<A, typename T::In>;
  using Loaded = typename Input::Value;
  static constexpr bool in_place = narrow_in_place<Input, Value>;
  static constexpr bool may_store_runs =
      !is_called<typename T::Out> && NarrowInput<A, Array<const Value>>::is_run;

 public:
  __device__ __forceinline__ NarrowColumnScan(const P& p, const NarrowColumnPlan& plan,
                                              const PublishedNarrowTiles<R>& published)
      : m_p(p), m_plan(plan), m_published(published), m_op(carrying(p.op)) {}

  __device__ __forceinline__ void run() {
    if (m_thread == 0) {
      std::int64_t number = blockIdx.x;
      take_ticket_if(m_plan.steps > 1, m_published.tickets(), number);
      const Division at(number, m_plan.steps);
      block().tile = tile_of(at.quotient, at.remainder);
      block().loaded.initialize(2 * threads);
      after_initialization();
    }
    __syncthreads();
    place_slots();
    if (Input::is_stored || m_plan.has_totals()) load();
    if (m_plan.has_totals()) {
      for_each_chunk<true>([&](const Chunk& chunk) {
        Prefix total(m_op);
        for_each_element<true>(chunk,
                               [&](const R& x, int) { total = Prefix(m_op, total.then(m_op, x)); });
        fold_at(chunk, chunk.number + 1) = total.value();
      });
      __syncthreads();
      combine_chunks();
      if (m_plan.steps > 1) {
        find_narrow_prefixes(m_op, m_plan, m_published, m_tile, folds(0, 0), m_p.start.exists());
      }
      __syncthreads();
      for_each_chunk<true>([&](const Chunk& chunk) { scan_chunk<true>(chunk); });
    } else {
      for_each_chunk<false>([&](const Chunk& chunk) { scan_chunk<false>(chunk); });
    }
    before_bulk_copies();
    __syncthreads();
    store();
  }

 private:
  static constexpr int threads = threads_of_narrow_columns;

  static __device__ __forceinline__ NarrowColumnBlock& block() {
    return *reinterpret_cast<NarrowColumnBlock*>(shared_memory());
  }
  [[nodiscard]] __device__ __forceinline__ bool loads_runs() const {
    return Input::is_run && m_plan.loads_runs;
  }
  /// Where a tile is in shared memory: elements, then results that do not overwrite them, then the
  /// mask. Runs have the same offset modulo 128 as in global memory.
  __device__ __forceinline__ void place_slots() {
    std::byte* begin = shared_memory() + bytes_of_narrow_block;
    const auto next = [&]<class S>(S*& slots, const std::byte* in_global_memory) {
      slots = reinterpret_cast<S*>(begin + misalignment(in_global_memory, bulk_alignment));
      const int bytes = m_plan.slots() * static_cast<int>(sizeof(S)) + (quad << m_plan.log2_pieces);
      begin += (bytes + 2 * bulk_alignment - 1) / bulk_alignment * bulk_alignment;
    };
    next(m_elements, in_place && m_tile.elements == nullptr ? m_tile.results : m_tile.elements);
    if constexpr (in_place) {
      m_results = reinterpret_cast<Value*>(m_elements);
    } else {
      next(m_results, m_tile.results);
    }
    next(m_mask, m_tile.mask);
  }
  /// The prefix of chunk 0 of a line of a tile; later chunks follow with a stride of `columns`.
  [[nodiscard]] __device__ __forceinline__ R* folds(int slab, int column) const {
    return reinterpret_cast<R*>(shared_memory() + m_plan.begin_of_folds) +
           slab * m_plan.folds_of_line() * m_plan.columns + column;
  }

  [[nodiscard]] __device__ __forceinline__ NarrowColumnTile tile_of(std::int64_t strip,
                                                                    std::int64_t step) const {
    NarrowColumnTile tile(m_plan, strip, step);
    const auto first = [&](const auto& array) { return tile.first_in_memory(m_p.batch, array); };
    if constexpr (Input::is_run) {
      if (loads_runs()) {
        tile.elements = first(Input::values(m_p.input));
        if constexpr (Input::has_mask) tile.mask = first(m_p.input.mask);
      }
    }
    if constexpr (may_store_runs) {
      if (m_plan.stores_runs) tile.results = first(m_p.output);
    }
    return tile;
  }

  __device__ __forceinline__ void load() const {
    Barrier& loaded = block().loaded;
    const auto load = [&](const auto& in, std::byte* run, auto* slots) {
      if (loads_runs()) return move_runs<Moves::in>(m_plan, m_tile, run, slots, loaded);
      const bool backward = is_backward(m_p.output);
      if constexpr (requires { in.data; }) {
        move_rarely<Moves::in>(m_p.batch, m_plan, m_tile, in, backward, slots);
      } else {
        move_one_by_one<Moves::in>(m_p.batch, m_plan, m_tile, in, backward, slots);
      }
    };
    load(Input::values(m_p.input), m_tile.elements, m_elements);
    if constexpr (Input::has_mask) load(m_p.input.mask, m_tile.mask, m_mask);
    if (!loads_runs()) return __syncthreads();
    loaded.arrive_after_copies();
    loaded.arrive();
    loaded.wait(0);
  }
  __device__ __forceinline__ void store() const {
    if constexpr (may_store_runs) {
      // Results that overwrite elements may differ in alignment from global memory.
      if (m_plan.stores_runs && misalignment(m_results) == misalignment(m_tile.results)) {
        move_runs<Moves::out>(m_plan, m_tile, m_tile.results, m_results, block().loaded);
        return wait_for_bulk_stores();
      }
    }
    move_rarely<Moves::out>(m_p.batch, m_plan, m_tile, m_p.output, is_backward(m_p.output),
                            m_results);
  }

  /// A chunk of a line in a tile.
  struct Chunk {
    int piece, slab, column, number;
    int length;
    int slot;    ///< of the first element
    int stride;  ///< between slots
    bool ends_tile;
  };
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(int slab, int column) const {
    return m_tile.place(m_p.batch, slab, column);
  }
  /// Calls f(chunk) for each chunk of this thread.
  ///
  /// \tparam has_totals whether lines have several chunks; else lengths are uniform
  template <bool has_totals, class F>
  __device__ __forceinline__ void for_each_chunk(const F& f) const {
    const bool backward = is_backward(m_p.output);
    const int items = m_plan.items();
    const int slabs = m_tile.slabs;
    const int columns = m_tile.columns;
    const int rows = has_totals ? m_tile.rows : static_cast<int>(m_plan.n);
    Chunk chunk{0, 0, 0, 0, rows, 0, backward ? -m_plan.pitch : m_plan.pitch, true};
#pragma unroll 1
    for (int item = m_thread; item < items; item += threads) {
      int slab = m_plan.by_columns.quotient(item);
      chunk.column = item - slab * m_plan.columns;
      int row = 0;
      if constexpr (has_totals) {
        const int of_tile = slab;
        slab = m_plan.by_chunks.quotient(of_tile);
        chunk.number = of_tile - slab * m_plan.chunks;
        row = chunk.number * m_plan.chunk;
        if (row >= rows) continue;
        chunk.ends_tile = rows - row <= m_plan.chunk;
        chunk.length = chunk.ends_tile ? rows - row : m_plan.chunk;
      }
      chunk.piece = slab & ((1 << m_plan.log2_pieces) - 1);
      chunk.slab = chunk.piece * m_plan.slabs_of_piece() + (slab >> m_plan.log2_pieces);
      if (chunk.slab >= slabs || chunk.column >= columns) continue;
      if (backward) row = rows - 1 - row;
      chunk.slot = (chunk.slab * m_plan.rows + row) * m_plan.pitch + chunk.column;
      f(chunk);
    }
  }
  /// Calls f(x, slot) for each element of a chunk; eight are read at a time.
  template <bool has_totals, class F>
  __device__ __forceinline__ void for_each_element(const Chunk& chunk, const F& f) const {
    const auto visit = [&](const auto& get) {
      in_batches<8>(0, chunk.length, 1, [&](int first, auto count) {
        const int slot = chunk.slot + first * chunk.stride;
        R x[count.value];
#pragma unroll
        for (int i = 0; i < count.value; ++i) {
          x[i] = static_cast<R>(get(first + i, slot + i * chunk.stride));
        }
#pragma unroll
        for (int i = 0; i < count.value; ++i) f(x[i], slot + i * chunk.stride);
      });
    };
    if constexpr (!Input::is_stored && !has_totals) {
      const auto line = m_p.input.line(place(chunk.slab, chunk.column));
      visit([&](int i, int) { return static_cast<A>(line(i)); });
    } else {
      const Loaded* const elements = in_piece(m_elements, chunk.piece);
      const auto* const mask = in_piece(m_mask, chunk.piece);
      visit([&](int, int slot) {
        const A value = static_cast<A>(elements[slot]);
        if constexpr (Input::has_mask) {
          return static_cast<bool>(mask[slot]) ? value : m_p.input.identity;
        } else {
          return value;
        }
      });
    }
  }

  /// Turns the folds of a line's chunks into folds of the tile up to each, one thread per line, and
  /// publishes that of all. Fold 0 becomes the starting value.
  __device__ __forceinline__ void combine_chunks() const {
    const int stride = m_plan.columns;
    const int chunks = (m_tile.rows + m_plan.chunk - 1) / m_plan.chunk;
#pragma unroll 1
    for (int line = m_thread; line < m_plan.lines(); line += threads) {
      const int slab = m_plan.by_columns.quotient(line);
      const int column = line - slab * stride;
      if (slab >= m_tile.slabs || column >= m_tile.columns) continue;
      R* const at = folds(slab, column);
      Prefix start(m_op);
      if (m_tile.step == 0) start = fold_of_start<R>(m_op, m_p.start.at(place(slab, column)));
      if (has_prefix()) *at = start.value();
      Prefix before(m_op);
      in_batches<8>(1, chunks + 1, 1, [&](int first, auto count) {
        R x[count.value];
#pragma unroll
        for (int i = 0; i < count.value; ++i) x[i] = at[(first + i) * stride];
#pragma unroll
        for (int i = 0; i < count.value; ++i) {
          before = Prefix(m_op, before.then(m_op, x[i]));
          at[(first + i) * stride] = before.value();
        }
      });
      if (m_tile.is_last) continue;
      publish(m_published.entry(m_tile, column, 0, m_tile.step), start.then(m_op, before.value()));
    }
  }

  template <bool has_totals>
  __device__ __forceinline__ void scan_chunk(const Chunk& chunk) const {
    const bool inclusive = m_p.form == Form::inclusive;
    const bool is_first = !has_totals || (m_tile.step == 0 && chunk.number == 0);
    const bool is_last = !has_totals || (m_tile.is_last && chunk.ends_tile);
    const Ends<P> ends{m_p};
    const bool has_ends = ends.exist();
    Prefix run = before<has_totals>(chunk, chunk.number);
    Value* const results = in_piece(m_results, chunk.piece);
    A previous = m_p.identity.value;
    if (!is_first || m_p.start.exists()) previous = static_cast<A>(run.value());
    if (is_first && has_ends) ends.store_begin(place(chunk.slab, chunk.column), previous);
    for_each_element<has_totals>(chunk, [&](const R& x, int slot) {
      run = Prefix(m_op, run.then(m_op, x));
      const A b = static_cast<A>(run.value());
      results[slot] = static_cast<Value>(inclusive ? b : previous);
      previous = b;
    });
    if (is_last) {
      if (has_ends) ends.store_end(place(chunk.slab, chunk.column), previous);
    } else if (inclusive) {
      const R after = chunk.ends_tile ? fold_at(chunk, m_plan.chunks + 1)
                                      : before<true>(chunk, chunk.number + 1).value();
      results[chunk.slot + (chunk.length - 1) * chunk.stride] =
          static_cast<Value>(static_cast<A>(after));
    }
  }
  /// The fold of everything before chunk `number` of a line.
  template <bool has_totals>
  [[nodiscard]] __device__ __forceinline__ Prefix before(const Chunk& chunk, int number) const {
    if constexpr (!has_totals) {
      return fold_of_start<R>(m_op, m_p.start.at(place(chunk.slab, chunk.column)));
    }
    Prefix all(m_op);
    if (has_prefix()) all = Prefix(m_op, fold_at(chunk, 0));
    if (number > 0) all = Prefix(m_op, all.then(m_op, fold_at(chunk, number)));
    return all;
  }
  [[nodiscard]] __device__ __forceinline__ bool has_prefix() const {
    return m_tile.step > 0 || m_p.start.exists();
  }
  [[nodiscard]] __device__ __forceinline__ R& fold_at(const Chunk& chunk, int number) const {
    return folds(chunk.slab, chunk.column)[number * m_plan.columns];
  }

  const P& m_p;
  const NarrowColumnPlan& m_plan;
  const PublishedNarrowTiles<R>& m_published;
  const NarrowColumnTile& m_tile = block().tile;
  Loaded* m_elements;
  Value* m_results;
  typename Input::Mask* m_mask;
  Carrying m_op;
  int m_thread = static_cast<int>(threadIdx.x);
};

/// Scans short or narrow columns.
template <class P>
__global__ void __launch_bounds__(threads_of_narrow_columns, blocks_of_narrow_columns)
    scan_narrow_columns(
        const __grid_constant__ P problem, const __grid_constant__ NarrowColumnPlan plan,
        const __grid_constant__ PublishedNarrowTiles<typename Types<P>::R> published) {
  NarrowColumnScan<P>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
