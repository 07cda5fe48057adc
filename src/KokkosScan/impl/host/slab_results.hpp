// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Where the results of blocks of slabs go: to memory at once, or to L1 and from there.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/small_slabs.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The results of the blocks of a thread, up to `most` in L1.
template <class P, int most>
class SlabResults {
  using A = typename P::A;
  using R = typename Combination<P>::R;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr int margin = SmallSlabs<A>::margin;

 public:
  SlabResults(const P& problem, bool streams) : m_problem(problem), m_streams(streams) {}

  /// Those of a block in L1.
  [[nodiscard]] const A* values() const { return m_values + margin; }
  A* values() { return m_values + margin; }

  /// Whether rows of results follow each other without a gap.
  [[nodiscard]] bool is_dense(int width) const {
    return (m_problem.n == 1 && m_problem.extra == Extra::none) ||
           m_problem.output.strides.along == width || m_problem.output.strides.along == -width;
  }

  /// Whether results may go to memory as they are computed, by registers that reach over their
  /// lines.
  [[nodiscard]] bool may_be_direct() const {
    return is_plain<A, Value> && !m_streams && !is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether rows with gaps between them may be stored where they belong as they are computed, by
  /// registers that reach over none.
  [[nodiscard]] bool may_keep_gaps(int width) const {
    constexpr int widest = 32 / sizeof(A);
    return is_plain<A, Value> && width >= widest && !is_dense(width) &&
           !is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether results take the places of elements that are loaded later.
  [[nodiscard]] bool are_ahead_in_place() const {
    return (m_problem.form == Form::exclusive || m_problem.extra == Extra::first) &&
           is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether results that go past the caches may take turns in one page of L1: nobody needs them
  /// again.
  [[nodiscard]] bool may_rewind(int width) const {
    return m_streams && is_dense(width) && m_problem.totals.data == nullptr &&
           !are_ahead_in_place();
  }

  /// Whether short lines of a block may be stored past the caches as they are computed.
  [[nodiscard]] bool may_be_streamed(const SlabBlock<A, R>& block, const Value* to) const {
    // Packs, or of longer lines registers.
    const int bytes =
        block.rows * static_cast<int>(sizeof(A)) > side_by_side_bytes ? register_bytes : 16;
    return m_streams && block.width == 1 && block.x_row == 1 &&
           block.rows * static_cast<int>(sizeof(A)) % bytes == 0 && block.rows % pack_length == 0 &&
           (block.slabs == 1 || is_dense(1)) && m_problem.output.strides.along == 1 &&
           reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
  }

  /// Whether the kernel stores `count` results past the caches, beside those that it computes.
  ///
  /// \param skipped how many results in L1 before the first of them have no place
  /// \param to      where the first one belongs; the next is `step` on
  bool stream(StreamedRun<A>& run, int skipped, int count, Value* to, int step) const {
    if constexpr (is_plain<A, Value>) {
      if (m_streams) run = {values() + skipped, count, to, step};
    }
    return m_streams;
  }
  /// The same of results that nobody needs in L1 afterwards, of which it holds few at a time.
  void stream_rewinding(SlabBlock<A, R>& block, int count, Value* to) {
    if constexpr (is_plain<A, Value>) {
      constexpr int page = page_bytes / sizeof(A);
      // Two lines are computed side by side, the last two once more.
      constexpr int line = side_by_side_bytes / sizeof(A) + pack_length;
      static_assert(page + cache_line + 4 * line <= most);
      const bool descends = block.b_row < 0;
      A* const home = m_values + (descends ? 2 * page : page);
      block.b = descends ? home - block.width : home;
      block.run = {descends ? home - count : home, count, to, 1};
      block.run.rewinds_to(home);
    }
  }

  /// Results of a block go to memory from `direct` on, or to L1, as they will lie in memory.
  void place(SlabBlock<A, R>& block, int extent, bool descends, Value* direct) {
    const std::int64_t of_slab = std::int64_t{extent} * block.width;
    block.b_row = descends ? -block.width : block.width;
    block.b_slab = of_slab;
    A* to = values();
    if constexpr (is_plain<A, Value>) {
      if (direct != nullptr) to = direct;
    }
    block.b = to + (descends ? of_slab - block.width : 0);
  }

  /// Rows of results go where they belong, whatever is between them, from row k on. Those that are
  /// not stored in the order of memory are asked for.
  void place_rows(SlabBlock<A, R>& block, const Coordinates& c, std::int64_t k) const {
    const ArrayLine<Value> line = m_problem.output.line(c);
    block.b_row = line.stride;
    if (block.keeps_gaps) block.results_ahead = ahead_bytes / sizeof(A);
    if constexpr (is_plain<A, Value>) block.b = &line(k);
  }

  /// Stores slabs of `extent` rows, which are `distance` apart in L1 and `slab` in memory, from
  /// `to` on.
  [[gnu::noinline]] void store_slabs(const A* results, std::int64_t distance, int slabs, int extent,
                                     int width, Value* to, std::int64_t slab) const {
    const std::int64_t row = std::abs(m_problem.output.strides.along);
    const bool are_runs = extent == 1 || row == width;
    const int rows = are_runs ? 1 : extent, length = are_runs ? extent * width : width;
    const bool streams = m_streams && length * static_cast<int>(sizeof(A)) >= streamed_row_bytes;
    for (int s = 0; streams && s < slabs; ++s) {
      for (int i = 0; i < rows; ++i) {
        store_run(true, results + s * distance + i * width, length, to + s * slab + i * row);
      }
    }
    if (!streams) {
      convert_rows(results, {distance, width}, slabs, rows, length, to, {slab, row});
    }
  }
  /// Stores `rows` rows of a strip from k on; the block has `extent` of them, downwards or upwards.
  [[gnu::noinline]] void store_rows(const Coordinates& c, int width, bool descends, std::int64_t k,
                                    int rows, int extent) const {
    const auto line = m_problem.output.line(c);
    const A* const lowest = values() + (descends ? (extent - rows) * width : 0);
    if (rows == 0) return;
    if (rows == 1 || line.stride == (descends ? -width : width)) {
      store_run(m_streams, lowest, rows * width, &line(descends ? k + rows - 1 : k));
      return;
    }
    if (width < least_row<A>) {
      store_slabs(lowest, 0, 1, rows, width, &line(descends ? k + rows - 1 : k), 0);
      return;
    }
    for (int i = 0; i < rows; ++i) {
      store_run(m_streams, lowest + i * width, width, &line(descends ? k + rows - 1 - i : k + i));
    }
  }

  [[gnu::noinline]] void store_totals(const Coordinates& c, int width, const A* totals) const {
    Coordinates line = c;
    for (int w = 0; w < width; ++w) {
      m_problem.totals.line(line)(0) = static_cast<Total>(totals[w]);
      if (w + 1 < width) ++line.index[c.rank - 1];
    }
  }

 private:
  const P& m_problem;
  const bool m_streams;  ///< whether results go past the caches
  alignas(page_bytes) A m_values[most + 2 * margin];
};

}  // namespace KokkosScan::impl::host
