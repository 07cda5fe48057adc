// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The elements of blocks of slabs, in place or loaded into L1.

#include <KokkosScan/impl/host/column_kernels.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <utility>

namespace KokkosScan::impl::host {

/// Gives the blocks of one thread their elements.
template <class P>
class ColumnElements {
 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  /// Maximum number of elements in a block.
  static constexpr int most_of_block = block_bytes / sizeof(A);

 protected:
  static constexpr int spill = 32 / sizeof(A);
  static constexpr int most = most_of_block;

  ColumnElements(const P& problem, bool has_rows)
      : m_problem(problem), m_dimension(problem.batch.rank - (has_rows ? 2 : 1)) {}

  static Coordinates line_at(Coordinates c, int w) {
    if (w > 0) c.index[c.rank - 1] += w;
    return c;
  }

  /// Sets the elements of a block: in place, if that is possible, or loaded.
  ///
  /// \param reverses whether whole lines are wanted last line first, each in scan order
  [[gnu::noinline]] void load(SlabBlock<A, R>& block, const Coordinates& c, std::int64_t k,
                              bool reverses = false) {
    const auto& in = m_problem.input;
    const int rows = block.rows, width = block.width;
    const Rectangle r{c, m_problem.n, k, rows, width, block.slabs, m_dimension};
    const int direction = direction_of_run(in);
    const std::int64_t of_slab = std::int64_t{rows} * width;
    const auto lies_at = [&](const A* lowest, std::int64_t row) {
      block.x = {row < 0 ? lowest + (of_slab - width) : lowest, row, of_slab};
    };
    const bool is_whole_line = width == 1 && rows == m_problem.n;
    if ((width >= spill || may_exceed(r)) && !reverses && (width > 1 || is_whole_line)) {
      const A* const run = width > 1 || direction > 0 ? as_stored_run<A>(in, r) : nullptr;
      if (run != nullptr) {
        lies_at(run, direction * width);
        block.ahead = ahead_of(block, direction);
        return;
      }
      const ArrayLine<const A> stored = as_stored<A>(in, c);
      if (width >= spill && block.slabs == 1 && stored.data != nullptr) {
        block.x = {&stored(k), stored.stride, 0};
        block.ahead = ahead_of(block, 1);
        return;
      }
    }
    A* const x = m_x + spill;
    if (width > 1 || reverses == (direction < 0)) {
      A* const to = reverses ? m_y + spill : x;
      if (load_run<most>(in, r, to)) {
        if (reverses) convert<-1>(to + (r.size() - 1), r.size(), x);
        return lies_at(x, width == 1 ? 1 : direction * width);
      }
    }
    for (int s = 0; s < block.slabs; ++s) {
      Coordinates first = c;
      if (s > 0) first.index[m_dimension] += s;
      A* const to = x + (reverses ? block.slabs - 1 - s : s) * of_slab;
      if (width == 1) {
        load_along<most>(in.line(first), k, rows, to);
      } else {
        for (int i = 0; i < rows; ++i) load_across<most>(in, first, k + i, width, to + i * width);
      }
    }
    lies_at(x, width);
  }

  /// The prefetch distance: to the next block, if one has all lines of a strip, or along its rows.
  static std::int64_t ahead_of(const SlabBlock<A, R>& block, int direction) {
    if (block.width < spill && block.slabs > 1) return block.slabs * block.x.slab;
    if (block.width < spill || block.rows > pack_length) return block.rows * block.x.row;
    return direction * (ahead_bytes / static_cast<int>(sizeof(A)));
  }
  /// Whether registers may read memory before and behind a contiguous rectangle: it exists, and no
  /// thread writes there.
  [[nodiscard]] bool may_exceed(const Rectangle& r) const {
    const P& p = m_problem;
    std::int64_t before = 0, behind = 0;
    if (r.rows < r.n) {
      before = r.k * r.width;
      behind = (r.n - r.k - r.rows) * r.width;
      if (direction_of_run(p.input) < 0) std::swap(before, behind);
    } else if (r.dimension >= 0) {
      before = r.c.index[r.dimension] * r.n * r.width;
      behind = (p.batch.extent[r.dimension] - r.slabs) * r.n * r.width - before;
    }
    return before >= spill && behind >= spill && !is_in_place(p.input, p.output.data);
  }

  const P& m_problem;
  /// The dimension of the batch in which slabs are neighbours; negative if there is one slab.
  const int m_dimension;
  // Before and behind each array there is space for the registers of rows that exceed them.
  alignas(page_bytes) A m_x[most + 2 * spill];
  alignas(page_bytes) A m_y[3 * most + 2 * spill];
};

}  // namespace KokkosScan::impl::host
