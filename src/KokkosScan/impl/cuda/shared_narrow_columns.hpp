// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for long narrow columns whose tiles are shared by blocks. Tiles are parts of columns
/// that lie side by side, moved and scanned as in narrow_columns.hpp.
///
/// Blocks take tiles by ticket, in memory order, and keep several in flight, each in a buffer.
/// Warps are specialised as in parts.hpp. One takes tiles and loads them, or twelve more compute
/// elements. A group folds tiles as they arrive and publishes their totals. One warp publishes the
/// totals of groups of tiles. Three find the prefix of a tile from published totals and carry it to
/// the next. A second group scans the tile, and one warp stores it. So no chain runs from tile to
/// tile. The totals of groups have their own warp, which waits for nothing but totals of tiles;
/// with carrying warps in its place the kernel is slower on an H200. A tile only ever waits for
/// lower tickets, which running blocks hold, so there is no deadlock.
///
/// The combination tree: chunks form segments, segments tiles, 16 tiles a group, each folded left
/// to right. Let G be the fold of the starting value and all earlier groups, T that of earlier
/// tiles of the group, S that of earlier segments of the tile, and c that of earlier chunks of the
/// segment:
///
///     P = (G * T) * (S * c),
///     B(k) = P * x_1 * x_2 ...    within a chunk, and at the end of the last chunk of the column,
///     B(k) = P                    at the end of any other chunk, where P includes it.
///
/// Empty parts are left out.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/column_carry.hpp>
#include <KokkosScan/impl/cuda/narrow_columns.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Warps of a block that carry prefixes; each takes the columns of its lanes.
inline constexpr int narrow_carriers = 3;

/// What a block keeps in shared memory besides tiles. Each buffer has its own barriers; their
/// phases follow the tiles that it holds in turn.
struct SharedNarrowColumnBlock {
  Barrier loaded[most_narrow_buffers];    ///< the tile is known and its elements have arrived
  Barrier computed[most_narrow_buffers];  ///< so have computed elements
  Barrier folded[most_narrow_buffers];    ///< the folds of chunks and the totals are ready
  Barrier carried[most_narrow_buffers];   ///< the prefix is ready
  Barrier stored[most_narrow_buffers];    ///< the buffer is free
  Barrier scanned[most_narrow_buffers];   ///< results are ready or stored; all else has been read
  NarrowColumnTile tiles[most_narrow_buffers];

  /// Called by one thread before all others use it.
  __device__ __forceinline__ void initialize() {
    for (int b = 0; b < most_narrow_buffers; ++b) {
      loaded[b].initialize(2 * lanes);
      computed[b].initialize(threads_that_compute_narrow_tiles / lanes);
      folded[b].initialize(threads_of_narrow_tile / lanes);
      carried[b].initialize(narrow_carriers);
      stored[b].initialize(1);
      scanned[b].initialize(threads_of_narrow_tile / lanes + 1);
    }
    after_initialization();
  }
};
static_assert(sizeof(SharedNarrowColumnBlock) <= bytes_of_shared_narrow_block);

/// Threads of a block: two groups, one warp each to load, to store and to publish totals of groups
/// of tiles, the carrying warps, and those that compute. There are 20 warps, as one more would
/// reduce the limit to 80 registers per thread.
template <class P>
inline constexpr int threads_of_shared_narrow_columns =
    2 * threads_of_narrow_tile + (3 + narrow_carriers) * lanes +
    (NarrowInput<typename P::A, typename Types<P>::In>::is_stored
         ? 0
         : threads_that_compute_narrow_tiles);

/// A block.
template <class P>
class SharedNarrowColumnScan : private NarrowColumnScan<P, threads_of_narrow_tile> {
  using Base = NarrowColumnScan<P, threads_of_narrow_tile>;
  using R = typename Base::R;
  using Input = typename Base::Input;
  using Chunk = typename Base::Chunk;
  using Carrying = typename Base::Carrying;
  using Prefix = typename Base::Prefix;
  using Base::m_op, Base::m_p, Base::m_plan, Base::m_thread;

 public:
  __device__ __forceinline__ SharedNarrowColumnScan(const P& p, const NarrowColumnPlan& plan,
                                                    const PublishedColumns<R>& published)
      : Base(p, plan, static_cast<int>(threadIdx.x)), m_published(published) {}

  __device__ __forceinline__ void run() {
    constexpr int group = threads_of_narrow_tile;
    if (m_thread == 0) block().initialize();
    __syncthreads();
    if (m_thread < group) return fold_tiles();
    m_thread -= group;
    if (m_thread < group) return scan_tiles();
    const int warp = (m_thread - group) / lanes;
    if constexpr (!Input::is_stored) {
      const int computing = m_thread - group - (3 + narrow_carriers) * lanes;
      if (computing >= 0) return compute_tiles(computing);
    }
    m_thread %= lanes;
    if (warp == 0) return load_tiles();
    if (warp == 1) return store_tiles();
    if (warp == 2) return publish_groups();
    carry_prefixes(warp - 3);
  }

