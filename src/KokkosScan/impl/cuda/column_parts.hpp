// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for parts of columns, which are long and so few that blocks must share them.
///
/// One block stays on each multiprocessor and has several tiles of a strip of columns in flight,
/// each in a stage of its shared memory. When a strip is done, the block continues with another.
/// The warps are specialised as in parts.hpp. Some take tiles by ticket and begin to load them. One
/// group folds tiles and publishes the totals of rows of chunks. Some warps, each with columns of
/// its own, carry the prefixes within sections and publish the totals of sections; one carries the
/// prefixes of sections (column_carry.hpp). Two more groups alternate: they scan tiles whose
/// prefixes are known (column_tree.hpp has the combination tree), and store the results from
/// registers.

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

/// The launch parameters of this kernel.
struct ColumnRingShape {
  ColumnTiling tiling;
  std::int64_t strips;
  std::int64_t tiles_of_strip;
  int stages;
  int bytes_of_tile;
  int bytes_of_stage;
  int columns_of_carrier;  ///< columns of each warp that carries rows
  Divisor by_columns_of_carrier;
};

/// A tile of a strip; one without rows means that there are no more.
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
  template <class P>
  [[nodiscard]] __device__ __forceinline__ ColumnTile tile(const P& problem,
                                                           const ColumnTiling& tiling) const {
    return {problem.batch, tiling, outer,   begin,
            first_column,  rows,   columns, is_backward(problem.output)};
  }
  /// The first row of chunks.
  [[nodiscard]] __device__ __forceinline__ std::int64_t first_row() const {
    return begin / elements_of_row;
  }
  /// The index of the first column among all columns.
  [[nodiscard]] __device__ __forceinline__ std::int64_t column(const ColumnTiling& tiling) const {
    return outer * tiling.inner + first_column;
  }
};

/// Warps of a block that load tiles, or compute their elements.
template <class P>
inline constexpr int column_loaders =
    computes_apart<P> ? column_loaders_that_compute : column_loaders_that_copy;
template <class P>
inline constexpr int threads_of_column_ring = threads_that_fold +
                                              scanning_groups* threads_that_scan +
                                              (1 + row_carriers + column_loaders<P>)*lanes;

/// What the warps of a block share besides the tiles, as in Ring.
struct alignas(quad) ColumnRing {
  Barrier taken[most_stages];          ///< the part is known
  Barrier loaded[most_stages];         ///< its elements have arrived
  Barrier chunks_folded[most_stages];  ///< the totals of chunks are ready
  Barrier folded[most_stages];         ///< the totals of rows, too
  Barrier carried[most_stages];        ///< the prefixes are ready
  Barrier scanned[most_stages];        ///< the stage is free
  ColumnPart parts[most_stages];

  /// Called by one thread, before any other uses the barriers.
  ///
  /// \param loaders number of warps that load
  __device__ __forceinline__ void initialize(int stages, int loaders) {
    constexpr int folding = threads_that_fold / lanes;
    constexpr int scanning = threads_that_scan / lanes;
    for (int s = 0; s < stages; ++s) {
      taken[s].initialize(1);
      loaded[s].initialize(2 * lanes * loaders);
      chunks_folded[s].initialize(folding);
      folded[s].initialize(folding);
      carried[s].initialize(1 + row_carriers);
      scanned[s].initialize(scanning);
    }
    after_initialization();
  }
};

/// Bytes of shared memory before the stages.
template <class Carried>
__host__ __device__ constexpr int bytes_of_column_ring(int width) {
  const int bytes =
      static_cast<int>(sizeof(ColumnRing)) + (1 + row_carriers) * Carried::bytes(width);
  return (bytes + 127) / 128 * 128;
}

/// Bytes of what a tile passes on from folding to scanning: the folds of chunks within their rows,
/// and the prefixes.
template <class R>
__host__ __device__ constexpr int bytes_of_column_folds(const ColumnTiling& tiling) {
  const int rows = (tiling.groups + row_of_chunks - 1) / row_of_chunks;
  const int folds = tiling.items() + (1 + rows) * tiling.columns;
  return (folds * static_cast<int>(sizeof(R)) + quad - 1) / quad * quad;
}

