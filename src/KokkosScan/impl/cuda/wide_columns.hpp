// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel that keeps columns in registers: lines side by side that need not be aligned, nor
/// neighbours in memory.
///
/// Columns are cut into strips of up to 128, and these into tiles of a row of chunks (128 rows), or
/// two or four of them where strips are so narrow that threads have slots left. 8 warps take 16
/// rows of each. A thread loads two chunks for each of its slots, which lie a warp's width apart,
/// element by element into registers and folds them; a thread for each column and row of chunks
/// puts what comes before each chunk where the chunks' folds were; then each thread scans its
/// chunks. column_tree.hpp has the combination tree.
///
/// Blocks learn what comes before a tile in one of two ways.
///
/// - In the order of memory: blocks take tiles by ticket, those of the same rows first, then those
///   below them. So all blocks work in one part of memory, and what two of them write to the same
///   128 bytes is written at nearly the same time (blocks that walked down strips of their own
///   drifted apart, which cost up to a third). A block publishes what comes before the tile below,
///   which has usually been done before that is taken: what comes before a tile is one look at
///   memory.
/// - Where strips are too few for that, some blocks walk down each: they take the strip's tiles by
///   ticket and publish the fold of each row of chunks, and of each section, as soon as they have
///   it. A block keeps what comes before its last tile, and reads what has been published since
///   then; so no chain runs from tile to tile (Maleki, Yang, Burtscher, "Higher-order and
///   tuple-based massively-parallel prefix sums", PLDI 2016).
///
/// Whoever waits, waits for tiles of earlier tickets, which blocks have that run.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
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

/// A tile, in shared memory: what threads need of it would take too many registers.
struct WideColumnTile {
  std::int64_t n, outer;
  int first_row;      ///< of chunks, in the column
  int rows;           ///< of chunks, as many as a tile may have
  int groups;         ///< of 32 columns: the logarithm of slots of a lane in a row of chunks
  int first_column;   ///< of the strip
  int strip_columns;  ///< that are there
  bool exists;
  bool is_whole;  ///< whether it has all of its rows

  /// For one thread.
  __device__ __forceinline__ void set(const WideColumnPlan& plan, std::int64_t length,
                                      std::int64_t strip, std::int64_t tile) {
    const Division at(strip, plan.strips_of_row);
    n = length;
    outer = at.quotient;
    rows = plan.rows;
    groups = plan.groups > 2 ? 2 : plan.groups - 1;
    first_column = static_cast<int>(at.remainder) * plan.columns;
    const int left = plan.inner - first_column;
    strip_columns = left < plan.columns ? left : plan.columns;
    exists = tile < plan.tiles;
    first_row = static_cast<int>(tile) * rows;
    is_whole = std::int64_t{first_row + rows} * elements_of_row <= n;
  }
  /// The row of chunks of slot e among those of the tile; its column in the strip for a lane; and
  /// whether both are there.
  [[nodiscard]] __device__ __forceinline__ int row_of(int e) const { return e >> groups; }
  [[nodiscard]] __device__ __forceinline__ int column_of(int e, int lane) const {
    return (e - (e >> groups << groups)) * lanes + lane;
  }
  [[nodiscard]] __device__ __forceinline__ bool has(int e, int lane) const {
    return row_of(e) < rows && column_of(e, lane) < strip_columns;
  }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace column(const Batch& batch, int c) const {
    return {batch, outer, first_column + c};
  }
  /// Columns of a strip, with those that are left free.
  [[nodiscard]] __device__ __forceinline__ int padded_columns() const { return lanes << groups; }
  [[nodiscard]] __device__ __forceinline__ int section() const {
    return first_row / rows_of_section;
  }
  [[nodiscard]] __device__ __forceinline__ int row_of_section() const {
    return first_row % rows_of_section;
  }