 private:
  /// The lane of a thread of a warp with a task of its own.
  [[nodiscard]] __device__ __forceinline__ int lane() const { return m_thread; }
  [[nodiscard]] __device__ __forceinline__ static SharedNarrowColumnBlock& block() {
    return *reinterpret_cast<SharedNarrowColumnBlock*>(shared_memory());
  }
  /// The task of one warp: takes tiles, and loads them or leaves that to other warps.
  __device__ __forceinline__ void load_tiles() {
    bool exists = true;
#pragma unroll 1
    for (Turn at; exists; at.advance(m_plan.buffers)) {
      // Waiting for the phase before the first returns at once, so unused buffers do not block.
      block().scanned[at.stage].wait(at.parity ^ 1);
      // Request the ticket while the previous tile is stored; earlier would load tiles out of
      // ticket order.
      std::int64_t ticket = 0;
      take_ticket_if(lane() == 0, m_published.turns(), ticket);
      block().stored[at.stage].wait(at.parity ^ 1);
      exists = take_tile(shuffle(ticket, 0), at.stage);
    }
  }
  /// The task of another warp: stores tiles in bulk, unless others have stored them.
  __device__ __forceinline__ void store_tiles() {
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().carried[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      if (!tile.exists) return;
      block().scanned[at.stage].wait(at.parity);
      if (tile.stores_runs) this->begin_store(tile, at.stage, Threads{lane(), lanes});
      wait_for_bulk_stores();
      __syncwarp();
      if (lane() == 0) block().stored[at.stage].arrive();
    }
  }
  /// Returns whether the tile exists.
  __device__ __forceinline__ bool take_tile(std::int64_t ticket, int buffer) {
    const Division number(ticket, m_plan.steps);
    const NarrowColumnTile tile =
        this->tile_of(number.quotient, static_cast<int>(number.remainder));
    __syncwarp();  // others have read the previous tile
    if (lane() == 0) block().tiles[buffer] = tile;
    Barrier& loaded = block().loaded[buffer];
    if (tile.exists && this->loads_runs()) {
      this->begin_load(tile, buffer, loaded, Threads{lane(), lanes});
    } else {
      loaded.arrive_after_copies();
      loaded.arrive();
    }
    __syncwarp();
    return tile.exists;
  }