/// The folds of published totals that warps carry.
template <class P>
using CarriedParts = CarriedColumns<typename Types<P>::Carrying, typename Types<P>::R>;

/// The shared memory of a part.
template <class P>
struct ColumnPartInStage {
  using R = typename Types<P>::R;

  StagedRows<typename Types<P>::In> input;
  R* chunks;    ///< the folds of chunks, and of those before them in their rows
  R* sections;  ///< for each column, the fold of earlier sections
  R* rows;      ///< for each row of the tile, the fold of earlier rows of its section

  __device__ __forceinline__ ColumnPartInStage(const P& problem, const ColumnRingShape& shape,
                                               const ColumnTile& tile, const Turn& turn) {
    std::byte* const memory = shared_memory() +
                              bytes_of_column_ring<CarriedParts<P>>(shape.tiling.columns) +
                              turn.stage * shape.bytes_of_stage;
    std::byte* rows_of_input = memory;
    input.place(problem.input, tile, rows_of_input);
    chunks = reinterpret_cast<R*>(memory + shape.bytes_of_tile);
    sections = chunks + shape.tiling.items();
    rows = sections + shape.tiling.columns;
  }
  template <bool is_whole, class A, int V>
  __device__ __forceinline__ void get(const ColumnChunk& c, int length, A (&x)[V][1]) const {
    A column[V];
    input.template get_chunk<is_whole>(c.chunk * V, c.column, length, column);
#pragma unroll
    for (int v = 0; v < V; ++v) x[v][0] = column[v];
  }
};

/// Calls f with a compile-time constant: whether all chunks of a tile are whole.
template <class F>
__device__ __forceinline__ void with_wholeness(const ColumnRingShape& shape, const ColumnPart& part,
                                               const F& f) {
  if (part.rows == shape.tiling.rows) return f(std::true_type{});
  f(std::false_type{});
}

/// Stores the results of a chunk.
///
/// \param place the column
/// \param k     the first element, in scan order
template <bool is_whole, class Value, class A, int V>
__device__ __forceinline__ void store_chunk(const Array<Value>& output, const ColumnPlace& place,
                                            std::int64_t k, int length, const A (&x)[V][1]) {
  const std::int64_t along = output.strides.along;
  Value* to = output.data + place.offset(output.strides) + k * along;
#pragma unroll
  for (int v = 0; v < V; ++v, to += along) {
    if (!is_whole && v >= length) return;
    *to = static_cast<Value>(x[v][0]);
  }
}
template <bool is_whole, class Value, int Rank, class Function, class A, int V>
__device__ __forceinline__ void store_chunk(const Called<Value, Rank, Function>& output,
                                            const ColumnPlace& place, std::int64_t k, int length,
                                            const A (&x)[V][1]) {
  call_for_chunk(output.line(place), k, length, x, 0);
}

/// Task of some warps: take tiles and begin to load them.
///
/// \param thread index among the threads of the task
template <class P, class R>
__device__ __forceinline__ void load_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  const PublishedColumns<R>& published,
                                                  ColumnRing& ring, int thread) {
  const int lane = thread % lanes;
  const auto take = [&](std::uint64_t* counter) {
    std::int64_t number = 0;
    take_ticket_if(lane == 0, counter, number);
    return shuffle(number, 0);
  };
  // Blocks take strips in order: first those that nobody has begun, then they help others. A block
  // exits after it has found so many strips done that all of them are.
  std::int64_t turn_of_strip = blockIdx.x;
  std::int64_t strip = turn_of_strip % shape.strips;
  const std::int64_t most_misses = 1 + 2 * shape.strips / gridDim.x;
  std::int64_t misses = 0;
  Turn turn;
  bool exists = true;
  // Each stage must signal the end, since each scanning group has stages of its own.
  for (int ends = 0; ends < shape.stages; turn.advance(shape.stages)) {
    const int s = turn.stage;
    if (thread < lanes) {  // the first of the loading warps
      ring.scanned[s].wait(turn.parity ^ 1);
      std::int64_t ticket = take(published.tickets(strip));
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
      const ColumnTile tile = part.tile(problem, shape.tiling);
      ColumnPartInStage<P> memory(problem, shape, tile, turn);
      memory.input.begin_load(problem.input, tile, ring.loaded[s],
                              Threads{thread, column_loaders<P> * lanes});
    }
    ring.loaded[s].arrive_after_copies();
    ring.loaded[s].arrive();
  }
}