  // What the own thread has.
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / lanes; }
  [[nodiscard]] __device__ __forceinline__ bool has(int e) const { return has(e, lane()); }
  /// The place of a slot that is there; else any.
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int e) const {
    return column(batch, has(e) ? column_of(e, lane()) : 0);
  }
  /// The first element of a slot in its column, and how many there are.
  [[nodiscard]] __device__ __forceinline__ std::int64_t k(int e) const {
    return std::int64_t{first_row + row_of(e)} * elements_of_row + warp() * rows_of_wide_thread;
  }
  [[nodiscard]] __device__ __forceinline__ int length(int e) const {
    const std::int64_t left = n - k(e);
    return !has(e) || left <= 0
               ? 0
               : (left < rows_of_wide_thread ? static_cast<int>(left) : rows_of_wide_thread);
  }
};

/// Where the slots of a thread are in an array.
template <class T, int E>
struct WideSlots {
  T* data[E];
  std::int64_t along;

  __device__ __forceinline__ WideSlots(const Array<T>& array, const Batch& batch,
                                       const WideColumnTile& at)
      : along(array.strides.along) {
    const std::int64_t between = batch.rank > 0 ? array.strides.batch[batch.rank - 1] : 0;
    T* const first = array.line(at.column(batch, 0)).data + at.k(0) * along + at.lane() * between;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      data[e] = first + at.row_of(e) * (elements_of_row * along) + at.column_of(e, 0) * between;
    }
  }
  [[nodiscard]] __device__ __forceinline__ T& get(int e) const { return *data[e]; }
  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      data[e] += along;
#if defined(__CUDACC__)
      // Else each address would be computed from the first: six instructions instead of two.
      asm("" : "+l"(data[e]));
#endif
    }
  }
};

/// Where a thread reads its slots.
///
///     get(e)     an element of slot e, at first the first
///     advance()  to the next elements
///
/// Most inputs: their lines know how.
template <class In, int E>
struct WideColumns {
  using Line = decltype(std::declval<In>().line(std::declval<ColumnPlace>()));

  Line line[E];
  const WideColumnTile& at;
  int v = 0;

  __device__ __forceinline__ WideColumns(const In& in, const Batch& batch,
                                         const WideColumnTile& tile)
      : WideColumns(in, batch, tile, std::make_integer_sequence<int, E>{}) {}
  __device__ __forceinline__ auto get(int e) const { return line[e](at.k(e) + v); }
  __device__ __forceinline__ void advance() { ++v; }

 private:
  template <int... e>
  __device__ __forceinline__ WideColumns(const In& in, const Batch& batch,
                                         const WideColumnTile& tile,
                                         std::integer_sequence<int, e...>)
      : line{in.line(tile.place(batch, e))...}, at(tile) {}
};
template <class T, int E>
struct WideColumns<Array<const T>, E> : WideSlots<const T, E> {
  using WideSlots<const T, E>::WideSlots;
};
template <class A, class Values, class Mask, int E>
struct WideColumns<Selected<A, Values, Mask>, E> {
  WideColumns<Values, E> values;
  WideColumns<Mask, E> mask;
  const A& identity;

  __device__ __forceinline__ WideColumns(const Selected<A, Values, Mask>& in, const Batch& batch,
                                         const WideColumnTile& at)
      : values(in.values, batch, at), mask(in.mask, batch, at), identity(in.identity) {}
  __device__ __forceinline__ A get(int e) const {
    const bool selected = static_cast<bool>(mask.get(e));
    const A value = static_cast<A>(values.get(e));
    return selected ? value : identity;
  }
  __device__ __forceinline__ void advance() {
    values.advance();
    mask.advance();
  }
};
/// Indices along the axis are known where they are asked for.
template <int Rank, class Index, int E>
struct WideColumns<Computed<Rank, IndexAlong<Index>>, E> {
  using In = Computed<Rank, IndexAlong<Index>>;

  const In& in;
  const WideColumnTile& at;
  int v = 0;

