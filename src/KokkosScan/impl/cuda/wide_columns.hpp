// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for wide columns: at least 32 lines that are neighbours in memory, of any alignment.
///
/// Columns are cut into strips, and strips into tiles of 128 rows, a row of chunks. Blocks take
/// tiles by ticket in memory order: all tiles of the same rows, then those below. So all blocks
/// work in one region of memory, and partial sectors that two blocks write merge in L2. (Blocks
/// that walk down strips of their own drift apart, which is up to a third slower on an H200.)
///
/// Each of 8 warps takes 16 rows. A thread loads two chunks of each of its columns, which are a
/// warp's width apart, into registers and folds them. One thread per column finds the prefix of the
/// tile, replaces the folds of chunks by their prefixes, and publishes the prefix of the next tile.
/// Then each thread scans its chunks. Usually the tile above is complete, so the prefix takes a
/// single look at global memory. If strips are few, it may be in progress. The block then looks
/// back over the rows of its section to the nearest one with an inclusive prefix, and over sections
/// likewise. (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
/// NVIDIA 2016; but all folds go left to right, so that it does not matter where the look-back
/// ends.) A block only ever waits for blocks with lower tickets, which publish their aggregates
/// without waiting, so there is no deadlock. column_tree.hpp has the combination tree.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Reads the columns of a thread, which are a warp's width apart.
///
///     get(k, e)  element k of column e
///
/// The general case goes through lines.
template <class In, int E>
struct WideColumns {
  using Line = decltype(std::declval<In>().line(std::declval<ColumnPlace>()));

  Line line[E];

  /// \param columns that exist
  __device__ __forceinline__ WideColumns(const In& in, const ColumnPlace& place, int columns)
      : WideColumns(in, place, columns, std::make_integer_sequence<int, E>{}) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const { return line[e](k); }

 private:
  template <int... e>
  __device__ __forceinline__ WideColumns(const In& in, const ColumnPlace& place, int columns,
                                         std::integer_sequence<int, e...>)
      : line{in.line(ColumnPlace{place.batch, place.outer,
                                 place.column + (e < columns ? e * lanes : 0)})...} {}
};
template <class T, int E>
struct WideColumns<Array<const T>, E> {
  const T* data;
  std::int64_t along;

  __device__ __forceinline__ WideColumns(const Array<const T>& in, const ColumnPlace& place,
                                         int /* columns */)
      : data(in.line(place).data), along(in.strides.along) {}
  __device__ __forceinline__ T get(std::int64_t k, int e) const {
    return data[k * along + e * lanes];
  }
};
/// Indices along the axis are computed on demand.
template <int Rank, class Index, int E>
struct WideColumns<Computed<Rank, IndexAlong<Index>>, E> {
  using In = Computed<Rank, IndexAlong<Index>>;

  const In& in;

  __device__ __forceinline__ WideColumns(const In& of, const ColumnPlace&, int /* columns */)
      : in(of) {}
  [[nodiscard]] __device__ __forceinline__ Index get(std::int64_t k, int /* e */) const {
    return static_cast<Index>(in.first + in.step * k);
  }
};
template <class In, class... Parts, int E>
struct WideColumns<Composition<In, Parts...>, E> {
  Each<WideColumns<Parts, E>...> parts;
  const In& in;

  __device__ __forceinline__ WideColumns(const In& of, const ColumnPlace& place, int columns)
      : parts(parts_of(of), place, columns), in(of) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const {
    if constexpr (!is_zipped_input<In>) {  // the mask first: registers spill otherwise
      const bool selected = static_cast<bool>(parts.rest.first.get(k, e));
      return combine(function_of(in), parts.first.get(k, e), selected);
    } else {
      return parts.call([&](const auto& part) { return part.get(k, e); },
                        [&](const auto&... x) { return combine(function_of(in), x...); });
    }
  }
};
template <class In, int E>
requires is_composed<In>
struct WideColumns<In, E> : WideColumns<composition_t<In>, E> {
  using WideColumns<composition_t<In>, E>::WideColumns;
};

/// Stores the columns of a thread, which are a warp's width apart.
///
///     store(first, k, count, columns, x)  stores x[v][e] as element k + v of column e
///
/// Only `columns` columns exist; `first` is the place of column 0.
template <class Out, int E>
struct WideResults;
template <class Value, int E>
struct WideResults<Array<Value>, E> {
  Value* const data;
  const std::int64_t along;

