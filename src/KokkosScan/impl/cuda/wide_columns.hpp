// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for wide columns: lines that are neighbours in memory, of any alignment.
///
/// Columns are cut into strips, and strips into tiles: one, or several of whole rows of chunks.
/// Blocks take tiles by ticket in memory order: all tiles of the same rows, then those below. So
/// all blocks work in one region of memory, and partial sectors that two blocks write merge in L2.
///
/// A thread loads one or two quarters of rows of chunks into registers and folds them; the folds
/// meet in shared memory, where one thread per column finds the prefix of the tile, and each thread
/// scans its quarters. If strips are many, the tile above is complete, and publishes the prefix
/// after it. If they are few, it is in progress: the block reads the aggregates of all earlier rows
/// of its section, and looks back over sections to the nearest one with an inclusive prefix.
/// (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016;
/// but all folds go left to right, so that it does not matter where the look-back ends.) The
/// aggregate of a row is published without waiting, that of a section once those of its rows are
/// there. A block only ever waits for what depends on blocks with lower tickets, so there is no
/// deadlock.
/// column_tree.hpp has the combination tree.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/published_rows.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_elements.hpp>
#include <KokkosScan/impl/cuda/wide_column_mask.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The shared memory of a block. What belongs to the columns of a strip is contiguous; rows of it
/// are WideColumnPlan::width apart.
template <class P>
struct WideColumnBlock {
  using R = typename Types<P>::R;
  static constexpr int bytes = sizeof(KeptType<P>);
  static constexpr int widest = widest_strip(bytes);

  WideColumnTile tiles[2];  ///< used in turn
  /// The folds of quarters.
  R quarters[threads_of_wide_columns * quarters_of_wide_thread(bytes)];
  /// Before a tile: the fold of the starting value and earlier sections, and that of earlier rows
  /// of the section.
  R sections[widest_whole_strip(bytes)];
  R rows_before[widest];
  /// What a look-back has found, nearest first, and whether sections are inclusive prefixes. Not
  /// there if each column is one tile.
  struct {
    R folds[rows_of_section * widest];
    bool are_of_all[rows_of_section * widest];
  } found;
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
  using Kept = KeptType<P>;
  static constexpr int E = quarters_of_wide_thread(sizeof(Kept));
  using Part = WideColumnPart<E>;
  static constexpr int V = elements_of_quarter;

 public:
  __device__ __forceinline__ WideColumnScan(const P& p, const WideColumnPlan& plan,
                                            const PublishedRows<R>& published)
      : m_p(p), m_op(carrying(p.op)), m_plan(plan), m_published(published) {}

  __device__ __forceinline__ void run() {
    std::int64_t ticket = blockIdx.x;
    const bool is_shared = m_plan.tiles > 1;
    take_ticket_if(is_shared && takes_tickets(), m_published.tickets(), ticket);
#pragma unroll 1
    for (int turn = 0;; turn ^= 1) {
      if (takes_tickets()) block().tiles[turn] = WideColumnTile::find(m_plan, ticket);
      __syncthreads();
      if (!block().tiles[turn].exists) return;
      scan_tile(turn, ticket);
      if (!is_shared) return;
    }
  }