  __device__ __forceinline__ WideColumns(const In& of, const Batch&, const WideColumnTile& tile)
      : in(of), at(tile) {}
  [[nodiscard]] __device__ __forceinline__ Index get(int e) const {
    return static_cast<Index>(in.first + in.step * (at.k(e) + v));
  }
  __device__ __forceinline__ void advance() { ++v; }
};
template <int E>
struct WideColumns<List<>, E> {
  __device__ __forceinline__ WideColumns(const List<>&, const Batch&, const WideColumnTile&) {}
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, int,
                                       const Elements&... elements) const {
    return rounded(function(as_argument(elements)...));
  }
  __device__ __forceinline__ void advance() {}
};
template <class First, class... Rest, int E>
struct WideColumns<List<First, Rest...>, E> {
  WideColumns<First, E> first;
  WideColumns<List<Rest...>, E> rest;

  __device__ __forceinline__ WideColumns(const List<First, Rest...>& parts, const Batch& batch,
                                         const WideColumnTile& at)
      : first(parts.first, batch, at), rest(parts.rest, batch, at) {}
  /// function(elements..., an element of slot e of each part).
  template <class Function, class... Elements>
  __device__ __forceinline__ auto call(const Function& function, int e,
                                       const Elements&... elements) const {
    return rest.call(function, e, elements..., first.get(e));
  }
  __device__ __forceinline__ void advance() {
    first.advance();
    rest.advance();
  }
};
template <class Function, class Parts, int E>
struct WideColumns<ZippedInput<Function, Parts>, E> {
  WideColumns<Parts, E> parts;
  const Function& function;

  __device__ __forceinline__ WideColumns(const ZippedInput<Function, Parts>& in, const Batch& batch,
                                         const WideColumnTile& at)
      : parts(in.parts, batch, at), function(in.function) {}
  __device__ __forceinline__ auto get(int e) const { return parts.call(function, e); }
  __device__ __forceinline__ void advance() { parts.advance(); }
};

/// Stores results of slots, `count`[e] of slot e.
template <class Value, class A, int V, int E>
__device__ __forceinline__ void store_slots(const Array<Value>& out, const Batch& batch,
                                            const WideColumnTile& at, const int (&count)[E],
                                            const A (&x)[V][E]) {
  WideSlots<Value, E> slots(out, batch, at);
#pragma unroll
  for (int v = 0; v < V; ++v, slots.advance()) {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (v < count[e]) slots.get(e) = static_cast<Value>(x[v][e]);
    }
  }
}
/// A function, column by column: each knows its own indices.
template <class Value, int Rank, class Function, class A, int V, int E>
__device__ __forceinline__ void store_slots(const Called<Value, Rank, Function>& out,
                                            const Batch& batch, const WideColumnTile& at,
                                            const int (&count)[E], const A (&x)[V][E]) {
#pragma unroll
  for (int e = 0; e < E; ++e) {
    if (count[e] > 0) call_for_chunk(out.line(at.place(batch, e)), at.k(e), count[e], x, e);
  }
}

/// Where blocks tell each other about their tiles: for each row of chunks and each section of a
/// column a value whose words are not 0 once it is there, neighbouring columns beside each other.
///
/// In the order of memory the value of a row is the fold of its section's rows up to and with it,
/// that of a section the fold of the starting value and all sections up to and with it. Where
/// blocks walk each is its own fold.
template <class R>
struct PublishedTiles {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t inner;  ///< columns that are neighbours
  std::int64_t rows, sections;
  std::int64_t counters;

  /// Bytes for columns of n elements. A column of one row of chunks is no other block's.
  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t lines) {
    return rows_of_column(n) == 1
               ? 0
               : 8 * (lines + words * lines * (rows_of_column(n) + sections_of_column(n)));
  }
  /// Where tiles are counted that blocks have taken: of a strip, or of all.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets(std::int64_t strip) const {
    return memory + strip;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* row(const ColumnPlace& column,
                                                              int row) const {
    return memory + counters + (column.outer * (rows + sections) + row) * distance() +
           column.column;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(const ColumnPlace& column,
                                                                  int section) const {
    return row(column, static_cast<int>(rows) + section);
  }
  /// Words from a row to the next.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance() const { return words * inner; }
  __device__ __forceinline__ void publish(std::uint64_t* at, const R& value) const {
    const Published<R> published(value);
#pragma unroll
    for (int w = 0; w < words; ++w) store_word(at + w * inner, published.word[w]);
  }
  /// What is there now. It takes long to arrive: look at all that is needed, then ask what it is.
  [[nodiscard]] __device__ __forceinline__ Published<R> look(const std::uint64_t* at) const {
    Published<R> seen;
#pragma unroll
    for (int w = 0; w < words; ++w) seen.word[w] = look_at_word(at + w * inner);
    return seen;
  }
  [[nodiscard]] static __device__ __forceinline__ bool is_there(const Published<R>& seen) {
    bool all = true;
#pragma unroll
    for (int w = 0; w < words; ++w) all = all && seen.word[w] != 0;
    return all;
  }
  /// The value, when it is there.
  __device__ __forceinline__ void wait(const std::uint64_t* at, Published<R>& seen,
                                       R& value) const {
    while (!is_there(seen)) {
      pause();
      seen = look(at);
    }
    seen.get(value);
  }
};

