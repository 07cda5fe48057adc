// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns, lines whose elements are not neighbours in memory. A block copies a tile
/// of rows and columns to shared memory, as runs of bytes where it can be, folds chunks of columns,
/// combines their totals, scans each chunk with all before it, in place, and copies the tile back.
/// Neighbouring threads have neighbouring columns, then neighbouring chunks of them; a tile has
/// many short columns, or a part of some long ones, and then its block walks down, or blocks share
/// the columns. trees.hpp has the combination tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_plan.hpp>
#include <KokkosScan/impl/cuda/published.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
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
inline __device__ __noinline__ std::int64_t offset_of_rare_slab(const Batch& batch,
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

/// A column: the how-manieth of a slab, and of which.
struct ColumnPlace {
  const Batch& batch;
  std::int64_t slab;
  int column;

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset(const Strides& strides) const {
    if (batch.rank <= 1) return column * strides.batch[0];
    if (batch.rank == 2) return slab * strides.batch[0] + column * strides.batch[1];
    return offset_of_rare_slab(batch, strides, slab) + column * strides.batch[batch.rank - 1];
  }
};

/// Rows and columns of a slab, or of several whole ones. Rows are numbered in the order of memory,
/// those of all slabs together.
struct ColumnTile {
  std::int64_t slab;   ///< the first
  std::int64_t begin;  ///< the first row in scan order
  std::int64_t step;   ///< how many tiles of its strip come before it
  int first_column;
  int slabs;
  int rows;  ///< of a slab
  int columns;
  int shift, shift_of_results;  ///< bytes behind a multiple of 128, where its rows begin
  bool exists;
  bool backward;
  bool is_last;  ///< of its strip
  bool is_stored_in_bulk;

  ColumnTile() = default;
  __device__ __forceinline__ ColumnTile(const ColumnPlan& plan, std::int64_t n, bool is_backward,
                                        std::int64_t strip, std::int64_t number_of_step,
                                        int rows_of_step)
      : step(number_of_step), exists(strip < plan.strips), backward(is_backward) {
    const Division at(strip, plan.strips_of_slab);
    slab = at.quotient * plan.slabs_of_tile;
    first_column = static_cast<int>(at.remainder) * plan.columns;
    begin = step * rows_of_step;
    const std::int64_t slabs_left = plan.slabs - slab;
    const std::int64_t rows_left = n - begin;
    slabs = static_cast<int>(slabs_left < plan.slabs_of_tile ? slabs_left : plan.slabs_of_tile);
    rows = static_cast<int>(rows_left < rows_of_step ? rows_left : rows_of_step);
    columns = plan.inner - first_column < plan.columns ? plan.inner - first_column : plan.columns;
    is_last = step == plan.steps - 1;
    shift = shift_of_results = 0;
    is_stored_in_bulk = false;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int slab_of_tile,
                                                             int column) const {
    return {batch, slab + slab_of_tile, first_column + column};
  }
  /// The number of row k, in scan order, of a slab, or back.
  [[nodiscard]] __device__ __forceinline__ int in_memory_order(int k) const {
    return backward ? rows - 1 - k : k;
  }
  /// The address of the first element of row 0.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* first_in_memory(const Batch& batch,
                                                              const Array<T>& array) const {
    return &array.line(place(batch, 0, 0))(begin + in_memory_order(0));
  }
  /// Elements from row to row.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance_of_rows(
      const Array<T>& array) const {
    return backward ? -array.strides.along : array.strides.along;
  }
};

// ---- In shared memory ---------------------------------------------------------------------------

/// The rows of a tile in shared memory. Where they are runs of bytes, the first begins as many bytes
/// behind a multiple of 16 as it does in global memory, and rows are as far apart, up to a multiple
/// of 16: so the same 16 bytes can be moved at once on both sides.
template <class T>
struct TileRows {
  int begin;  ///< byte of the shared memory
  int pitch;  ///< elements from row to row

  [[nodiscard]] __device__ __forceinline__ T* slots() const {
    return reinterpret_cast<T*>(shared_memory() + begin);
  }
  [[nodiscard]] __device__ __forceinline__ T& operator()(int r, int column) const {
    return slots()[r * pitch + column];
  }
};

/// The runs of a tile, neighbours in memory: its rows or, where they follow each other, all at once.
template <class T>
struct TileRuns {
  std::byte* global;  ///< the first byte of the first run
  std::byte* shared;
  std::int64_t distance;  ///< bytes from run to run
  int pitch;              ///< the same in shared memory
  int bytes;              ///< of a run
  int count;

  template <class U>
  __device__ __forceinline__ TileRuns(const Batch& batch, const ColumnTile& tile,
                                      const Array<U>& array, bool is_flat, const TileRows<T>& rows)
      : global(reinterpret_cast<std::byte*>(
            const_cast<T*>(tile.first_in_memory(batch, array)))),
        shared(shared_memory() + rows.begin),
        distance(tile.distance_of_rows(array) * static_cast<int>(sizeof(T))),
        pitch(rows.pitch * static_cast<int>(sizeof(T))),
        bytes((is_flat ? tile.slabs * tile.rows * tile.columns : tile.columns) *
              static_cast<int>(sizeof(T))),
        count(is_flat ? 1 : tile.rows) {}