  /// The task of the threads that compute elements.
  ///
  /// \param thread index among them
  __device__ __forceinline__ void compute_tiles(int thread) {
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().loaded[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      const bool exists = tile.exists;
      if (exists) {
        load_one_by_one(m_p.batch, m_plan, tile, m_p.input, is_backward(m_p.output),
                        this->places(tile, at.stage).elements,
                        Threads{thread, threads_that_compute_narrow_tiles});
      }
      __syncwarp();
      if (thread % lanes == 0) block().computed[at.stage].arrive();
      if (!exists) return;
    }
  }
  /// The task of the first group.
  __device__ __forceinline__ void fold_tiles() {
    constexpr int group = 1;
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().loaded[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      const bool exists = tile.exists;  // read before the buffer may be reused
      if (exists) {
        if constexpr (!Input::is_stored) {
          block().computed[at.stage].wait(at.parity);
        } else if (!this->loads_runs()) {
          this->load_elements(tile, at.stage);
          sync_group<threads_of_narrow_tile>(group);
        }
        turn_to(at.stage);
        fold_tile(tile, at.stage, group);
      }
      __syncwarp();
      if (m_thread % lanes == 0) block().folded[at.stage].arrive();
      if (!exists) return;
    }
  }
  /// The task of the second group.
  __device__ __forceinline__ void scan_tiles() {
    constexpr int group = 2;
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().carried[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      if (!tile.exists) return;
      block().loaded[at.stage].wait(at.parity);  // makes bulk copies visible to this thread
      turn_to(at.stage);
      Chunk chunk;
      if (find_chunk(tile, chunk)) {
        const auto places = this->places(tile, at.stage);
        this->template scan_chunk<ChunksBefore::in_tiles>(tile, places, chunk);
      }
      if (tile.stores_runs) {
        before_bulk_copies();
      } else {
        sync_group<threads_of_narrow_tile>(group);
        this->store_elements(tile, at.stage);
      }
      __syncwarp();
      if (m_thread % lanes == 0) block().scanned[at.stage].arrive();
    }
  }
  /// Selects the folds of the tile in a buffer.
  __device__ __forceinline__ void turn_to(int buffer) {
    this->m_begin_of_folds = m_plan.begin_of_folds() + buffer * m_plan.bytes_of_folds;
  }
  /// The chunk of this thread, if it has one.
  [[nodiscard]] __device__ __forceinline__ bool find_chunk(const NarrowColumnTile& tile,
                                                           Chunk& chunk) const {
    bool exists = false;
    this->template for_each_chunk<true>(tile, [&](const Chunk& own) {
      chunk = own;
      exists = true;
    });
    return exists;
  }
  /// Folds each chunk of a tile and all chunks up to it, and publishes the total.
  __device__ __forceinline__ void fold_tile(const NarrowColumnTile& tile, int buffer,
                                            int group) const {
    Chunk chunk{};
    const bool exists = find_chunk(tile, chunk);
    if (exists) {
      this->fold_at(chunk, chunk.number + 1) =
          this->fold_chunk(tile, this->places(tile, buffer), chunk).value();
    }
    sync_group<threads_of_narrow_tile>(group);
    // Combine with earlier chunks of the segment, then with earlier segments.
    const int length = m_plan.segment;
    const int segment = m_plan.by_segments.quotient(chunk.number);
    R* const of_segments = this->folds(0, 0) + m_plan.folds_of_line() * m_plan.columns;
    Prefix own(m_op);
    if (exists) {
#pragma unroll 4
      for (int c = segment * length; c <= chunk.number; ++c) {
        own = Prefix(m_op, own.then(m_op, this->fold_at(chunk, c + 1)));
      }
      if (chunk.number == (segment + 1) * length - 1) {
        of_segments[segment * m_plan.columns + chunk.column] = own.value();
      }
    }
    sync_group<threads_of_narrow_tile>(group);
    if (!exists) return;
    Prefix before(m_op);
#pragma unroll 4
    for (int s = 0; s < segment; ++s) {
      before = Prefix(m_op, before.then(m_op, of_segments[s * m_plan.columns + chunk.column]));
    }
    const R with = before.then(m_op, own.value());
    if (chunk.ends_tile && !tile.is_last) {  // other blocks wait for it
      m_published.publish(m_published.entry_of_row(tile.step), line_of(tile) + chunk.column, with);
    }
    this->fold_at(chunk, chunk.number + 1) = with;
  }
  /// The index of a tile's first column among all columns.
  [[nodiscard]] __device__ __forceinline__ std::int64_t line_of(
      const NarrowColumnTile& tile) const {
    return tile.slab * m_plan.columns;
  }

  /// Totals that a lane requests at once, of groups and of tiles. A block has 8 or 9 groups between
  /// two of its tiles. (One list of 12 is slower on an H200.)
  static constexpr int words = Published<R>::words;
  static constexpr int at_once = std::max(1, words_at_once / words);

  /// Consecutive published entries of a column.
  struct Entries {
    std::uint64_t x[at_once * words];