/// What a block has in shared memory.
template <class P>
struct WideColumnBlock {
  using R = typename Types<P>::R;
  static constexpr int slots = slots_of_wide_thread(sizeof(typename P::A));
  static constexpr int width = lanes * slots;

  /// In turns, of each lane's slots: the folds of chunks, then what comes before each of them and
  /// behind the last.
  R chunks[2][row_of_chunks + 1][width];
  /// What comes before a row of chunks: the fold of the starting value and earlier sections, and
  /// that of earlier rows of the section.
  R sections[width], rows[width];
  /// The same of each column of a strip that blocks walk down, before the next tile.
  R known_sections[width], known_rows[width];
  /// Words that have been published since then.
  static constexpr int words = 4096;
  std::uint64_t found[words];
  WideColumnTile tiles[2];
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
  static constexpr int E = Block::slots;
  using At = WideColumnTile;
  static constexpr int V = rows_of_wide_thread;
  static constexpr int chunks_of_thread = V / chunk_of_column;
  static constexpr int width = Block::width;

 public:
  __device__ __forceinline__ WideColumnScan(const P& p, const WideColumnPlan& plan,
                                            const PublishedTiles<R>& published)
      : m_p(p), m_op(carrying(p.op)), m_plan(plan), m_published(published) {}

  __device__ __forceinline__ void run() {
    const std::int64_t strip = blockIdx.x % m_plan.strips;  // that the block walks down
    std::uint64_t* const tickets = m_published.tickets(walks() ? strip : 0);
    std::int64_t ticket = blockIdx.x;
    int known = 0;  // rows of chunks that the block knows, where it walks
    take_ticket_if(is_shared() && takes_tickets(), tickets, ticket);
#pragma unroll 1
    for (int turn = 0;; turn ^= 1) {
      if (takes_tickets()) {
        const Division by_strip(ticket, m_plan.strips);
        block().tiles[turn].set(m_plan, m_p.n, walks() ? strip : by_strip.remainder,
                                walks() ? ticket : by_strip.quotient);
      }
      __syncthreads();
      if (!block().tiles[turn].exists) return;
      scan_tile(block().tiles[turn], turn, tickets, ticket, known);
      if (!is_shared()) return;
    }
  }

 private:
  static __device__ __forceinline__ int own() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ Block& block() {
    return *reinterpret_cast<Block*>(shared_memory());
  }
  [[nodiscard]] __device__ __forceinline__ bool is_shared() const { return m_plan.tiles > 1; }
  [[nodiscard]] __device__ __forceinline__ bool walks() const { return m_plan.blocks_of_strip > 0; }
  /// The last thread, which has no column to look for.
  static __device__ __forceinline__ bool takes_tickets() {
    return own() == threads_of_wide_columns - 1;
  }
  /// Whether slot e takes part: built-in operators do no harm where there is nothing.
  static __device__ __forceinline__ bool takes_part(const At& at, int e) {
    return is_harmless<Op> || at.has(e);
  }

