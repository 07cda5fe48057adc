// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans slabs: short lines, and neighbouring lines, of which a thread takes a strip. Short slabs
/// are taken as a whole, as many as fill a block (whole_slabs.hpp), others some rows at a time.

#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/host/whole_slabs.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Scans or folds slabs, or strips of up to most_width lines of them, on one thread.
template <class P>
class Slabs : WholeSlabs<P> {
  using Blocks = WholeSlabs<P>;
  using typename Blocks::Value;

 public:
  using Blocks::most_whole_row;
  using Blocks::most_width;
  using Blocks::start;
  using Blocks::strip;
  using typename Blocks::A;
  using typename Blocks::R;

 private:
  using Blocks::block_elements;
  using Blocks::m_dimension;
  using Blocks::m_first;
  using Blocks::m_firsts;
  using Blocks::m_problem;
  using Blocks::m_results;
  using Blocks::m_start;
  using Blocks::m_state;
  using Blocks::m_streams;
  using Blocks::spill;
  using Blocks::takes_rows;

 public:
  /// \param has_rows whether lines are neighbours in memory in the last dimension of the batch; if
  ///                 not, each line is a slab
  Slabs(const P& problem, Destination destination, Registers registers, bool has_rows)
      : Blocks(problem, destination, registers, has_rows) {}

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    for (std::int64_t i = begin; i < end;) {
      const auto [c, width] = this->strip(i, strips_of_row);
      if (m_problem.n * width <= this->most_of_block(width)) {
        i += this->scan_whole(c, width, strips_of_row == 1 ? end - i : 1);
        continue;
      }
      this->set_starts(c, width, 1);
      scan_rows(c, width, 0, m_problem.n, true, this->usual_ahead());
      ++i;
    }
  }

  /// Scans elements begin ... end - 1, whole tiles except at the end of the lines.
  ///
  /// \param tiles  the prefixes, including starting values
  /// \param before B(begin)
  void scan_part(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                 const R* tiles, const A* before, const Ahead& ahead) {
    this->set_state(tiles, width);
    std::copy(before, before + width, m_first + spill);
    m_firsts = 0;
    scan_rows(c, width, begin, end, false, {ahead.elements * width, ahead.caches});
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives the last chunk of each line
  void fold(const Coordinates& c, int width, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) {
    const auto wide = carrying(m_problem.op);
    std::fill_n(m_state.folds(), width, neutral(m_problem.op));
    std::fill_n(m_state.chunks(), width, neutral(wide));
    const int most_rows =
        std::max(block_elements / width / chunk_length * chunk_length, chunk_length);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      this->fold_block(
          this->loaded({c, m_problem.n, k, rows, width, 1, m_dimension}, nothing_ahead));
    }
    for (int w = 0; w < width; ++w) {
      const A total = m_state.folds()[w];
      last[w] = {m_state.chunks()[w], total};
      chunks[w] = wide(m_state.chunks()[w], static_cast<R>(total));
    }
  }

 private:
  /// Rows of a block of a long slab.
  [[nodiscard]] int rows_of_block(int width) const {
    if (takes_rows(width)) return std::max(block_elements / width, 1);
    const int rows = std::max(block_elements / width, pack_length);
    return rows >= chunk_length ? rows / chunk_length * chunk_length
                                : rows / pack_length * pack_length;
  }

  /// Scans elements begin ... end - 1 of a strip, some rows at a time.
  ///
  /// \param begins_lines whether starting values come first; else the state precedes the elements
  void scan_rows(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                 bool begins_lines, const Ahead& ahead) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    const bool is_ahead = is_exclusive && !is_in_place(p.input, p.output.data);
    // Rows that are neither loaded nor staged need no blocks.
    const bool is_free = takes_rows(width) && is_plain<A, Value> && this->has_stored_rows(c) &&
                         (is_ahead || !is_exclusive);
    // The last element of an exclusive line is not needed, except in place.
    const bool skips_last = is_ahead && end == p.n && end - begin > 1 && p.extra == Extra::none &&
                            p.totals.data == nullptr;
    if (skips_last) --end;
    const bool has_last = !is_exclusive || skips_last || (end == p.n && p.extra == Extra::last);
    const bool rewinds = !takes_rows(width) && m_results.may_rewind(width);
    for (std::int64_t k = begin; k < end;) {
      std::int64_t rows = std::min<std::int64_t>(end - k, is_free ? 1 << 30 : rows_of_block(width));
      if (!is_free && (end - k) * width <= this->most_of_block(width)) {
        rows = end - k;
      } else if (rewinds) {
        const auto left = static_cast<int>(std::min<std::int64_t>(end - k, 1 << 30));
        rows = std::max(rows, this->most_in_place({c, p.n, k, left, width, 1, m_dimension}));
      }
      if (is_free && !has_last && rows == end - k && rows > 1) --rows;
      scan_block(c, {begin, end, has_last, rewinds, k}, static_cast<int>(rows), width,
                 begins_lines && k == begin, ahead);
      k += rows;
    }
    if (end == p.n && p.totals.data != nullptr) m_results.store_totals(c, width, m_first + spill);
  }

  /// A part of a strip: its elements, whether the result behind its last element is stored, whether
  /// results share one page in turn, and the first element of the current block.
  struct Part {
    std::int64_t begin, end;
    bool has_last, rewinds;
    std::int64_t k;
  };

  /// Scans `rows` rows of a strip.
  [[gnu::noinline]] void scan_block(const Coordinates& c, const Part& part, int rows, int width,
                                    bool begins_lines, const Ahead& ahead) {
    const P& p = m_problem;
    const std::int64_t k = part.k;
    const bool is_exclusive = p.form == Form::exclusive;
    const bool stores_first = k == 0 && p.extra == Extra::first;
    // Exclusive results are one row later; behind the last row of a part there may be no place.
    const bool is_ahead = is_exclusive && !is_in_place(p.input, p.output.data);
    const bool ends_part = k + rows == part.end;
    const bool has_last = !is_exclusive || (ends_part ? part.has_last : is_ahead);
    const bool has_firsts = stores_first || (is_exclusive && (k == part.begin || !is_ahead));
    const std::int64_t first = stores_first ? -1 : is_exclusive && !has_firsts ? k + 1 : k;
    const int extent = rows + (has_firsts ? 1 : 0);

    SlabBlock<A, R> block = this->loaded({c, p.n, k, rows, width, 1, m_dimension}, ahead);
    const bool is_wide = block.takes_rows;
    const ArrayLine<Value> results = p.output.line(c);
    const bool descends = results.stride < 0;
    bool is_direct = is_plain<A, Value> && has_last && (!is_exclusive || is_ahead);
    if (is_wide) {
      block.streams = is_direct && m_streams;
    } else if (m_streams && m_results.is_dense(width)) {
      is_direct = false;
    } else if (!block.keeps_gaps && width % spill != 0) {
      // Registers may only extend into rows of the same part.
      is_direct = is_direct && (part.end - k - rows - 1) * width >= spill &&
                  m_results.is_dense(width) && m_results.may_be_direct();
    }
    if (is_direct) {
      m_results.place_rows(block, c, first);
    } else {
      m_results.place(block, extent, descends, nullptr);
    }
    block.begin = static_cast<int>(k % tile_length);
    block.begins_lines = begins_lines;
    block.ends_chunk = k + rows < p.n;
    block.starts = m_start + spill;
    block.firsts = has_firsts ? m_first + spill : nullptr;
    const int stored = extent - (has_last ? 0 : 1);
    const int skipped = descends ? (extent - stored) * width : 0;
    Value* const lowest = &results(descends ? first + stored - 1 : first);
    if (part.rewinds) m_results.stream_rewinding(block, stored * width, lowest);
    const bool is_stored = is_direct || stored == 0 || part.rewinds ||
                           (!is_wide && m_results.is_dense(width) &&
                            m_results.stream(block.run, skipped, stored * width, lowest, 1));
    this->combine(block);
    if (!is_stored) m_results.store_rows(c, width, descends, first, stored, extent);
    const bool is_read =
        (is_exclusive && !is_ahead) || (k + rows == p.n && p.totals.data != nullptr);
    if (is_read) {
      const A* const last = block.b + (extent - 1) * block.b_row;
      std::copy(last, last + width, m_first + spill);
      m_firsts = 0;
    }
  }
};

}  // namespace KokkosScan::impl::host