  /// Calls quads(global, shared) for all whole quads and elements(global, shared) for the elements
  /// before and behind them. All threads that scan share one run, or a warp has one after another.
  template <class Quads, class Elements>
  __device__ __forceinline__ void for_each(const Quads& of_quads, const Elements& of_elements) const {
    const int thread = static_cast<int>(threadIdx.x);
    const bool is_one = count == 1;
    const int step = (is_one ? threads_of_columns : lanes) * quad;
    const int own = (is_one ? thread : thread % lanes) * quad;
    int r = is_one ? 0 : thread / lanes;
    std::byte* from = global + r * distance;
    std::byte* to = shared + r * pitch;
#pragma unroll 1
    for (; r < count; r += threads_of_columns / lanes) {
#pragma unroll 1
      for (int b = own - misalignment(from); b < bytes; b += step) {
        if (b >= 0 && b + quad <= bytes) {
          of_quads(from + b, to + b);
        } else {
#pragma unroll
          for (int e = 0; e < quad; e += static_cast<int>(sizeof(T))) {
            if (b + e >= 0 && b + e < bytes) of_elements(from + b + e, to + b + e);
          }
        }
      }
      from += threads_of_columns / lanes * distance;
      to += threads_of_columns / lanes * pitch;
    }
  }
  /// Calls quads(global, shared, bytes) for the whole quads of each run, and elements(global, shared)
  /// as for_each() does. For the lanes of a warp.
  template <class Quads, class Elements>
  __device__ __forceinline__ void for_each_in_bulk(int lane, const Quads& of_quads,
                                                   const Elements& of_elements) const {
#pragma unroll 1
    for (int r = lane; r < count; r += lanes) {
      std::byte* const from = global + r * distance;
      std::byte* const to = shared + r * pitch;
      const Pieces pieces(misalignment(from), bytes);
      of_quads(from + pieces.head, to + pieces.head, pieces.quads * quad);
#pragma unroll 1
      for (int b = 0; b < pieces.head; b += static_cast<int>(sizeof(T))) of_elements(from + b, to + b);
#pragma unroll 1
      for (int b = bytes - pieces.tail; b < bytes; b += static_cast<int>(sizeof(T))) {
        of_elements(from + b, to + b);
      }
    }
  }
};

/// Whether runs are moved by bulk copies, by one warp. Those of a few hundred bytes would be too
/// many: a multiprocessor begins one in about 90 cycles.
template <class T>
__device__ __forceinline__ bool moves_in_bulk(const ColumnPlan& plan, bool is_flat) {
  return has_bulk_copies() &&
         (is_flat || plan.columns * static_cast<int>(sizeof(T)) >= bytes_of_bulk_row);
}

/// Begins to copy an element without registers, if that is possible; else copies it.
template <class T>
__device__ __forceinline__ void load_element(const std::byte* global, std::byte* shared) {
  if constexpr (is_one_copy<sizeof(T)>) {
    __pipeline_memcpy_async(shared, global, sizeof(T));
  } else {
    *reinterpret_cast<T*>(shared) = *reinterpret_cast<const T*>(global);
  }
}

/// Begins to copy the runs of a tile to shared memory; arrivals at the barrier, two of each lane of a
/// warp, end it.
template <class T>
__device__ __forceinline__ void begin_bulk_load(const TileRuns<T>& runs, Barrier& barrier,
                                                int lane) {
  runs.for_each_in_bulk(
      lane,
      [&](std::byte* global, std::byte* shared, int bytes) {
        barrier.begin_bulk_load(shared, global, bytes);
      },
      [](const std::byte* global, std::byte* shared) { load_element<T>(global, shared); });
  barrier.arrive_after_copies();
  barrier.arrive();
}
/// Begins to copy the runs of a tile; the pipeline of each thread that scans tells when it has ended.
template <class T>
__device__ __forceinline__ void begin_load(const TileRuns<T>& runs) {
  runs.for_each(
      [](const std::byte* global, std::byte* shared) {
        __pipeline_memcpy_async(shared, global, quad);
      },
      [](const std::byte* global, std::byte* shared) { load_element<T>(global, shared); });
}

/// Begins to copy the runs of a tile to global memory; wait_for_bulk_stores() ends it.
template <class T>
__device__ __forceinline__ void begin_bulk_store(const TileRuns<T>& runs, int lane) {
  runs.for_each_in_bulk(
      lane,
      [](std::byte* global, const std::byte* shared, int bytes) {
        if (bytes > 0) begin_bulk_store(global, shared, bytes);
      },
      [](std::byte* global, const std::byte* shared) {
        *reinterpret_cast<T*>(global) = *reinterpret_cast<const T*>(shared);
      });
}
/// Copies the runs of a tile to global memory.
template <class T>
__device__ __forceinline__ void store_runs(const TileRuns<T>& runs) {
  runs.for_each(
      [](std::byte* global, const std::byte* shared) {
        *reinterpret_cast<uint4*>(global) = *reinterpret_cast<const uint4*>(shared);
      },
      [](std::byte* global, const std::byte* shared) {
        *reinterpret_cast<T*>(global) = *reinterpret_cast<const T*>(shared);
      });
}

