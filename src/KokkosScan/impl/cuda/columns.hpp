// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns: 32 or more lines side by side that are neighbours in memory, whatever
/// their alignment.
///
/// Columns are cut into strips, and these into tiles of 128 rows, a row of chunks. Blocks take
/// tiles by ticket in the order of memory: the tiles of the same rows, then those below them. So
/// all blocks work in one part of memory, and what two of them write to the same 128 bytes is
/// written at nearly the same time (blocks that walked down strips of their own drifted apart,
/// which cost up to a third).
///
/// 8 warps take 16 rows each. A thread loads two chunks of each of its columns, a warp's width
/// apart, element by element into registers and folds them; a thread for each column finds what
/// comes before the tile, puts what comes before each chunk where the chunks' folds were, and
/// publishes what comes before the next tile; then each thread scans its chunks. The tile above has
/// usually been scanned before, so that this is one look at memory; where strips are few, it is in
/// work, and a block looks back: over the rows of its section to the nearest that knows what comes
/// before it, and over sections likewise. (After Merrill and Garland, "Single-pass Parallel Prefix
/// Scan with Decoupled Look-back", NVIDIA 2016; but all folds go left to right, so that it does not
/// matter where the look ends.) A block that waits for a tile waits for one of an earlier ticket,
/// which publishes its own fold without waiting for anybody. column_tree.hpp has the combination
/// tree.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/strip_plan.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Where a thread reads its columns, a warp's width apart.
///
///     get(k, e)  element k of column e
///
/// Most inputs: their lines know how.
template <class In, int E>
struct Columns {
  using Line = decltype(std::declval<In>().line(std::declval<ColumnPlace>()));

  Line line[E];

  /// \param columns that are there
  __device__ __forceinline__ Columns(const In& in, const ColumnPlace& place, int columns)
      : Columns(in, place, columns, std::make_integer_sequence<int, E>{}) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const { return line[e](k); }

 private:
  template <int... e>
  __device__ __forceinline__ Columns(const In& in, const ColumnPlace& place, int columns,
                                         std::integer_sequence<int, e...>)
      : line{in.line(ColumnPlace{place.batch, place.outer,
                                 place.column + (e < columns ? e * lanes : 0)})...} {}
};
template <class T, int E>
struct Columns<Array<const T>, E> {
  const T* data;
  std::int64_t along;

  __device__ __forceinline__ Columns(const Array<const T>& in, const ColumnPlace& place,
                                         int /* columns */)
      : data(in.line(place).data), along(in.strides.along) {}
  __device__ __forceinline__ T get(std::int64_t k, int e) const {
    return data[k * along + e * lanes];
  }
};
template <class A, class Values, class Mask, int E>
struct Columns<Selected<A, Values, Mask>, E> {
  Columns<Values, E> values;
  Columns<Mask, E> mask;
  const A& identity;

  __device__ __forceinline__ Columns(const Selected<A, Values, Mask>& in,
                                         const ColumnPlace& place, int columns)
      : values(in.values, place, columns), mask(in.mask, place, columns), identity(in.identity) {}
  __device__ __forceinline__ A get(std::int64_t k, int e) const {
    const bool selected = static_cast<bool>(mask.get(k, e));
    const A value = static_cast<A>(values.get(k, e));
    return selected ? value : identity;
  }
};
template <int E>
struct Columns<List<>, E> {
  __device__ __forceinline__ Columns(const List<>&, const ColumnPlace&, int) {}
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, std::int64_t, int,
                                       const Elements&... elements) const {
    return rounded(function(elements...));
  }
};
template <class First, class... Rest, int E>
struct Columns<List<First, Rest...>, E> {
  Columns<First, E> first;
  Columns<List<Rest...>, E> rest;

  __device__ __forceinline__ Columns(const List<First, Rest...>& parts,
                                         const ColumnPlace& place, int columns)
      : first(parts.first, place, columns), rest(parts.rest, place, columns) {}
  /// function(elements..., element k of column e of each part).
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, std::int64_t k, int e,
                                       const Elements&... elements) const {
    return rest.call(function, k, e, elements..., first.get(k, e));
  }
};
template <class Function, class Parts, int E>
struct Columns<ZippedInput<Function, Parts>, E> {
  Columns<Parts, E> parts;
  const Function& function;

  __device__ __forceinline__ Columns(const ZippedInput<Function, Parts>& in,
                                         const ColumnPlace& place, int columns)
      : parts(in.parts, place, columns), function(in.function) {}
  __device__ __forceinline__ auto get(std::int64_t k, int e) const {
    return parts.call(function, k, e);
  }
};

