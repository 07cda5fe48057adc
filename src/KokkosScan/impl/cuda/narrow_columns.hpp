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
  using Mask = typename Input::Mask;
  static constexpr bool in_place = narrow_in_place<Input, Value>;
  static constexpr bool may_load_runs = Input::is_run;
  static constexpr bool may_store_runs =
      !is_called<typename T::Out> && NarrowInput<A, Array<const Value>>::is_run;

 public:
  __device__ __forceinline__ NarrowColumnScan(const P& p, const NarrowColumnPlan& plan,
                                              const PublishedNarrowTiles<R>& published)
      : m_p(p),
        m_plan(plan),
        m_published(published),
        m_op(carrying(p.op)),
        m_thread(static_cast<int>(threadIdx.x)) {}

  __device__ __forceinline__ void run() {
    NarrowColumnBlock& block = *reinterpret_cast<NarrowColumnBlock*>(shared_memory());
    const NarrowColumnTile& tile = block.tile;
    if (m_thread == 0) {
      std::int64_t number = blockIdx.x;
      take_ticket_if(are_shared(), m_published.tickets(), number);
      const Division at(number, m_plan.steps);
      block.tile = tile_of(at.quotient, at.remainder);
      block.loaded.initialize(2 * threads);
      after_initialization();
    }
    __syncthreads();
    if (loads_runs()) {
      begin_load(tile, block.loaded);
      block.loaded.wait(0);
    } else if (Input::is_stored || m_plan.has_totals()) {
      load_elements(tile);
      __syncthreads();
    }
    const Places at = places(tile);
    if (m_plan.has_totals()) {
      for_each_chunk<true>(tile, [&](const Chunk& chunk) {
        fold_at(chunk, chunk.number + 1) = fold_chunk(tile, at, chunk).value();
      });
      __syncthreads();
      combine_chunks(tile);
      if (are_shared()) {
        find_narrow_prefixes(m_op, m_plan, m_published, tile, folds(0, 0), m_p.start.exists());
      }
      __syncthreads();
      scan_chunks<true>(tile, at);
    } else {
      scan_chunks<false>(tile, at);
    }
    before_bulk_copies();
    __syncthreads();
    if (tile.stores_runs) {
      begin_store(tile);
      wait_for_bulk_stores();
    } else {
      store_elements(tile);
    }
  }

 private:
  static constexpr int threads = threads_of_narrow_columns;

  [[nodiscard]] __device__ __forceinline__ Threads sharing() const { return {m_thread, threads}; }
  /// Whether blocks share columns.
  [[nodiscard]] __device__ __forceinline__ bool are_shared() const { return m_plan.steps > 1; }
  [[nodiscard]] __device__ __forceinline__ bool loads_runs() const {
    return may_load_runs && m_plan.loads_runs;
  }
  /// Bytes of an operand in shared memory, padded for any offset modulo 128: elements, then results
  /// that do not overwrite them, then the mask.
  [[nodiscard]] __device__ __forceinline__ int bytes_of(int size) const {
    return (m_plan.slots() * size + 2 * bulk_alignment - 1) / bulk_alignment * bulk_alignment;
  }
  /// Where a tile is in shared memory, kept in registers.
  struct Places {
    TileSlots<Loaded> elements;
    TileSlots<Value> results;
    TileSlots<Mask> mask;
  };
  [[nodiscard]] __device__ __forceinline__ Places places(const NarrowColumnTile& tile) const {
    constexpr int begin = bytes_of_narrow_block;
    const int behind = begin + bytes_of(sizeof(Loaded));
    if constexpr (in_place) {
      return {{begin + tile.shift}, {begin + tile.shift}, {behind + tile.shift_of_mask}};
    }
    return {{begin + tile.shift},
            {behind + tile.shift_of_results},
            {behind + bytes_of(sizeof(Value)) + tile.shift_of_mask}};
  }
  /// The prefix of chunk 0 of a line of a tile; later chunks follow with a stride of `columns`.
  ///
  /// \param slab in turn
  [[nodiscard]] __device__ __forceinline__ R* folds(int slab, int column) const {
    return reinterpret_cast<R*>(shared_memory() + m_plan.begin_of_folds()) +
           slab * m_plan.folds_of_line() * m_plan.columns + column;
  }

  [[nodiscard]] __device__ __forceinline__ NarrowColumnTile tile_of(std::int64_t strip,
                                                                    std::int64_t step) const {
    NarrowColumnTile tile(m_plan, strip, step);
    // Runs have the same offset modulo 128 in shared as in global memory.
    const auto shift_of = [&](const auto& array) {
      return misalignment(first_in_memory(m_p.batch, m_plan, tile, array), bulk_alignment);
    };
    if constexpr (may_load_runs) {
      if (m_plan.loads_runs) {
        tile.shift = shift_of(Input::values(m_p.input));
        if constexpr (Input::has_mask) tile.shift_of_mask = shift_of(Input::mask(m_p.input));
      }
    }
    if constexpr (may_store_runs) {
      if (m_plan.stores_runs) {
        const int shift = shift_of(m_p.output);
        if (!in_place) tile.shift_of_results = shift;
        if (in_place && !loads_runs()) tile.shift = shift;
        // Results that overwrite elements may differ in alignment from global memory.
        tile.stores_runs = !in_place || (tile.shift - shift) % quad == 0;
      }
    }
    return tile;
  }

  /// Begins to load the runs of a tile, and arrives twice.
  __device__ __forceinline__ void begin_load(const NarrowColumnTile& tile, Barrier& loaded) const {
    if constexpr (may_load_runs) {
      const Places at = places(tile);
      const auto load = [&](const std::byte* from, const Span& to, int bytes,
                            const Threads& of_run) {
        begin_copy_in(from, to, bytes, loaded, of_run);
      };
      for_each_run(m_p.batch, m_plan, tile, Input::values(m_p.input), at.elements, sharing(), load);
      if constexpr (Input::has_mask) {
        for_each_run(m_p.batch, m_plan, tile, Input::mask(m_p.input), at.mask, sharing(), load);
      }
    }
    loaded.arrive_after_copies();
    loaded.arrive();
  }
  /// Loads elements one at a time.
  __device__ __forceinline__ void load_elements(const NarrowColumnTile& tile) const {
    const Places at = places(tile);
    const bool backward = is_backward(m_p.output);
    load_one_by_one(m_p.batch, m_plan, tile, Input::values(m_p.input), backward, at.elements,
                    sharing());
    if constexpr (Input::has_mask) {
      load_one_by_one(m_p.batch, m_plan, tile, Input::mask(m_p.input), backward, at.mask,
                      sharing());
    }
  }
  /// Begins to store the runs of a tile.
  __device__ __forceinline__ void begin_store(const NarrowColumnTile& tile) const {
    if constexpr (may_store_runs) {
      for_each_run(m_p.batch, m_plan, tile, m_p.output, places(tile).results, sharing(),
                   [](std::byte* to, const Span& from, int bytes, const Threads& of_run) {
                     copy_out<unit_of<Value>, true>(from, to, bytes, of_run);
                   });
    }
  }
  __device__ __forceinline__ void store_elements(const NarrowColumnTile& tile) const {
    store_one_by_one(m_p.batch, m_plan, tile, m_p.output, places(tile).results, sharing());
  }

  /// A chunk of a line in a tile.
  struct Chunk {
    int slab_in_turn, slab, column, number;
    int length;
    int slot;    ///< of the first element
    int stride;  ///< between slots
    bool ends_tile;
  };
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const NarrowColumnTile& tile,
                                                             const Chunk& chunk) const {
    return tile.place(m_p.batch, m_plan, chunk.slab, chunk.column);
  }
  /// Calls f(chunk) for each chunk of this thread.
  ///
  /// \tparam has_totals whether lines have several chunks
  template <bool has_totals, class F>
  __device__ __forceinline__ void for_each_chunk(const NarrowColumnTile& tile, const F& f) const {
    const bool backward = is_backward(m_p.output);
    const int items = m_plan.items();
    const int slabs = tile.slabs;
    const int rows = has_totals ? tile.rows : static_cast<int>(m_plan.n);
    Chunk chunk;
    chunk.number = 0;
    chunk.length = rows;  // uniform, so that branches are, too
    chunk.ends_tile = true;
    chunk.stride = backward ? -m_plan.pitch : m_plan.pitch;
#pragma unroll 1
    for (int item = m_thread; item < items; item += threads) {
      chunk.slab_in_turn = m_plan.by_columns.quotient(item);
      chunk.column = item - chunk.slab_in_turn * m_plan.columns;
      int row = 0;
      if constexpr (has_totals) {
        const int of_tile = chunk.slab_in_turn;
        chunk.slab_in_turn = m_plan.by_chunks.quotient(of_tile);
        chunk.number = of_tile - chunk.slab_in_turn * m_plan.chunks;
        row = chunk.number * m_plan.chunk;
        const int left = rows - row;
        if (left <= 0) continue;
        chunk.length = left < m_plan.chunk ? left : m_plan.chunk;
        chunk.ends_tile = left <= m_plan.chunk;
      }
      chunk.slab = m_plan.slab_in_turn(chunk.slab_in_turn);
      if (chunk.slab >= slabs || chunk.column >= tile.columns) continue;
      if (backward) row = rows - 1 - row;
      chunk.slot = m_plan.slot_in_turn(chunk.slab_in_turn) + row * m_plan.pitch + chunk.column;
      f(chunk);
    }
  }
  /// Calls f(get), where get(i) reads element i of a chunk.
  template <bool has_totals, class F>
  __device__ __forceinline__ void with_elements(const NarrowColumnTile& tile, const Places& at,
                                                const Chunk& chunk, const F& f) const {
    const Loaded* const in = &at.elements[chunk.slot];
    const int stride = chunk.stride;
    if constexpr (Input::has_mask) {
      const Mask* const selected = &at.mask[chunk.slot];
      f([&](int i) {
        const A value = static_cast<A>(in[i * stride]);
        return static_cast<bool>(selected[i * stride]) ? value : m_p.input.identity;
      });
    } else {
      if constexpr (!Input::is_stored && !has_totals) {
        const auto line = m_p.input.line(place(tile, chunk));
        f([&](int i) { return static_cast<A>(line(i)); });
      } else {
        f([&](int i) { return static_cast<A>(in[i * stride]); });
      }
    }
  }
  /// Calls f(x, count) for eight elements of a chunk at a time, then for four, two and one.
  /// Conditional loads would wait for each other.
  template <class Get, class F>
  static __device__ __forceinline__ void in_eights(int length, const Get& get, const F& f) {
    int i = 0;
    const auto some = [&](auto count) {
      R x[count.value];
#pragma unroll
      for (int j = 0; j < count.value; ++j) x[j] = static_cast<R>(get(i + j));
      f(x, count);
      i += count.value;
    };
#pragma unroll 1
    while (i + 8 <= length) some(std::integral_constant<int, 8>{});
    if ((length & 4) != 0) some(std::integral_constant<int, 4>{});
    if ((length & 2) != 0) some(std::integral_constant<int, 2>{});
    if ((length & 1) != 0) some(std::integral_constant<int, 1>{});
  }

  [[nodiscard]] __device__ __forceinline__ Prefix fold_chunk(const NarrowColumnTile& tile,
                                                             const Places& at,
                                                             const Chunk& chunk) const {
    Prefix total(m_op);
    with_elements<true>(tile, at, chunk, [&](const auto& get) {
      in_eights(chunk.length, get, [&](const auto& x, auto count) {
#pragma unroll
        for (int j = 0; j < count.value; ++j) total = Prefix(m_op, total.then(m_op, x[j]));
      });
    });
    return total;
  }
  /// Turns the folds of a line's chunks into folds of the tile up to each, one thread per line, and
  /// publishes that of all. Fold 0 becomes the starting value.
  __device__ __forceinline__ void combine_chunks(const NarrowColumnTile& tile) const {
    const int stride = m_plan.columns;
    const int chunks = (tile.rows + m_plan.chunk - 1) / m_plan.chunk;
#pragma unroll 1
    for (int line = m_thread; line < m_plan.lines(); line += threads) {
      const int in_turn = m_plan.by_columns.quotient(line);
      const int column = line - in_turn * stride;
      const int slab = m_plan.slab_in_turn(in_turn);
      if (slab >= tile.slabs) continue;
      R* at = folds(in_turn, column);
      Prefix start(m_op);
      if (tile.step == 0 && m_p.start.exists()) {
        start = Prefix(
            m_op, static_cast<R>(m_p.start.at(tile.place(m_p.batch, m_plan, slab, column)).value));
        *at = start.value();
      }
      Prefix before(m_op);
      const R* const first = at + stride;
      in_eights(
          chunks, [&](int c) { return first[c * stride]; },
          [&](const auto& x, auto count) {
#pragma unroll
            for (int j = 0; j < count.value; ++j) {
              before = Prefix(m_op, before.then(m_op, x[j]));
              *(at += stride) = before.value();
            }
          });
      if (tile.is_last) continue;
      publish(m_published.tile(tile.slab, column, tile.step), start.then(m_op, before.value()));
    }
  }

  template <bool has_totals>
  __device__ __forceinline__ void scan_chunks(const NarrowColumnTile& tile,
                                              const Places& at) const {
    for_each_chunk<has_totals>(
        tile, [&](const Chunk& chunk) { scan_chunk<has_totals>(tile, at, chunk); });
  }
  template <bool has_totals>
  __device__ __forceinline__ void scan_chunk(const NarrowColumnTile& tile, const Places& at,
                                             const Chunk& chunk) const {
    const bool inclusive = m_p.form == Form::inclusive;
    const Ends<P> ends{m_p};
    const bool has_ends = ends.exist();
    const bool is_first = !has_totals || (tile.begin == 0 && chunk.number == 0);
    const bool is_last = !has_totals || (tile.is_last && chunk.ends_tile);
    Prefix run(m_op);
    A previous = m_p.identity.value;
    if (!is_first) {
      run = Prefix(m_op, fold_before(tile, chunk, chunk.number));
      previous = static_cast<A>(run.value());
    } else if (m_p.start.exists()) {
      const R start =
          has_totals ? fold_at(chunk, 0) : static_cast<R>(m_p.start.at(place(tile, chunk)).value);
      run = Prefix(m_op, start);
      previous = static_cast<A>(start);
    }
    if (is_first && has_ends) ends.store_begin(place(tile, chunk), previous);
    Value* out = &at.results[chunk.slot];
    with_elements<has_totals>(tile, at, chunk, [&](const auto& get) {
      in_eights(chunk.length, get, [&](const auto& x, auto count) {
#pragma unroll
        for (int j = 0; j < count.value; ++j) {
          run = Prefix(m_op, run.then(m_op, x[j]));
          const A b = static_cast<A>(run.value());
          out[j * chunk.stride] = static_cast<Value>(inclusive ? b : previous);
          previous = b;
        }
        out += count.value * chunk.stride;
      });
    });
    if (!is_last) {
      if (!inclusive) return;
      const R after = chunk.ends_tile ? fold_at(chunk, m_plan.chunks + 1)
                                      : fold_before(tile, chunk, chunk.number + 1);
      out[-chunk.stride] = static_cast<Value>(static_cast<A>(after));
    } else if (has_ends) {
      ends.store_end(place(tile, chunk), previous);
    }
  }
  [[nodiscard]] __device__ __forceinline__ R& fold_at(const Chunk& chunk, int number) const {
    return folds(chunk.slab_in_turn, chunk.column)[number * m_plan.columns];
  }
  /// The prefix of a chunk that is not the first of its line.
  [[nodiscard]] __device__ __forceinline__ R fold_before(const NarrowColumnTile& tile,
                                                         const Chunk& chunk, int number) const {
    const R& fold = fold_at(chunk, number);
    if (number == 0 || (tile.begin == 0 && !m_p.start.exists())) return fold;
    return static_cast<R>(m_op(fold_at(chunk, 0), fold));
  }

  const P& m_p;
  const NarrowColumnPlan& m_plan;
  const PublishedNarrowTiles<R>& m_published;
  Carrying m_op;
  int m_thread;
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
