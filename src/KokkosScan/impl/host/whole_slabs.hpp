// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans short slabs as a whole, as many as fill a block; combines blocks of all slabs.

#include <KokkosScan/impl/host/fold_slab.hpp>
#include <KokkosScan/impl/host/rows.hpp>
#include <KokkosScan/impl/host/rows_in_registers.hpp>
#include <KokkosScan/impl/host/scan_small_slabs.hpp>
#include <KokkosScan/impl/host/short_lines.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/slab_inputs.hpp>
#include <KokkosScan/impl/host/slab_results.hpp>
#include <KokkosScan/impl/host/small_slabs.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The blocks of one thread, and the scan of whole lines that fit one block.
template <class P>
class WholeSlabs : protected SlabInputs<P> {
  using Inputs = SlabInputs<P>;

 public:
  using typename Inputs::A;
  using typename Inputs::R;

 protected:
  using Inputs::has_common_start;
  using Inputs::is_array;
  using Inputs::is_masked_array;
  using Inputs::m_dimension;
  using Inputs::m_first;
  using Inputs::m_firsts;
  using Inputs::m_problem;
  using Inputs::m_start;
  using Inputs::m_streams;
  using Inputs::margin;
  using Inputs::spill;
  using typename Inputs::Value;
  /// Elements of a block, unless four rows have more.
  static constexpr int block_elements = (is_array ? block_bytes : loaded_block_bytes) / sizeof(A);

  WholeSlabs(const P& problem, Destination destination, Registers registers, bool has_rows)
      : Inputs(problem, is_plain<A, Value> && can_stream && destination == Destination::memory,
               has_rows),
        m_registers(registers),
        m_results(problem, m_streams) {}
  WholeSlabs(const WholeSlabs&) = delete;
  WholeSlabs& operator=(const WholeSlabs&) = delete;
  ~WholeSlabs() {
    if (m_streams) end_streaming();
  }

  /// Scans whole lines of at most `most` consecutive slabs; returns the number of slabs.
  int scan_whole(const Coordinates& c, int width, std::int64_t most) {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const Whole w = plan_whole(c, width, most);
    const bool has_totals = p.totals.data != nullptr;
    const bool descends = p.output.strides.along < 0;
    const Rectangle r{c, n, 0, n, width, w.slabs, m_dimension};
    SlabBlock<A, R> block =
        w.reverses ? this->reversed(r, this->usual_ahead())
                   : this->loaded(r, this->usual_ahead(), w.may_be_small ? margin : spill);
    if (w.may_be_small && (n == 1 || (block.x_row < 0) == descends)) {
      scan_small_slabs(p, c, block, w.are_dense, m_streams, m_dimension, m_second_rows, m_results);
      return w.slabs;
    }
    const bool keeps_gaps = block.keeps_gaps && n > 1 && w.held == w.extent && !has_totals;
    // Registers may extend into slabs that are scanned later.
    const bool is_direct =
        w.is_wide ? w.is_free
                  : keeps_gaps || (w.held == w.extent && !descends && w.are_dense &&
                                   m_results.may_be_direct() &&
                                   (w.following - w.slabs) * w.extent * width >= spill + width);
    const std::int64_t first = p.extra == Extra::first ? -1 : 0;
    // Lines of whole packs can be written with non-temporal stores as they are computed.
    Value* const to = &p.output.line(c)(descends ? first + w.extent - 1 : first);
    block.streams = w.is_wide
                        ? is_direct && m_streams
                        : (w.slabs == 1 || w.are_dense) && m_results.may_be_streamed(block, to) &&
                              !w.has_firsts && !has_totals && !descends;
    if ((w.is_wide || keeps_gaps) && leaves_last() && !has_totals) --block.rows;
    m_results.place(block, w.held, descends && !w.reverses,
                    is_direct || block.streams ? to : nullptr);
    if (w.is_wide ? is_direct : keeps_gaps) m_results.place_rows(block, c, first);
    if (keeps_gaps) block.b_slab = slab();
    this->set_starts(c, width, w.slabs);
    block.begins_lines = true;
    block.starts = m_start + spill;
    block.firsts = w.has_firsts ? m_first + spill : nullptr;
    block.starts_slab = has_common_start ? 0 : width;
    if (descends) {
      // Rows of a slab extend into the slab before, so that must be scanned later.
      if (!w.reverses) block.reverse_slabs();
      block.starts += (w.slabs - 1) * block.starts_slab;
      if (w.has_firsts) block.firsts += (w.slabs - 1) * block.starts_slab;
      block.starts_slab = -block.starts_slab;
    }
    // Results are contiguous: in memory order, or in the opposite order if lines are reversed.
    const bool is_run =
        w.held == w.extent && (w.slabs > 1 ? w.are_dense : m_results.is_dense(width));
    const int count = w.slabs * w.extent * width;
    const int step = w.reverses ? -1 : 1;
    Value* const of_first = w.reverses ? to + (count - 1) : to;
    const bool rewinds = w.rewinds && !is_direct && !block.streams;
    if (rewinds) m_results.stream_rewinding(block, count, to);
    const bool is_stored =
        is_direct || block.streams || rewinds ||
        (is_run && !w.is_wide && m_results.stream(block.run, 0, count, of_first, step));
    if (w.are_short_lines && block.x_row == 1 && block.b_row == 1) {
      combine_short_lines(m_registers, p.op, block);
    } else {
      combine(block);
    }
    if (!is_stored && is_run) {
      store_run(m_streams, m_results.values(), count, of_first, step);
    } else if (!is_stored) {
      store_whole(c, w, to);
    }
    if (has_totals) store_totals_of_whole(c, w, is_direct ? block.b : m_results.values());
    return w.slabs;
  }