 private:
  static __device__ __forceinline__ int own() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ Block& block() {
    return *reinterpret_cast<Block*>(shared_memory());
  }
  /// The last thread takes tickets, as it has no column to find a prefix for.
  static __device__ __forceinline__ bool takes_tickets() {
    return own() == static_cast<int>(blockDim.x) - 1;
  }
  /// Column c of a strip.
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const WideColumnTile& tile,
                                                             int c) const {
    return {m_p.batch, tile.outer, tile.first_column + c};
  }

  /// The prefix of a tile in one column, as words that may not be available.
  struct Seen {
    Published<R> sections, rows;
  };

  /// \param ticket receives the next ticket once this block no longer waits: other blocks may wait
  ///               for a tile as soon as its ticket is taken
  __device__ __forceinline__ void scan_tile(int turn, std::int64_t& ticket) const {
    const WideColumnTile& tile = block().tiles[turn];
    // Each of the first threads handles a column of the strip besides its elements.
    const bool carries = own() < tile.columns;
    Seen seen{};
    if (tile.section() == 0 && m_p.start.exists()) {
      for (int c = own(); c < tile.columns; c += static_cast<int>(blockDim.x)) put_start(tile, c);
    }
    const Part part(tile, m_plan, m_p.n);
    Kept x[V][E];
    load_quarters(m_p.input, m_p.batch, part, x);
    const bool has_prefix = carries && !m_plan.looks_back;
    if (has_prefix) seen = look_for(tile);
    fold(part, x);
    if (has_prefix) take(tile, seen);
    __syncthreads();
    if (m_plan.looks_back) look_back(m_p, m_plan, m_published, turn);
    take_ticket_if(m_plan.tiles > 1 && takes_tickets(), m_published.tickets(), ticket);
    if (carries) publish_prefix(tile);
    scan(tile, part, x);
  }

  /// Requests the prefix of a tile.
  [[nodiscard]] __device__ __forceinline__ Seen look_for(const WideColumnTile& tile) const {
    const ColumnPlace column = place(tile, own());
    Seen seen{};
    if (tile.section() > 0)
      seen.sections = m_published.look(m_published.of_all(column, tile.section() - 1));
    if (tile.row() > 0) seen.rows = m_published.look(m_published.row(column, tile.first_row - 1));
    return seen;
  }
  __device__ __forceinline__ void put_start(const WideColumnTile& tile, int c) const {
    block().sections[c] = static_cast<R>(m_p.start.at(place(tile, c)).value);
  }
  /// Waits for the prefix, and stores it in shared memory.
  __device__ __forceinline__ void take(const WideColumnTile& tile, Seen& seen) const {
    while ((tile.section() > 0 && !is_there(seen.sections)) ||
           (tile.row() > 0 && !is_there(seen.rows))) {
      pause();
      seen = look_for(tile);
    }
    if (tile.section() > 0) seen.sections.get(block().sections[own()]);
    if (tile.row() > 0) seen.rows.get(block().rows_before[own()]);
  }

  /// Calls f(row, fold) for the rows of a tile that is not the last of its column, in this thread's
  /// column.
  template <class F>
  __device__ __forceinline__ void for_each_row(const WideColumnTile& tile, const F& f) const {
    const R* quarters = block().quarters + own();
#pragma unroll 1
    for (int row = 0; row < m_plan.rows_of_tile(); ++row) {
      f(tile.first_row + row, fold_row(m_op, quarters, m_plan.width));
      quarters += quarters_of_row * m_plan.width;
    }
  }
  /// Finds the prefix of a tile while earlier tiles are in progress. The aggregates of rows and
  /// sections are published before anything waits for what depends on others.
  ///
  /// Not inlined, as the caller's registers hold elements.
  static __device__ __noinline__ void look_back(const P& p, const WideColumnPlan& plan,
                                                const PublishedRows<R>& published, int turn) {
    WideColumnScan(p, plan, published).look_back(block().tiles[turn]);
  }
  __device__ __forceinline__ void look_back(const WideColumnTile& tile) const {
    const bool carries = own() < tile.columns;
    const ColumnPlace column = place(tile, own() & (m_plan.width - 1));
    const auto sections = static_cast<int>(tile.section());
    if (carries) {
      // Once aggregates are published, totals may overwrite starting values.
      if (sections > 0 && m_p.start.exists()) put_start(tile, own());
      if (sections > 0 && m_p.totals.data != nullptr) __threadfence();
      if (tile.number + 1 < m_plan.tiles) {
        for_each_row(tile, [&](std::int64_t row, const R& fold) {
          m_published.publish(m_published.row(place(tile, own()), row), fold);
        });
      }
    }
    if (tile.row() > 0) {
      look_at<false>(m_published.row(column, tile.first_row - 1), tile.row(), tile.columns);
      if (carries) block().rows_before[own()] = fold_found(Prefix(m_op), tile.row()).value();
    }
    if (carries) publish_section(tile);
    if (sections > 0) {
      __syncthreads();
      const int last = sections < m_plan.sections_in_flight ? sections : m_plan.sections_in_flight;
      look_at<true>(m_published.of_all(column, sections - 1), last, tile.columns);
      if (carries) find_sections(place(tile, own()), sections, last);
    }
    __syncthreads();
  }
  /// Waits for rows or sections, nearest first, and stores them in shared memory: all threads do.
  ///
  /// \tparam may_be_of_all whether inclusive prefixes do as well
  /// \param words   where the nearest one is published, in the thread's column
  /// \param columns of the strip
  template <bool may_be_of_all>
  __device__ __forceinline__ void look_at(std::uint64_t* words, int count, int columns) const {
    constexpr int most = may_be_of_all ? 1 : 3;
    constexpr int at_once = most > Published<R>::words ? most / Published<R>::words : 1;
    const int width = m_plan.width;
    const int c = own() & (width - 1);
    const int step = threads_of_wide_columns / width * at_once;
    if (c >= columns) count = 0;
    // A section has two values.
    const std::int64_t distance = m_published.distance() * (may_be_of_all ? 2 : 1);
    words -= own() / width * at_once * distance;
#pragma unroll 1
    for (int back = own() / width * at_once; back < count; back += step) {
      SeenFold<R, may_be_of_all> seen[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (back + i < count) seen[i].look(m_published, words - i * distance);
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (back + i >= count) continue;
        const int at = (back + i) * width + c;
        while (!seen[i].is_any_there()) {
          pause();
          seen[i].look(m_published, words - i * distance);
        }
        seen[i].get(block().found.folds[at]);
        if constexpr (may_be_of_all) block().found.are_of_all[at] = seen[i].is_of_all();
      }
      words -= step * distance;
    }
    __syncthreads();
  }
  /// Appends what has been found to a fold, from the `count`-th nearest on.
  [[nodiscard]] __device__ __forceinline__ Prefix fold_found(Prefix fold, int count) const {
    const R* found = block().found.folds + (count - 1) * m_plan.width + own();
#pragma unroll 4
    for (; count > 0; --count, found -= m_plan.width) fold = Prefix(m_op, fold.then(m_op, *found));
    return fold;
  }
  /// Forms the fold of the starting value and of earlier sections.
  ///
  /// \param count of sections that have been found
  __device__ __forceinline__ void find_sections(const ColumnPlace& column, int sections,
                                                int count) const {
    int back = 0;
    while (back < count && !block().found.are_of_all[back * m_plan.width + own()]) ++back;
    Prefix before(m_op);
    if (back < count) {
      before = Prefix(m_op, block().found.folds[back * m_plan.width + own()]);
    } else if (count < sections) {
      // Earlier sections are done, or will be soon.
      std::uint64_t* const at = m_published.of_all(column, sections - count - 1);
      Published<R> seen = m_published.look(at);
      while (!is_there(seen)) {
        pause();
        seen = m_published.look(at);
      }
      R value;
      seen.get(value);
      before = Prefix(m_op, value);
    } else if (m_p.start.exists()) {
      before = Prefix(m_op, block().sections[own()]);
    }
    block().sections[own()] = fold_found(before, back).value();
  }
  /// Publishes the aggregate of the section that a tile ends.
  __device__ __forceinline__ void publish_section(const WideColumnTile& tile) const {
    const int rows = m_plan.rows_of_tile();
    if (tile.number + 1 == m_plan.tiles || tile.row() + rows < rows_of_section) return;
    Prefix fold = prefix_of_tile(tile, own()).rows;
    for_each_row(tile,
                 [&](std::int64_t, const R& row) { fold = Prefix(m_op, fold.then(m_op, row)); });
    m_published.publish(m_published.own(m_published.of_all(place(tile, own()), tile.section())),
                        fold.value());
  }

  /// Publishes the prefix after a tile, unless the next one looks back: of the rows of its section
  /// or, at the end of a section, of all.
  __device__ __forceinline__ void publish_prefix(const WideColumnTile& tile) const {
    const bool ends_section = (tile.row() + m_plan.rows_of_tile()) % rows_of_section == 0;
    if (tile.number + 1 == m_plan.tiles || (m_plan.looks_back && !ends_section)) return;
    const ColumnPlace column = place(tile, own());
    ColumnPrefix<Carrying, R> prefix = prefix_of_tile(tile, own());
    for_each_row(tile, [&](std::int64_t, const R& fold) {
      prefix.rows = Prefix(m_op, prefix.rows.then(m_op, fold));
    });
    if (ends_section) {
      m_published.publish(m_published.of_all(column, tile.section()),
                          prefix.sections.then(m_op, prefix.rows.value()));
    } else {
      m_published.publish(m_published.row(column, tile.first_row + m_plan.rows_of_tile() - 1),
                          prefix.rows.value());
    }
  }
  /// The prefix of a tile in column c of the strip.
  [[nodiscard]] __device__ __forceinline__ ColumnPrefix<Carrying, R> prefix_of_tile(
      const WideColumnTile& tile, int c) const {
    ColumnPrefix<Carrying, R> prefix(m_op);
    if (tile.section() > 0 || m_p.start.exists())
      prefix.sections = Prefix(m_op, block().sections[c]);
    if (tile.row() > 0) prefix.rows = Prefix(m_op, block().rows_before[c]);
    return prefix;
  }

  /// Partial quarters are the last of their columns: nothing needs their folds.
  __device__ __forceinline__ void fold(const Part& at, const Kept (&x)[V][E]) const {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (at.length[e] < (is_harmless<Op> ? 1 : V)) continue;
      Prefix chunks(m_op);
#pragma unroll
      for (int v = 0; v < V; v += chunk_of_column) {
        chunks = Prefix(m_op, chunks.then(m_op, fold_chunk_of_column<R, A>(m_p.op, m_op, x, e, v)));
      }
      block().quarters[at.quarter_of(e) * m_plan.width + at.column_of(e)] = chunks.value();
    }
  }

  /// Scans the elements of a thread and stores the results.
  __device__ __forceinline__ void scan(const WideColumnTile& tile, const Part& at,
                                       Kept (&x)[V][E]) const {
    if (!at.has_elements()) return;
    Kept at_begin[1][E];
    // Turns x into B after each element.
#pragma unroll
    for (int e = 0; e < E; ++e) {
      at_begin[0][e] = static_cast<Kept>(m_p.identity.value);
      if (!is_harmless<Op> && !at.exists(e)) continue;
      const int c = at.column_of(e);
      ColumnPrefix<Carrying, R> prefix = prefix_of_tile(tile, c);
      prefix.add_quarters(m_op, block().quarters + c, m_plan.width, at.quarter_of(e));
      Prefix chunks(m_op);
      Prefix run = prefix.join_all(m_op, chunks);
      if (at.first(e) > 0 || m_p.start.exists()) at_begin[0][e] = static_cast<Kept>(run.value());
#pragma unroll
      for (int i = 0; i < V; i += chunk_of_column) {
        const int left = at.length[e] - i;
        if (i > 0 && left <= 0) continue;
        Prefix chunk(m_op);
#pragma unroll
        for (int p = 0; p < chunk_of_column; p += pack_of_column) {
          PackOfColumn<A> pack(x, i + p, e);
          if (is_harmless<Op> || left >= chunk_of_column) {
            chunk = Prefix(m_op, chunk.then(m_op, carried_pack(m_p.op, pack.x)));
          }
          scan_pack(m_p.op, m_op, run, pack.x, left - p,
                    is_harmless<Op> || left - p >= pack_of_column);
          if (p + pack_of_column == chunk_of_column && left >= chunk_of_column) {
            chunks = Prefix(m_op, chunks.then(m_op, chunk.value()));
            run = prefix.join_all(m_op, chunks);
            pack.x[pack_of_column - 1] = static_cast<A>(run.value());
          }
          pack.put(x, i + p, e);
        }
      }
    }
    store_ends(at, x, at_begin[0]);
    const bool is_exclusive = m_p.form == Form::exclusive;
    if (is_exclusive) store_quarters(m_p.output, m_p.batch, at, 0, at_begin);
    store_quarters(m_p.output, m_p.batch, at, static_cast<int>(is_exclusive), x);
  }

  __device__ __forceinline__ void store_ends(const Part& at, const Kept (&x)[V][E],
                                             const Kept (&at_begin)[E]) const {
    const Ends<P> ends{m_p};
    if (!ends.exist()) return;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!at.exists(e)) continue;
      if (at.first(e) == 0) ends.store_begin(at.place(m_p.batch, e), static_cast<A>(at_begin[e]));
      if (at.first(e) + at.length[e] < m_p.n) continue;
      Kept last = x[0][e];
#pragma unroll
      for (int v = 1; v < V; ++v) last = v < at.length[e] ? x[v][e] : last;
      ends.store_end(at.place(m_p.batch, e), static_cast<A>(last));
    }
  }

  const P& m_p;
  const Carrying m_op;
  const WideColumnPlan& m_plan;
  const PublishedRows<R>& m_published;
};

/// Scans wide columns.
template <class P>
__global__ void __launch_bounds__(threads_of_wide_columns,
                                  blocks_of_wide_columns(sizeof(KeptType<P>)))
    scan_wide_columns(const __grid_constant__ P problem,
                      const __grid_constant__ WideColumnPlan plan,
                      const __grid_constant__ PublishedRows<typename Types<P>::R> published) {
  WideColumnScan<P>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