/// Calls f(exists, row, slab, column, k) for some elements at a time, in the order of memory: of the
/// rows, or along the columns. The threads that scan share the elements.
///
/// \param along whether elements of the same column are neighbours
template <int at_once, class F>
__device__ __forceinline__ void for_each_element(const ColumnPlan& plan, const ColumnTile& tile,
                                                 bool along, const F& f) {
  const int all_rows = plan.rows * plan.slabs_of_tile;
  const int count = all_rows * plan.columns;
  int row[at_once], slab[at_once], column[at_once];
  std::int64_t k[at_once];
  bool exists[at_once];
#pragma unroll 1
  for (int e = static_cast<int>(threadIdx.x); e < count; e += at_once * threads_of_columns) {
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int number = e + i * threads_of_columns;
      const int outer = (along ? plan.by_all_rows : plan.by_columns).quotient(number);
      const int inner = number - outer * (along ? all_rows : plan.columns);
      row[i] = along ? inner : outer;
      column[i] = along ? outer : inner;
      slab[i] = 0;
      int r = row[i];
      if (plan.slabs_of_tile > 1) {
        slab[i] = plan.by_rows.quotient(r);
        r -= slab[i] * plan.rows;
      }
      exists[i] =
          number < count && column[i] < tile.columns && r < tile.rows && slab[i] < tile.slabs;
      k[i] = tile.begin + tile.in_memory_order(r);
    }
    f(exists, row, slab, column, k);
  }
}

/// What a tile's slots hold of an input: the elements of an array, else values of the accumulator.
template <class A, class In>
struct LoadedFrom {
  using type = A;
  static constexpr bool is_run = false;
};
template <class A, class T>
struct LoadedFrom<A, Array<const T>> {
  using type = T;
  /// Whether rows may be copied as runs of bytes.
  static constexpr bool is_run = is_one_move<sizeof(T)> && alignof(T) == sizeof(T);
};

/// Whether elements of the same column are neighbours rather than those of the same row.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_along(const Batch& batch, const Array<T>& array) {
  if (batch.rank == 0) return true;
  const std::int64_t across = array.strides.batch[batch.rank - 1];
  const std::int64_t along = array.strides.along;
  return (across < 0 ? -across : across) > (along < 0 ? -along : along);
}
template <int Rank, class Function>
KOKKOS_FORCEINLINE_FUNCTION bool is_along(const Batch&, const Computed<Rank, Function>&) {
  return false;
}
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION bool is_along(const Batch& batch, const Selected<A, Values, Mask>& in) {
  return is_along(batch, in.values);
}

/// Loads the elements of a tile one by one.
template <class T, class In>
__device__ __noinline__ void load_elements(const Batch& batch, const ColumnPlan& plan,
                                           const ColumnTile& tile, const In& in,
                                           const TileRows<T> rows) {
  constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;
  for_each_element<at_once>(
      plan, tile, is_along(batch, in),
      [&](const bool(&exists)[at_once], const int(&row)[at_once], const int(&slab)[at_once],
          const int(&column)[at_once], const std::int64_t(&k)[at_once]) {
        T x[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (exists[i]) {
            x[i] = static_cast<T>(in.line(tile.place(batch, slab[i], column[i]))(k[i]));
          }
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (exists[i]) rows(row[i], column[i]) = x[i];
        }
      });
}
/// Stores the results of a tile one by one.
template <class T>
__device__ __noinline__ void store_elements(const Batch& batch, const ColumnPlan& plan,
                                            const ColumnTile& tile, const Array<T>& out,
                                            const TileRows<T> rows) {
  constexpr int at_once = 4;
  for_each_element<at_once>(
      plan, tile, is_along(batch, out),
      [&](const bool(&exists)[at_once], const int(&row)[at_once], const int(&slab)[at_once],
          const int(&column)[at_once], const std::int64_t(&k)[at_once]) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (exists[i]) {
            out.line(tile.place(batch, slab[i], column[i]))(k[i]) = rows(row[i], column[i]);
          }
        }
      });
}

// ---- Combining ----------------------------------------------------------------------------------

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
  /// \param number of tiles of the section with it
  __device__ __forceinline__ void add_tile(const Op& op, const R& tile, int number) {
    tiles = Fold<Op, R>(op, tiles.then(op, tile));
    if ((number & (tiles_of_section - 1)) == 0) {
      sections = join(op, sections, tiles);
      tiles = Fold<Op, R>(op);
    }
  }
  /// Goes on with a whole chunk.
  ///
  /// \param number of chunks of the section with it
  __device__ __forceinline__ void add(const Op& op, const R& chunk, int number) {
    chunks = Fold<Op, R>(op, chunks.then(op, chunk));
    if ((number & (chunks_of_tile - 1)) == 0) {
      add_tile(op, chunks.value(), number / chunks_of_tile);
      chunks = Fold<Op, R>(op);
    }
  }
};

/// Goes on with `count` values in memory, `stride` apart.
template <class Op, class R>
__device__ __forceinline__ void fold_on(const Op& op, Fold<Op, R>& fold, const R* values,
                                        int stride, int count) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) fold = Fold<Op, R>(op, fold.then(op, values[i * stride]));
}

/// What comes before the steps of a strip, in shared memory: three folds of each column.
template <class Op, class R>
struct StepPrefixes {
  R* memory;
  int columns;

  /// \param chunk        the first of the step, counted from the begin of its section
  /// \param has_sections whether something comes before this
  [[nodiscard]] __device__ __forceinline__ ColumnPrefix<Op, R> get(const Op& op, int column,
                                                                   int chunk,
                                                                   bool has_sections) const {
    ColumnPrefix<Op, R> prefix(op);
    const R* const folds = memory + column;
    if (has_sections) prefix.sections = Fold<Op, R>(op, folds[0]);
    if (chunk >= chunks_of_tile) prefix.tiles = Fold<Op, R>(op, folds[columns]);
    if (chunk % chunks_of_tile != 0) prefix.chunks = Fold<Op, R>(op, folds[2 * columns]);
    return prefix;
  }
  __device__ __forceinline__ void put(int column, const ColumnPrefix<Op, R>& prefix) const {
    R* const folds = memory + column;
    if (prefix.sections.exists()) folds[0] = prefix.sections.value();
    if (prefix.tiles.exists()) folds[columns] = prefix.tiles.value();
    if (prefix.chunks.exists()) folds[2 * columns] = prefix.chunks.value();
  }
};