  __device__ __forceinline__ WideResults(const Array<Value>& out, const ColumnPlace& first)
      : data(out.line(first).data), along(out.strides.along) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const ColumnPlace&, std::int64_t k, int count, int columns,
                                        const A (&x)[V][E]) const {
    Value* to = data + k * along;
#pragma unroll
    for (int v = 0; v < V; ++v, to += along) {
      if (v >= count) continue;
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e < columns) to[e * lanes] = static_cast<Value>(x[v][e]);
      }
    }
  }
};
/// A function, called column by column, as each has its own indices.
template <class Value, int Rank, class Function, int E>
struct WideResults<Called<Value, Rank, Function>, E> {
  const Called<Value, Rank, Function>& out;

  __device__ __forceinline__ WideResults(const Called<Value, Rank, Function>& of,
                                         const ColumnPlace&)
      : out(of) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const ColumnPlace& first, std::int64_t k, int count,
                                        int columns, const A (&x)[V][E]) const {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (e >= columns) continue;
      const auto line = out.line(ColumnPlace{first.batch, first.outer, first.column + e * lanes});
      call_for_chunk(line, k, count, x, e);
    }
  }
};

/// What blocks publish of their tiles: for each row of chunks and each section of a column, words
/// that are nonzero once available, contiguous across neighbouring columns.
///
/// Each has two values: its aggregate and its inclusive prefix. The prefix of a row begins with its
/// section, that of a section with the starting value.
template <class R>
struct PublishedTiles {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t inner;  ///< neighbouring columns
  std::int64_t tiles, sections;