  /// \param ticket becomes the next one of the thread that takes them, when this block need not
  ///               wait for others any more: who waits for a tile does so from when it is taken
  __device__ __forceinline__ void scan_tile(const At& at, int turn, std::uint64_t* tickets,
                                            std::int64_t& ticket, int& known) const {
    // Of the first threads each has a column besides its slots, or a row of chunks of one.
    const bool has_column = own() < at.strip_columns;
    const bool has_row = own() < width && at.has(own() / lanes, own() % lanes);
    Published<R> sections{}, rows{};
    if (has_column) {
      if (!walks()) {
        look_above(at, sections, rows);
      } else if (known == 0) {
        put_start(at, block().known_sections[own()]);
      }
    }
    A x[V][E];
    load(at, x);
    fold(at, x, turn);
    __syncthreads();
    if (has_row) {
      // The last row of a column need not be whole, and nothing needs its fold.
      const int row = at.first_row + at.row_of(own() / lanes);
      if (row + 1 < m_published.rows) {
        const R of_row = fold_row(turn);
        block().chunks[turn][row_of_chunks][own()] = of_row;
        const ColumnPlace column = at.column(m_p.batch, at.column_of(own() / lanes, own() % lanes));
        if (walks()) m_published.publish(m_published.row(column, row), of_row);
      }
    }
    if (walks()) {
      if (at.first_row > known) gather(at, known);
    } else if (has_column) {
      take_above(at, sections, rows);
    }
    take_ticket_if(is_shared() && takes_tickets(), tickets, ticket);
    if (at.rows > 1) __syncthreads();
    if (has_column) carry(at, turn);
    known = at.first_row + at.rows;
    if (at.rows > 1) __syncthreads();
    if (has_row) put_before_chunks(at, turn);
    __syncthreads();
    scan(at, x, turn);
  }

  __device__ __forceinline__ void put_start(const At& at, R& to) const {
    if (m_p.start.exists()) to = static_cast<R>(m_p.start.at(at.column(m_p.batch, own())).value);
  }
  /// Looks for what comes before a tile, in the order of memory.
  __device__ __forceinline__ void look_above(const At& at, Published<R>& sections,
                                             Published<R>& rows) const {
    const ColumnPlace column = at.column(m_p.batch, own());
    if (at.section() > 0) {
      sections = m_published.look(m_published.section(column, at.section() - 1));
    } else {
      put_start(at, block().known_sections[own()]);
    }
    if (at.row_of_section() > 0) {
      rows = m_published.look(m_published.row(column, at.first_row - 1));
    }
  }
  /// Waits for it.
  __device__ __forceinline__ void take_above(const At& at, Published<R>& sections,
                                             Published<R>& rows) const {
    const ColumnPlace column = at.column(m_p.batch, own());
    if (at.section() > 0) {
      m_published.wait(m_published.section(column, at.section() - 1), sections,
                       block().known_sections[own()]);
    }
    if (at.row_of_section() > 0) {
      m_published.wait(m_published.row(column, at.first_row - 1), rows, block().known_rows[own()]);
    }
  }
  /// Continues what is known of each column of a strip to before a tile: by whole sections, then by
  /// the rows of its section. Their words are copied into shared memory, all at once and without
  /// registers; those that are not there yet are asked for again.
  ///
  /// \param known rows of chunks
  __device__ __forceinline__ void gather(const At& at, int known) const {
    constexpr int words = PublishedTiles<R>::words;
    const int padded = at.padded_columns();
    const int sharing = threads_of_wide_columns / padded;  // threads that have one column
    const int c = own() % padded;
    const int room = Block::words / words / padded;
    const int section = known / rows_of_section;
    const int sections = at.section() - section;
    const int row = sections > 0 ? at.section() * rows_of_section : known;
    const int count = sections + at.first_row - row;
    const bool has_column = own() < at.strip_columns;
    const ColumnPlace column = at.column(m_p.batch, c < at.strip_columns ? c : 0);
    const auto entry = [&](int i) {
      return i < sections ? m_published.section(column, section + i)
                          : m_published.row(column, row + i - sections);
    };
    const auto found = [&](int i) -> std::uint64_t& {
      return block().found[i * words * padded + c];
    };
#pragma unroll 1
    for (int done = 0; done < count; done += room) {
      const int end = count - done < room ? count - done : room;
      const int first = c < at.strip_columns ? own() / padded : end;
      if (done > 0) __syncthreads();
#pragma unroll 1
      for (int i = first; i < end; i += sharing) {
        const std::uint64_t* const from = entry(done + i);
#pragma unroll
        for (int w = 0; w < words; ++w) {
          __pipeline_memcpy_async(&found(i) + w * padded, from + w * m_published.inner, 8);
        }
      }
      __pipeline_commit();
      __pipeline_wait_prior(0);
#pragma unroll 1
      for (int i = first; i < end; i += sharing) {
#pragma unroll
        for (int w = 0; w < words; ++w) {
          std::uint64_t& word = (&found(i))[w * padded];
          while (word == 0) {
            pause();
            word = look_at_word(entry(done + i) + w * m_published.inner);
          }
        }
      }
      __syncthreads();
      if (!has_column) continue;
      Prefix before(m_op), rows(m_op);
      if (section > 0 || m_p.start.exists() || (done > 0 && sections > 0)) {
        before = Prefix(m_op, block().known_sections[own()]);
      }
      if (done > sections || (sections == 0 && known % rows_of_section > 0)) {
        rows = Prefix(m_op, block().known_rows[own()]);
      }
#pragma unroll 4
      for (int i = 0; i < end; ++i) {
        Published<R> seen;
#pragma unroll
        for (int w = 0; w < words; ++w) seen.word[w] = (&found(i))[w * padded];
        R value;
        seen.get(value);
        if (done + i < sections) {
          before = Prefix(m_op, before.then(m_op, value));
        } else {
          rows = Prefix(m_op, rows.then(m_op, value));
        }
      }
      if (before.exists()) block().known_sections[own()] = before.value();
      if (rows.exists()) block().known_rows[own()] = rows.value();
    }
  }

