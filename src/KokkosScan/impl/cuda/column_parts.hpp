// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for parts of columns: of long ones, so few that blocks must share them or not made of
/// aligned packs.
///
/// One block stays on each multiprocessor and has several tiles of a strip of columns in flight,
/// each in a stage of its shared memory; where a strip is done it turns to another. As in parts.hpp
/// its warps have tasks of their own. Some take tiles by ticket, and begin to load them. A group of
/// warps folds tiles and publishes the totals of rows of chunks. Some warps, each with columns of
/// its own, carry what comes before each tile in its section, and publish the totals of sections;
/// one carries what comes before the section (column_carry.hpp). Two more groups, in turns, scan
/// the tiles whose prefixes are known (column_tree.hpp has the combination tree), and store them.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_carry.hpp>
#include <KokkosScan/impl/cuda/column_rows.hpp>
#include <KokkosScan/impl/cuda/column_tiles.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/parts.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// A launch for parts of columns.
struct ColumnRingShape {
  ColumnTiling tiling;
  std::int64_t strips;
  std::int64_t tiles_of_strip;
  int stages;
  int padding;  ///< of slots
  int bytes_of_tile;
  int bytes_of_stage;
  Divisor by_packs;        ///< of columns that a thread has
  int columns_of_carrier;  ///< of a warp that carries rows
  Divisor by_columns_of_carrier;
  /// How many elements the one in row v of a chunk is behind the chunk's first, in the order of
  /// memory.
  int distance[chunk_of_column];
};

/// A tile of a strip; of no rows where there are no more.
struct ColumnPart {
  std::int64_t outer;
  std::int64_t begin;  ///< the first row, in scan order
  int first_column;
  int columns;
  int rows;

  static __device__ __forceinline__ ColumnPart find(const ColumnRingShape& shape, std::int64_t n,
                                                    std::int64_t strip, std::int64_t tile) {
    const ColumnTiling& tiling = shape.tiling;
    const std::int64_t outer = strip / tiling.strips;
    const int first_column = static_cast<int>(strip - outer * tiling.strips) * tiling.columns;
    const int columns = tiling.inner - first_column;
    const std::int64_t begin = tile * tiling.rows;
    const std::int64_t left = n - begin;
    return {outer, begin, first_column, columns < tiling.columns ? columns : tiling.columns,
            static_cast<int>(left < tiling.rows ? left : tiling.rows)};
  }
  [[nodiscard]] __device__ __forceinline__ bool exists() const { return rows > 0; }
  template <class TileOfColumns, class P>
  [[nodiscard]] __device__ __forceinline__ TileOfColumns tile(const P& problem,
                                                              const ColumnTiling& tiling) const {
    return {problem.batch, tiling, outer,   begin,
            first_column,  rows,   columns, is_backward(problem.output)};
  }
  /// The first chunk, and its row.
  [[nodiscard]] __device__ __forceinline__ std::int64_t first_chunk() const {
    return begin / chunk_of_column;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t first_row() const {
    return begin / elements_of_row;
  }
  /// The first column's number among all.
  [[nodiscard]] __device__ __forceinline__ std::int64_t column(const ColumnTiling& tiling) const {
    return outer * tiling.inner + first_column;
  }
};

constexpr int threads_of_column_ring(ColumnAccess access) {
  return threads_that_fold + scanning_groups * threads_that_scan +
         (1 + row_carriers(access) + column_loaders(access)) * lanes;
}

/// What the warps of a block share besides the tiles, as in Ring.
struct alignas(quad) ColumnRing {
  Barrier taken[most_stages];          ///< the part is known
  Barrier loaded[most_stages];         ///< its elements are there
  Barrier computed[most_stages];       ///< those that are computed, too
  Barrier chunks_folded[most_stages];  ///< the totals of chunks are there
  Barrier folded[most_stages];         ///< those of rows, too
  Barrier carried[most_stages];        ///< the prefixes are there
  Barrier scanned[most_stages];        ///< the results are there
  Barrier stored[most_stages];         ///< the stage is free
  ColumnPart parts[most_stages];