    __device__ __forceinline__ void look(const std::uint64_t* from, std::int64_t distance,
                                         int count) {
#pragma unroll
      for (int i = 0; i < at_once * words; ++i) {
        load_word_if(i / words < count, from + (i / words * distance + i % words), x[i]);
      }
    }
    [[nodiscard]] __device__ __forceinline__ bool are_there(int count) const {
      bool are_there = true;
#pragma unroll
      for (int i = 0; i < at_once * words; ++i)
        are_there = are_there && (i / words >= count || x[i] != 0);
      return are_there;
    }
    /// Appends them to a fold.
    __device__ __forceinline__ void add_to(Prefix& fold, const Carrying& op, int count) const {
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        if (j >= count) break;
        Published<R> published;
#pragma unroll
        for (int w = 0; w < words; ++w) published.word[w] = x[j * words + w];
        R value;
        published.get(value);
        fold = Prefix(op, fold.then(op, value));
      }
    }
  };
  /// Appends published entries to two folds of a column, once available: totals of groups and of
  /// tiles, requested together. Called by a lane; all lanes of a warp iterate together.
  __device__ __forceinline__ void fold_entries(std::int64_t line, bool exists, Prefix& of_groups,
                                               std::int64_t group, int groups, Prefix& of_tiles,
                                               std::int64_t tile, int tiles) const {
    const std::int64_t distance = m_published.columns * words;
#pragma unroll 1
    while (groups + tiles > 0) {
      const int g = groups < at_once ? groups : at_once;
      const int t = tiles < at_once ? tiles : at_once;
      Entries x{};
      Entries y{};
      bool are_there = !exists;
#pragma unroll 1
      while (!__all_sync(~0u, are_there)) {
        if (are_there) continue;
        x.look(m_published.at(group, line), distance, g);
        y.look(m_published.at(tile, line), distance, t);
        are_there = x.are_there(g) && y.are_there(t);
        if (!are_there) pause();
      }
      x.add_to(of_groups, m_op, g);
      y.add_to(of_tiles, m_op, t);
      group += g;
      groups -= g;
      tile += t;
      tiles -= t;
    }
  }

  /// The task of one warp: publishes the totals of groups. The last tile of a group publishes half
  /// of the columns, the next tile, which needs them first, the rest. A block only ever waits for
  /// lower tickets, so there is no deadlock.
  __device__ __forceinline__ void publish_groups() {
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().folded[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      if (!tile.exists) return;
      const int columns = m_plan.columns;
      const int group = (tile.step + 1) / tiles_of_narrow_group - 1;
      const int turn = (tile.step + 1) % tiles_of_narrow_group;
      const bool is_needed = group >= 0 && turn < 2 && (turn == 1 || !tile.is_last);
      const std::int64_t first_line = line_of(tile);
      __syncwarp();
      if (lane() == 0) block().scanned[at.stage].arrive();
      if (!is_needed) continue;
      const int half = ((columns + lanes - 1) / lanes + 1) / 2 * lanes;
      const int end = turn == 0 && half < columns ? half : columns;
#pragma unroll 1
      for (int first = turn * half; first < end; first += lanes) {
        const bool exists = first + lane() < columns;
        const std::int64_t line = first_line + (exists ? first + lane() : 0);
        Prefix none(m_op);
        Prefix of_tiles(m_op);
        fold_entries(line, exists, none, 0, 0, of_tiles,
                     m_published.entry_of_row(std::int64_t{group} * tiles_of_narrow_group),
                     tiles_of_narrow_group);
        if (exists) m_published.publish(1 + group, line, of_tiles.value());
      }
    }
  }
  /// The task of some warps: finds the prefix of each tile of the block.
  __device__ __forceinline__ void carry_prefixes(int warp) {
    R* const groups = reinterpret_cast<R*>(shared_memory() + m_plan.begin_of_carry());
    const bool has_start = m_p.start.exists();
    std::int64_t slab = -1;
    const int first_entry = has_start ? 0 : 1;  // the starting value, then groups
    int known = 0;                              // entries of the strip that are folded
#pragma unroll 1
    for (Turn at;; at.advance(m_plan.buffers)) {
      block().folded[at.stage].wait(at.parity);
      const NarrowColumnTile& tile = block().tiles[at.stage];
      const bool has_tile = tile.exists;  // read before the buffer may be reused
      if (has_tile) {
        turn_to(at.stage);
        const int step = tile.step;
        if (tile.slab != slab) {
          slab = tile.slab;
          known = first_entry;
        }
        const int needed = 1 + step / tiles_of_narrow_group;
        const int in_group = step % tiles_of_narrow_group;
#pragma unroll 1
        for (int first = warp * lanes; first < m_plan.columns; first += narrow_carriers * lanes) {
          const int column = first + lane();
          const bool exists = column < m_plan.columns;
          const std::int64_t line = line_of(tile) + (exists ? column : 0);
          if (step == 0 && has_start && exists) {
            // Published, as a total may overwrite the starting value in memory.
            const R start =
                static_cast<R>(m_p.start.at(tile.place(m_p.batch, m_plan, 0, column)).value);
            m_published.publish(0, line, start);
          }
          Prefix of_tiles(m_op);
          Prefix of_groups =
              known > first_entry && exists ? Prefix(m_op, groups[column]) : Prefix(m_op);
          fold_entries(line, exists, of_groups, known, needed - known, of_tiles,
                       m_published.entry_of_row(step - in_group), in_group);
          if (exists) {
            if (needed > first_entry) groups[column] = of_groups.value();
            const Prefix before = join(m_op, of_groups, of_tiles);
            if (has_start || step > 0) *this->folds(0, column) = before.value();
            if (!tile.is_last) {  // must be bit-identical in the next tile
              R* const total = this->folds(0, column) + m_plan.chunks * m_plan.columns;
              total[m_plan.columns] = of_groups.then(m_op, of_tiles.then(m_op, *total));
            }
          }
        }
        known = needed;
      }
      __syncwarp();
      if (lane() == 0) block().carried[at.stage].arrive();
      if (!has_tile) return;
    }
  }

  const PublishedColumns<R>& m_published;
};

/// Scans long narrow columns.
template <class P>
__global__ void __launch_bounds__(threads_of_shared_narrow_columns<P>,
                                  blocks_of_shared_narrow_columns)
    scan_shared_narrow_columns(
        const __grid_constant__ P problem, const __grid_constant__ NarrowColumnPlan plan,
        const __grid_constant__ PublishedColumns<typename Types<P>::R> published) {
  SharedNarrowColumnScan<P>(problem, plan, published).run();
}

}  // namespace KokkosScan::impl::cuda