  void combine(const SlabBlock<A, R>& block) const {
    if (block.mask.selected != nullptr) {
      if constexpr (is_masked_array) {
        combine_rows<MaskedRows<A>>(m_registers, m_problem.op, block);
      }
    } else if (block.takes_rows) {
      combine_rows<ElementRows<A>>(m_registers, m_problem.op, block);
    } else {
      combine_slabs(m_registers, m_problem.op, block);
    }
  }

  /// Folds chunks of one slab.
  void fold_block(const SlabBlock<A, R>& block) const {
    if (block.mask.selected != nullptr) {
      if constexpr (is_masked_array) fold_slab<MaskedRows<A>>(m_registers, m_problem.op, block);
    } else {
      fold_slab<ElementRows<A>>(m_registers, m_problem.op, block);
    }
  }

  /// Whether lines are combined row by row: if rows are wide. The minimum is lower for masked rows,
  /// and even lower for strips of them.
  [[nodiscard]] bool takes_rows(int width) const {
    if (width == 1) return false;  // also where the batch has no dimension
    if constexpr (is_masked_array) {
      const Batch& batch = m_problem.batch;
      const bool is_whole = batch.extent[batch.rank - 1] == width;
      return width >= (is_whole ? 2 : 1) * least_masked_strip<A>;
    }
    return width >= least_row<A>;
  }

  /// As Inputs::loaded(). If gaps between rows of results must be kept, registers do not read
  /// behind rows of elements either.
  [[nodiscard]] SlabBlock<A, R> loaded(const Rectangle& r, const Ahead& ahead, int around = spill) {
    SlabBlock<A, R> block = Inputs::loaded(r, ahead, around, takes_rows(r.width));
    block.keeps_gaps = !block.takes_rows && m_results.may_keep_gaps(r.width);
    return block;
  }

  /// Maximum number of elements that are taken as one block rather than split.
  [[nodiscard]] std::int64_t most_of_block(int width) const {
    const int most = std::min(block_elements * 3 / 2, Inputs::most_elements);
    return width > 1 && !takes_rows(width) ? most : block_elements;
  }

  Registers m_registers;
  SecondRows<A> m_second_rows;
  SlabResults<P, 2 * Inputs::most_elements> m_results;

 private:
  /// Consecutive slabs whose lines are scanned as a whole, and how.
  struct Whole {
    int width, slabs;
    int extent;              ///< rows of results
    int held;                ///< the same, including B(n) if the buffer needs a place for it
    std::int64_t following;  ///< slabs up to the end of their dimension, if they are accessible
    bool is_wide, are_dense, has_firsts, may_be_small, are_short_lines;
    bool reverses;  ///< whether elements of backward lines are reversed before they are combined
    bool is_free;   ///< whether rows are neither staged nor read again
    bool rewinds;   ///< whether results are stored as they are computed, and not read again
  };