  /// For one thread, before all others use it.
  __device__ __forceinline__ void initialize(int stages, int loaders, int carriers) {
    constexpr int folding = threads_that_fold / lanes;
    constexpr int scanning = threads_that_scan / lanes;
    for (int s = 0; s < stages; ++s) {
      taken[s].initialize(1);
      loaded[s].initialize(2 * lanes * loaders);
      computed[s].initialize(folding);
      chunks_folded[s].initialize(folding);
      folded[s].initialize(folding);
      carried[s].initialize(1 + carriers);
      scanned[s].initialize(scanning);
      stored[s].initialize(scanning);
    }
    after_initialization();
  }
};

/// How what a stage holds is aligned: for loads in bulk, or of quads.
__host__ __device__ constexpr int alignment_of_columns(ColumnAccess access) {
  return are_runs(access) ? bulk_alignment : quad;
}

/// Bytes of what is in front of the stages.
template <class Carried, ColumnAccess access>
__host__ __device__ constexpr int bytes_of_column_ring(int width) {
  const int bytes =
      static_cast<int>(sizeof(ColumnRing)) + (1 + row_carriers(access)) * Carried::bytes(width);
  return (bytes + 127) / 128 * 128;
}

/// Bytes of what belongs to a tile between folding and scanning: the folds of chunks in their rows,
/// and the prefixes.
template <class R>
__host__ __device__ constexpr int bytes_of_column_folds(const ColumnTiling& tiling) {
  const int rows = (tiling.groups + row_of_chunks - 1) / row_of_chunks;
  const int folds = tiling.items() + (1 + rows) * tiling.columns;
  return (folds * static_cast<int>(sizeof(R)) + quad - 1) / quad * quad;
}

/// The kernel's view of a problem.
template <ColumnAccess access, class P>
struct ColumnRingTypes : Types<P> {
  using R = typename Types<P>::R;
  using Tile = ColumnTile<are_runs(access)>;
  using Carried = CarriedColumns<typename Types<P>::Carrying, R>;
  /// Warps that load.
  static constexpr int loaders = column_loaders(access);
  /// Whether all rows are made of aligned packs.
  static constexpr bool are_packs = access == ColumnAccess::rows;
  /// Neighbouring columns that a thread has.
  static constexpr int columns =
      are_packs ? std::min(Types<P>::pack, columns_of_thread(sizeof(typename Types<P>::A))) : 1;
  /// What holds the elements of a tile.
  using Input = std::conditional_t<access == ColumnAccess::quads, StagedRows<typename Types<P>::In>,
                                   Stage<typename Types<P>::In>>;
  /// Whether results go to global memory as they come, a row of neighbouring columns with each
  /// instruction; else they go through shared memory.
  static constexpr bool stores_chunks =
      access == ColumnAccess::rows || access == ColumnAccess::quads;
  /// Whether a group loads elements, as copies cannot.
  static constexpr bool is_filled =
      access == ColumnAccess::apart
          ? !Stage<typename Types<P>::In>::is_copied_apart
          : access != ColumnAccess::quads && Stage<typename Types<P>::In>::is_computed;
};

/// The shared memory of a part.
template <ColumnAccess access, class P>
struct ColumnPartInStage {
  using T = ColumnRingTypes<access, P>;
  using R = typename T::R;
  static constexpr bool may_be_padded = access != ColumnAccess::quads;

  typename T::Input input;
  Slots<typename T::Value> results;  ///< not of quads, whose results are stored as they come
  R* chunks;                         ///< the folds of chunks and those before them in their rows
  R* sections;                       ///< the prefixes of columns: earlier sections,
  R* rows;                           ///< and, for each row of the tile, earlier rows of its section

