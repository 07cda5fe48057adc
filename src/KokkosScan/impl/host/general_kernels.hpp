// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops of the general kernels, with independent iterations that compilers can vectorise.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace KokkosScan::impl::host {

/// From this width on, neighbouring lines alone hide the latency of the operator.
inline constexpr int wide_row = 8;

/// Calls f, compiled for wide registers if T is a number: structs would have to be transposed.
template <class T, class F>
[[gnu::always_inline]] inline void call_for([[maybe_unused]] Registers registers, const F& f) {
  if constexpr (std::is_arithmetic_v<T>) {
    call_with(registers, f);
  } else {
    f(constant<1>);
  }
}

/// Rows of a block.
struct Span {
  int begin, end;
};

/// Rows of a zipped input: a function of the elements of its parts.
template <class Function, class... Parts>
struct ZippedRows {
  const Function& function;
  std::tuple<Parts...> parts;

  [[gnu::always_inline]] auto operator()(std::int64_t i, std::int64_t j, bool of_slab) const {
    return std::apply(
        [&](const auto&... part)
            __attribute__((always_inline)) { return function(part(i, j, of_slab)...); },
        parts);
  }
  void move(int slabs, int lines) {
    std::apply([&](auto&... part) { (part.move(slabs, lines), ...); }, parts);
  }
};

/// Lines that are scanned side by side.
///
/// \tparam OfSlabs a bool, or std::false_type: whether each is the first of a slab; otherwise they
///                 are neighbours in a row
template <class X, class R, class Value, class OfSlabs>
struct LinesOfRows {
  X x;
  SlabsOf<Value> y;  ///< results, which may replace elements
  R* last;           ///< for each line, the fold of the chunk's earlier rows
  const R* carry;    ///< for each line, the prefix of the chunk; or null
  int count;
  OfSlabs of_slabs;

  /// \tparam A the accumulator, to which elements are converted first
  template <class A>
  [[gnu::always_inline]] R element(std::int64_t i, std::int64_t j) const {
    return static_cast<R>(static_cast<A>(x(i, j, of_slabs)));
  }
  [[gnu::always_inline]] void store(std::int64_t i, std::int64_t j, const R& result) const {
    y(i, j, of_slabs) = static_cast<Value>(result);
  }
  void move(int slabs, int lines) { x.move(slabs, lines), y.move(slabs, lines); }
};

/// Scans some rows of few lines, of which `count` have their state in registers.
template <class A, int count, bool has_carry, bool is_exclusive, class Op, class X, class R,
          class Value, class OfSlabs>
[[gnu::always_inline]] inline void scan_lines(const Op& op,
                                              const LinesOfRows<X, R, Value, OfSlabs>& lines,
                                              Span rows) {
  const LinesOfRows<X, R, Value, OfSlabs> b = lines;
  R fold[count], before[count];
  KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
    fold[j] = b.last[j];
    if (has_carry) before[j] = b.carry[j];
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
      const R next = op(fold[j], b.template element<A>(i, j));
      if constexpr (has_carry) {
        b.store(i, j, op(before[j], is_exclusive ? fold[j] : next));
      } else {
        b.store(i, j, is_exclusive ? fold[j] : next);
      }
      fold[j] = next;
    }
  }
  KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) b.last[j] = fold[j];
}

/// Scans whole lines of a few rows, one by one. `last` has their starts, and receives the last
/// results.
template <class A, class Op, class Lines, class R>
[[gnu::always_inline]] inline void fold_lines(const Op& op, const Lines& lines, int rows,
                                              bool has_start, R* last) {
  for (int j = 0; j < lines.count; ++j) {
    R fold = lines.template element<A>(0, j);
    if (has_start) fold = op(last[j], fold);
    lines.store(0, j, fold);
    for (int i = 1; i < rows; ++i) {
      lines.store(i, j, fold = op(fold, lines.template element<A>(i, j)));
    }
    last[j] = fold;
  }
}

/// Scans `count` rows of many neighbours, from row `first` on.
template <class A, int count, bool has_carry, bool is_exclusive, class Op, class X, class R,
          class Value, class OfSlabs>
[[gnu::always_inline]] inline void scan_rows(const Op& op,
                                             const LinesOfRows<X, R, Value, OfSlabs>& lines,
                                             std::int64_t first) {
  const LinesOfRows<X, R, Value, OfSlabs> b = lines;
  R* const last = b.last;
  const R* const carry = b.carry;
  KOKKOSSCAN_IMPL_INDEPENDENT for (int j = 0; j < b.count; ++j) {
    R fold = last[j];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < count; ++i) {
      const R next = op(fold, b.template element<A>(first + i, j));
      if constexpr (has_carry) {
        b.store(first + i, j, op(carry[j], is_exclusive ? fold : next));
      } else {
        b.store(first + i, j, is_exclusive ? fold : next);
      }
      fold = next;
    }
    last[j] = fold;
  }
}

}  // namespace KokkosScan::impl::host
