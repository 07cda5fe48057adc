// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores the results of blocks of slabs: directly to memory, or through L1.

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

/// The results of the blocks of one thread, of which L1 holds up to `most`.
template <class P, int most>
class SlabResults {
  using A = typename P::A;
  using R = typename Combination<P>::R;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr int margin = SmallSlabs<A>::margin;

 public:
  SlabResults(const P& problem, bool streams) : m_problem(problem), m_streams(streams) {}

  /// The results of a block in L1.
  [[nodiscard]] const A* values() const { return m_values + margin; }
  A* values() { return m_values + margin; }

  /// Whether rows of results are contiguous, without gaps.
  [[nodiscard]] bool is_dense(int width) const {
    return (m_problem.n == 1 && m_problem.extra == Extra::none) ||
           m_problem.output.strides.along == width || m_problem.output.strides.along == -width;
  }

  /// Whether results may be stored directly by registers that exceed their lines.
  [[nodiscard]] bool may_be_direct() const {
    return is_plain<A, Value> && !m_streams && !is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether rows with gaps may be stored directly, by registers that do not exceed them.
  [[nodiscard]] bool may_keep_gaps(int width) const {
    constexpr int widest = 32 / sizeof(A);
    return is_plain<A, Value> && width >= widest && !is_dense(width) &&
           !is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether results overwrite elements that are loaded later.
  [[nodiscard]] bool are_ahead_in_place() const {
    return (m_problem.form == Form::exclusive || m_problem.extra == Extra::first) &&
           is_in_place(m_problem.input, m_problem.output.data);
  }

  /// Whether results that are written with non-temporal stores may share one page of L1 in turn:
  /// nothing reads them again.
  [[nodiscard]] bool may_rewind(int width) const {
    return m_streams && is_dense(width) && m_problem.totals.data == nullptr &&
           !are_ahead_in_place();
  }

  /// Whether short lines of a block may be written directly with non-temporal stores.
  [[nodiscard]] bool may_be_streamed(const SlabBlock<A, R>& block, const Value* to) const {
    // The unit of stores: packs, or registers for longer lines.
    const int bytes =
        block.rows * static_cast<int>(sizeof(A)) > side_by_side_bytes ? register_bytes : 16;
    return m_streams && block.width == 1 && block.x_row == 1 &&
           block.rows * static_cast<int>(sizeof(A)) % bytes == 0 && block.rows % pack_length == 0 &&
           (block.slabs == 1 || is_dense(1)) && m_problem.output.strides.along == 1 &&
           reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
  }

  /// Lets the kernel write `count` results with non-temporal stores while it computes others.
  ///
  /// \param skipped the number of results in L1 before the first one that is stored
  /// \param to      the address of that one; the next is `step` on
  bool stream(StreamedRun<A>& run, int skipped, int count, Value* to, int step) const {
    if constexpr (is_plain<A, Value>) {
      if (m_streams) run = {values() + skipped, count, to, step};
    }
    return m_streams;
  }
  /// The same for results that are not read again: L1 holds only a page of them.
  void stream_rewinding(SlabBlock<A, R>& block, int count, Value* to) {
    if constexpr (is_plain<A, Value>) {
      constexpr int page = page_bytes / sizeof(A);
      // Two lines are computed side by side, and the last two may be computed again.
      constexpr int line = side_by_side_bytes / sizeof(A) + pack_length;
      static_assert(page + cache_line + 4 * line <= most);
      const bool descends = block.b_row < 0;
      A* const home = m_values + (descends ? 2 * page : page);
      block.b = descends ? home - block.width : home;
      block.run = {descends ? home - count : home, count, to, 1};
      block.run.rewinds_to(home);
    }
  }

  /// Sets the destination of a block, in memory order: memory at `direct`, or L1 if that is null.
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

  /// Lets a block store rows of results directly, from row k on, with any gaps between them. If
  /// they are not stored in memory order, their memory is prefetched.
  void place_rows(SlabBlock<A, R>& block, const Coordinates& c, std::int64_t k) const {
    const ArrayLine<Value> line = m_problem.output.line(c);
    block.b_row = line.stride;
    if (block.keeps_gaps) block.results_ahead = ahead_bytes / sizeof(A);
    if constexpr (is_plain<A, Value>) block.b = &line(k);
  }

  /// Stores slabs of `extent` rows to `to`: `distance` apart in L1, `slab` apart in memory.
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
  /// Stores `rows` rows of a strip from row k on, out of a block of `extent` rows.
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
  const bool m_streams;  ///< whether results are written with non-temporal stores
  alignas(page_bytes) A m_values[most + 2 * margin];
};

}  // namespace KokkosScan::impl::host