  __device__ __forceinline__ ColumnPartInStage(const P& problem, const ColumnRingShape& shape,
                                               const typename T::Tile& tile, const Turn& turn)
      : results() {
    std::byte* const memory =
        shared_memory() + bytes_of_column_ring<typename T::Carried, access>(shape.tiling.columns) +
        turn.stage * shape.bytes_of_stage;
    if constexpr (access == ColumnAccess::quads) {
      std::byte* rows_of_input = memory;
      input.place(problem.input, tile, rows_of_input);
    } else {
      Region region{memory, shape.tiling.elements(), shape.padding, alignment_of_columns(access)};
      input.place(problem.input, tile, region, tile.flat(problem.output));
      results = place_results(problem, tile, region, input);
    }
    chunks = reinterpret_cast<R*>(memory + shape.bytes_of_tile);
    sections = chunks + shape.tiling.items();
    rows = sections + shape.tiling.columns;
  }
};

/// Chunks side by side that a thread takes.
struct ColumnChunks {
  int chunk;   ///< of the tile's part of the columns, in scan order
  int column;  ///< the first

  /// \tparam E columns
  template <int E>
  static __device__ __forceinline__ ColumnChunks find(const ColumnRingShape& shape, int item) {
    const int chunk = shape.by_packs.quotient(item);
    return {chunk, (item - chunk * (shape.tiling.columns / E)) * E};
  }
  [[nodiscard]] __device__ __forceinline__ int length(const ColumnPart& part) const {
    const int left = part.rows - chunk * chunk_of_column;
    const bool exist = column < part.columns && left > 0;
    return exist ? (left < chunk_of_column ? left : chunk_of_column) : 0;
  }
};

/// How the chunks of a tile lie in shared memory.
enum class ChunkLayout {
  even,    ///< all are whole, and rows equally far apart
  padded,  ///< all are whole, and padding is alike in all
  uneven
};
template <ChunkLayout layout>
using ChunkLayoutConstant = std::integral_constant<ChunkLayout, layout>;

/// Calls f(layout of the chunks of a tile, as a constant).
template <class Memory, class F>
__device__ __forceinline__ void with_chunk_layout(const ColumnRingShape& shape,
                                                  const ColumnPart& part, const Memory& memory,
                                                  const F& f) {
  const int width = shape.tiling.columns;
  const bool are_whole = part.rows == shape.tiling.rows;
  if (are_whole && shape.padding == 0) return f(ChunkLayoutConstant<ChunkLayout::even>{});
  if constexpr (Memory::may_be_padded) {
    if (are_whole && (width & (width - 1)) == 0 && memory.input.is_aligned() &&
        memory.results.span.begin == 0) {
      return f(ChunkLayoutConstant<ChunkLayout::padded>{});
    }
  }
  f(ChunkLayoutConstant<ChunkLayout::uneven>{});
}

/// Reads chunks from shared memory.
template <ChunkLayout layout, class Tile, class Input, class A, int V, int E>
__device__ __forceinline__ void get_chunks(const ColumnRingShape& shape, const Tile& tile,
                                           const Input& input, const ColumnChunks& c, int length,
                                           A (&x)[V][E]) {
  if constexpr (layout != ChunkLayout::uneven) {
    const int e = tile.element(c.chunk * V + (tile.backward ? V - 1 : 0), c.column);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      input.template get_behind<layout == ChunkLayout::padded>(e, shape.distance[v], x[v]);
    }
  } else {
    int e = tile.element(c.chunk * V, c.column);
#pragma unroll
    for (int v = 0; v < V; ++v, e += tile.step()) {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        x[v][i] = v < length ? static_cast<A>(input.get_padded(e + i)) : A{};
      }
    }
  }
}
template <ChunkLayout layout, class Tile, class In, class A, int V>
__device__ __forceinline__ void get_chunks(const ColumnRingShape&, const Tile&,
                                           const StagedRows<In>& input, const ColumnChunks& c,
                                           int length, A (&x)[V][1]) {
  A column[V];
  input.template get_chunk<layout != ChunkLayout::uneven>(c.chunk * V, c.column, length, column);
#pragma unroll
  for (int v = 0; v < V; ++v) x[v][0] = column[v];
}
/// Writes the results of chunks to shared memory.
template <ChunkLayout layout, class Tile, class Value, class A, int V, int E>
__device__ __forceinline__ void put_chunks(const ColumnRingShape& shape, const Tile& tile,
                                           const Slots<Value>& results, const ColumnChunks& c,
                                           int length, const A (&x)[V][E]) {
  if constexpr (layout != ChunkLayout::uneven) {
    const int e = tile.element(c.chunk * V + (tile.backward ? V - 1 : 0), c.column);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      Value y[E];
#pragma unroll
      for (int i = 0; i < E; ++i) y[i] = static_cast<Value>(x[v][i]);
      move_pack(results.template behind<layout == ChunkLayout::padded>(e, shape.distance[v]), y);
    }
  } else {
    int e = tile.element(c.chunk * V, c.column);
#pragma unroll
    for (int v = 0; v < V; ++v, e += tile.step()) {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (v < length) results[e + i] = static_cast<Value>(x[v][i]);
      }
    }
  }
}

