// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans slabs: short lines, and few neighbouring lines whose elements with the same index follow
/// each other in memory. As many as fill a block are taken at once; results go through L1.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/short_lines.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans or folds slabs of up to most_width lines, on one thread.
template <class P>
class Slabs {
  using Op = typename Combination<P>::Op;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  static constexpr int most_width = slab_bytes / sizeof(A);

 private:
  static constexpr int spill = 32 / sizeof(A);
  /// Elements of a block.
  static constexpr int capacity = pack_length * most_width;
  static constexpr bool has_common_start = std::is_same_v<decltype(P::start), CommonStart<A>>;
  static constexpr int most_starts = (has_common_start ? most_width : capacity) + 2 * spill;

 public:
  /// \param has_rows whether the last dimension of the batch has neighbours in memory; else each
  ///                 line is a slab
  Slabs(const P& problem, Destination destination, Registers registers, bool has_rows)
      : m_problem(problem),
        m_registers(registers),
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory),
        m_has_rows(has_rows),
        m_dimension(problem.batch.rank - (has_rows ? 2 : 1)) {}
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs() {
    if (m_streams) end_streaming();
  }

  /// Strip number `index` of those into which each row of neighbouring lines is cut: where its
  /// first line stands, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index,
                                                  std::int64_t strips_of_row) const {
    const Batch& batch = m_problem.batch;
    if (!m_has_rows) return {batch.coordinates(index), 1};
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width =
        strips_of_row == 1 ? lines_of_row : strip_width(lines_of_row, strips_of_row);
    const std::int64_t first = index % strips_of_row * width;
    return {batch.coordinates(index / strips_of_row * lines_of_row + first),
            static_cast<int>(std::min(lines_of_row - first, width))};
  }

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    for (std::int64_t i = begin; i < end;) {
      const auto [c, width] = strip(i, strips_of_row);
      if (m_problem.n * width <= capacity) {
        i += scan_whole(c, width, strips_of_row == 1 ? end - i : 1);
        continue;
      }
      R tiles[most_width];
      A before[most_width];
      start(c, width, tiles, before);
      scan_part(c, width, 0, m_problem.n, tiles, before, usual_ahead());
      ++i;
    }
  }

  /// What precedes the strip from the line at `c` on: starting values, or what stands for none.
  ///
  /// \param tiles  receives them in the carried type
  /// \param before receives B(0), where that is stored
  void start(const Coordinates& c, int width, R* tiles, A* before) const {
    const P& p = m_problem;
    Coordinates line = c;
    for (int w = 0; w < width; ++w) {
      const Maybe<A> start = p.start.at(line);
      tiles[w] = start.exists ? static_cast<R>(start.value) : neutral(carrying(p.op));
      before[w] = start.exists ? start.value : p.identity.value;
      if (w + 1 < width) ++line.index[c.rank - 1];
    }
  }

  /// Scans elements begin ... end - 1, whole tiles except at the end of the lines.
  ///
  /// \param tiles  what comes before, the starting value included
  /// \param before B(begin)
  void scan_part(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                 const R* tiles, const A* before, const Ahead& ahead) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    set_state(tiles, width);
    m_starts_width = 0;
    std::copy(before, before + width, m_firsts + spill);
    const int most_rows = rows_of_block(width);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      const bool stores_first = k == 0 && p.extra == Extra::first;
      const bool has_firsts = is_exclusive || stores_first;
      const Rectangle r{c, p.n, k, rows, width, 1, m_dimension};
      SlabBlock<A, R> block = loaded(r, ahead);
      const int extent = rows + (has_firsts ? 1 : 0);
      // Rows that follow in the same part may be reached into.
      const bool is_direct = (end - k - rows - 1) * width >= spill && may_be_direct(width);
      place_results(block, extent, is_direct ? &p.output.line(c)(stores_first ? -1 : k) : nullptr);
      block.begin = static_cast<int>(k % tile_length);
      block.ends_chunk = k + rows < p.n;
      block.firsts = has_firsts ? m_firsts + spill : nullptr;
      combine_slabs(m_registers, p.op, block);
      const int stored =
          rows + (stores_first || (p.extra == Extra::last && k + rows == p.n) ? 1 : 0);
      if (!is_direct) store_rows(c, width, stores_first ? -1 : k, stored, extent);
      const A* const last = block.b + (extent - 1) * block.b_row;
      std::copy(last, last + width, m_firsts + spill);
    }
    if (end == p.n && p.totals.data != nullptr) store_totals(c, width, m_firsts + spill);
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives, for each line, what the last chunk left behind
  void fold(const Coordinates& c, int width, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) {
    const auto wide = carrying(m_problem.op);
    for (int w = 0; w < width; ++w) chunks[w] = neutral(wide);
    set_state(chunks, width);
    const int most_rows = rows_of_block(width);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      SlabBlock<A, R> block =
          loaded({c, m_problem.n, k, rows, width, 1, m_dimension}, nothing_ahead);
      place_results(block, rows, nullptr);
      block.begin = static_cast<int>(k % tile_length);
      block.ends_chunk = k + rows < end;
      combine_slabs(m_registers, m_problem.op, block);
    }
    for (int w = 0; w < width; ++w) {
      const A total = m_state.folds()[w];
      last[w] = {m_state.chunks()[w], total};
      chunks[w] = wide(m_state.chunks()[w], static_cast<R>(total));
    }
  }

 private:
  /// The rows of a block of a long slab.
  static int rows_of_block(int width) {
    const int rows = std::max(capacity / width, pack_length);
    return rows >= chunk_length ? rows / chunk_length * chunk_length
                                : rows / pack_length * pack_length;
  }

  void set_state(const R* tiles, int width) {
    const auto wide = carrying(m_problem.op);
    const R none = neutral(wide);
    for (int w = 0; w < width; ++w) {
      m_state.tiles()[w] = tiles[w];
      m_state.chunks()[w] = none;
      m_state.carry()[w] = static_cast<A>(wide(tiles[w], none));
      m_state.folds()[w] = neutral(m_problem.op);
    }
  }

  /// Scans whole lines of slabs that follow each other, at most `most`; returns how many.
  int scan_whole(const Coordinates& c, int width, std::int64_t most) {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const bool is_exclusive = p.form == Form::exclusive;
    const int extent = n + (p.extra == Extra::none ? 0 : 1);
    // As many as fill a block; all of them at once where results follow each other.
    std::int64_t following = 1;
    if (m_dimension >= 0 && p.output.strides.batch[m_dimension] == std::int64_t{extent} * width &&
        is_dense(width)) {
      following = std::min(most, p.batch.extent[m_dimension] - c.index[m_dimension]);
    }
    int slabs = static_cast<int>(
        std::min<std::int64_t>(following, std::max(1, capacity / (extent * width))));
    const bool has_firsts = is_exclusive || p.extra == Extra::first;
    const bool has_totals = p.totals.data != nullptr;
    // B(n) has a place of its own where it is a total, or would reach into what is done.
    const bool descends = p.output.strides.along < 0;
    const int held =
        extent + (is_exclusive && p.extra == Extra::none && (has_totals || descends) ? 1 : 0);
    if (held > extent) slabs = std::min(slabs, std::max(1, capacity / (held * width)));
    const Rectangle r{c, n, 0, n, width, slabs, m_dimension};
    SlabBlock<A, R> block = loaded(r, usual_ahead());
    // Slabs that follow may be reached into.
    const bool is_direct = held == extent && !descends && slabs > 1 && may_be_direct(width) &&
                           (following - slabs) * extent * width >= spill + width;
    const std::int64_t first = p.extra == Extra::first ? -1 : 0;
    // Past the caches go lines of whole packs as they are computed.
    Value* const to = &p.output.line(c)(descends ? first + extent - 1 : first);
    block.streams = may_be_streamed(block, to) && !has_firsts && !has_totals && !descends;
    place_results(block, held, is_direct || block.streams ? to : nullptr);
    set_starts(c, width, slabs);
    block.begins_lines = true;
    block.starts = m_starts + spill;
    block.firsts = has_firsts ? m_firsts + spill : nullptr;
    block.starts_slab = has_common_start ? 0 : width;
    if (width == 1 && block.x_row == 1 && block.b_row == 1 && n > 1) {
      combine_short_lines(m_registers, p.op, block);
    } else {
      // Backward rows of a slab reach into the slab before, which is scanned later.
      if (block.b_row < 0) {
        block.x += (slabs - 1) * block.x_slab;
        block.b += (slabs - 1) * block.b_slab;
        block.starts += (slabs - 1) * block.starts_slab;
        if (has_firsts) block.firsts += (slabs - 1) * block.starts_slab;
        block.x_slab = -block.x_slab;
        block.b_slab = -block.b_slab;
        block.starts_slab = -block.starts_slab;
      }
      combine_slabs(m_registers, p.op, block);
    }
    const A* const results = is_direct ? block.b : m_results + spill;
    if (is_direct || block.streams) {
      // They are where they belong.
    } else if (slabs == 1) {
      store_rows(c, width, first, extent, held);
    } else {
      if (held == extent) {
        store_run(m_streams, results, slabs * extent * width, to);
      } else {
        for (int s = 0; s < slabs; ++s) {
          store_run(m_streams, results + (s * held + (descends ? held - extent : 0)) * width,
                    extent * width, to + std::int64_t{s} * extent * width);
        }
      }
    }
    for (int s = 0; has_totals && s < slabs; ++s) {
      Coordinates line = c;
      if (s > 0) line.index[m_dimension] += s;
      const int row = has_firsts ? n : n - 1;
      const int from_top = descends ? held - 1 - row : row;
      store_totals(line, width, results + (s * held + from_top) * width);
    }
    return slabs;
  }

  /// Whether rows of results follow each other without a gap.
  [[nodiscard]] bool is_dense(int width) const {
    return (m_problem.n == 1 && m_problem.extra == Extra::none) ||
           m_problem.output.strides.along == width || m_problem.output.strides.along == -width;
  }

  /// The elements of a rectangle, where they lie or loaded.
  SlabBlock<A, R> loaded(const Rectangle& r, const Ahead& ahead) {
    SlabBlock<A, R> block{};
    block.slabs = r.slabs;
    block.rows = r.rows;
    block.width = r.width;
    block.tiles = m_state.tiles();
    block.chunks = m_state.chunks();
    block.carry = m_state.carry();
    block.folds = m_state.folds();
    const std::int64_t of_slab = std::int64_t{r.rows} * r.width;
    const auto lies_at = [&](const A* lowest, int direction) {
      block.x_row = direction * r.width;
      block.x_slab = of_slab;
      block.x = direction < 0 ? lowest + (of_slab - r.width) : lowest;
    };
    const A* const run = as_stored_run<A>(m_problem.input, r);
    const int direction = direction_of_run(m_problem.input);
    if (run != nullptr && may_be_read_around(r)) {
      lies_at(run, direction);
      block.ahead = direction * ahead.elements;
      block.caches = ahead.caches;
      return block;
    }
    prefetch_run(m_problem.input, r, static_cast<int>(ahead.elements), ahead.caches);
    if (load_run<capacity>(m_problem.input, r, m_loaded + spill)) {
      lies_at(m_loaded + spill, direction);
    } else {
      for (int s = 0; s < r.slabs; ++s) {
        Coordinates c = r.c;
        if (s > 0) c.index[r.dimension] += s;
        A* const to = m_loaded + spill + s * of_slab;
        if (r.width == 1) {
          load_along<capacity>(m_problem.input.line(c), r.k, r.rows, to);
        } else {
          for (int i = 0; i < r.rows; ++i) {
            load_across<most_width>(m_problem.input, c, r.k + i, r.width, to + i * r.width);
          }
        }
      }
      lies_at(m_loaded + spill, 1);
    }
    return block;
  }

  /// Whether a register's elements before and behind a run exist, and are not results of others.
  [[nodiscard]] bool may_be_read_around(const Rectangle& r) const {
    const P& p = m_problem;
    if (r.width % spill == 0) return true;
    const std::int64_t of_slab = r.n * r.width;
    const std::int64_t slabs_before = r.rows < r.n || r.dimension < 0 ? 0 : r.c.index[r.dimension];
    const std::int64_t slabs_behind =
        r.rows < r.n || r.dimension < 0 ? 0 : p.batch.extent[r.dimension] - r.slabs - slabs_before;
    std::int64_t before = slabs_before * of_slab, behind = slabs_behind * of_slab;
    if (r.rows < r.n) {
      before = r.k * r.width;
      behind = (r.n - r.k - r.rows) * r.width;
    }
    if (p.output.strides.along < 0 && r.rows < r.n) std::swap(before, behind);
    return before >= spill && behind >= spill && !is_in_place(p.input, p.output.data);
  }

  /// Whether results may go to memory as they are computed.
  [[nodiscard]] bool may_be_direct(int width) const {
    return is_plain<A, Value> && !m_streams && is_dense(width) &&
           !is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether short lines of a block may be stored past the caches as they are computed.
  [[nodiscard]] bool may_be_streamed(const SlabBlock<A, R>& block, const Value* to) const {
    return m_streams && block.width == 1 && block.x_row == 1 && block.rows % pack_length == 0 &&
           (block.slabs == 1 || is_dense(1)) && m_problem.output.strides.along == 1 &&
           reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
  }

  /// Results of a block go to memory from `direct` on, or to L1, as they will lie in memory.
  void place_results(SlabBlock<A, R>& block, int extent, Value* direct) {
    const bool descends = m_problem.output.strides.along < 0;
    const std::int64_t of_slab = std::int64_t{extent} * block.width;
    block.b_row = descends ? -block.width : block.width;
    block.b_slab = of_slab;
    block.b = m_results + spill + (descends ? of_slab - block.width : 0);
    if constexpr (is_plain<A, Value>) {
      if (direct != nullptr) block.b = direct;
    }
  }

  /// Elements from memory are used once. Where results stay in the caches, elements may as well.
  [[nodiscard]] Ahead usual_ahead() const {
    return {ahead_bytes / sizeof(A), m_streams ? Caches::nearest : Caches::all};
  }

  /// Starting values, or neutral ones, and B(0) of all lines.
  void set_starts(const Coordinates& c, int width, int slabs) {
    const P& p = m_problem;
    if (has_common_start && m_starts_width == width) return;
    m_starts_width = width;
    for (int s = 0; s < (has_common_start ? 1 : slabs); ++s) {
      Coordinates line = c;
      if (s > 0) line.index[m_dimension] += s;
      for (int w = 0; w < width; ++w) {
        const Maybe<A> start = p.start.at(line);
        m_starts[spill + s * width + w] = start.exists ? start.value : neutral(p.op);
        m_firsts[spill + s * width + w] = start.exists ? start.value : p.identity.value;
        if (w + 1 < width) ++line.index[c.rank - 1];
      }
    }
  }

  /// Stores `rows` rows of a strip from k on; the block has `extent` of them.
  void store_rows(const Coordinates& c, int width, std::int64_t k, int rows, int extent) const {
    const auto line = m_problem.output.line(c);
    const bool descends = m_problem.output.strides.along < 0;
    const A* const lowest = m_results + spill + (descends ? (extent - rows) * width : 0);
    if (rows == 1 || line.stride == width || line.stride == -width) {
      store_run(m_streams, lowest, rows * width, &line(descends ? k + rows - 1 : k));
      return;
    }
    for (int i = 0; i < rows; ++i) {
      store_run(m_streams, lowest + i * width, width, &line(descends ? k + rows - 1 - i : k + i));
    }
  }

  void store_totals(const Coordinates& c, int width, const A* totals) const {
    Coordinates line = c;
    for (int w = 0; w < width; ++w) {
      m_problem.totals.line(line)(0) = static_cast<Total>(totals[w]);
      if (w + 1 < width) ++line.index[c.rank - 1];
    }
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
  bool m_has_rows;
  int m_dimension;  ///< of the batch, in which slabs are neighbours; negative where there is one
  int m_starts_width = 0;
  SlabState<A, R, most_width> m_state;
  alignas(64) A m_starts[most_starts];
  alignas(64) A m_firsts[most_starts];
  alignas(64) A m_loaded[capacity + 2 * spill];
  alignas(64) A m_results[capacity + most_width + 2 * spill];
};

}  // namespace KokkosScan::impl::host
