// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What combines in the general kernels: loops for any type and operator, in which no iteration
/// waits for the one before.

#include <KokkosScan/impl/host/chunks.hpp>
#include <cstdint>
#include <tuple>
#include <type_traits>

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
      for (int w = 0; w < width; ++w) {
        const R next = static_cast<R>(from[w]);
        to[w] = before == nullptr ? next : R(op(before[w], next));
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
  for (; run + together <= runs; run += together) {
    fold_next(std::integral_constant<int, together>{});
  }
  for (; run < runs; ++run) fold_next(std::integral_constant<int, 1>{});
}

/// Results of rows of fewer than wide_row lines: what comes before all of them, combined with their
/// prefixes.
///
/// \param carry one for each line, or null
/// \param y_row between rows of results, 1 for a single line
template <class Op, class R, class Value>
[[gnu::always_inline]] inline void combine_results(const Op& op, const R* carry, const R* prefixes,
                                                   int rows, int width, Value* y,
                                                   std::int64_t y_row) {
  for (int w = 0; w < width; ++w) {
    const auto combine_line = [&](const auto& result) __attribute__((always_inline)) {
      if (width == 1) {
        for (int i = 0; i < rows; ++i) y[i] = static_cast<Value>(result(prefixes[i]));
      } else {
        for (int i = 0; i < rows; ++i) {
          y[i * y_row + w] = static_cast<Value>(result(prefixes[i * width + w]));
        }
      }
    };
    if (carry == nullptr) {
      combine_line([](const R& x) { return x; });
    } else {
      const R before = carry[w];
      combine_line([&](const R& x) __attribute__((always_inline)) { return R(op(before, x)); });
    }
  }
}

/// Rows of elements of neighbouring lines, where they lie.
template <class T>
struct StoredRows {
  const T* data;
  std::int64_t row;  ///< between rows

  [[gnu::always_inline]] const T& operator()(int i, int w) const { return data[i * row + w]; }
  void skip(int rows) { data += rows * row; }
};
/// A function of the elements of several.
template <class Function, class... Parts>
struct ZippedRows {
  const Function& function;
  std::tuple<Parts...> parts;

  [[gnu::always_inline]] auto operator()(int i, int w) const {
    return std::apply(
        [&](const auto&... part) __attribute__((always_inline)) { return function(part(i, w)...); },
        parts);
  }
  void skip(int rows) {
    std::apply([&](auto&... part) { (part.skip(rows), ...); }, parts);
  }
};

/// Rows of many lines, which become results as they are folded.
template <class X, class R, class Value>
struct WideRows {
  X x;
  Value* y;  ///< a place may be that of x
  std::int64_t y_row;
  R* last;         ///< the fold of earlier rows of the chunk, of each line
  const R* carry;  ///< what comes before them, or null
  int width;
};

template <class A, int count, bool has_carry, bool is_exclusive, class Op, class X, class R,
          class Value>
[[gnu::always_inline]] inline void scan_wide_rows(const Op& op, const WideRows<X, R, Value>& b) {
  const X x = b.x;
  Value* const y = b.y;
  R* const last = b.last;
  const R* const carry = b.carry;
  const std::int64_t y_row = b.y_row;
  const int width = b.width;
  KOKKOSSCAN_IMPL_INDEPENDENT for (int w = 0; w < width; ++w) {
    R fold = last[w];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < count; ++i) {
      const R next = op(fold, static_cast<R>(static_cast<A>(x(i, w))));
      const R& prefix = is_exclusive ? fold : next;
      if constexpr (has_carry) {
        y[i * y_row + w] = static_cast<Value>(R(op(carry[w], prefix)));
      } else {
        y[i * y_row + w] = static_cast<Value>(prefix);
      }
      fold = next;
    }
    last[w] = fold;
  }
}

/// Scans rows in the middle of a chunk, some at a time, so that folds are loaded and stored once
/// for all of them.
template <class A, class Op, class X, class R, class Value>
[[gnu::always_inline]] inline void scan_wide_rows(const Op& op, WideRows<X, R, Value> b, int rows,
                                                  bool is_exclusive) {
  constexpr int at_once = 4;
  const auto scan_next = [&](auto count) __attribute__((always_inline)) {
    if (b.carry != nullptr) {
      is_exclusive ? scan_wide_rows<A, count, true, true>(op, b)
                   : scan_wide_rows<A, count, true, false>(op, b);
    } else {
      is_exclusive ? scan_wide_rows<A, count, false, true>(op, b)
                   : scan_wide_rows<A, count, false, false>(op, b);
    }
    b.x.skip(count);
    b.y += count * b.y_row;
  };
  int row = 0;
  for (; row + at_once <= rows; row += at_once) scan_next(std::integral_constant<int, at_once>{});
  for (; row < rows; ++row) scan_next(std::integral_constant<int, 1>{});
}

}  // namespace KokkosScan::impl::host
