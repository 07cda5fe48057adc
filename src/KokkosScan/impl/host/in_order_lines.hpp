// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// In-order scans of several lines side by side, a block of elements of each at a time.

#include <KokkosScan/impl/host/in_order_scanner.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Scans lines_at_once lines at a time, a block of elements of each, on one thread.
template <class P>
class LinesInOrder : InOrderScanner<P> {
  using Base = InOrderScanner<P>;
  using Base::is_masked, Base::m_problem, Base::m_registers, Base::m_streams;
  using typename Base::A;
  using typename Base::Op;
  using typename Base::Value;

 public:
  /// Elements of a line in a block.
  static constexpr int most = std::max<int>(
      16, std::min<int>(block_length, block_length * 8 / static_cast<int>(sizeof(A)) / 2));

  using Base::Base;

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end) {
    const int extra = m_problem.extra == Extra::none ? 0 : 1;
    if (m_problem.n + extra <= most / 2 && results_follow_each_other(extra)) {
      scan_short(begin, end, static_cast<int>(m_problem.n) + extra);
      return;
    }
    // Distribute lines evenly, so that no turn has only a few.
    const std::int64_t turns = (end - begin + lines_at_once - 1) / lines_at_once;
    for (std::int64_t i = 0; i < turns; ++i) {
      const std::int64_t first = begin + (end - begin) * i / turns;
      scan_together(first, static_cast<int>(begin + (end - begin) * (i + 1) / turns - first),
                    m_staged + front, pitch, true);
    }
  }

 private:
  /// Whether the results of neighbouring lines are contiguous.
  [[nodiscard]] bool results_follow_each_other(int extra) const {
    const P& p = m_problem;
    return p.batch.rank == 1 && p.output.strides.along == 1 &&
           p.output.strides.batch[0] == p.n + extra;
  }
  /// Scans short lines, and stores the results of many of them together.
  ///
  /// \param results number of results of a line
  void scan_short(std::int64_t begin, std::int64_t end, int results) {
    const P& p = m_problem;
    const int shift = p.extra == Extra::first ? 1 : 0;
    const int lines_of_block = lines_at_once * pitch / (lines_at_once * results) * lines_at_once;
    for (std::int64_t first = begin; first < end; first += lines_of_block) {
      const int lines = static_cast<int>(std::min<std::int64_t>(end - first, lines_of_block));
      for (int l = 0; l < lines; l += lines_at_once) {
        scan_together(first + l, std::min(lines - l, lines_at_once), m_staged + l * results + shift,
                      results, false);
      }
      store_run(m_streams, m_staged, lines * results,
                &p.output.line(p.batch.coordinates(first))(-shift));
    }
  }

  /// Scans up to lines_at_once lines.
  ///
  /// \param staged   buffer for the results of the first line's block
  /// \param distance from there to the results of the next line
  /// \param stores   whether results are stored, or left in the buffer
  void scan_together(std::int64_t first, int lines, A* staged, int distance, bool stores) {
    const P& p = m_problem;
    // Coordinates are recomputed, not kept in an array: an array would be written in words and read
    // in registers, which stalls on store forwarding.
    const auto place = [&](int l) { return p.batch.coordinates(first + l); };
    BlockOfLines<A> block{{}, {}, m_folds, 0, p.form, {}};
    for (int l = 0; l < lines_at_once; ++l) {
      block.y[l] = staged + l * distance;
      if (l >= lines) continue;
      this->start(place(l), m_folds[l], m_exist[l]);
      if (p.extra == Extra::first) block.y[l][-1] = this->result(m_folds[l], m_exist[l]);
    }
    for (std::int64_t k = 0; k < p.n; k += most) {
      block.count = static_cast<int>(std::min<std::int64_t>(p.n - k, most));
      for (int l = 0; l < lines; ++l) {
        block.x[l] = load(place(l), k, block.count, block.y[l]);
        if constexpr (is_masked) {
          const StoredBool* const stored = counts_as_stored<false>(p.input, place(l)).data;
          block.counts[l] = stored == nullptr ? as_stored_bools(m_counts) + l * most : stored + k;
          if (stored == nullptr) {
            load_counts<most, false>(p.input, place(l), k, block.count, m_counts + l * most);
          }
        }
      }
      combine(lines, block);
      const bool is_last = k + block.count == p.n;
      for (int l = 0; l < lines; ++l) {
        if (is_last && p.extra == Extra::last) {
          block.y[l][block.count] = this->result(m_folds[l], m_exist[l]);
        }
        if (stores) store(place(l), k, block.count, block.y[l]);
      }
    }
    for (int l = 0; p.totals.data != nullptr && l < lines; ++l) {
      this->store_total(place(l), m_folds[l], m_exist[l]);
    }
  }

  /// The address of elements of a line: in place, or loaded into `staged`.
  const A* load(const Coordinates& c, std::int64_t k, int count, A* staged) {
    const auto line = without_masks(m_problem.input).line(c);
    const A* const stored = as_stored<A>(line, 1);
    if (stored != nullptr) return stored + k;
    load_along<most>(line, k, count, staged);
    return staged;
  }

  void combine(int lines, BlockOfLines<A>& block) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    if constexpr (combines_registers<Op, A>) {
      const A neutral = host::neutral(p.op.op);
      for (int l = 0; l < lines; ++l) {
        if (!m_exist[l]) m_folds[l] = neutral;
      }
      // Missing lines are replaced by the first.
      std::fill(block.x + lines, block.x + lines_at_once, block.x[0]);
      std::fill(block.counts + lines, block.counts + lines_at_once, block.counts[0]);
      std::fill(m_folds + lines, m_folds + lines_at_once, m_folds[0]);
      if (lines > 1) {
        combine_lines<is_masked>(m_registers, p.op, block);
      } else {
        if constexpr (is_masked) {
          blend(block.counts[0], block.x[0], neutral, block.count, block.y[0]);
          block.x[0] = block.y[0];
        }
        combine_line(p.op, block);  // bound by latency, so more lines would not cost more
      }
      for (int l = 0; l < lines; ++l) {
        if (m_exist[l]) continue;
        // Results before the first unmasked element are the neutral value: make them the identity.
        int before = 0;
        if constexpr (is_masked) {
          const StoredBool* const counts = block.counts[l];
          before = static_cast<int>(std::find(counts, counts + block.count, true) - counts);
        }
        m_exist[l] = before < block.count;
        std::fill_n(block.y[l], std::min(block.count, before + (is_exclusive ? 1 : 0)),
                    p.identity.value);
      }
    } else if (!is_masked && lines == lines_at_once && m_exist[0]) {
      combine_lines<false>(m_registers, p.op, block);
    } else {
      for (int l = 0; l < lines; ++l) {
        for (int k = 0; k < block.count; ++k) {
          const A next = block.x[l][k];
          A& y = block.y[l][k];
          if (is_exclusive) y = this->result(m_folds[l], m_exist[l]);
          if (!is_masked || block.counts[l][k]) this->add(m_folds[l], m_exist[l], next);
          if (!is_exclusive) y = this->result(m_folds[l], m_exist[l]);
        }
      }
    }
  }

  void store(const Coordinates& c, std::int64_t k, int count, const A* staged) {
    const P& p = m_problem;
    const auto results = p.output.line(c);
    const int before = k == 0 && p.extra == Extra::first ? 1 : 0;
    const int behind = k + count == p.n && p.extra == Extra::last ? 1 : 0;
    const A* const from = staged - before;
    count += before + behind;
    Value* const to = &results(k - before);
    if (results.stride == 1 || results.stride == -1) {
      return store_run(m_streams, from, count, to, static_cast<int>(results.stride));
    }
    for (int i = 0; i < count; ++i) to[i * results.stride] = static_cast<Value>(from[i]);
  }

  static constexpr int front = std::max<int>(1, 64 / sizeof(A));
  // Not a multiple of 4096 bytes: the blocks of all lines would compete for the same L1 sets.
  static constexpr int pitch = most + 2 * front;
  alignas(cache_line) A m_staged[lines_at_once * pitch];
  alignas(cache_line) A m_folds[lines_at_once];
  bool m_exist[lines_at_once];
  bool m_counts[is_masked ? lines_at_once * most : 1];
};

}  // namespace KokkosScan::impl::host
