// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops of the general kernels, with independent iterations that compilers can vectorise.

#include <KokkosScan/impl/host/chunks.hpp>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Several runs of rows, folded side by side.
template <class A>
struct Runs {
  const A* data;
  std::int64_t run;  ///< distance between runs
  std::int64_t row;  ///< distance between rows
  int width;         ///< of a row: one element of each of so many lines
};

/// From this width on, neighbouring lines alone hide the latency of the operator.
inline constexpr int wide_row = 8;

/// Computes all prefixes within `count` runs of rows: prefixes[run][row][line].
///
/// \param last the fold before the first row of each run, last[run][line]; or null
template <int count, class Op, class A, class R>
[[gnu::always_inline]] inline void fold_together(const Op& op, const Runs<A>& x, int rows,
                                                 const R* last, R* prefixes) {
  const int width = x.width;
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
[[gnu::always_inline]] inline void fold_runs(const Op& op, Runs<A> x, int runs, int rows,
                                             const R* last, R* prefixes) {
  constexpr int together = 4;
  const auto fold_next = [&](auto count) __attribute__((always_inline)) {
    fold_together<count>(op, x, rows, last, prefixes);
    x.data += count * x.run;
    prefixes += std::int64_t{count} * rows * x.width;
    if (last != nullptr) last += count * x.width;
  };
  int run = 0;
  for (; run + together <= runs; run += together) fold_next(constant<together>);
  for (; run < runs; ++run) fold_next(constant<1>);
}

/// Results of rows of fewer than wide_row lines: the carry combined with the prefixes.
///
/// \param carry one value for each line, or null
/// \param y     the first row of results; a single line has distance 1
template <class Op, class R, class Value>
[[gnu::always_inline]] inline void combine_results(const Op& op, const R* carry, const R* prefixes,
                                                   int rows, int width, const SlabsOf<Value>& y) {
  for (int w = 0; w < width; ++w) {
    const auto combine_line = [&](const auto& result) __attribute__((always_inline)) {
      if (width == 1) {
        for (int i = 0; i < rows; ++i) y.data[i] = static_cast<Value>(result(prefixes[i]));
      } else {
        for (int i = 0; i < rows; ++i) {
          y.data[i * y.row + w] = static_cast<Value>(result(prefixes[i * width + w]));
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

/// Rows of elements of neighbouring lines, in place.
template <class T>
struct StoredRows {
  const T* data;
  std::int64_t row;  ///< distance between rows

  [[gnu::always_inline]] const T& operator()(int i, int w) const { return data[i * row + w]; }
  void skip(int rows) { data += rows * row; }
};
/// Rows of a zipped input: a function of the elements of its parts.
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

/// Rows of wide_row lines or more, which are folded and stored in one pass.
template <class X, class R, class Value>
struct WideRows {
  X x;
  Value* y;  ///< may be the same address as x
  std::int64_t y_row;
  R* last;         ///< for each line, the fold of the chunk's earlier rows
  const R* carry;  ///< for each line, the prefix of the chunk; or null
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

/// Scans rows within a chunk: one by one, in the order of memory, which hardware prefetching
/// follows, or, in a segment of longer rows, four side by side, so that folds are moved once.
template <class A, class Op, class X, class R, class Value>
[[gnu::always_inline]] inline void scan_wide_rows(const Op& op, WideRows<X, R, Value> b, int rows,
                                                  bool is_exclusive, bool is_segment) {
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
  for (; is_segment && row + 4 <= rows; row += 4) scan_next(constant<4>);
  for (; row < rows; ++row) scan_next(constant<1>);
}

}  // namespace KokkosScan::impl::host
