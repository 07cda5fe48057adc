// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What combines in the general kernels: loops for any type and operator, in which no iteration
/// waits for the one before.

#include <KokkosScan/impl/host/chunks.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Some elements of `width` neighbouring lines, in rows: one of each line. Several runs of rows are
/// folded beside each other.
template <class A>
struct Runs {
  const A* data;
  std::int64_t run;  ///< between runs
  std::int64_t row;  ///< between rows
};

/// From this many neighbouring lines on, these alone hide that each waits for itself.
inline constexpr int wide_row = 8;

/// Folds `count` runs of rows, with all prefixes: prefixes[run][row][line].
///
/// \param last what precedes the first row of each run, last[run][line]; or null
template <int count, class Op, class A, class R>
[[gnu::always_inline]] inline void fold_together(const Op& op, const Runs<A>& x, int rows,
                                                 int width, const R* last, R* prefixes) {
  const std::int64_t size = std::int64_t{rows} * width;
  if (width == 1) {
    R fold[count];
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
      const R next = static_cast<R>(x.data[j * x.run]);
      fold[j] = last == nullptr ? next : R(op(last[j], next));
      prefixes[j * size] = fold[j];
    }
    for (int i = 1; i < rows; ++i) {
      KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
        fold[j] = op(fold[j], static_cast<R>(x.data[j * x.run + i * x.row]));
        prefixes[j * size + i] = fold[j];
      }
    }
    return;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < count; ++j) {
      const A* const from = x.data + j * x.run + i * x.row;
      R* const to = prefixes + j * size + std::int64_t{i} * width;
      const R* const before = i > 0 ? to - width : last == nullptr ? nullptr : last + j * width;
      if (before == nullptr) {
        for (int w = 0; w < width; ++w) to[w] = static_cast<R>(from[w]);
      } else {
        for (int w = 0; w < width; ++w) to[w] = op(before[w], static_cast<R>(from[w]));
      }
    }
  }
}

template <class Op, class A, class R>
[[gnu::always_inline]] inline void fold_runs(const Op& op, Runs<A> x, int runs, int rows, int width,
                                             const R* last, R* prefixes) {
  constexpr int together = 4;
  const auto fold_next = [&](auto count) __attribute__((always_inline)) {
    fold_together<count>(op, x, rows, width, last, prefixes);
    x.data += count * x.run;
    prefixes += std::int64_t{count} * rows * width;
    if (last != nullptr) last += count * width;
  };
  int run = 0;
  for (; width < wide_row && run + together <= runs; run += together) {
    fold_next(std::integral_constant<int, together>{});
  }
  for (; run < runs; ++run) fold_next(std::integral_constant<int, 1>{});
}

/// Results of rows: what comes before all of them, combined with their prefixes.
///
/// \param carry one for each line, or null
/// \param y_row between rows of results, 1 for a single line
template <class Op, class R, class Value>
[[gnu::always_inline]] inline void combine_results(const Op& op, const R* carry, const R* prefixes,
                                                   int rows, int width, Value* y,
                                                   std::int64_t y_row) {
  const auto combine_row = [&](const R* x, Value* to, int count) __attribute__((always_inline)) {
    if (carry == nullptr) {
      for (int w = 0; w < count; ++w) to[w] = static_cast<Value>(x[w]);
    } else {
      for (int w = 0; w < count; ++w) to[w] = static_cast<Value>(R(op(carry[w], x[w])));
    }
  };
  if (width >= wide_row || carry == nullptr) {
    if (width == 1) return combine_row(prefixes, y, rows);
    for (int i = 0; i < rows; ++i)
      combine_row(prefixes + std::int64_t{i} * width, y + i * y_row, width);
    return;
  }
  for (int w = 0; w < width; ++w) {
    const R before = carry[w];
    if (width == 1) {
      for (int i = 0; i < rows; ++i) y[i] = static_cast<Value>(R(op(before, prefixes[i])));
    } else {
      for (int i = 0; i < rows; ++i) {
        y[i * y_row + w] = static_cast<Value>(R(op(before, prefixes[i * width + w])));
      }
    }
  }
}

}  // namespace KokkosScan::impl::host
