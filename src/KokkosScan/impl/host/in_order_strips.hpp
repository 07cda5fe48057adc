// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// In-order scans of strips of neighbouring lines, several rows at a time.

#include <KokkosScan/impl/host/in_order_scanner.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Scans strips of neighbouring lines in order, several rows at a time, on one thread.
template <class P>
class StripsInOrder : InOrderScanner<P> {
  using Base = InOrderScanner<P>;
  using Base::is_masked, Base::m_problem, Base::m_registers, Base::m_streams;
  using typename Base::A;
  using typename Base::Op;
  using typename Base::Value;

 public:
  /// A multiple of narrow_strip, to which strip_width() rounds up.
  static constexpr int most_width =
      std::max<int>(1, strip_bytes / sizeof(A) / narrow_strip) * narrow_strip;

  using Base::Base;

  /// Scans strips begin ... end - 1, where each row of neighbouring lines has `strips_of_row`.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    const Batch& batch = m_problem.batch;
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width = strip_width(lines_of_row, strips_of_row);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % strips_of_row * width;
      if (first >= lines_of_row) continue;
      scan_strip(batch.coordinates(i / strips_of_row * lines_of_row + first),
                 static_cast<int>(std::min(lines_of_row - first, width)));
    }
  }

 private:
  static constexpr int segment = std::max<int>(16, segment_bytes / sizeof(A));

  void scan_strip(const Coordinates& c, int width) {
    const P& p = m_problem;
    for (int w = 0; w < width; ++w) this->start(line_at(c, w), m_folds[w], m_exist[w]);
    if constexpr (is_masked && combines_registers<Op, A>) {
      const A none = neutral(p.op.op);
      for (int w = 0; w < width; ++w) {
        if (!m_exist[w]) m_folds[w] = none;
      }
    }
    const auto results = p.output.line(c);
    if (p.extra == Extra::first) store_folds(results, -1, width);
    const auto is_aligned = [&](std::int64_t k) {
      return reinterpret_cast<std::uintptr_t>(&results(k)) % cache_line == 0;
    };
    m_streams_rows = m_streams && is_aligned(0) && is_aligned(1);
    std::int64_t k = 0;
    if (!is_masked && !m_exist[0]) {
      scan_first(c, results, width);
      k = 1;
    }
    for (; k < p.n; k += rows_at_once) {
      const int rows = static_cast<int>(std::min<std::int64_t>(p.n - k, rows_at_once));
      for (int w = 0; w < width; w += segment) {
        scan_segment(c, results, k, rows, w, std::min(width - w, segment));
      }
    }
    if (p.extra == Extra::last) store_folds(results, p.n, width);
    for (int w = 0; p.totals.data != nullptr && w < width; ++w) {
      this->store_total(line_at(c, w), m_folds[w], m_exist[w]);
    }
  }

  static Coordinates line_at(Coordinates c, int w) {
    c.index[c.rank - 1] += w;
    return c;
  }

  /// Stores B(k) of all lines.
  void store_folds(const ArrayLine<Value>& results, std::int64_t k, int width) const {
    for (int w = 0; w < width; ++w) {
      (&results(k))[w] = static_cast<Value>(this->result(m_folds[w], m_exist[w]));
    }
  }

  /// Scans the first row: without a start, folds begin with the first elements.
  void scan_first(const Coordinates& c, const ArrayLine<Value>& results, int width) {
    for (int w = 0; w < width; w += segment) {
      load_across<segment>(without_masks(m_problem.input), line_at(c, w), 0,
                           std::min(width - w, segment), m_folds + w);
    }
    if (m_problem.form == Form::exclusive) store_folds(results, 0, width);
    std::fill_n(m_exist, width, true);
    if (m_problem.form == Form::inclusive) store_folds(results, 0, width);
  }

  /// Scans elements k ... k + rows - 1 of lines w ... w + width - 1.
  void scan_segment(const Coordinates& c, const ArrayLine<Value>& results, std::int64_t k, int rows,
                    int w, int width) {
    const P& p = m_problem;
    BlockOfStrip<A> block{m_x, segment, m_x, segment, m_folds + w, rows, width, p.form, false};
    const auto& values = without_masks(p.input);
    const ArrayLine<const A> stored = as_stored<A>(values, c);
    constexpr bool is_staged = is_masked && !combines_registers<Op, A>;
    if (stored.data != nullptr && !is_staged) {
      block.x = &stored(k) + w;
      block.x_row = stored.stride;
    } else {
      for (int i = 0; i < rows; ++i) {
        load_across<segment>(values, line_at(c, w), k + i, width, m_x + i * segment);
      }
    }
    if constexpr (std::is_same_v<A, Value> && !is_staged) {
      block.y = &results(k) + w;
      block.y_row = results.stride;
      block.streams = m_streams_rows;
    }
    if constexpr (is_masked) {
      CountsOfStrip<A> counts{as_stored_bools(m_counts), segment, nullptr, p.identity.value};
      const ArrayLine<const StoredBool> stored_counts = counts_as_stored<true>(p.input, c);
      if (stored_counts.data != nullptr) {
        counts.counts = &stored_counts(k) + w;
        counts.row = stored_counts.stride;
      } else {
        for (int i = 0; i < rows; ++i) {
          load_counts<segment, true>(p.input, line_at(c, w), k + i, width, m_counts + i * segment);
        }
      }
      bool* const exist = m_exist + w;
      if constexpr (is_staged) {
        combine_masked(counts, rows, w, width);
      } else if (std::memchr(exist, 0, static_cast<std::size_t>(width)) != nullptr) {
        counts.exist = exist;
        combine_strip(m_registers, p.op, block, counts);
        for (int i = 0; i < rows; ++i) {
          const StoredBool* const of_row = counts.counts + i * counts.row;
          for (int j = 0; j < width; ++j) exist[j] = exist[j] | of_row[j];
        }
      } else {
        combine_strip(m_registers, p.op, block, counts);
      }
    } else {
      combine_strip(m_registers, p.op, block);
    }
    if constexpr (!std::is_same_v<A, Value> || is_staged) store(results, k, rows, w, width);
  }

  /// Combines staged elements of lines whose fold may not exist yet.
  void combine_masked(const CountsOfStrip<A>& counts, int rows, int w, int width) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    for (int i = 0; i < rows; ++i) {
      A* const x = m_x + i * segment;
      for (int j = 0; j < width; ++j) {
        A& fold = m_folds[w + j];
        bool& exists = m_exist[w + j];
        const A next = x[j];
        if (is_exclusive) x[j] = this->result(fold, exists);
        if (counts.counts[i * counts.row + j]) this->add(fold, exists, next);
        if (!is_exclusive) x[j] = this->result(fold, exists);
      }
    }
  }

  /// Stores staged results.
  void store(const ArrayLine<Value>& results, std::int64_t k, int rows, int w, int width) const {
    for (int i = 0; i < rows; ++i) {
      store_run(m_streams_rows, m_x + i * segment, width, &results(k + i) + w);
    }
  }

  bool m_streams_rows = false;
  alignas(cache_line) A m_folds[most_width];
  bool m_exist[most_width];
  alignas(cache_line) A m_x[rows_at_once * segment];
  bool m_counts[is_masked ? rows_at_once * segment : 1];
};

}  // namespace KokkosScan::impl::host