/// Lanes of a warp that read what others have published for the same column: so many words at once
/// that they wait for memory once or twice.
struct LaneGroup {
  int first;  ///< lane of the warp
  int count;  ///< a power of two
  int own;    ///< of them

  __device__ __forceinline__ LaneGroup(int thread, int lanes_of_group)
      : first(thread % lanes & ~(lanes_of_group - 1)),
        count(lanes_of_group),
        own(thread & (lanes_of_group - 1)) {}

  template <class R>
  static constexpr int of_lane = Published<R>::words == 1 ? 4 : (Published<R>::words == 2 ? 2 : 1);

  /// Folds `number` published values, `stride` apart, behind what `fold` holds, from left to right.
  template <class Op, class R>
  __device__ __forceinline__ void fold_published(const Op& op, const std::uint64_t* at,
                                                 std::int64_t stride, std::int64_t number,
                                                 Fold<Op, R>& fold) const {
    constexpr int E = of_lane<R>;
    for (std::int64_t begin = 0; !__all_sync(~0U, begin >= number); begin += E * count) {
      const std::int64_t mine = begin + own * E;
      const int wanted = static_cast<int>(number - mine < E ? number - mine : E);
      Published<R> published[E];
      bool is_there = true;
      do {
        is_there = true;
#pragma unroll
        for (int i = 0; i < E; ++i) {
          if (i < wanted) {
            is_there = is_published(at + (mine + i) * stride, published[i]) && is_there;
          }
        }
        if (!is_there) rest();
      } while (!is_there);
      R value[E] = {};
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (i < wanted) published[i].get(value[i]);
      }
#pragma unroll 1
      for (int l = 0; l < count; ++l) {
        const std::int64_t e = begin + l * E;
        if (__all_sync(~0U, e >= number)) break;
#pragma unroll
        for (int i = 0; i < E; ++i) {
          const R next = shuffle(value[i], first + l);
          if (e + i < number) fold = Fold<Op, R>(op, fold.then(op, next));
        }
      }
    }
  }
  /// Finds the last of `number` values that is published.
  ///
  /// \param fold becomes this value, if there is one
  /// \return how many values there are up to it
  template <class Op, class R>
  __device__ __forceinline__ std::int64_t find_published(const Op& op, const std::uint64_t* at,
                                                         std::int64_t stride, std::int64_t number,
                                                         Fold<Op, R>& fold) const {
    bool is_found = number == 0;
    while (!__all_sync(~0U, is_found)) {
      Published<R> last;
      bool is_there = false;
      if (!is_found && number > own) is_there = is_published(at + (number - 1 - own) * stride, last);
      R value{};
      if (is_there) last.get(value);
#pragma unroll 1
      for (int l = 0; l < count; ++l) {
        const bool there = shuffle(static_cast<int>(is_there), first + l) != 0;
        const R next = shuffle(value, first + l);
        if (is_found || !there) continue;
        fold = Fold<Op, R>(op, next);
        number -= l;
        is_found = true;
      }
      if (!is_found) {
        number = number > count ? number - count : 0;
        is_found = number == 0;
      }
    }
    return number;
  }
};

/// The memory through which blocks share lines: a ticket, then of each line the totals of tiles,
/// those of sections, and those of all up to the end of a section.
template <class R>
struct SharedColumns {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;  ///< null where nothing is shared
  std::int64_t lines;
  std::int64_t tiles;  ///< of a line
  std::int64_t sections;

