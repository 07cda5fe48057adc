// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops of the general kernels, with independent iterations that compilers can vectorise.

#include <KokkosScan/impl/host/chunks.hpp>
#include <cstddef>
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

/// Rows of a block.
struct Span {
  int begin, end;
};

/// From this width on, neighbouring lines alone hide the latency of the operator.
inline constexpr int wide_row = 8;

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

/// A line of rows, and where its results go.
template <class A, class X, class Value>
struct LineOfRows {
  X x;
  int w;     ///< its place in the rows
  Value* y;  ///< may be the address of the first element
  std::int64_t y_row;

  [[gnu::always_inline]] A element(int i) const { return static_cast<A>(x(i, w)); }
  template <class R>
  [[gnu::always_inline]] void store(int i, const R& result) const {
    y[i * y_row] = static_cast<Value>(result);
  }
};

/// Scans rows begin ... end - 1 of several lines side by side, which hides the latency of the
/// operator.
///
/// \param last  for each line, the fold of the chunk's earlier rows
/// \param carry for each line, the prefix of the chunk; or null
template <bool has_carry, bool is_exclusive, class Op, class Line, class R, std::size_t count>
[[gnu::always_inline]] inline void scan_lines(const Op& op, const Line (&lines)[count], Span rows,
                                              R* last, const R* carry) {
  R fold[count], before[count];
  KOKKOSSCAN_IMPL_UNROLL for (std::size_t j = 0; j < count; ++j) {
    fold[j] = last[j];
    if (has_carry) before[j] = carry[j];
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    KOKKOSSCAN_IMPL_UNROLL for (std::size_t j = 0; j < count; ++j) {
      const R next = op(fold[j], static_cast<R>(lines[j].element(i)));
      if constexpr (has_carry) {
        lines[j].store(i, R(op(before[j], is_exclusive ? fold[j] : next)));
      } else {
        lines[j].store(i, is_exclusive ? fold[j] : next);
      }
      fold[j] = next;
    }
  }
  KOKKOSSCAN_IMPL_UNROLL for (std::size_t j = 0; j < count; ++j) last[j] = fold[j];
}

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