/// Stores the results of chunks.
///
/// \param place the first column
/// \param k     the first element, in scan order
template <bool are_whole, class Value, class A, int V, int E>
__device__ __forceinline__ void store_chunks(const Array<Value>& output, const ColumnPlace& place,
                                             std::int64_t k, int length, const A (&x)[V][E]) {
  const std::int64_t along = output.strides.along;
  Value* to = output.data + place.offset(output.strides) + k * along;
#pragma unroll
  for (int v = 0; v < V; ++v, to += along) {
    if (!are_whole && v >= length) return;
    Value y[E];
#pragma unroll
    for (int i = 0; i < E; ++i) y[i] = static_cast<Value>(x[v][i]);
    move_pack(reinterpret_cast<std::byte*>(to), y);
  }
}
template <bool are_whole, class Value, int Rank, class Function, class A, int V>
__device__ __forceinline__ void store_chunks(const Called<Value, Rank, Function>& output,
                                             const ColumnPlace& place, std::int64_t k, int length,
                                             const A (&x)[V][1]) {
  call_for_chunk(output.line(place), k, length, x, 0);
}

/// The task of some warps: take tiles and begin to load them.
///
/// \param thread number among those of the task
template <ColumnAccess access, class P, class R>
__device__ __forceinline__ void load_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  const PublishedColumns<R>& published,
                                                  ColumnRing& ring, int thread) {
  const int lane = thread % lanes;
  const auto take = [&](std::uint64_t* counter) {
    std::int64_t number = 0;
    take_ticket_if(lane == 0, counter, number);
    return shuffle(number, 0);
  };
  // Blocks turn to strips in order: to those that nobody has begun, then to help others. One that
  // has found so many strips done that all are leaves.
  std::int64_t turn_of_strip = blockIdx.x;
  std::int64_t strip = turn_of_strip % shape.strips;
  const std::int64_t most_misses = 1 + 2 * shape.strips / gridDim.x;
  std::int64_t misses = 0;
  Turn turn;
  bool exists = true;
  // At the end each stage says so, as groups that scan have stages of their own.
  for (int ends = 0; ends < shape.stages; turn.advance(shape.stages)) {
    const int s = turn.stage;
    if (thread < lanes) {  // the first of the warps
      ring.scanned[s].wait(turn.parity ^ 1);
      std::int64_t ticket = 0;
      take_ticket_if(lane == 0, published.tickets(strip), ticket);
      ring.stored[s].wait(turn.parity ^ 1);
      ticket = shuffle(ticket, 0);
      while (exists && ticket >= shape.tiles_of_strip) {
        ++misses;
        if (misses > most_misses && turn_of_strip >= shape.strips) {
          exists = false;
        } else {
          turn_of_strip = gridDim.x + take(published.turns());
          strip = turn_of_strip % shape.strips;
          ticket = take(published.tickets(strip));
        }
      }
      if (lane == 0) {
        if (exists) {
          ring.parts[s] = ColumnPart::find(shape, problem.n, strip, ticket);
        } else {
          ring.parts[s].rows = 0;
        }
        ring.taken[s].arrive();
      }
      misses = 0;
    }
    ring.taken[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    exists = part.exists();
    if (!exists) {
      ++ends;
    } else {
      using T = ColumnRingTypes<access, P>;
      const auto tile = part.tile<typename T::Tile>(problem, shape.tiling);
      ColumnPartInStage<access, P> memory(problem, shape, tile, turn);
      const Threads threads{thread, T::loaders * lanes};
      if constexpr (T::are_packs) {
        memory.input.template begin_load_packs<T::pack>(problem.input, tile, threads);
      } else if constexpr (access == ColumnAccess::quads) {
        memory.input.begin_load(problem.input, tile, problem.n, ring.loaded[s], threads);
      } else {
        memory.input.begin_load(problem.input, tile, ring.loaded[s], threads);
      }
    }
    ring.loaded[s].arrive_after_copies();
    ring.loaded[s].arrive();
  }
}

/// The task of a group: folds tiles, and publishes the totals of rows of chunks.
///
/// \param thread number in the group
template <ColumnAccess access, class P, class R>
__device__ __forceinline__ void fold_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  const PublishedColumns<R>& published,
                                                  ColumnRing& ring, int thread) {
  using T = ColumnRingTypes<access, P>;
  using A = typename T::A;
  constexpr int V = chunk_of_column;
  constexpr int E = T::columns;
  constexpr int threads = threads_that_fold;
  const auto op = carrying(problem.op);
  const int lane = thread % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const int width = tiling.columns;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const auto tile = part.tile<typename T::Tile>(problem, tiling);
    ColumnPartInStage<access, P> memory(problem, shape, tile, turn);
    if constexpr (T::is_filled) {
      memory.input.fill(problem.input, tile, {thread, threads});
      __syncwarp();
      if (lane == 0) ring.computed[s].arrive();
      ring.computed[s].wait(turn.parity);
    }
    const auto fold = [&](auto of_chunks) {
      constexpr ChunkLayout layout = decltype(of_chunks)::value;
      constexpr bool are_whole = layout != ChunkLayout::uneven;
      for (int item = thread; item < tiling.items() / E; item += threads) {
        const auto c = ColumnChunks::find<E>(shape, item);
        // Chunks that are not full are the last of their columns: nothing needs their totals.
        const bool is_full = are_whole ? c.column < part.columns : c.length(part) == V;
        if (!is_full) continue;
        A x[V][E];
        get_chunks<layout>(shape, tile, memory.input, c, V, x);
        R* const folds = memory.chunks + c.chunk * width + c.column;
#pragma unroll
        for (int e = 0; e < E; ++e) folds[e] = fold_chunk_of_column<R>(problem.op, op, x, e);
      }
    };
    with_chunk_layout(shape, part, memory, fold);
    __syncwarp();
    if (lane == 0) ring.chunks_folded[s].arrive();
    ring.chunks_folded[s].wait(turn.parity);

    // Half a row of chunks for each thread: neighbours have halves of the same row.
    constexpr int half = half_row_of_chunks;
    const int rows = (part.rows + elements_of_row - 1) / elements_of_row;
    const int items = 2 * rows * width;
    for (int first = 0; first < items; first += threads) {
      const int i = first + thread;
      const int row = tiling.by_columns.quotient(i / 2);
      const int column = i / 2 - row * width;
      const int chunk = row * row_of_chunks + i % 2 * half;
      const bool exists = i < items && column < part.columns;
      const int left = exists ? part.rows / V - chunk : 0;  // whole chunks from here on
      R* const own = memory.chunks + chunk * width + column;
      R total[half];
#pragma unroll
      for (int c = 0; c < half; ++c) {
        total[c] = c < left ? own[c * width] : R{};
      }
#pragma unroll
      for (int c = 1; c < half; ++c) {
        if (is_eager<typename T::Op> || c < left) total[c] = op(total[c - 1], total[c]);
      }
      const R of_first_half = shuffle_up(total[half - 1], 1);
      const bool is_second_half = i % 2 > 0;
      if (is_second_half) {
#pragma unroll
        for (int c = 0; c < half; ++c) {
          if (is_eager<typename T::Op> || c < left) total[c] = op(of_first_half, total[c]);
        }
      }
#pragma unroll
      for (int c = 0; c < half; ++c) {
        if (c < left) own[c * width] = total[c];
      }
      if (is_second_half && left >= half && part.begin + (row + 1) * elements_of_row < problem.n) {
        published.publish(published.entry_of_row(part.first_row() + row),
                          part.column(tiling) + column, total[half - 1]);
      }
    }
    __syncwarp();
    if (lane == 0) ring.folded[s].arrive();
  }
}

