// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds of whole lines on hosts, for any type: neighbouring lines side by side, other lines in
/// independent runs. The order of combination differs from that of a scan.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Folds a part of a strip of lines for each index. `Results` is team::FoldResults, which knows the
/// number of parts and stores folds.
template <class P, class Op, class Results>
class FoldsOfStrips {
  using A = typename P::A;
  using R = typename Combination<P>::R;

  /// Elements of a line that are loaded at a time, and the independent runs they are cut into.
  static constexpr int block = 256;
  static constexpr int runs = 8;

  template <class T, int count>
  struct Raw {  // T may have no default constructor
    alignas(64) std::byte bytes[sizeof(T) * count];
    T* data() { return reinterpret_cast<T*>(bytes); }
  };

 public:
  /// Maximum width of a strip: its folds fit L2, and rows are long enough for hardware prefetching.
  static constexpr int most_width = std::clamp<int>(16384 / sizeof(A), 1, 4096);

  FoldsOfStrips(const P& problem, const Op& op, const Results& results)
      : m_problem(problem), m_op(op), m_results(results) {}

  /// The width of a strip: most_width, or less to have a strip for each thread.
  static std::int64_t width(const P& problem, std::int64_t threads) {
    constexpr std::int64_t least = std::min<std::int64_t>(narrow_strip, most_width);
    const std::int64_t row = lines_of_row(problem);
    const std::int64_t rows = problem.batch.count / row;
    const std::int64_t strips = (threads + rows - 1) / rows;
    return std::clamp<std::int64_t>(strip_width(row, strips), least, most_width);
  }
  static std::int64_t work(const P& problem, std::int64_t width) {
    const std::int64_t row = lines_of_row(problem);
    return problem.batch.count / row * strips_of_row(row, width);
  }

  void operator()(std::int64_t index) const {
    const std::int64_t row = lines_of_row(m_problem);
    const std::int64_t parts = m_results.parts;
    const std::int64_t strip = index / parts;
    const std::int64_t part = index % parts;
    const std::int64_t length = (m_problem.n + parts - 1) / parts;
    const std::int64_t begin = part * length;
    const std::int64_t end = std::min(begin + length, m_problem.n);
    const std::int64_t strips = strips_of_row(row, m_results.width);
    const std::int64_t first = strip % strips * m_results.width;
    const std::int64_t line = strip / strips * row + first;
    const int width = static_cast<int>(std::min<std::int64_t>(row - first, m_results.width));
    Coordinates c = coordinates_of(m_problem.batch, line);
    if (row == 1) {
      m_results.store(m_problem, c, line, part, fold_line(c, begin, end));
      return;
    }
    Raw<R, most_width> memory;
    R* const folds = memory.data();
    fold_strip(c, width, begin, end, folds);
    for (int w = 0; w < width; ++w) {
      m_results.store(m_problem, c, line + w, part, folds[w]);
      ++c.index[c.rank - 1];
    }
  }

 private:
  /// The number of lines that are neighbours in memory, or 1.
  static std::int64_t lines_of_row(const P& problem) {
    const Batch& batch = problem.batch;
    const bool has_neighbours = batch.rank > 0 && problem.output.strides.batch[batch.rank - 1] == 1;
    return has_neighbours ? batch.extent[batch.rank - 1] : 1;
  }
  static std::int64_t strips_of_row(std::int64_t row, std::int64_t width) {
    return (row + width - 1) / width;
  }

  void fold_strip(const Coordinates& c, int width, std::int64_t begin, std::int64_t end,
                  R* folds) const {
    Raw<A, most_width> memory;
    const ArrayLine<const A> stored = as_stored<A>(m_problem.input, c);
    for (std::int64_t k = begin; k < end; ++k) {
      const A* x = memory.data();
      if (stored.data != nullptr) {
        x = &stored(k);
      } else {
        load_across<most_width>(m_problem.input, c, k, width, memory.data());
      }
      for (int w = 0; w < width; ++w) {
        const R next = static_cast<R>(x[w]);
        folds[w] = k == begin ? next : R(m_op(folds[w], next));
      }
    }
  }

  [[nodiscard]] R fold_line(const Coordinates& c, std::int64_t begin, std::int64_t end) const {
    Raw<A, block> memory;
    const auto line = m_problem.input.line(c);
    const A* const stored = as_stored<A>(line, 1);
    Maybe<R> fold;
    for (std::int64_t k = begin; k < end; k += block) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block));
      const A* x = stored == nullptr ? memory.data() : stored + k;
      if (stored == nullptr) load_along<block>(line, k, count, memory.data());
      fold = Maybe<R>(combine(m_op, fold, fold_block(x, count)));
    }
    return fold.value;
  }

  [[nodiscard]] R fold_block(const A* x, int count) const {
    const int length = count / runs;
    Raw<R, runs> memory;
    R* const folds = memory.data();
    for (int j = 0; j < runs && length > 0; ++j) folds[j] = static_cast<R>(x[j * length]);
    for (int i = 1; i < length; ++i) {
      for (int j = 0; j < runs; ++j) folds[j] = m_op(folds[j], static_cast<R>(x[j * length + i]));
    }
    Maybe<R> fold;
    for (int j = 0; j < runs && length > 0; ++j) fold = Maybe<R>(combine(m_op, fold, folds[j]));
    for (int i = runs * length; i < count; ++i) {
      fold = Maybe<R>(combine(m_op, fold, static_cast<R>(x[i])));
    }
    return fold.value;
  }

  P m_problem;
  Op m_op;
  Results m_results;
};

}  // namespace KokkosScan::impl::host