  /// From what comes before a tile to what comes before each of its rows of chunks and before the
  /// next tile, in the own thread's column.
  __device__ __forceinline__ void carry(const At& at, int turn) const {
    const ColumnPlace column = at.column(m_p.batch, own());
    const Prefix sections = at.section() > 0 || m_p.start.exists()
                                ? Prefix(m_op, block().known_sections[own()])
                                : Prefix(m_op);
    Prefix rows = at.row_of_section() > 0 ? Prefix(m_op, block().known_rows[own()]) : Prefix(m_op);
    int slot = own();
    for (int row = 0; row < at.rows; ++row, slot += at.padded_columns()) {
      if (sections.exists()) block().sections[slot] = sections.value();
      if (rows.exists()) block().rows[slot] = rows.value();
      // Behind the last whole row of a column nothing needs it.
      if (at.first_row + row + 1 >= m_published.rows) return;
      rows = Prefix(m_op, rows.then(m_op, block().chunks[turn][row_of_chunks][slot]));
    }
    const int next = at.first_row + at.rows;
    if (next % rows_of_section != 0) {
      if (walks()) {
        block().known_rows[own()] = rows.value();
      } else {
        m_published.publish(m_published.row(column, next - 1), rows.value());
      }
      return;
    }
    const R all = sections.then(m_op, rows.value());
    m_published.publish(m_published.section(column, at.section()), walks() ? rows.value() : all);
    if (walks()) block().known_sections[own()] = all;
  }

  /// The fold of a row of chunks, if all of these are whole.
  [[nodiscard]] __device__ __forceinline__ R fold_row(int turn) const {
    const auto& chunks = block().chunks[turn];
    R halves[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      R half = chunks[h * half_row_of_chunks][own()];
#pragma unroll
      for (int g = 1; g < half_row_of_chunks; ++g) {
        half = static_cast<R>(m_op(half, chunks[h * half_row_of_chunks + g][own()]));
      }
      halves[h] = half;
    }
    return static_cast<R>(m_op(halves[0], halves[1]));
  }