/// The task of some warps: find out what comes before each row of chunks in its section, and
/// publish the totals of sections. Each has columns of its own.
///
/// \param carrier number of the warp
template <ColumnAccess access, class P, class R>
__device__ __forceinline__ void carry_rows(const P& problem, const ColumnRingShape& shape,
                                           const PublishedColumns<R>& published, ColumnRing& ring,
                                           std::byte* memory_of_carry, int carrier) {
  using T = ColumnRingTypes<access, P>;
  using Prefix = Fold<typename T::Carrying, R>;
  const auto op = carrying(problem.op);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const int width = tiling.columns;
  const typename T::Carried before(memory_of_carry, published, shape.by_columns_of_carrier,
                                   shape.columns_of_carrier);
  std::int64_t strip = -1;  // its first column
  std::int64_t next_row = 0;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const ColumnPartInStage<access, P> memory(problem, shape,
                                              part.tile<typename T::Tile>(problem, tiling), turn);
    // Until then most totals of others have arrived.
    ring.folded[s].wait(turn.parity);
    const std::int64_t row = part.first_row();
    const std::int64_t section_begin = row - row % rows_of_section;
    if (strip != part.column(tiling) || next_row < section_begin) next_row = section_begin;
    strip = part.column(tiling);
    const int first = carrier * shape.columns_of_carrier;
    const int left = part.columns - first;
    const int columns = left < shape.columns_of_carrier ? left : shape.columns_of_carrier;
    if (columns > 0) {
      before.add(op, published, columns, strip + first, published.entry_of_row(next_row),
                 static_cast<int>(row - next_row), next_row > section_begin);
    }
    const auto rows_ended =
        static_cast<int>((part.begin + part.rows) / elements_of_row - part.first_row());
    next_row = row + rows_ended;
    const bool ends_section = next_row % rows_of_section == 0 && part.begin + part.rows < problem.n;
    for (int c = lane; c < columns; c += lanes) {
      Prefix prefix = row > section_begin ? Prefix(op, before[c]) : Prefix(op);
      const R* const totals = memory.chunks + (row_of_chunks - 1) * width + first + c;
      R* const rows = memory.rows + first + c;
#pragma unroll 8
      for (int r = 0; r < rows_ended; ++r) {
        if (prefix.exists()) rows[r * width] = prefix.value();
        prefix = Prefix(op, prefix.then(op, totals[r * row_of_chunks * width]));
      }
      if (part.begin + part.rows > next_row * elements_of_row && prefix.exists()) {
        rows[rows_ended * width] = prefix.value();
      }
      if (prefix.exists()) before[c] = prefix.value();
      if (ends_section) {
        published.publish(next_row / rows_of_section, strip + first + c, prefix.value());
      }
    }
    __syncwarp();
    if (lane == 0) ring.carried[s].arrive();
  }
}

