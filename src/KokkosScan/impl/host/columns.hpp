// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans slabs: rows of neighbouring lines, of which a thread takes all or a strip, and short
/// lines, each of which is a slab of its own. Slabs that fit L1 are taken as a whole, as many as
/// fill it, others some rows at a time. Results wait in L1 and leave in the order of memory.

#include <KokkosScan/impl/host/column_elements.hpp>
#include <KokkosScan/impl/host/column_kernels.hpp>
#include <KokkosScan/impl/host/short_lines.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans or folds slabs, or strips of up to most_width lines of them, on one thread.
template <class P>
class Columns : ColumnElements<P> {
  using Elements = ColumnElements<P>;
  using Elements::line_at, Elements::load, Elements::most, Elements::spill;
  using Elements::m_dimension, Elements::m_problem, Elements::m_x, Elements::m_y;
  using Op = typename Combination<P>::Op;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

 public:
  using Elements::most_of_block;
  using typename Elements::A;
  using typename Elements::R;
  /// Maximum width of a strip.
  static constexpr int most_width = strip_bytes / sizeof(A);

  /// \param has_rows whether lines are neighbours in memory in the last dimension of the batch; if
  ///                 not, each line is a slab
  Columns(const P& problem, Destination destination, Registers registers, bool has_rows)
      : Elements(problem, has_rows),
        m_registers(registers),
        m_streams(may_stream<Value> && destination == Destination::memory),
        m_has_rows(has_rows),
        m_descends(problem.output.strides.along < 0 &&
                   (problem.n > 1 || problem.extra != Extra::none)) {}