  /// Plans at most `most` slabs; the first line is at `c`.
  [[gnu::noinline]] Whole plan_whole(const Coordinates& c, int width, std::int64_t most) const {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const bool is_exclusive = p.form == Form::exclusive;
    const bool has_totals = p.totals.data != nullptr;
    const bool descends = p.output.strides.along < 0;
    Whole w{};
    w.width = width;
    w.extent = n + (p.extra == Extra::none ? 0 : 1);
    w.is_wide = takes_rows(width);
    // As many slabs as fill a block; wide ones only if results are contiguous.
    w.are_dense = slab() == std::int64_t{w.extent} * width && m_results.is_dense(width);
    w.following = 1;
    if (m_dimension >= 0 && (w.are_dense || !w.is_wide)) {
      w.following = std::min(most, p.batch.extent[m_dimension] - c.index[m_dimension]);
    }
    const auto slabs_of_block = [&](int rows) {
      return static_cast<int>(
          std::min<std::int64_t>(w.following, std::max(1, block_elements / (rows * width))));
    };
    w.slabs = slabs_of_block(w.extent);
    w.has_firsts = is_exclusive || p.extra == Extra::first;
    // Backward lines are scanned in the opposite order, so that all of them are one upward run.
    w.may_be_small = w.slabs > 1 && n <= most_small_rows && width <= most_small_width &&
                     has_common_start && p.extra == Extra::none && m_registers == most_registers;
    w.are_short_lines = width == 1 && n > 1 && n <= tile_length;
    w.reverses = descends && w.are_short_lines && m_results.is_dense(1) && !w.may_be_small;
    // B(n) needs a place of its own if it is a total, or if it would overwrite finished results.
    // In rows it is left out otherwise.
    const bool reaches_back = descends && !w.is_wide && !w.reverses;
    w.held = w.extent;
    if (leaves_last() && (has_totals || reaches_back)) w.slabs = slabs_of_block(++w.held);
    w.is_free = w.is_wide && is_plain<A, Value> && !has_totals && !m_results.are_ahead_in_place();
    const bool may_rewind =
        width > 1 ? m_results.may_rewind(width) : w.are_short_lines && m_streams && !has_totals;
    w.rewinds = n > 1 && may_rewind && !w.is_wide && w.are_dense && !w.reverses &&
                !w.may_be_small && w.held == w.extent;
    if (w.rewinds && has_common_start && w.slabs < w.following &&
        (direction_of_run(p.input) < 0) == descends) {
      // Results that are stored as they are computed do not need blocks either.
      const auto all = static_cast<int>(std::min<std::int64_t>(w.following, 1 << 30));
      const std::int64_t in_place = this->most_in_place({c, n, 0, n, width, all, m_dimension});
      if (in_place > 1) w.slabs = static_cast<int>(in_place);
    }
    if (w.is_free && has_common_start) {
      // Elements that are read in place need no blocks.
      const auto all = static_cast<int>(std::min<std::int64_t>(w.following, 1 << 20));
      if (is_masked_array
              ? this->has_stored_rows(c)
              : as_stored_run<A>(p.input, {c, n, 0, n, width, all, m_dimension}) != nullptr) {
        w.slabs = all;
      }
    }
    return w;
  }

  /// The distance between slabs of results.
  [[nodiscard]] std::int64_t slab() const {
    return m_dimension < 0 ? 0 : m_problem.output.strides.batch[m_dimension];
  }
  /// Whether the result behind the last element is not stored, except as a total.
  [[nodiscard]] bool leaves_last() const {
    return m_problem.form == Form::exclusive && m_problem.extra == Extra::none;
  }

  /// The address of the results of slab s in L1.
  [[nodiscard]] const A* results_of_slab(const Whole& w, const A* results, int s) const {
    return results + (w.reverses ? w.slabs - 1 - s : s) * w.held * w.width;
  }

  /// Stores results from L1 that are not contiguous in memory.
  [[gnu::noinline]] void store_whole(const Coordinates& c, const Whole& w, Value* to) const {
    const bool descends = m_problem.output.strides.along < 0;
    if (w.slabs == 1 && !w.reverses) {
      const std::int64_t first = m_problem.extra == Extra::first ? -1 : 0;
      return m_results.store_rows(c, w.width, descends, first, w.extent, w.held);
    }
    // If a line lies downwards, B(n) precedes the results that are stored.
    const int skipped = descends && !w.reverses ? w.held - w.extent : 0;
    const A* const results = m_results.values() + skipped * w.width;
    if (!w.are_dense && !w.reverses) {
      return m_results.store_slabs(results, std::int64_t{w.held} * w.width, w.slabs, w.extent,
                                   w.width, to, slab());
    }
    for (int s = 0; s < w.slabs; ++s) {
      store_run(m_streams && w.are_dense, results_of_slab(w, results, s), w.extent * w.width,
                to + s * slab() + (w.reverses ? w.extent - 1 : 0), w.reverses ? -1 : 1);
    }
  }

  /// Stores the last results of lines as totals.
  [[gnu::noinline]] void store_totals_of_whole(const Coordinates& c, const Whole& w,
                                               const A* results) const {
    const int row = static_cast<int>(m_problem.n) - (w.has_firsts ? 0 : 1);
    const bool descends = m_problem.output.strides.along < 0 && !w.reverses;
    for (int s = 0; s < w.slabs; ++s) {
      Coordinates line = c;
      if (s > 0) line.index[m_dimension] += s;
      m_results.store_totals(
          line, w.width,
          results_of_slab(w, results, s) + (descends ? w.held - 1 - row : row) * w.width);
    }
  }
};

}  // namespace KokkosScan::impl::host