  /// Bytes for columns of n elements: none if a column is a single tile.
  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t lines) {
    return tiles_of_column(n) == 1
               ? 0
               : 16 + 16 * words * lines * (tiles_of_column(n) + sections_of_column(n));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Where the aggregate of a row, that of a section, and the inclusive prefix are.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* row(const ColumnPlace& column,
                                                              std::int64_t row) const {
    return memory + 2 + (column.outer * (tiles + sections) + row) * distance() + column.column;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(const ColumnPlace& column,
                                                                  std::int64_t section) const {
    return row(column, tiles + section);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* of_all(std::uint64_t* own) const {
    return own + words * inner;
  }
  /// Words between rows.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance() const {
    return 2 * words * inner;
  }
  __device__ __forceinline__ void publish(std::uint64_t* at, const R& value) const {
    cuda::publish(at, value, inner);
  }
  /// A non-blocking read. Latency is high: issue all reads before testing any of them.
  [[nodiscard]] __device__ __forceinline__ Published<R> look(const std::uint64_t* at) const {
    Published<R> seen;
#pragma unroll
    for (int w = 0; w < words; ++w) seen.word[w] = look_at_word(at + w * inner);
    return seen;
  }
};

/// The aggregate and the inclusive prefix of a row or a section, if available.
template <class R>
struct OwnOrAll {
  Published<R> own, of_all;

  __device__ __forceinline__ void look(const PublishedTiles<R>& published, std::uint64_t* at) {
    own = published.look(at);
    of_all = published.look(published.of_all(at));
  }
  /// Waits for one of them.
  ///
  /// \return whether it is the inclusive prefix
  [[nodiscard]] __device__ __forceinline__ bool wait(const PublishedTiles<R>& published,
                                                     std::uint64_t* at, R& value) {
    while (!cuda::is_there(of_all) && !cuda::is_there(own)) {
      pause();
      look(published, at);
    }
    const bool is_of_all = cuda::is_there(of_all);
    (is_of_all ? of_all : own).get(value);
    return is_of_all;
  }
};

/// The shared memory of a block.
template <class P>
struct WideColumnBlock {
  using R = typename Types<P>::R;
  static constexpr int columns_of_thread = columns_of_wide_thread(sizeof(typename P::A));
  static constexpr int width = lanes * columns_of_thread;

  /// Double buffered: the folds of chunks, then the prefix of each and the one after the last.
  R chunks[2][row_of_chunks + 1][width];
  /// The prefix of the tile: the fold of the starting value and earlier sections, and that of
  /// earlier rows of the section.
  R sections[width], rows_before[width];
  /// What a look-back has found, nearest row first, and whether it is an inclusive prefix.
  R rows[rows_of_section][width];
  bool are_of_all[rows_of_section][width];
  std::int64_t ticket;
};

/// A tile, and this thread's part of it.
struct WideColumnTile {
  const Batch& batch;
  std::int64_t outer;
  int tile;
  int first_column;   ///< of the strip
  int strip_columns;  ///< that exist
  int lane_column;    ///< the first one of the thread
  int columns;        ///< of the thread
  std::int64_t k;     ///< the first row of the thread
  int length;         ///< rows of the thread

  __device__ __forceinline__ WideColumnTile(const Batch& of, const WideColumnPlan& plan,
                                            std::int64_t n, std::int64_t number)
      : batch(of) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const Division at(number, plan.strips);
    const Division strip(at.remainder, plan.strips_of_row);
    tile = static_cast<int>(at.quotient);
    outer = strip.quotient;
    first_column = static_cast<int>(strip.remainder) * plan.columns;
    const int left = plan.inner - first_column;
    strip_columns = left < plan.columns ? left : plan.columns;
    columns = lane < strip_columns ? (strip_columns - lane + lanes - 1) / lanes : 0;
    lane_column = first_column + (columns > 0 ? lane : 0);
    k = std::int64_t{tile} * rows_of_wide_tile + warp * rows_of_wide_thread;
    const std::int64_t rows = n - k;
    length = columns == 0 || rows <= 0
                 ? 0
                 : (rows < rows_of_wide_thread ? static_cast<int>(rows) : rows_of_wide_thread);
  }
  /// Column e of the thread, and column c of the strip.
  [[nodiscard]] __device__ __forceinline__ ColumnPlace of_thread(int e) const {
    return {batch, outer, lane_column + e * lanes};
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace of_strip(int c) const {
    return {batch, outer, first_column + c};
  }
  [[nodiscard]] __device__ __forceinline__ int section() const { return tile / rows_of_section; }
  [[nodiscard]] __device__ __forceinline__ int row() const { return tile % rows_of_section; }
};

/// A thread of a block that takes tiles.
template <class P>
class WideColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Op = typename T::Op;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Block = WideColumnBlock<P>;
  static constexpr int E = Block::columns_of_thread;
  using Input = WideColumns<typename T::In, E>;
  using Results = WideResults<typename T::Out, E>;
  static constexpr int V = rows_of_wide_thread;
  static constexpr int chunks_of_thread = V / chunk_of_column;
  static constexpr int width = Block::width;

 public:
  __device__ __forceinline__ WideColumnScan(const P& p, const WideColumnPlan& plan,
                                            const PublishedTiles<R>& published)
      : m_p(p), m_op(carrying(p.op)), m_plan(plan), m_published(published) {}

  __device__ __forceinline__ void run() {
    std::int64_t ticket = blockIdx.x;
    const bool is_shared = m_plan.tiles > 1;
    take_ticket_if(is_shared && takes_tickets(), m_published.tickets(), ticket);
#pragma unroll 1
    for (int turn = 0;; turn ^= 1) {
      if (takes_tickets()) block().ticket = ticket;
      __syncthreads();
      const std::int64_t number = block().ticket;
      if (number >= m_plan.strips * m_plan.tiles) return;
      scan_tile(WideColumnTile(m_p.batch, m_plan, m_p.n, number), turn, ticket);
      if (!is_shared) return;
    }
  }

 private:
  static __device__ __forceinline__ int own() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int own_lane() { return own() % lanes; }
  static __device__ __forceinline__ int own_warp() { return own() / lanes; }
  static __device__ __forceinline__ Block& block() {
    return *reinterpret_cast<Block*>(shared_memory());
  }
  /// The last thread takes tickets, as it has no column to find a prefix for.
  static __device__ __forceinline__ bool takes_tickets() {
    return own() == threads_of_wide_columns - 1;
  }
  /// Whether column e takes part: built-in operators may process columns that do not exist.
  static __device__ __forceinline__ bool is_there(const WideColumnTile& at, int e) {
    return is_harmless<Op> || e < at.columns;
  }

  /// The prefix of a tile in one column, as words that may not be available.
  struct Seen {
    Published<R> sections, rows;
  };

  /// \param ticket receives the next ticket once this block no longer waits: other blocks may wait
  ///               for a tile as soon as its ticket is taken
  __device__ __forceinline__ void scan_tile(const WideColumnTile& at, int turn,
                                            std::int64_t& ticket) const {
    // Each of the first threads handles a column of the strip besides its elements.
    const bool carries = own() < at.strip_columns;
    Seen seen{};
    if (carries) seen = look_for(at);
    A x[V][E];
    load(at, x);
    fold(at, x, turn);
    const bool is_found = !carries || take(at, seen);
    const bool are_found = __syncthreads_and(static_cast<int>(is_found)) != 0;
    if (!are_found) {
      if (carries) publish_own(at, turn);
      look_back(m_published, m_published.row(at.of_strip(own() % width), at.tile - 1), at.row(),
                at.strip_columns);
      __syncthreads();
    }
    take_ticket_if(m_plan.tiles > 1 && takes_tickets(), m_published.tickets(), ticket);
    if (carries) {
      if (!are_found) {
        find(m_p.op, m_published, m_published.section(at.of_strip(own()), 0), at.row(),
             at.section(), m_p.start.exists());
        publish_all(at, block().chunks[turn][row_of_chunks][own()], true);
      }
      const R of_tile = put_before_chunks(at, turn);
      if (are_found) publish_all(at, of_tile, false);
    }
    __syncthreads();
    scan(at, x, turn);
  }

  /// Requests the prefix of a tile.
  [[nodiscard]] __device__ __forceinline__ Seen look_for(const WideColumnTile& at) const {
    const ColumnPlace column = at.of_strip(own());
    Seen seen{};
    if (at.section() > 0) {
      seen.sections =
          m_published.look(m_published.of_all(m_published.section(column, at.section() - 1)));
    } else {
      put_start(column);
    }
    if (at.row() > 0)
      seen.rows = m_published.look(m_published.of_all(m_published.row(column, at.tile - 1)));
    return seen;
  }
  __device__ __forceinline__ void put_start(const ColumnPlace& column) const {
    if (!m_p.start.exists()) return;
    block().sections[own()] = static_cast<R>(m_p.start.at(column).value);
  }
  /// Whether the prefix is complete; stores what is available in shared memory.
  [[nodiscard]] __device__ __forceinline__ bool take(const WideColumnTile& at,
                                                     const Seen& seen) const {
    const bool has_sections = at.section() == 0 || cuda::is_there(seen.sections);
    const bool has_rows = at.row() == 0 || cuda::is_there(seen.rows);
    if (at.section() > 0 && has_sections) seen.sections.get(block().sections[own()]);
    if (at.row() > 0 && has_rows) seen.rows.get(block().rows_before[own()]);
    return has_sections && has_rows;
  }

  /// Publishes the aggregate of a tile before its prefix is known. After that, totals may overwrite
  /// starting values, so a look-back reads them first.
  __device__ __forceinline__ void publish_own(const WideColumnTile& at, int turn) const {
    const ColumnPlace column = at.of_strip(own());
    if (at.section() > 0) put_start(column);
    if (at.tile + 1 == m_plan.tiles) return;
    const auto fold_half = [&](int first) {
      const auto& chunks = block().chunks[turn];
      R half = chunks[first][own()];
#pragma unroll
      for (int g = 1; g < half_row_of_chunks; ++g) {
        half = static_cast<R>(m_op(half, chunks[first + g][own()]));
      }
      return half;
    };
    const R fold = static_cast<R>(m_op(fold_half(0), fold_half(half_row_of_chunks)));
    m_published.publish(m_published.row(column, at.tile), fold);
    block().chunks[turn][row_of_chunks][own()] = fold;
  }
  /// Decoupled look-back over the rows before a tile, nearest first, until each column has an
  /// inclusive prefix. A thread polls two rows of one column at once, or one if registers are
  /// short.
  ///
  /// Not inlined, as the caller's registers hold elements.
  ///
  /// \param words   of the row before the tile in the thread's column
  /// \param rows    of the section before the tile
  /// \param columns of the strip
  static __device__ __noinline__ void look_back(const PublishedTiles<R>& published,
                                                std::uint64_t* words, int rows, int columns) {
    constexpr int at_once = is_carried_throughout<Op, A> ? 1 : 2;
    constexpr int rows_at_once = at_once * (threads_of_wide_columns / width);
    const int c = own() % width;
#pragma unroll 1
    for (int seen = 0; seen < rows; seen += rows_at_once) {
      if (seen > 0) {
        __syncthreads();
        bool is_found = own() >= columns;
        for (int i = seen - rows_at_once; !is_found && i < seen; ++i) {
          is_found = block().are_of_all[i][own()];
        }
        if (__syncthreads_and(static_cast<int>(is_found)) != 0) return;
      }
      const int back = seen + own() / width * at_once;
      OwnOrAll<R> values[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (c >= columns || back + i >= rows) continue;
        values[i].look(published, words - (back + i) * published.distance());
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (c >= columns || back + i >= rows) continue;
        block().are_of_all[back + i][c] = values[i].wait(
            published, words - (back + i) * published.distance(), block().rows[back + i][c]);
      }
    }
  }
  /// Forms a tile's prefix in this thread's column from the rows found: the fold of earlier rows of
  /// the section, and that of the starting value (already in shared memory) and earlier sections.
  ///
  /// \param words    of the column's first section
  /// \param rows     of the section before the tile
  /// \param sections before the tile
  static __device__ __noinline__ void find(const Op& of_elements,
                                           const PublishedTiles<R>& published, std::uint64_t* words,
                                           int rows, int sections, bool has_start) {
    const auto op = carrying(of_elements);
    if (rows > 0) {
      int back = 0;
      while (back + 1 < rows && !block().are_of_all[back][own()]) ++back;
      R value = block().rows[back][own()];
      while (--back >= 0) value = static_cast<R>(op(value, block().rows[back][own()]));
      block().rows_before[own()] = value;
    }
    if (sections == 0) return;
    int section = sections;
    R value;
    bool is_of_all = false;
    while (!is_of_all && section > 0) {
      std::uint64_t* const at = words + --section * published.distance();
      OwnOrAll<R> values;
      values.look(published, at);
      is_of_all = values.wait(published, at, value);
    }
    Prefix all(op);
    if (!is_of_all && has_start) all = Prefix(op, block().sections[own()]);
    for (;;) {
      all = Prefix(op, is_of_all ? value : all.then(op, value));
      is_of_all = false;
      if (++section == sections) break;
      // Their aggregates are published; newer inclusive prefixes are not needed.
      std::uint64_t* const at = words + section * published.distance();
      Published<R> seen = published.look(at);
      while (!cuda::is_there(seen)) seen = published.look(at);
      seen.get(value);
    }
    block().sections[own()] = all.value();
  }

  /// Publishes the prefix of the next tile.
  ///
  /// \param of_tile   the aggregate of this one; ignored for the last of a column
  /// \param was_awaited whether others may wait for the aggregate of this section
  __device__ __forceinline__ void publish_all(const WideColumnTile& at, const R& of_tile,
                                              bool was_awaited) const {
    if (at.tile + 1 == m_plan.tiles) return;
    const ColumnPlace column = at.of_strip(own());
    const R rows = rows_before(at).then(m_op, of_tile);
    if (at.row() < rows_of_section - 1) {
      return m_published.publish(m_published.of_all(m_published.row(column, at.tile)), rows);
    }
    std::uint64_t* const section = m_published.section(column, at.section());
    if (was_awaited) m_published.publish(section, rows);
    m_published.publish(m_published.of_all(section), sections_before(at).then(m_op, rows));
  }
  [[nodiscard]] __device__ __forceinline__ Prefix sections_before(const WideColumnTile& at) const {
    const bool exist = at.section() > 0 || m_p.start.exists();
    return exist ? Prefix(m_op, block().sections[own()]) : Prefix(m_op);
  }
  [[nodiscard]] __device__ __forceinline__ Prefix rows_before(const WideColumnTile& at) const {
    return at.row() > 0 ? Prefix(m_op, block().rows_before[own()]) : Prefix(m_op);
  }

  /// Replaces the folds of a column's chunks by their prefixes, up to the prefix after the last
  /// whole chunk.
  ///
  /// \return the aggregate of the tile, if all of its chunks are whole
  [[nodiscard]] __device__ __forceinline__ R put_before_chunks(const WideColumnTile& at,
                                                               int turn) const {
    auto& chunks = block().chunks[turn];
    const int c = own();
    const std::int64_t left = (m_p.n - std::int64_t{at.tile} * rows_of_wide_tile) / chunk_of_column;
    const int whole = left < row_of_chunks ? static_cast<int>(left) : row_of_chunks;
    const Prefix sections = sections_before(at);
    const Prefix rows = rows_before(at);
    Prefix half(m_op), of_half(m_op);
#pragma unroll
    for (int g = 0; g <= row_of_chunks; ++g) {
      if (g > whole) continue;
      if (g == half_row_of_chunks) {
        half = of_half;
        of_half = Prefix(m_op);
      }
      const Prefix all = join(m_op, sections, join(m_op, rows, join(m_op, half, of_half)));
      if (g < whole) of_half = Prefix(m_op, of_half.then(m_op, chunks[g][c]));
      if (all.exists()) chunks[g][c] = all.value();
    }
    return whole == row_of_chunks ? half.then(m_op, of_half.value()) : R{};
  }

  __device__ __forceinline__ void load(const WideColumnTile& at, A (&x)[V][E]) const {
    const Input input(m_p.input, at.of_thread(0), at.columns);
    if (at.length == V) {
      // No other conditions, which would make each load wait for the previous one.
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          x[v][e] = e < at.columns ? static_cast<A>(input.get(at.k + v, e)) : A{};
        }
      }
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
#pragma unroll
        for (int e = 0; e < E; ++e) {
          x[v][e] = v < at.length && e < at.columns ? static_cast<A>(input.get(at.k + v, e)) : A{};
        }
      }
    }
  }

  /// Partial chunks are the last of their columns: nothing needs their folds.
  __device__ __forceinline__ void fold(const WideColumnTile& at, const A (&x)[V][E],
                                       int turn) const {
#pragma unroll
    for (int i = 0; i < chunks_of_thread; ++i) {
      if (!is_harmless<Op> && at.length < (i + 1) * chunk_of_column) continue;
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (!is_there(at, e)) continue;
        block().chunks[turn][own_warp() * chunks_of_thread + i][own_lane() + e * lanes] =
            fold_chunk_of_column<R>(m_p.op, m_op, x, e, i * chunk_of_column);
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ bool has_before(std::int64_t k) const {
    return k > 0 || m_p.start.exists();
  }

  /// Scans the elements of a thread and stores the results.
  __device__ __forceinline__ void scan(const WideColumnTile& at, A (&x)[V][E], int turn) const {
    if (at.length == 0) return;
    const auto& chunks = block().chunks[turn];
    const int first = own_warp() * chunks_of_thread;
    A at_begin[1][E];
    // Turns x into B after each element.
#pragma unroll
    for (int e = 0; e < E; ++e) {
      at_begin[0][e] = m_p.identity.value;
      if (!is_there(at, e)) continue;
      const int c = own_lane() + e * lanes;
      if (has_before(at.k)) at_begin[0][e] = static_cast<A>(chunks[first][c]);
#pragma unroll
      for (int i = 0; i < chunks_of_thread; ++i) {
        const int length = at.length - i * chunk_of_column;
        if (i > 0 && length <= 0) continue;
        Prefix run(m_op);
        if (is_eager<Carrying> || has_before(at.k + i * chunk_of_column))
          run = Prefix(m_op, chunks[first + i][c]);
#pragma unroll
        for (int p = 0; p < chunk_of_column; p += pack_of_column) {
          scan_pack_of_column(m_p.op, m_op, run, x, i * chunk_of_column + p, e, length - p);
        }
        if (length >= chunk_of_column) {
          x[(i + 1) * chunk_of_column - 1][e] = static_cast<A>(chunks[first + i + 1][c]);
        }
      }
    }
    store_ends(at, x, at_begin[0]);
    const Results results(m_p.output, at.of_thread(0));
    const bool is_exclusive = m_p.form == Form::exclusive;
    if (is_exclusive) results.store(at.of_thread(0), at.k, 1, at.columns, at_begin);
    const int shift = static_cast<int>(is_exclusive);
    results.store(at.of_thread(0), at.k + shift, at.length - shift, at.columns, x);
  }
  __device__ __forceinline__ void store_ends(const WideColumnTile& at, const A (&x)[V][E],
                                             const A (&at_begin)[E]) const {
    const Ends<P> ends{m_p};
    if (!ends.exist()) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (e >= at.columns) continue;
      if (at.k == 0) ends.store_begin(at.of_thread(e), at_begin[e]);
      if (at.k + at.length < m_p.n) continue;
      A last = x[0][e];
#pragma unroll
      for (int v = 1; v < V; ++v) last = v < at.length ? x[v][e] : last;
      ends.store_end(at.of_thread(e), last);
    }
  }

  const P& m_p;
  const Carrying m_op;
  const WideColumnPlan& m_plan;
  const PublishedTiles<R>& m_published;
};

/// Scans wide columns.
template <class P>
__global__ void __launch_bounds__(threads_of_wide_columns, blocks_of_wide_columns)
    scan_wide_columns(const __grid_constant__ P problem,
                      const __grid_constant__ WideColumnPlan plan,
                      const __grid_constant__ PublishedTiles<typename Types<P>::R> published) {
  WideColumnScan<P>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