/// Where a thread stores its columns, a warp's width apart.
///
///     store(first, k, count, columns, x)  stores x[v][e] as element k + v of column e, of those
///     that
///                                         are there; `first` is where column 0 is
///
template <class Out, int E>
struct ColumnResults;
template <class Value, int E>
struct ColumnResults<Array<Value>, E> {
  Value* const data;
  const std::int64_t along;

  __device__ __forceinline__ ColumnResults(const Array<Value>& out, const ColumnPlace& first)
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
/// A function, column by column: each knows its own indices.
template <class Value, int Rank, class Function, int E>
struct ColumnResults<Called<Value, Rank, Function>, E> {
  const Called<Value, Rank, Function>& out;

  __device__ __forceinline__ ColumnResults(const Called<Value, Rank, Function>& of,
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

/// Where blocks tell each other about their tiles: for each row of chunks and each section of a
/// column words that are not 0 once they are there, neighbouring columns beside each other.
///
/// Each has two values: its own fold; and that of all up to and with it, which for a row is the
/// fold of its section's rows, for a section that of the starting value and all sections.
template <class R>
struct PublishedStrips {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t inner;  ///< columns that are neighbours
  std::int64_t tiles, sections;

  /// Bytes for columns of n elements. A column of one tile is no other block's.
  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t lines) {
    return tiles_of_column(n) == 1
               ? 0
               : 16 + 16 * words * lines * (tiles_of_column(n) + sections_of_column(n));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* row(const ColumnPlace& column,
                                                              std::int64_t row, bool of_all) const {
    const std::int64_t number = column.outer * (tiles + sections) + row;
    return memory + 2 + (2 * number + static_cast<int>(of_all)) * words * inner + column.column;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(const ColumnPlace& column,
                                                                  std::int64_t section,
                                                                  bool of_all) const {
    return row(column, tiles + section, of_all);
  }
  __device__ __forceinline__ void publish(std::uint64_t* at, const R& value) const {
    const Published<R> published(value);
#pragma unroll
    for (int w = 0; w < words; ++w) store_word(at + w * inner, published.word[w]);
  }
  /// Whether a value is there, which is returned then.
  [[nodiscard]] __device__ __forceinline__ bool look(const std::uint64_t* at, R& value) const {
    Published<R> published;
    bool is_there = true;
#pragma unroll
    for (int w = 0; w < words; ++w) {
      published.word[w] = look_at_word(at + w * inner);
      is_there = is_there && published.word[w] != 0;
    }
    if (is_there) published.get(value);
    return is_there;
  }
  /// Waits for one of the two values.
  ///
  /// \return whether it is that of all
  [[nodiscard]] __device__ __forceinline__ bool wait(const std::uint64_t* own,
                                                     const std::uint64_t* of_all, R& value) const {
    for (;;) {
      if (look(of_all, value)) return true;
      if (look(own, value)) return false;
      pause();
    }
  }
};

/// What a block has in shared memory.
template <int E, class P>
struct StripBlock {
  using R = typename Types<P>::R;
  static constexpr int width = lanes * E;

  /// In turns: the folds of chunks, then what comes before each of them and behind the last.
  R chunks[2][row_of_chunks + 1][width];
  /// What a look back has found, the nearest row first, and whether it is the fold of all.
  R rows[rows_of_section][width];
  bool are_of_all[rows_of_section][width];
  std::int64_t ticket;
};

/// A tile, and what of it a thread has.
struct StripTile {
  const Batch& batch;
  std::int64_t outer;
  int tile;
  int first_column;   ///< of the strip
  int strip_columns;  ///< that are there
  int lane_column;    ///< the thread's first
  int columns;        ///< of the thread
  std::int64_t k;     ///< the first row of the thread
  int length;         ///< rows of the thread

  __device__ __forceinline__ StripTile(const Batch& of, const StripPlan& plan, std::int64_t n,
                                       std::int64_t number)
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
    k = std::int64_t{tile} * rows_of_strip_tile + warp * rows_of_strip_thread;
    const std::int64_t rows = n - k;
    length = columns == 0 || rows <= 0
                 ? 0
                 : (rows < rows_of_strip_thread ? static_cast<int>(rows) : rows_of_strip_thread);
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
template <int E, class P>
class StripScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Carrying = typename T::Carrying;
  using Prefix = Fold<Carrying, R>;
  using Block = StripBlock<E, P>;
  using Input = Columns<typename T::In, E>;
  using Results = ColumnResults<typename T::Out, E>;
  static constexpr int V = rows_of_strip_thread;
  static constexpr int chunks_of_thread = V / chunk_of_column;

 public:
  __device__ __forceinline__ StripScan(const P& p, const StripPlan& plan,
                                       const PublishedStrips<R>& published)
      : m_p(p), m_op(carrying(p.op)), m_plan(plan), m_published(published) {}

  __device__ __forceinline__ void run() {
    std::int64_t ticket = blockIdx.x;
    const bool is_shared = m_plan.tiles > 1;
    take_ticket_if(is_shared && own() == 0, m_published.tickets(), ticket);
#pragma unroll 1
    for (int turn = 0;; turn ^= 1) {
      if (own() == 0) block().ticket = ticket;
      __syncthreads();
      const std::int64_t number = block().ticket;
      if (number >= m_plan.strips * m_plan.tiles) return;
      scan_tile(StripTile(m_p.batch, m_plan, m_p.n, number), turn, ticket);
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
  /// Whether column e takes part: built-in operators do no harm where there is none.
  static __device__ __forceinline__ bool is_there(const StripTile& at, int e) {
    return is_harmless<typename T::Op> || e < at.columns;
  }

  /// What comes before a tile in one column: the starting value and earlier sections, and earlier
  /// rows of the section.
  struct Before {
    Prefix sections, rows;
  };

  /// \param ticket becomes the next one of the first thread, which takes it when nobody needs to
  ///               wait any more: who waits for a tile does so from when it is taken
  __device__ __forceinline__ void scan_tile(const StripTile& at, int turn,
                                            std::int64_t& ticket) const {
    // Each of the first threads has a column of the strip besides its elements.
    const bool carries = own() < at.strip_columns;
    Before before{Prefix(m_op), Prefix(m_op)};
    const bool is_found = !carries || look_for(at, before);
    A x[V][E];
    load(at, x);
    fold(at, x, turn);
    const bool are_found = __syncthreads_and(static_cast<int>(is_found)) != 0;
    if (!are_found) {
      if (carries) publish_own(at, turn, before);
      look_back(at);
      __syncthreads();
      if (carries) find(at, before);
    }
    take_ticket_if(m_plan.tiles > 1 && own() == 0, m_published.tickets(), ticket);
    if (carries) put_before_chunks(at, turn, before, are_found);
    __syncthreads();
    scan(at, x, turn);
  }

  /// Whether what comes before a tile is there already.
  [[nodiscard]] __device__ __forceinline__ bool look_for(const StripTile& at,
                                                         Before& before) const {
    const ColumnPlace column = at.of_strip(own());
    R value;
    bool is_found = true;
    if (at.section() == 0) {
      before.sections = fold_of_start<R>(m_op, m_p.start.at(column));
    } else {
      is_found = m_published.look(m_published.section(column, at.section() - 1, true), value);
      if (is_found) before.sections = Prefix(m_op, value);
    }
    if (at.row() > 0) {
      const bool has_rows = m_published.look(m_published.row(column, at.tile - 1, true), value);
      if (has_rows) before.rows = Prefix(m_op, value);
      is_found = is_found && has_rows;
    }
    return is_found;
  }

  /// Publishes the fold of a tile, before it is known what comes before it. Then totals may take
  /// the place of starting values: these are read before, where a look back may need them.
  __device__ __forceinline__ void publish_own(const StripTile& at, int turn, Before& before) const {
    const ColumnPlace column = at.of_strip(own());
    if (at.section() > 0) before.sections = fold_of_start<R>(m_op, m_p.start.at(column));
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
    m_published.publish(m_published.row(column, at.tile, false), fold);
  }
  /// Waits for rows before a tile, the nearest first, one for each warp, until there is one of each
  /// column that knows all before it.
  __device__ __forceinline__ void look_back(const StripTile& at) const {
#pragma unroll 1
    for (int seen = 0; seen < at.row(); seen += warps_of_strip) {
      if (seen > 0) {
        __syncthreads();
        bool is_found = own() >= at.strip_columns;
        for (int i = seen - warps_of_strip; !is_found && i < seen; ++i) {
          is_found = block().are_of_all[i][own()];
        }
        if (__syncthreads_and(static_cast<int>(is_found)) != 0) return;
      }
      const int back = seen + own_warp();
      if (back >= at.row()) continue;
      const std::int64_t row = at.tile - 1 - back;
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (e >= at.columns) continue;
        const int c = own_lane() + e * lanes;
        const ColumnPlace column = at.of_strip(c);
        block().are_of_all[back][c] =
            m_published.wait(m_published.row(column, row, false),
                             m_published.row(column, row, true), block().rows[back][c]);
      }
    }
  }
  /// From rows that have been seen to what comes before a tile.
  ///
  /// \param before with the starting value, and without sections and rows
  __device__ __forceinline__ void find(const StripTile& at, Before& before) const {
    const ColumnPlace column = at.of_strip(own());
    if (at.row() > 0) {
      int back = 0;
      while (back + 1 < at.row() && !block().are_of_all[back][own()]) ++back;
      R value = block().rows[back][own()];
      while (--back >= 0) value = static_cast<R>(m_op(value, block().rows[back][own()]));
      before.rows = Prefix(m_op, value);
    }
    if (at.section() == 0) return;
    const auto wait = [&](int section, R& value) {
      return m_published.wait(m_published.section(column, section, false),
                              m_published.section(column, section, true), value);
    };
    int section = at.section() - 1;
    R value;
    bool is_of_all = wait(section, value);
    while (!is_of_all && section > 0) is_of_all = wait(--section, value);
    before.sections = Prefix(m_op, is_of_all ? value : before.sections.then(m_op, value));
    for (++section; section < at.section(); ++section) {
      // All of these have been seen: by now some may know all before them as well.
      while (!m_published.look(m_published.section(column, section, false), value)) pause();
      before.sections = Prefix(m_op, before.sections.then(m_op, value));
    }
  }

  /// Puts what comes before each chunk of a column and behind the last whole one where the folds of
  /// chunks were, and publishes what comes before the next tile.
  __device__ __forceinline__ void put_before_chunks(const StripTile& at, int turn,
                                                    const Before& before, bool is_all) const {
    auto& chunks = block().chunks[turn];
    const int c = own();
    const std::int64_t left =
        (m_p.n - std::int64_t{at.tile} * rows_of_strip_tile) / chunk_of_column;
    const int whole = left < row_of_chunks ? static_cast<int>(left) : row_of_chunks;
    Prefix half(m_op);
    Prefix of_half(m_op);
#pragma unroll
    for (int g = 0; g <= row_of_chunks; ++g) {
      if (g > whole) continue;
      if (g == half_row_of_chunks) {
        half = of_half;
        of_half = Prefix(m_op);
      }
      const Prefix all =
          join(m_op, before.sections, join(m_op, before.rows, join(m_op, half, of_half)));
      if (g < whole) of_half = Prefix(m_op, of_half.then(m_op, chunks[g][c]));
      if (all.exists()) chunks[g][c] = all.value();
    }
    if (at.tile + 1 == m_plan.tiles) return;
    const ColumnPlace column = at.of_strip(c);
    const R rows = before.rows.then(m_op, half.then(m_op, of_half.value()));
    if (at.row() < rows_of_section - 1) {
      return m_published.publish(m_published.row(column, at.tile, true), rows);
    }
    // Others wait where this block did.
    if (!is_all) m_published.publish(m_published.section(column, at.section(), false), rows);
    m_published.publish(m_published.section(column, at.section(), true),
                        before.sections.then(m_op, rows));
  }

  __device__ __forceinline__ void load(const StripTile& at, A (&x)[V][E]) const {
    const Input input(m_p.input, at.of_thread(0), at.columns);
    if (at.length == V) {
      // Without other conditions, which would make each load wait for the last.
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

  /// Chunks that are not full are the last of their columns: nothing needs their folds.
  __device__ __forceinline__ void fold(const StripTile& at, const A (&x)[V][E], int turn) const {
#pragma unroll
    for (int i = 0; i < chunks_of_thread; ++i) {
      if (!is_harmless<typename T::Op> && at.length < (i + 1) * chunk_of_column) continue;
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

  /// From the elements of a thread to results, which are stored.
  __device__ __forceinline__ void scan(const StripTile& at, A (&x)[V][E], int turn) const {
    if (at.length == 0) return;
    const auto& chunks = block().chunks[turn];
    const int first = own_warp() * chunks_of_thread;
    A at_begin[1][E];
    // x becomes B after each element.
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
        if (is_eager<Carrying> || has_before(at.k + i * chunk_of_column)) run = Prefix(m_op, chunks[first + i][c]);
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
  __device__ __forceinline__ void store_ends(const StripTile& at, const A (&x)[V][E],
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
  const StripPlan& m_plan;
  const PublishedStrips<R>& m_published;
};

/// Scans columns.
///
/// \tparam E columns of a thread
template <int E, class P>
__global__ void __launch_bounds__(threads_of_strip, blocks_of_strips(sizeof(typename P::A), E))
    scan_columns(const __grid_constant__ P problem, const __grid_constant__ StripPlan plan,
                 const __grid_constant__ PublishedStrips<typename Types<P>::R> published) {
  StripScan<E, P>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
