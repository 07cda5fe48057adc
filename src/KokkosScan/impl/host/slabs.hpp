// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans slabs: short lines, and neighbouring lines, of which a thread takes a strip. As many short
/// slabs as fill a block are taken at once, of others some rows.

#include <KokkosScan/impl/host/rows.hpp>
#include <KokkosScan/impl/host/scan_small_slabs.hpp>
#include <KokkosScan/impl/host/short_lines.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/slab_inputs.hpp>
#include <KokkosScan/impl/host/slab_results.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/small_slabs.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans or folds slabs, or strips of them of up to most_width lines, on one thread.
template <class P>
class Slabs : SlabInputs<P> {
  using Inputs = SlabInputs<P>;
  using typename Inputs::Op;
  using typename Inputs::Value;

 public:
  using Inputs::most_whole_row;
  using Inputs::most_width;
  using Inputs::start;
  using Inputs::strip;
  using typename Inputs::A;
  using typename Inputs::R;

 private:
  using Inputs::has_common_start;
  using Inputs::is_array;
  using Inputs::is_selected;
  using Inputs::m_dimension;
  using Inputs::m_first;
  using Inputs::m_firsts;
  using Inputs::m_loaded;
  using Inputs::m_problem;
  using Inputs::m_start;
  using Inputs::m_state;
  using Inputs::m_streams;
  using Inputs::margin;
  using Inputs::spill;
  /// Elements of a block, but where four rows have more.
  static constexpr int block_elements = (is_array ? block_bytes : loaded_block_bytes) / sizeof(A);