  /// Strip number `index`, where each row of neighbouring lines is cut into `strips_of_row`: the
  /// coordinates of its first line, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index,
                                                  std::int64_t strips_of_row) const {
    const Batch& batch = m_problem.batch;
    if (!m_has_rows) return {coordinates_of(batch, index), 1};
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width =
        strips_of_row == 1 ? lines_of_row : cut_width(lines_of_row, strips_of_row);
    const std::int64_t first = index % strips_of_row * width;
    return {coordinates_of(batch, index / strips_of_row * lines_of_row + first),
            static_cast<int>(std::min(lines_of_row - first, width))};
  }

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    for (std::int64_t i = begin; i < end;) {
      const auto [c, width] = strip(i, strips_of_row);
      if (m_problem.n * width <= most) {
        i += scan_whole(c, width, strips_of_row == 1 ? end - i : 1);
        continue;
      }
      load_starts(m_problem, c, width, m_tiles + spill, m_first + spill);
      scan_rows(c, width, 0, m_problem.n);
      ++i;
    }
  }

  /// Scans elements begin ... end - 1, whole tiles except at the end of the lines.
  ///
  /// \param prefix a PrefixOfPart, which includes starting values
  void scan_part(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                 const auto& prefix, std::int64_t) {
    std::copy_n(prefix.tiles, width, m_tiles + spill);
    std::copy_n(prefix.before, width, m_first + spill);
    scan_rows(c, width, begin, end);
  }

  /// Folds elements begin ... end - 1 of a tile. `last` receives the last chunk of each line.
  void fold(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
            LastChunk<A, R>* last) {
    begin_strip(width);
    const int most_rows = std::max(most / width / chunk_length * chunk_length, chunk_length);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      for (int w = 0; w < width;) {
        const int lines = next_segment(width - w, most / rows);
        SlabBlock<A, R> block{{}, {}, 1, rows, lines};
        block.state = state_of(w);
        load(block, line_at(c, w), k);
        fold_slab(m_registers, m_problem.op, block);
        w += lines;
      }
    }
    for (int w = 0; w < width; ++w) last[w] = {m_chunks[spill + w], m_folds[spill + w]};
  }

 private:
  [[nodiscard]] StateOfLines<A, R> state_of(int w) {
    return {m_folds + spill + w, m_carry + spill + w, m_tiles + spill + w, m_chunks + spill + w};
  }
  /// Sets the state at the beginning of a tile. m_tiles has the prefixes.
  [[gnu::noinline]] void begin_strip(int width) {
    std::fill_n(m_folds + spill, width, neutral(m_problem.op));
    std::fill_n(m_chunks + spill, width, neutral(carrying(m_problem.op)));
    convert(m_tiles + spill, width, m_carry + spill);
  }
  /// The next lines of a row, at most `most_lines`; never fewer than a register has, unless the
  /// whole row has fewer.
  static int next_segment(int left, int most_lines) {
    const int length = std::max(most_lines / spill, 1) * spill;
    if (left <= std::max(most_lines, length)) return left;
    return left < length + spill ? length - spill > 0 ? length - spill : left : length;
  }

  // ---- Slabs of whole lines ---------------------------------------------------------------------

  /// Scans whole lines of at most `most_slabs` consecutive slabs; returns the number of slabs.
  std::int64_t scan_whole(const Coordinates& c, int width, std::int64_t most_slabs) {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const bool has_totals = p.totals.data != nullptr;
    const bool has_first = p.form == Form::exclusive || p.extra == Extra::first;
    const int extent = n + (p.extra == Extra::none ? 0 : 1);
    // B(n) of exclusive lines needs a place of its own if it is a total.
    const bool leaves_last = p.form == Form::exclusive && p.extra == Extra::none;
    const int held = extent + (leaves_last && has_totals ? 1 : 0);
    const int of_slab = held * width;
    std::int64_t following = 1;
    if (m_dimension >= 0) {
      following = std::min(most_slabs, p.batch.extent[m_dimension] - c.index[m_dimension]);
    }
    const auto slabs = static_cast<int>(std::clamp<std::int64_t>(most / of_slab, 1, following));
    const bool are_lines = width == 1 && n > 1 && std::abs(p.output.strides.along) == 1;
    // Backward short lines are scanned last line first, so that all of them are one upward run.
    const bool reverses = m_descends && are_lines;
    SlabBlock<A, R> block{{}, {}, slabs, n, width};
    load(block, c, 0, reverses);
    set_starts(c, width, slabs, reverses || m_descends);
    A* const firsts = has_common_start<P> ? m_firsts : m_starts;
    block.starts = {m_starts + spill, has_first ? firsts + spill : nullptr,
                    has_common_start<P> ? 0 : width};
    A* const results = m_y + most + spill;
    if (m_descends && !reverses) {
      // Rows may exceed their slab below, so that the slab there is scanned later.
      block.x.data += (slabs - 1) * block.x.slab;
      block.x.slab = -block.x.slab;
      block.b = {results + slabs * of_slab - (has_first ? 2 : 1) * width, -width, -of_slab};
    } else {
      block.b = {results + (has_first ? width : 0), width, of_slab};
    }
    if (are_lines) {
      combine_lines(m_registers, p.op, block, m_folds);
    } else {
      combine_slabs(m_registers, p.op, block);
    }
    // If B(n) is there for the total only, it is skipped.
    const int skipped = m_descends && !reverses ? (held - extent) * width : 0;
    Value* const lowest =
        &p.output.line(c)((p.extra == Extra::first ? -1 : 0) + (m_descends ? extent - 1 : 0));
    if (reverses) {
      store_reversed(results, held, extent, slabs, lowest);
    } else {
      store({results + skipped, of_slab, slabs, extent, width}, lowest);
    }
    if (has_totals) {
      const int last = m_descends && !reverses ? 0 : (n - 1 + (has_first ? 1 : 0)) * width;
      const int first = reverses ? (slabs - 1) * of_slab : 0;
      store_totals(c, slabs, width, results + first + last, reverses ? -of_slab : of_slab);
    }
    return slabs;
  }

  /// Sets the starting values (or neutral ones) and B(0) of all lines of several slabs.
  void set_starts(const Coordinates& c, int width, int slabs, bool reverses) {
    if constexpr (has_common_start<P>) {
      if (m_started >= width) return;
      m_started = width;
      load_starts(m_problem, c, width, m_starts + spill, m_firsts + spill);
    } else {
      // Single lines are neighbours in the last dimension.
      const int rows = width == 1 ? 1 : slabs;
      const int row = width == 1 ? slabs : width;
      Coordinates first = c;
      for (int s = 0; s < rows; ++s) {
        A* const to = m_starts + spill + (reverses ? rows - 1 - s : s) * row;
        load_across<most_starts<A>>(m_problem.start.values, first, 0, row, to);
        if (s + 1 < rows) ++first.index[m_dimension];
      }
      if (reverses && width == 1) std::reverse(m_starts + spill, m_starts + spill + slabs);
    }
  }

  // ---- Strips, some rows at a time --------------------------------------------------------------

  /// Scans elements begin ... end - 1 of a strip. m_tiles has the prefixes, m_first B(begin).
  void scan_rows(const Coordinates& c, int width, std::int64_t begin, std::int64_t end) {
    const P& p = m_problem;
    begin_strip(width);
    int most_rows = std::max(most / width, pack_length);
    most_rows -= most_rows % (most_rows < chunk_length ? pack_length : chunk_length);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      for (int w = 0; w < width;) {
        const int lines = next_segment(width - w, most / most_rows);
        scan_block(line_at(c, w), k, rows, w, lines);
        w += lines;
      }
    }
    if (end == p.n && p.totals.data != nullptr) store_totals(c, 1, width, m_first + spill, 0);
  }

  /// Scans rows k ... k + rows - 1 of lines w ... w + width - 1 of a strip.
  void scan_block(const Coordinates& c, std::int64_t k, int rows, int w, int width) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    const bool stores_first = k == 0 && p.extra == Extra::first;
    const bool has_first = is_exclusive || stores_first;
    const int stored = rows + (stores_first || (k + rows == p.n && p.extra == Extra::last) ? 1 : 0);
    SlabBlock<A, R> block{{}, {}, 1, rows, width};
    load(block, c, k);
    block.begin = static_cast<int>(k % tile_length);
    block.state = state_of(w);
    A* const results = m_y + most + spill;
    const std::int64_t row = m_descends ? -width : width;
    block.b = {results + (m_descends ? (rows - 1) * width : width), row, 0};
    if (has_first) block.starts.firsts = m_first + spill + w;
    combine_slabs(m_registers, p.op, block);
    const A* const first = has_first ? block.b.data - row : block.b.data;
    const std::int64_t place = stores_first ? -1 : k;
    const int last = stored - 1;
    store({m_descends ? first + last * row : first, 0, 1, stored, width},
          &p.output.line(c)(m_descends ? place + last : place));
    if (is_exclusive || k + rows == p.n) {
      std::copy_n(block.b.data + (rows - 1) * row, width, m_first + spill + w);
    }
  }

  // ---- Results ----------------------------------------------------------------------------------

  /// Stores results in memory order from `to` on.
  void store(const DenseRows<A>& results, Value* to) const {
    const std::int64_t slab = results.slabs > 1 ? m_problem.output.strides.batch[m_dimension] : 0;
    store_rows(m_streams, results, slab, m_problem.output.strides.along, to);
  }
  /// Stores `extent` results of each of several lines, in L1 `held` apart and last line first.
  void store_reversed(const A* results, int held, int extent, int lines, Value* lowest) const {
    const std::int64_t line = lines > 1 ? m_problem.output.strides.batch[m_dimension] : 0;
    if (m_problem.output.strides.along == -1 && held == extent && (lines == 1 || line == extent)) {
      return store_run(m_streams, results, lines * extent, lowest + (lines * extent - 1), -1);
    }
    for (int s = 0; s < lines; ++s) {
      store_run(m_streams, results + (lines - 1 - s) * held, extent,
                lowest + s * line + (extent - 1), -1);
    }
  }
  /// Stores the totals of lines, in L1 `distance` apart from slab to slab.
  void store_totals(const Coordinates& c, int slabs, int width, const A* totals,
                    int distance) const {
    const Array<Total>& to = m_problem.totals;
    const std::int64_t slab = slabs > 1 ? to.strides.batch[m_dimension] : 0;
    const std::int64_t next = width > 1 ? to.strides.batch[c.rank - 1] : 0;
    Total* of_slab = &to.line(c)(0);
    for (int s = 0; s < slabs; ++s, totals += distance, of_slab += slab) {
      for (int w = 0; w < width; ++w) of_slab[w * next] = static_cast<Total>(totals[w]);
    }
  }

  const Registers m_registers;
  const bool m_streams;
  const bool m_has_rows;  ///< whether lines have neighbours in memory
  const bool m_descends;  ///< whether results of a line lie downwards in memory
  int m_started = 0;      ///< the number of lines with valid m_starts
  // Before and behind each array there is space for the registers of rows that exceed them.
  A m_starts[most + 2 * spill], m_firsts[most + 2 * spill];
  alignas(page_bytes) A m_folds[most_width + 2 * spill];
  alignas(cache_line) A m_carry[most_width + 2 * spill];
  alignas(cache_line) R m_tiles[most_width + 2 * spill];
  alignas(cache_line) R m_chunks[most_width + 2 * spill];
  alignas(cache_line) A m_first[most_width + 2 * spill];
};

}  // namespace KokkosScan::impl::host