/// The task of one warp: finds out what comes before the section of each tile.
template <ColumnAccess access, class P, class R>
__device__ __forceinline__ void carry_sections(const P& problem, const ColumnRingShape& shape,
                                               const PublishedColumns<R>& published,
                                               ColumnRing& ring, std::byte* memory_of_carry) {
  using T = ColumnRingTypes<access, P>;
  const auto op = carrying(problem.op);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const std::int64_t first_entry = problem.start.exists() ? 0 : 1;
  const typename T::Carried before(memory_of_carry, published, tiling.by_columns, tiling.columns);
  std::int64_t strip = -1;  // its first column
  std::int64_t next_entry = 0;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const auto tile = part.tile<typename T::Tile>(problem, tiling);
    const ColumnPartInStage<access, P> memory(problem, shape, tile, turn);
    if (strip != part.column(tiling)) next_entry = first_entry;
    strip = part.column(tiling);
    if (part.begin == 0 && problem.start.exists()) {
      for (int c = lane; c < part.columns; c += lanes) {
        const R start = static_cast<R>(problem.start.at(tile.place(c)).value);
        published.publish(0, strip + c, start);
      }
    }
    ring.folded[s].wait(turn.parity);
    // Entry e is what section e - 1 has added.
    const std::int64_t end = part.first_row() / rows_of_section + 1;
    before.add(op, published, part.columns, strip, next_entry, static_cast<int>(end - next_entry),
               next_entry > first_entry);
    next_entry = end;
    if (end > first_entry) {
      for (int c = lane; c < part.columns; c += lanes) memory.sections[c] = before[c];
    }
    __syncwarp();
    if (lane == 0) ring.carried[s].arrive();
  }
}