/// Task of one group: folds tiles, and publishes the totals of rows of chunks.
///
/// \param thread index in the group
template <class P, class R>
__device__ __forceinline__ void fold_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  const PublishedColumns<R>& published,
                                                  ColumnRing& ring, int thread) {
  using T = Types<P>;
  using A = typename T::A;
  constexpr int V = chunk_of_column;
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
    const ColumnTile tile = part.tile(problem, tiling);
    const ColumnPartInStage<P> memory(problem, shape, tile, turn);
    with_wholeness(shape, part, [&](auto wholeness) {
      constexpr bool are_whole = decltype(wholeness)::value;
      for (int item = thread; item < tiling.items(); item += threads) {
        const ColumnChunk c = tile.chunk(item);
        // Only the last chunk of a column can be partial, and nothing needs its total.
        const bool is_full = are_whole ? c.column < part.columns : tile.length(c) == V;
        if (!is_full) continue;
        A x[V][1];
        memory.template get<are_whole>(c, V, x);
        memory.chunks[c.chunk * width + c.column] = fold_chunk_of_column<R>(problem.op, op, x, 0);
      }
    });
    __syncwarp();
    if (lane == 0) ring.chunks_folded[s].arrive();
    ring.chunks_folded[s].wait(turn.parity);

    // Each thread folds half a row of chunks; neighbouring threads fold the halves of one row.
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

/// Task of some warps, each with columns of its own: compute the prefix of each row of chunks
/// within its section, and publish the totals of sections.
///
/// \param carrier index of the warp
template <class P, class R>
__device__ __forceinline__ void carry_rows(const P& problem, const ColumnRingShape& shape,
                                           const PublishedColumns<R>& published, ColumnRing& ring,
                                           std::byte* memory_of_carry, int carrier) {
  using T = Types<P>;
  using Prefix = Fold<typename T::Carrying, R>;
  const auto op = carrying(problem.op);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const int width = tiling.columns;
  const CarriedParts<P> before(memory_of_carry, published, shape.by_columns_of_carrier,
                               shape.columns_of_carrier);
  std::int64_t strip = -1;  // identified by its first column
  std::int64_t next_row = 0;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const ColumnPartInStage<P> memory(problem, shape, part.tile(problem, tiling), turn);
    // Waits first, since by then most totals of other blocks have arrived.
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

/// Task of one warp: computes the prefix of each tile's section.
template <class P, class R>
__device__ __forceinline__ void carry_sections(const P& problem, const ColumnRingShape& shape,
                                               const PublishedColumns<R>& published,
                                               ColumnRing& ring, std::byte* memory_of_carry) {
  const auto op = carrying(problem.op);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const ColumnTiling& tiling = shape.tiling;
  const std::int64_t first_entry = problem.start.exists() ? 0 : 1;
  const CarriedParts<P> before(memory_of_carry, published, tiling.by_columns, tiling.columns);
  std::int64_t strip = -1;  // identified by its first column
  std::int64_t next_entry = 0;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const ColumnPart part = ring.parts[s];
    if (!part.exists()) return;
    const ColumnTile tile = part.tile(problem, tiling);
    const ColumnPartInStage<P> memory(problem, shape, tile, turn);
    if (strip != part.column(tiling)) next_entry = first_entry;
    strip = part.column(tiling);
    if (part.begin == 0 && problem.start.exists()) {
      for (int c = lane; c < part.columns; c += lanes) {
        const R start = static_cast<R>(problem.start.at(tile.place(c)).value);
        published.publish(0, strip + c, start);
      }
    }
    ring.folded[s].wait(turn.parity);
    // Entry e is the total of section e - 1, or the starting value.
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

/// Task of some groups, each with stages of its own: scan tiles and store the results.
///
/// \param group  index of the group
/// \param thread index in the group
template <class P, class R>
__device__ __forceinline__ void scan_column_parts(const P& problem, const ColumnRingShape& shape,
                                                  ColumnRing& ring, int group, int thread) {
  using T = Types<P>;
  using A = typename T::A;
  using Prefix = Fold<typename T::Carrying, R>;
  constexpr int V = chunk_of_column;
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
    const ColumnTile tile = part.tile(problem, tiling);
    const ColumnPartInStage<P> memory(problem, shape, tile, turn);
    const std::int64_t first_row = part.first_row();
    const bool has_sections = has_start || first_row >= rows_of_section;
    const bool begins_section = first_row % rows_of_section == 0;
    ring.folded[s].wait(turn.parity);
    ring.carried[s].wait(turn.parity);
    // The first and the last chunk of the columns, if they are in this tile.
    const int first_chunk = part.begin == 0 ? 0 : -1;
    const int last_chunk = part.begin + part.rows == problem.n ? (part.rows - 1) / V : -1;
    with_wholeness(shape, part, [&](auto wholeness) {
      constexpr bool are_whole = decltype(wholeness)::value;
      for (int item = thread; item < tiling.items(); item += threads_that_scan) {
        const ColumnChunk c = tile.chunk(item);
        const int length = are_whole ? (c.column < part.columns ? V : 0) : tile.length(c);
        if (length == 0) continue;
        A x[V][1];
        memory.template get<are_whole>(c, length, x);
        const int row = c.chunk / row_of_chunks;
        const bool is_full = are_whole || length == V;
        const bool is_first = c.chunk == first_chunk;
        const R* const chunk = memory.chunks + c.chunk * width + c.column;

        // Carry.
        ColumnPrefix<typename T::Carrying, R> prefix(op);
        if (has_sections) prefix.sections = Prefix(op, memory.sections[c.column]);
        if (row > 0 || !begins_section) {
          prefix.rows = Prefix(op, memory.rows[row * width + c.column]);
        }
        Prefix run = prefix.join_all(
            op, c.chunk % row_of_chunks > 0 ? Prefix(op, *(chunk - width)) : Prefix(op));
        A with{};
        if (is_full) with = static_cast<A>(prefix.join_all(op, Prefix(op, *chunk)).value());

        // Scan: replaces x by B after each element.
        const A at_begin =
            is_first && !has_start ? problem.identity.value : static_cast<A>(run.value());
#pragma unroll
        for (int p = 0; p < V; p += pack_of_column) {
          if (p == 0 || length > p) scan_pack_of_column(problem.op, op, run, x, p, 0, length - p);
        }
        if (is_full) x[V - 1][0] = with;
        const ColumnPlace place = tile.place(c.column);
        finish_chunk(problem, place, true, is_first, c.chunk == last_chunk, length, at_begin, x, 0);
        store_chunk<are_whole>(problem.output, place, part.begin + c.chunk * V, length, x);
      }
    });
    __syncwarp();
    if (lane == 0) ring.scanned[s].arrive();
  }
}

/// Scans columns that blocks share.
template <class P>
__global__ void __launch_bounds__(threads_of_column_ring<P>, 1) scan_parts_of_columns(
    const __grid_constant__ P problem, const __grid_constant__ ColumnRingShape shape,
    const __grid_constant__ PublishedColumns<typename Types<P>::R> published) {
  using R = typename Types<P>::R;
  auto& ring = *reinterpret_cast<ColumnRing*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) ring.initialize(shape.stages, column_loaders<P>);
  __syncthreads();

  constexpr int threads = threads_that_fold + scanning_groups * threads_that_scan;
  if (thread < threads_that_fold) {
    fold_column_parts(problem, shape, published, ring, thread);
  } else if (thread < threads) {
    const int of_groups = thread - threads_that_fold;
    scan_column_parts<P, R>(problem, shape, ring, of_groups / threads_that_scan,
                            of_groups % threads_that_scan);
  } else {
    const int warp = (thread - threads) / lanes;
    std::byte* const memory_of_carry =
        shared_memory() + sizeof(ColumnRing) + warp * CarriedParts<P>::bytes(shape.tiling.columns);
    if (warp < row_carriers) {
      carry_rows(problem, shape, published, ring, memory_of_carry, warp);
    } else if (warp == row_carriers) {
      carry_sections(problem, shape, published, ring, memory_of_carry);
    } else {
      load_column_parts(problem, shape, published, ring,
                        thread - threads - (1 + row_carriers) * lanes);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