  [[nodiscard]] __device__ __forceinline__ std::uint64_t* ticket() const { return memory; }
  /// How far apart totals of the same line are.
  [[nodiscard]] __device__ __forceinline__ std::int64_t stride() const { return lines * words; }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tile(std::int64_t line,
                                                               std::int64_t number) const {
    return memory + 1 + (number * lines + line) * words;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(std::int64_t line,
                                                                  std::int64_t number) const {
    return tile(line, tiles + number);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* up_to(std::int64_t line,
                                                                std::int64_t number) const {
    return tile(line, tiles + sections + number);
  }

  __device__ __forceinline__ void publish_tile(std::int64_t line, std::int64_t number,
                                               const R& total) const {
    publish(tile(line, number), total);
  }
  /// Learns what comes before a step whose totals are published, and publishes those of the section
  /// that it ends. For the lanes of a group; all lanes of the warp take part.
  ///
  /// \param first  the first tile of the step
  /// \param totals of its tiles, in memory, `stride_of_totals` apart
  /// \param count  of them
  /// \param prefix the starting value, then all before the step
  template <class Op>
  __device__ __forceinline__ void exchange(const Op& op, const LaneGroup& group, bool exists,
                                           std::int64_t line, std::int64_t first, const R* totals,
                                           int stride_of_totals, int count, bool is_last,
                                           ColumnPrefix<Op, R>& prefix) const {
    const bool publishes = exists && !is_last && group.own == 0;
    // First the tiles of the section, so that whoever ends it can publish its total: sections must
    // not wait for each other.
    const std::int64_t number = first / tiles_of_section;
    const auto earlier = static_cast<int>(first & (tiles_of_section - 1));
    group.fold_published(op, tile(line, first - earlier), stride(), exists ? earlier : 0,
                         prefix.tiles);
    const bool ends_section = publishes && earlier + count == tiles_of_section;
    Fold<Op, R> total = prefix.tiles;
    if (ends_section) {
      fold_on(op, total, totals, stride_of_totals, count);
      publish(section(line, number), total.value());
    }
    // Back to the last section up to whose end all is known, then on from there.
    const std::int64_t known =
        group.find_published(op, up_to(line, 0), stride(), exists ? number : 0, prefix.sections);
    group.fold_published(op, section(line, known), stride(), exists ? number - known : 0,
                         prefix.sections);
    if (ends_section) publish(up_to(line, number), join(op, prefix.sections, total).value());
  }
};

/// A chunk of a column of a tile, in scan order.
template <class P>
struct ColumnChunk {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Loaded = typename LoadedFrom<A, typename T::In>::type;
  static constexpr int rows = rows_of_chunk(sizeof(A));
  /// Elements that are read together: a third of 33.
  static constexpr int at_once = rows % 11 == 0 ? 11 : rows;

  const Loaded* in;  ///< the first element
  int stride;        ///< from element to element
  int column;
  int length;

  /// Calls f(i, x) for all elements; x is of the carried type.
  template <class F>
  __device__ __forceinline__ void for_each(const F& f) const {
    const Loaded* at = in;
    int i = 0;
#pragma unroll 1
    for (; i + at_once <= length; i += at_once) {
      R x[at_once];
#pragma unroll
      for (int j = 0; j < at_once; ++j) x[j] = static_cast<R>(static_cast<A>(at[j * stride]));
#pragma unroll
      for (int j = 0; j < at_once; ++j) f(x[j]);
      at += at_once * stride;
    }
#pragma unroll 1
    for (; i < length; ++i) {
      f(static_cast<R>(static_cast<A>(*at)));
      at += stride;
    }
  }
  /// The fold of all.
  [[nodiscard]] __device__ __forceinline__ R fold(const Carrying& op) const {
    Fold<Carrying, R> total(op);
    for_each([&](const R& x) { total = Fold<Carrying, R>(op, total.then(op, x)); });
    return total.value();
  }
  /// Writes the results.
  ///
  /// \param out      the first
  /// \param before   all before the chunk
  /// \param at_begin B at its begin
  /// \param at_end   B at its end, if it is whole
  /// \return B behind the last row
  __device__ __forceinline__ A scan(const P& p, const Carrying& op, Value* out,
                                    const Fold<Carrying, R>& before, const A& at_begin,
                                    const Maybe<A>& at_end) const {
    const bool inclusive = p.form == Form::inclusive;
    Fold<Carrying, R> run = before;
    A previous = at_begin;
    for_each([&](const R& x) {
      run = Fold<Carrying, R>(op, run.then(op, x));
      const A b = static_cast<A>(run.value());
      *out = static_cast<Value>(inclusive ? b : previous);
      out += stride;
      previous = b;
    });
    if (!at_end.exists) return previous;
    if (inclusive) out[-stride] = static_cast<Value>(at_end.value);
    return at_end.value;
  }
};

// ---- The kernel ---------------------------------------------------------------------------------

/// What a block of scan_columns keeps in shared memory besides folds and tiles.
struct ColumnBlock {
  static constexpr int tiles_known = 4;

  Barrier loaded[most_buffers_of_columns];
  ColumnTile tiles[tiles_known];
};
static_assert(sizeof(ColumnBlock) <= bytes_of_column_block);

/// A block that scans columns: its threads, and one warp more that finds tiles and moves long runs.
template <class P>
class ColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Chunk = ColumnChunk<P>;
  using Loaded = typename Chunk::Loaded;
  using Prefix = Fold<Carrying, R>;
  static constexpr bool in_place = may_share_slots<Loaded, Value>;
  static constexpr bool may_load_runs = LoadedFrom<A, typename T::In>::is_run;
  static constexpr bool may_store_runs = LoadedFrom<A, Array<const Value>>::is_run;

 public:
  __device__ __forceinline__ ColumnScan(const P& p, const ColumnPlan& of,
                                        const SharedColumns<R>& shared)
      : m_p(p),
        m_plan(of),
        m_shared(shared),
        m_op(carrying(p.op)),
        m_thread(static_cast<int>(threadIdx.x)),
        m_has_start(p.start.exists()),
        m_loads_in_bulk(may_load_runs && of.loads_in_bulk),
        m_loads_runs(m_loads_in_bulk && moves_in_bulk<Loaded>(of, of.flat_loads)),
        m_begin_of_buffers((bytes_of_column_block + bytes_of_folds(of, sizeof(R)) + 127) / 128 *
                           128),
        m_strip(blockIdx.x) {}

  __device__ __forceinline__ void run() {
    if (m_thread == threads_of_columns) {
#pragma unroll
      for (Barrier& barrier : block().loaded) barrier.initialize(2 * lanes);
      after_initialization();
    }
    if (moves()) {
      __syncwarp();
      find_tile(0);
      find_tile(1);
    }
    __syncthreads();
    begin_to_load(block().tiles[0], 0);
    // Where blocks share strips, a tile is scanned after the next has been folded: whoever waits
    // for totals of others has published its own.
    const int delay = m_plan.shares ? 1 : 0;
    const bool loads_early = m_plan.buffers > 1 + delay;
    int buffer = 0;
    int last_buffer = 0;
#pragma unroll 1
    for (int turn = 0;; turn = (turn + 1) % ColumnBlock::tiles_known) {
      const ColumnTile& tile = block().tiles[turn];
      const ColumnTile& next = block().tiles[(turn + 1) % ColumnBlock::tiles_known];
      const int next_buffer = buffer + 1 == m_plan.buffers ? 0 : buffer + 1;
      const int half = m_plan.shares ? turn & 1 : static_cast<int>(tile.step & 1);
      const bool exists = tile.exists;
      if (exists) wait_for_elements(tile, buffer, half);
      __syncthreads();
      if (loads_early) begin_to_load(next, next_buffer);
      if (moves()) find_tile((turn + 2) % ColumnBlock::tiles_known);
      if (exists && m_plan.has_totals()) fold(tile, buffer, half);
      if (delay == 0) {
        if (!exists) return;
        scan(tile, buffer, half);
      } else {
        const ColumnTile& last =
            block().tiles[(turn + ColumnBlock::tiles_known - 1) % ColumnBlock::tiles_known];
        if (m_has_last) scan(last, last_buffer, 1 - half);
        if (!exists) return;
        m_has_last = true;
      }
      if (!loads_early) {
        if (moves()) wait_for_bulk_stores();
        __syncthreads();
        begin_to_load(next, next_buffer);
      }
      last_buffer = buffer;
      buffer = next_buffer;
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ static ColumnBlock& block() {
    return *reinterpret_cast<ColumnBlock*>(shared_memory());
  }
  /// Whether this thread is of the warp that moves, and its lane then.
  [[nodiscard]] __device__ __forceinline__ bool moves() const {
    return m_thread >= threads_of_columns;
  }
  [[nodiscard]] __device__ __forceinline__ int lane() const {
    return m_thread - threads_of_columns;
  }

  // Folds in shared memory: totals of chunks and of tiles, twice where blocks share strips, then
  // what comes before.
  [[nodiscard]] __device__ __forceinline__ R* totals(int half) const {
    return reinterpret_cast<R*>(shared_memory() + bytes_of_column_block) +
           (m_plan.shares ? half * m_plan.totals() : 0);
  }
  [[nodiscard]] __device__ __forceinline__ R* tiles(int half) const {
    return totals(half) + m_plan.items();
  }
  [[nodiscard]] __device__ __forceinline__ R* prefixes(int half) const {
    return totals(0) + (m_plan.shares ? 2 : 1) * m_plan.totals() +
           (m_plan.steps > 1 ? half * 3 * m_plan.columns : 0);
  }
  [[nodiscard]] __device__ __forceinline__ StepPrefixes<Carrying, R> step_prefixes(int half) const {
    return {prefixes(half), m_plan.columns};
  }
  [[nodiscard]] __device__ __forceinline__ TileRows<Loaded> elements(const ColumnTile& tile,
                                                                     int buffer) const {
    return {m_begin_of_buffers + buffer * m_plan.bytes_of_buffer + tile.shift, m_plan.pitch};
  }
  [[nodiscard]] __device__ __forceinline__ TileRows<Value> results(const ColumnTile& tile,
                                                                   int buffer) const {
    int begin = m_begin_of_buffers + buffer * m_plan.bytes_of_buffer + tile.shift_of_results;
    if constexpr (!in_place) {
      const int bytes = m_plan.rows * m_plan.slabs_of_tile * m_plan.pitch *
                        static_cast<int>(sizeof(Loaded));
      begin += (bytes + quad + 127) / 128 * 128;
    }
    return {begin, m_plan.pitch};
  }
  /// The number of the first chunk of a tile in its section.
  [[nodiscard]] __device__ __forceinline__ int first_chunk(const ColumnTile& tile) const {
    return static_cast<int>(tile.step << m_plan.log2_chunks & (chunks_of_section - 1));
  }
  [[nodiscard]] __device__ __forceinline__ bool has_sections(const ColumnTile& tile) const {
    return m_has_start || (tile.step << m_plan.log2_chunks) >= chunks_of_section;
  }

  /// Finds the next tile. For the warp that moves.
  __device__ __forceinline__ void find_tile(int to) {
    if (m_plan.shares) {
      std::int64_t ticket = 0;
      take_ticket_if(lane() == 0, m_shared.ticket(), ticket);
      ticket = shuffle(ticket, 0);
      const Division at(ticket, m_plan.strips);
      m_strip = at.quotient < m_plan.steps ? at.remainder : m_plan.strips;
      m_step = at.quotient;
    }
    ColumnTile tile(m_plan, m_p.n, m_p.output.strides.along < 0, m_strip, m_step,
                    Chunk::rows << m_plan.log2_chunks);
    if (tile.exists) {
      if constexpr (may_load_runs) {
        if (m_loads_in_bulk) {
          tile.shift = misalignment(tile.first_in_memory(m_p.batch, m_p.input));
        }
      }
      if constexpr (may_store_runs) {
        if (m_plan.stores_in_bulk) {
          const int shift = misalignment(tile.first_in_memory(m_p.batch, m_p.output));
          if (!in_place) tile.shift_of_results = shift;
          if (in_place && !m_loads_in_bulk) tile.shift = shift;
          // What took the place of elements may lie otherwise than in global memory.
          tile.is_stored_in_bulk =
              (!in_place || tile.shift == shift) &&
              ((tile.distance_of_rows(m_p.output) - m_plan.pitch) * sizeof(Value)) % quad == 0;
        }
      }
      if (in_place) tile.shift_of_results = tile.shift;
    }
    if (lane() == 0) block().tiles[to] = tile;
    __syncwarp();
    if (!m_plan.shares && ++m_step == m_plan.steps) {
      m_step = 0;
      m_strip += gridDim.x;
    }
  }

  __device__ __forceinline__ void begin_to_load(const ColumnTile& tile, int buffer) {
    if constexpr (may_load_runs) {
      if (!m_loads_in_bulk || !tile.exists || m_loads_runs != moves()) return;
      const TileRuns<Loaded> runs(m_p.batch, tile, m_p.input, m_plan.flat_loads,
                                  elements(tile, buffer));
      if (m_loads_runs) {
        begin_bulk_load(runs, block().loaded[buffer], lane());
      } else {
        begin_load(runs);
      }
    }
  }

  __device__ __forceinline__ void wait_for_elements(const ColumnTile& tile, int buffer, int half) {
    if (moves()) return wait_for_bulk_stores();
    // Starting values are read before any total is stored, maybe in their place.
    if (m_has_start && m_plan.has_totals() && (tile.step == 0 || m_plan.shares)) {
#pragma unroll 1
      for (int i = m_thread; i < tile.slabs * m_plan.columns; i += threads_of_columns) {
        const int slab = m_plan.by_columns.quotient(i);
        const int column = i - slab * m_plan.columns;
        if (column >= tile.columns) continue;
        prefixes(half)[i] =
            static_cast<R>(m_p.start.at(tile.place(m_p.batch, slab, column)).value);
      }
      if (m_plan.shares) fence();
    }
    if (m_loads_runs) {
      block().loaded[buffer].wait(static_cast<int>(m_parities >> buffer & 1));
      m_parities ^= 1U << buffer;
    } else if (m_loads_in_bulk) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else {
      load_elements(m_p.batch, m_plan, tile, m_p.input, elements(tile, buffer));
    }
  }

  /// Calls f(item, slab, chunk, place, ...) for the chunks of a tile's columns.
  template <class F>
  __device__ __forceinline__ void for_each_chunk(const ColumnTile& tile, int buffer, const F& f) const {
    Loaded* const slots = elements(tile, buffer).slots();
    const int stride = tile.backward ? -m_plan.pitch : m_plan.pitch;
#pragma unroll 1
    for (int item = m_thread; item < m_plan.items(); item += threads_of_columns) {
      const int row = m_plan.by_columns.quotient(item);
      const int column = item - row * m_plan.columns;
      const int slab = row >> m_plan.log2_chunks;
      const int chunk = row & (m_plan.chunks() - 1);
      const int left = tile.rows - chunk * Chunk::rows;
      if (column >= tile.columns || slab >= tile.slabs || left <= 0) continue;
      const int first = slab * tile.rows + tile.in_memory_order(chunk * Chunk::rows);
      const int place = first * m_plan.pitch + column;
      f(item, slab, chunk, place,
        Chunk{slots + place, stride, column, left < Chunk::rows ? left : Chunk::rows});
    }
  }

  /// Folds chunks and tiles; where blocks share strips, publishes these.
  __device__ __forceinline__ void fold(const ColumnTile& tile, int buffer, int half) const {
    R* const of_chunks = totals(half);
    if (!moves()) {
      for_each_chunk(tile, buffer, [&](int item, int, int, int, const Chunk& chunk) {
        if (chunk.length == Chunk::rows) of_chunks[item] = chunk.fold(m_op);
      });
    }
    __syncthreads();
    if (m_plan.chunks() >= chunks_of_tile) {
      if (!moves()) {
        const int of_column = m_plan.tiles();
#pragma unroll 1
        for (int i = m_thread; i < of_column * m_plan.columns_of_tile(); i += threads_of_columns) {
          const int row = m_plan.by_columns.quotient(i);
          const int column = i - row * m_plan.columns;
          const int slab = row >> (m_plan.log2_chunks - 3);
          const int number = row & (of_column - 1);
          const bool is_whole = (number + 1) * chunks_of_tile * Chunk::rows <= tile.rows;
          if (column >= tile.columns || !is_whole || slab >= tile.slabs) continue;
          Prefix total(m_op);
          fold_on(m_op, total, of_chunks + row * chunks_of_tile * m_plan.columns + column,
                  m_plan.columns, chunks_of_tile);
          tiles(half)[i] = total.value();
          if (m_plan.shares && !tile.is_last) {
            m_shared.publish_tile(line(tile, column), first_tile(tile) + number, total.value());
          }
        }
      }
      __syncthreads();
    }
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t line(const ColumnTile& tile,
                                                             int column) const {
    return tile.slab * m_plan.inner + tile.first_column + column;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t first_tile(const ColumnTile& tile) const {
    return (tile.step << m_plan.log2_chunks) / chunks_of_tile;
  }

  /// Learns what comes before a tile from other blocks.
  __device__ __forceinline__ void exchange(const ColumnTile& tile, int half) const {
    const LaneGroup group(m_thread, m_plan.lanes_of_column);
    const int at_once = threads_of_columns / m_plan.lanes_of_column;
#pragma unroll 1
    for (int begin = 0; begin < tile.columns; begin += at_once) {
      const int column = begin + m_thread / m_plan.lanes_of_column;
      const bool exists = column < tile.columns;
      ColumnPrefix<Carrying, R> prefix(m_op);
      if (m_has_start && exists) prefix.sections = Prefix(m_op, prefixes(half)[column]);
      m_shared.exchange(m_op, group, exists, line(tile, column), first_tile(tile),
                        tiles(half) + column, m_plan.columns, m_plan.tiles(), tile.is_last, prefix);
      if (exists && group.own == 0) step_prefixes(half).put(column, prefix);
    }
  }
  /// Goes on with a tile's totals, for the next of the same columns.
  __device__ __forceinline__ void walk(const ColumnTile& tile, int half) const {
    const int first = first_chunk(tile);
    const bool by_tiles = m_plan.chunks() >= chunks_of_tile;
    const R* const values = by_tiles ? tiles(half) : totals(half);
    const int count = by_tiles ? m_plan.tiles() : m_plan.chunks();
#pragma unroll 1
    for (int column = m_thread; column < tile.columns; column += threads_of_columns) {
      ColumnPrefix<Carrying, R> prefix =
          step_prefixes(half).get(m_op, column, first, has_sections(tile));
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const R& value = values[i * m_plan.columns + column];
        if (by_tiles) {
          prefix.add_tile(m_op, value, first / chunks_of_tile + i + 1);
        } else {
          prefix.add(m_op, value, first + i + 1);
        }
      }
      step_prefixes(1 - half).put(column, prefix);
    }
  }

  /// Scans a tile whose totals are there, and begins to store its results.
  __device__ __forceinline__ void scan(const ColumnTile& tile, int buffer, int half) const {
    if (m_plan.shares) {
      if (!moves()) exchange(tile, half);
      __syncthreads();
    } else if (m_plan.steps > 1 && !tile.is_last && !moves()) {
      walk(tile, half);
    }
    const TileRows<Value> out = results(tile, buffer);
    if (!moves()) {
      for_each_chunk(tile, buffer, [&](int item, int slab, int number, int at, const Chunk& chunk) {
        scan_chunk(tile, half, item, slab, number, chunk, out.slots() + at);
      });
      before_bulk_copies();
    }
    __syncthreads();
    if (!tile.is_stored_in_bulk) {
      if (!moves()) store_elements(m_p.batch, m_plan, tile, m_p.output, out);
      return;
    }
    if constexpr (may_store_runs) {
      const bool stores_runs = moves_in_bulk<Value>(m_plan, m_plan.flat_stores);
      if (stores_runs != moves()) return;
      const TileRuns<Value> runs(m_p.batch, tile, m_p.output, m_plan.flat_stores, out);
      if (stores_runs) {
        begin_bulk_store(runs, lane());
      } else {
        store_runs(runs);
      }
    }
  }
  __device__ __forceinline__ void scan_chunk(const ColumnTile& tile, int half, int item, int slab,
                                             int number, const Chunk& chunk, Value* out) const {
    ColumnPrefix<Carrying, R> before(m_op);
    if (m_plan.steps > 1) {
      before = step_prefixes(half).get(m_op, chunk.column, first_chunk(tile), has_sections(tile));
    } else if (m_has_start) {
      const R start =
          m_plan.has_totals()
              ? prefixes(0)[slab * m_plan.columns + chunk.column]
              : static_cast<R>(m_p.start.at(tile.place(m_p.batch, slab, chunk.column)).value);
      before.sections = Prefix(m_op, start);
    }
    Maybe<A> at_end;
    if (m_plan.has_totals()) {
      const int tiles_before = number / chunks_of_tile;
      const int chunks_before = number % chunks_of_tile;
      fold_on(m_op, before.tiles,
              tiles(half) + slab * m_plan.tiles() * m_plan.columns + chunk.column, m_plan.columns,
              tiles_before);
      fold_on(m_op, before.chunks, totals(half) + item - chunks_before * m_plan.columns,
              m_plan.columns, chunks_before);
      if (chunk.length == Chunk::rows) {
        ColumnPrefix<Carrying, R> after = before;
        after.add(m_op, totals(half)[item], first_chunk(tile) + number + 1);
        at_end = Maybe<A>(static_cast<A>(after.all(m_op).value()));
      }
    }
    const Prefix all = before.all(m_op);
    const bool begins = tile.step == 0 && number == 0;
    const A at_begin =
        begins && !m_has_start ? m_p.identity.value : static_cast<A>(all.value());
    const A last = chunk.scan(m_p, m_op, out, all, at_begin, at_end);
    const Ends<P> ends{m_p};
    if (!ends.exist()) return;
    const ColumnPlace place = tile.place(m_p.batch, slab, chunk.column);
    if (begins) ends.store_begin(place, at_begin);
    if (tile.is_last && number * Chunk::rows + chunk.length == tile.rows) {
      ends.store_end(place, last);
    }
  }

  const P& m_p;
  const ColumnPlan& m_plan;
  const SharedColumns<R>& m_shared;
  Carrying m_op;
  int m_thread;
  bool m_has_start, m_loads_in_bulk, m_loads_runs;
  bool m_has_last = false;
  int m_begin_of_buffers;
  unsigned m_parities = 0;
  // Of the warp that moves: the next tile.
  std::int64_t m_strip;
  std::int64_t m_step = 0;
};

/// Scans columns.
template <class P>
__global__ void __launch_bounds__(threads_of_column_block, most_blocks_of_columns)
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ ColumnPlan plan,
                 const __grid_constant__ SharedColumns<typename Types<P>::R> shared) {
  ColumnScan<P>(problem, plan, shared).run();
}

}  // namespace KokkosScan::impl::cuda