/// From B after each element x[v][e] of a chunk to its results; stores what the ends of the column
/// have besides.
///
/// \param at_begin B before the chunk
template <class P, class A, int V, int E>
__device__ __forceinline__ void finish_chunk_of_column(const P& problem, const ColumnPlace& place,
                                                       bool is_first, bool is_last, int length,
                                                       const A& at_begin, A (&x)[V][E], int e) {
  const Ends<P> ends{problem};
  if (ends.exist()) {
    if (is_first) ends.store_begin(place, at_begin);
    if (is_last) {
      A last = x[0][e];
#pragma unroll
      for (int v = 1; v < V; ++v) last = v < length ? x[v][e] : last;
      ends.store_end(place, last);
    }
  }
  if (problem.form == Form::exclusive) {
#pragma unroll
    for (int v = V - 1; v > 0; --v) x[v][e] = x[v - 1][e];
    x[0][e] = at_begin;
  }
}

/// The task of some groups, each with stages of its own: scans tiles, and stores them.
///
/// \param group  its number
/// \param thread number in the group
template <ColumnAccess access, class P, class R>
__device__ __forceinline__ void scan_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  ColumnRing& ring, int group, int thread) {
  using T = ColumnRingTypes<access, P>;
  using A = typename T::A;
  using Value = typename T::Value;
  using Prefix = Fold<typename T::Carrying, R>;
  constexpr int V = chunk_of_column;
  constexpr int E = T::columns;
  constexpr int threads = threads_that_scan;
  const auto op = carrying(problem.op);
  const int lane = thread % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const int width = tiling.columns;
  const bool has_start = problem.start.exists();
  if (group >= shape.stages) return;  // there are fewer stages than groups
  for (Turn turn{group, 0};; turn.advance(shape.stages, scanning_groups)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const auto tile = part.tile<typename T::Tile>(problem, tiling);
    const ColumnPartInStage<access, P> memory(problem, shape, tile, turn);
    const std::int64_t first_row = part.first_row();
    const bool has_sections = has_start || first_row >= rows_of_section;
    const bool begins_section = first_row % rows_of_section == 0;
    ring.folded[s].wait(turn.parity);
    ring.carried[s].wait(turn.parity);
    // The chunks in which columns begin and end, if they are in this tile.
    const int first_chunk = part.begin == 0 ? 0 : -1;
    const int last_chunk = part.begin + part.rows == problem.n ? (part.rows - 1) / V : -1;
    const auto scan = [&](auto of_chunks) {
      constexpr ChunkLayout layout = decltype(of_chunks)::value;
      constexpr bool are_whole = layout != ChunkLayout::uneven;
      for (int item = thread; item < tiling.items() / E; item += threads) {
        const auto c = ColumnChunks::find<E>(shape, item);
        const int length = are_whole ? (c.column < part.columns ? V : 0) : c.length(part);
        if (length == 0) continue;
        A x[V][E];
        get_chunks<layout>(shape, tile, memory.input, c, length, x);
        const int row = c.chunk / row_of_chunks;
        const bool is_full = are_whole || length == V;
        const bool is_first = c.chunk == first_chunk;
        const R* const sections = memory.sections + c.column;
        const R* const rows = memory.rows + row * width + c.column;
        const R* const chunks = memory.chunks + c.chunk * width + c.column;
#pragma unroll
        for (int e = 0; e < E; ++e) {
          // Carry.
          ColumnPrefix<typename T::Carrying, R> prefix(op);
          if (has_sections) prefix.sections = Prefix(op, sections[e]);
          if (row > 0 || !begins_section) prefix.rows = Prefix(op, rows[e]);
          Prefix run = prefix.join_all(
              op, c.chunk % row_of_chunks > 0 ? Prefix(op, chunks[e - width]) : Prefix(op));
          A with{};
          if (is_full) with = static_cast<A>(prefix.join_all(op, Prefix(op, chunks[e])).value());

          // Scan: x becomes B after each element.
          const A at_begin =
              is_first && !has_start ? problem.identity.value : static_cast<A>(run.value());
#pragma unroll
          for (int p = 0; p < V; p += pack_of_column) {
            if (p == 0 || length > p) {
              scan_pack_of_column(problem.op, op, run, x, p, e, length - p);
            }
          }
          if (is_full) x[V - 1][e] = with;
          finish_chunk_of_column(problem, tile.place(c.column + e), is_first, c.chunk == last_chunk,
                                 length, at_begin, x, e);
        }
        if constexpr (T::stores_chunks) {
          store_chunks<are_whole>(problem.output, tile.place(c.column), part.begin + c.chunk * V,
                                  length, x);
        } else {
          put_chunks<layout>(shape, tile, memory.results, c, length, x);
        }
      }
    };
    with_chunk_layout(shape, part, memory, scan);
    if constexpr (!T::stores_chunks) before_bulk_copies();
    __syncwarp();
    if (lane == 0) ring.scanned[s].arrive();
    if constexpr (T::stores_chunks) {
      if (lane == 0) ring.stored[s].arrive();
      continue;
    }
    ring.scanned[s].wait(turn.parity);
    if constexpr (is_called<typename T::Out>) {
      call_for_results(memory.results, problem.output, tile, Threads{thread, threads});
    } else if constexpr (are_runs(access)) {
      Value* const to = tile.flat(problem.output);
      if (are_aligned(memory.results, to)) {
        begin_store(memory.results, to, tile.elements(), Threads{thread, threads});
        wait_for_bulk_stores();
      } else {
        store_elements(memory.results, to, tile.elements(), Threads{thread, threads});
      }
    } else if constexpr (access == ColumnAccess::apart) {
      store_apart(memory.results, problem.output, tile, Threads{thread, threads});
    }
    __syncwarp();
    if (lane == 0) ring.stored[s].arrive();
  }
}