  /// Puts what comes before each chunk of a row and behind the last whole one where the folds of
  /// chunks were.
  __device__ __forceinline__ void put_before_chunks(const At& at, int turn) const {
    auto& chunks = block().chunks[turn];
    const int c = own();
    const int row = at.row_of(own() / lanes);
    const std::int64_t left =
        (m_p.n - std::int64_t{at.first_row + row} * elements_of_row) / chunk_of_column;
    const int whole = left < row_of_chunks ? static_cast<int>(left) : row_of_chunks;
    const Prefix sections =
        at.section() > 0 || m_p.start.exists() ? Prefix(m_op, block().sections[c]) : Prefix(m_op);
    const Prefix rows =
        at.row_of_section() + row > 0 ? Prefix(m_op, block().rows[c]) : Prefix(m_op);
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
  }

  __device__ __forceinline__ void load(const At& at, A (&x)[V][E]) const {
    WideColumns<typename T::In, E> input(m_p.input, m_p.batch, at);
    if (at.is_whole) {
      // Without other conditions, which would make each load wait for the last.
      bool exists[E];
#pragma unroll
      for (int e = 0; e < E; ++e) exists[e] = at.has(e);
#pragma unroll
      for (int v = 0; v < V; ++v, input.advance()) {
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = exists[e] ? static_cast<A>(input.get(e)) : A{};
      }
    } else {
      int count[E];
#pragma unroll
      for (int e = 0; e < E; ++e) count[e] = at.length(e);
#pragma unroll
      for (int v = 0; v < V; ++v, input.advance()) {
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = v < count[e] ? static_cast<A>(input.get(e)) : A{};
      }
    }
  }

  /// Chunks that are not full are the last of their columns: nothing needs their folds.
  __device__ __forceinline__ void fold(const At& at, const A (&x)[V][E], int turn) const {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!takes_part(at, e)) continue;
#pragma unroll
      for (int i = 0; i < chunks_of_thread; ++i) {
        if (!is_harmless<Op> && at.length(e) < (i + 1) * chunk_of_column) continue;
        block().chunks[turn][At::warp() * chunks_of_thread + i][At::lane() + e * lanes] =
            fold_chunk_of_column<R>(m_p.op, m_op, x, e, i * chunk_of_column);
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ bool has_before(std::int64_t k) const {
    return k > 0 || m_p.start.exists();
  }

  /// From the elements of a thread to results, which are stored.
  __device__ __forceinline__ void scan(const At& at, A (&x)[V][E], int turn) const {
    const auto& chunks = block().chunks[turn];
    const int first = At::warp() * chunks_of_thread;
    A at_begin[E];
    int count[E];
    // x becomes B after each element.
#pragma unroll
    for (int e = 0; e < E; ++e) {
      at_begin[e] = m_p.identity.value;
      count[e] = at.is_whole ? (at.has(e) ? V : 0) : at.length(e);
      if (!takes_part(at, e)) continue;
      const std::int64_t k = at.k(e);
      const int c = At::lane() + e * lanes;
      if (has_before(k)) at_begin[e] = static_cast<A>(chunks[first][c]);
#pragma unroll
      for (int i = 0; i < chunks_of_thread; ++i) {
        const int length = count[e] - i * chunk_of_column;
        if (i > 0 && length <= 0) continue;
        Prefix run(m_op);
        if (is_eager<Carrying> || has_before(k + i * chunk_of_column))
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
    store_ends(at, x, at_begin, count);
    if (m_p.form == Form::exclusive) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
#pragma unroll
        for (int v = V - 1; v > 0; --v) x[v][e] = x[v - 1][e];
        x[0][e] = at_begin[e];
      }
    }
    store_slots(m_p.output, m_p.batch, at, count, x);
  }
  __device__ __forceinline__ void store_ends(const At& at, const A (&x)[V][E],
                                             const A (&at_begin)[E], const int (&count)[E]) const {
    const Ends<P> ends{m_p};
    if (!ends.exist()) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (count[e] == 0) continue;
      const ColumnPlace place = at.place(m_p.batch, e);
      if (at.k(e) == 0) ends.store_begin(place, at_begin[e]);
      if (at.k(e) + count[e] < m_p.n) continue;
      A last = x[0][e];
#pragma unroll
      for (int v = 1; v < V; ++v) last = v < count[e] ? x[v][e] : last;
      ends.store_end(place, last);
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