 public:
  /// \param has_rows whether the last dimension of the batch has neighbours in memory; else each
  ///                 line is a slab
  Slabs(const P& problem, Destination destination, Registers registers, bool has_rows)
      : Inputs(problem, is_plain<A, Value> && can_stream && destination == Destination::memory,
               has_rows),
        m_registers(registers),
        m_results(problem, m_streams) {}
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;
  ~Slabs() {
    if (m_streams) end_streaming();
  }

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    for (std::int64_t i = begin; i < end;) {
      const auto [c, width] = this->strip(i, strips_of_row);
      if (m_problem.n * width <= most_of_block(width)) {
        i += scan_whole(c, width, strips_of_row == 1 ? end - i : 1);
        continue;
      }
      this->set_starts(c, width, 1);
      scan_rows(c, width, 0, m_problem.n, true, this->usual_ahead());
      ++i;
    }
  }

  /// Scans elements begin ... end - 1, whole tiles except at the end of the lines.
  ///
  /// \param tiles  what comes before, the starting value included
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
  /// \param last   receives, for each line, what the last chunk left behind
  void fold(const Coordinates& c, int width, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) {
    const auto wide = carrying(m_problem.op);
    for (int w = 0; w < width; ++w) chunks[w] = neutral(wide);
    this->set_state(chunks, width);
    const int most_rows = rows_of_block(width);
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, most_rows));
      SlabBlock<A, R> block =
          this->loaded({c, m_problem.n, k, rows, width, 1, m_dimension}, nothing_ahead);
      m_results.place(block, rows, m_problem.output.strides.along < 0, nullptr);
      block.begin = static_cast<int>(k % tile_length);
      block.ends_chunk = k + rows < end;
      combine(block);
    }
    for (int w = 0; w < width; ++w) {
      const A total = m_state.folds()[w];
      last[w] = {m_state.chunks()[w], total};
      chunks[w] = wide(m_state.chunks()[w], static_cast<R>(total));
    }
  }

 private:
  void combine(const SlabBlock<A, R>& block) const {
    if (block.mask.selected != nullptr) {
      if constexpr (is_selected) {
        combine_rows<SelectedRows<A>>(m_registers, m_problem.op, block);
      }
    } else if (block.takes_rows) {
      combine_rows<ElementRows<A>>(m_registers, m_problem.op, block);
    } else {
      combine_slabs(m_registers, m_problem.op, block);
    }
  }

  /// Whether lines are combined row by row: those of wide rows, of wider ones whose results have
  /// gaps between them, or of narrower strips of which a mask selects elements.
  [[nodiscard]] bool takes_rows(int width) const {
    if (width == 1) return false;  // also where the batch has no dimension
    const Batch& batch = m_problem.batch;
    const bool is_whole = batch.extent[batch.rank - 1] == width;
    if (is_selected && !is_whole) return width >= least_selected_strip<A>;
    const bool have_gaps = m_results.may_keep_gaps(width) && is_whole;
    return width >= (have_gaps ? least_row_with_gaps<A> : least_row<A>);
  }

  /// As that of Inputs. Where gaps between rows of results stay as they are, no register reads
  /// behind a row of elements either.
  [[nodiscard]] SlabBlock<A, R> loaded(const Rectangle& r, const Ahead& ahead, int around = spill) {
    SlabBlock<A, R> block = Inputs::loaded(r, ahead, around, takes_rows(r.width));
    block.keeps_gaps = !block.takes_rows && m_results.may_keep_gaps(r.width);
    return block;
  }

  /// Rows of a block of a long slab.
  [[nodiscard]] int rows_of_block(int width) const {
    if (takes_rows(width)) return std::max(block_elements / width, 1);
    const int rows = std::max(block_elements / width, pack_length);
    return rows >= chunk_length ? rows / chunk_length * chunk_length
                                : rows / pack_length * pack_length;
  }

  /// Elements that are one block rather than one and the rest of one.
  [[nodiscard]] std::int64_t most_of_block(int width) const {
    const int most = std::min(block_elements * 3 / 2, Inputs::most_elements);
    return width > 1 && !takes_rows(width) ? most : block_elements;
  }

  /// Scans elements begin ... end - 1 of a strip, some rows at a time.
  ///
  /// \param begins_lines whether starting values come before; else the state says what does
  void scan_rows(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                 bool begins_lines, const Ahead& ahead) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    const bool is_ahead = is_exclusive && !is_in_place(p.input, p.output.data);
    // Rows that neither are loaded nor wait for their place need no blocks.
    const bool is_free = takes_rows(width) && is_plain<A, Value> && this->has_stored_rows(c) &&
                         (is_ahead || !is_exclusive);
    // Nothing needs the last element of an exclusive line, unless its result takes its place.
    const bool skips_last = is_ahead && end == p.n && end - begin > 1 && p.extra == Extra::none &&
                            p.totals.data == nullptr;
    if (skips_last) --end;
    const bool has_last = !is_exclusive || skips_last || (end == p.n && p.extra == Extra::last);
    for (std::int64_t k = begin; k < end;) {
      std::int64_t rows = std::min<std::int64_t>(end - k, is_free ? 1 << 30 : rows_of_block(width));
      if (!is_free && (end - k) * width <= most_of_block(width)) rows = end - k;
      if (is_free && !has_last && rows == end - k && rows > 1) --rows;
      scan_block(c, {begin, end, has_last, k}, static_cast<int>(rows), width,
                 begins_lines && k == begin, ahead);
      k += rows;
    }
    if (end == p.n && p.totals.data != nullptr) m_results.store_totals(c, width, m_first + spill);
  }

  /// The elements of a part, whether the result behind its last one has a place, and the first of a
  /// block.
  struct Part {
    std::int64_t begin, end;
    bool has_last;
    std::int64_t k;
  };

  /// Scans `rows` rows of a strip.
  [[gnu::noinline]] void scan_block(const Coordinates& c, const Part& part, int rows, int width,
                                    bool begins_lines, const Ahead& ahead) {
    const P& p = m_problem;
    const std::int64_t k = part.k;
    const bool is_exclusive = p.form == Form::exclusive;
    const bool stores_first = k == 0 && p.extra == Extra::first;
    // Exclusive results stand a row later; the last of a part may have no place there.
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
      // Rows that follow in the same part may be reached into.
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
    const bool is_stored = is_direct || stored == 0 ||
                           (!is_wide && m_results.is_dense(width) &&
                            m_results.stream(block.run, skipped, stored * width,
                                             &results(descends ? first + stored - 1 : first), 1));
    combine(block);
    if (!is_stored) m_results.store_rows(c, width, descends, first, stored, extent);
    const bool is_read =
        (is_exclusive && !is_ahead) || (k + rows == p.n && p.totals.data != nullptr);
    if (is_read) {
      const A* const last = block.b + (extent - 1) * block.b_row;
      std::copy(last, last + width, m_first + spill);
      m_firsts = 0;
    }
  }

  /// Scans whole lines of slabs that follow each other, at most `most`; returns how many.
  int scan_whole(const Coordinates& c, int width, std::int64_t most) {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const bool is_exclusive = p.form == Form::exclusive;
    const int extent = n + (p.extra == Extra::none ? 0 : 1);
    const bool is_wide = takes_rows(width);
    // As many as fill a block; wide ones only where results follow each other.
    const std::int64_t slab = m_dimension < 0 ? 0 : p.output.strides.batch[m_dimension];
    const bool are_dense = slab == std::int64_t{extent} * width && m_results.is_dense(width);
    std::int64_t following = 1;
    if (m_dimension >= 0 && (are_dense || !is_wide)) {
      following = std::min(most, p.batch.extent[m_dimension] - c.index[m_dimension]);
    }
    int slabs = static_cast<int>(
        std::min<std::int64_t>(following, std::max(1, block_elements / (extent * width))));
    const bool has_firsts = is_exclusive || p.extra == Extra::first;
    const bool has_totals = p.totals.data != nullptr;
    // B(n) has a place of its own where it is a total, or would reach into what is done; in rows
    // it is left out otherwise.
    const bool descends = p.output.strides.along < 0;
    const bool leaves_last = is_exclusive && p.extra == Extra::none;
    // Backward lines are scanned in the opposite order, in which all that is one run upwards.
    const bool may_be_small = slabs > 1 && n <= most_small_rows && width <= most_small_width &&
                              has_common_start && p.extra == Extra::none &&
                              m_registers == most_registers;
    const bool are_short_lines = width == 1 && n > 1 && n <= tile_length;
    const bool reverses = descends && are_short_lines && m_results.is_dense(1) && !may_be_small;
    const bool reaches_back = descends && !is_wide && !reverses;
    const int held = extent + (leaves_last && (has_totals || reaches_back) ? 1 : 0);
    if (held > extent) slabs = std::min(slabs, std::max(1, block_elements / (held * width)));
    const bool is_free = is_wide && is_plain<A, Value> && !has_totals &&
                         !(has_firsts && is_in_place(p.input, p.output.data));
    if (is_free && has_common_start) {
      // What is not loaded needs no blocks.
      const auto all = static_cast<int>(std::min<std::int64_t>(following, 1 << 20));
      if (is_selected
              ? this->has_stored_rows(c)
              : as_stored_run<A>(p.input, {c, n, 0, n, width, all, m_dimension}) != nullptr) {
        slabs = all;
      }
    }
    const Rectangle r{c, n, 0, n, width, slabs, m_dimension};
    SlabBlock<A, R> block =
        reverses ? this->reversed(r, this->usual_ahead())
                 : this->loaded(r, this->usual_ahead(), may_be_small ? margin : spill);
    if (may_be_small && (n == 1 || (block.x_row < 0) == descends)) {
      scan_small_slabs(p, c, block, are_dense, m_streams, m_dimension, m_second_rows, m_results);
      return slabs;
    }
    const bool keeps_gaps = block.keeps_gaps && n > 1 && held == extent && !has_totals;
    // Slabs that follow may be reached into.
    const bool is_direct =
        is_wide ? is_free
                : keeps_gaps || (held == extent && !descends && slabs > 1 && are_dense &&
                                 m_results.may_be_direct() &&
                                 (following - slabs) * extent * width >= spill + width);
    const std::int64_t first = p.extra == Extra::first ? -1 : 0;
    // Past the caches go lines of whole packs as they are computed.
    Value* const to = &p.output.line(c)(descends ? first + extent - 1 : first);
    block.streams = is_wide ? is_direct && m_streams
                            : (slabs == 1 || are_dense) && m_results.may_be_streamed(block, to) &&
                                  !has_firsts && !has_totals && !descends;
    if ((is_wide || keeps_gaps) && leaves_last && !has_totals) --block.rows;
    m_results.place(block, held, descends && !reverses, is_direct || block.streams ? to : nullptr);
    if (is_wide ? is_direct : keeps_gaps) m_results.place_rows(block, c, first);
    if (keeps_gaps) block.b_slab = slab;
    this->set_starts(c, width, slabs);
    block.begins_lines = true;
    block.starts = m_start + spill;
    block.firsts = has_firsts ? m_first + spill : nullptr;
    block.starts_slab = has_common_start ? 0 : width;
    if (descends) {
      // Rows of a slab that reach into the slab before: that is scanned later.
      if (!reverses) block.reverse_slabs();
      block.starts += (slabs - 1) * block.starts_slab;
      if (has_firsts) block.firsts += (slabs - 1) * block.starts_slab;
      block.starts_slab = -block.starts_slab;
    }
    // Results follow each other, as they lie in memory or, of lines that are reversed, in the
    // opposite order.
    const bool is_run = held == extent && (slabs > 1 ? are_dense : m_results.is_dense(width));
    const int count = slabs * extent * width;
    const int step = reverses ? -1 : 1;
    Value* const of_first = reverses ? to + (count - 1) : to;
    const bool is_stored =
        is_direct || block.streams ||
        (is_run && !is_wide && m_results.stream(block.run, 0, count, of_first, step));
    if (are_short_lines && block.x_row == 1 && block.b_row == 1) {
      combine_short_lines(m_registers, p.op, block);
    } else {
      combine(block);
    }
    const A* const results = is_direct ? block.b : m_results.values();
    const auto of_slab = [&](int s) {
      return results + (reverses ? slabs - 1 - s : s) * held * width;
    };
    if (is_stored) {
      // The kernel has done it.
    } else if (is_run) {
      store_run(m_streams, results, count, of_first, step);
    } else if (slabs == 1 && !reverses) {
      m_results.store_rows(c, width, descends, first, extent, held);
    } else if (!are_dense && !reverses) {
      m_results.store_slabs(of_slab(0) + (descends ? (held - extent) * width : 0),
                            std::int64_t{held} * width, slabs, extent, width, to, slab);
    } else {
      for (int s = 0; s < slabs; ++s) {
        store_run(m_streams && are_dense,
                  of_slab(s) + (descends && !reverses ? (held - extent) * width : 0),
                  extent * width, to + s * slab + (reverses ? extent - 1 : 0), step);
      }
    }
    for (int s = 0; has_totals && s < slabs; ++s) {
      Coordinates line = c;
      if (s > 0) line.index[m_dimension] += s;
      const int row = has_firsts ? n : n - 1;
      m_results.store_totals(line, width,
                             of_slab(s) + (descends && !reverses ? held - 1 - row : row) * width);
    }
    return slabs;
  }

  Registers m_registers;
  SecondRows<A> m_second_rows;
  SlabResults<P, 2 * Inputs::most_elements> m_results;
};

}  // namespace KokkosScan::impl::host