/// Scans columns that blocks share.
template <ColumnAccess access, class P>
__global__ void __launch_bounds__(threads_of_column_ring(access), 1) scan_parts_of_columns(
    const __grid_constant__ P problem, const __grid_constant__ ColumnRingShape shape,
    const __grid_constant__ PublishedColumns<typename Types<P>::R> published) {
  auto& ring = *reinterpret_cast<ColumnRing*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x);
  using T = ColumnRingTypes<access, P>;
  using Carried = typename T::Carried;
  constexpr int carriers = row_carriers(access);
  if (thread == 0) ring.initialize(shape.stages, T::loaders, carriers);
  __syncthreads();

  constexpr int threads = threads_that_fold + scanning_groups * threads_that_scan;
  if (thread < threads_that_fold) {
    fold_column_parts<access>(problem, shape, published, ring, thread);
  } else if (thread < threads) {
    using R = typename Types<P>::R;
    const int of_groups = thread - threads_that_fold;
    scan_column_parts<access, P, R>(problem, shape, ring, of_groups / threads_that_scan,
                                    of_groups % threads_that_scan);
  } else {
    const int warp = (thread - threads) / lanes;
    std::byte* const memory_of_carry =
        shared_memory() + sizeof(ColumnRing) + warp * Carried::bytes(shape.tiling.columns);
    if (warp < carriers) {
      carry_rows<access>(problem, shape, published, ring, memory_of_carry, warp);
    } else if (warp == carriers) {
      carry_sections<access>(problem, shape, published, ring, memory_of_carry);
    } else {
      load_column_parts<access>(problem, shape, published, ring,
                                thread - threads - (1 + carriers) * lanes);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
