// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops of the general kernels, with independent iterations that compilers can vectorise.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

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
    return element(i, j, of_slab, std::index_sequence_for<Parts...>{});
  }
  void move(int slabs, int lines) {
    std::apply([&](auto&... part) { (part.move(slabs, lines), ...); }, parts);
  }
  void take_neighbours() {
    std::apply([&](auto&... part) { (part.take_neighbours(), ...); }, parts);
  }

 private:
  // Not by std::apply(): where compilers do not inline that, structs go through memory.
  template <std::size_t... I>
  [[gnu::always_inline]] auto element(std::int64_t i, std::int64_t j, bool of_slab,
                                      std::index_sequence<I...>) const {
    return function(as_argument(std::get<I>(parts)(i, j, of_slab))...);
  }
};

/// Lines that are scanned side by side.
///
/// \tparam A       the accumulator, to which elements are converted first
/// \tparam E       the type in which elements are combined with folds
/// \tparam R       the type of folds
/// \tparam OfSlabs std::true_type: lines are `slab` of x and y apart, the first of slabs or, after
///                 take_neighbours(), neighbours; std::false_type: neighbours
template <class A, class E, class X, class R, class Value, class OfSlabs>
struct LinesOfRows {
  using Fold = R;

  X x;
  SlabsOf<Value> y;  ///< results, which may replace elements
  R* last;           ///< for each line, the fold of the chunk's earlier rows
  const R* carry;    ///< for each line, the prefix of the chunk; or null
  int count;
  OfSlabs of_slabs;

  [[gnu::always_inline]] E element(std::int64_t i, std::int64_t j) const {
    return static_cast<E>(static_cast<A>(x(i, j, of_slabs)));
  }
  [[gnu::always_inline]] void store(std::int64_t i, std::int64_t j, const R& result) const {
    y(i, j, of_slabs) = static_cast<Value>(result);
  }
  void move(int slabs, int lines) { x.move(slabs, lines), y.move(slabs, lines); }
  /// Turns lines that are the first of slabs into those of one slab.
  void take_neighbours() { x.take_neighbours(), y.take_neighbours(); }
};

/// Scans some rows of few lines, of which `count` have their state in registers.
template <int count, bool has_carry, bool is_exclusive, class Op, class Lines>
[[gnu::always_inline]] inline void scan_lines(const Op& op, const Lines& lines, Span rows) {
  using R = typename Lines::Fold;
  const Lines b = lines;
  R fold[count], before[count];
  KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
    fold[j] = b.last[j];
    if (has_carry) before[j] = b.carry[j];
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < count; ++j) {
      const R next = op(fold[j], b.element(i, j));
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
template <class Op, class Lines, class R>
[[gnu::always_inline]] inline void fold_lines(const Op& op, const Lines& lines, int rows,
                                              bool has_start, R* last) {
  const Lines b = lines;
  for (int j = 0; j < b.count; ++j) {
    R fold = has_start ? last[j] : static_cast<R>(b.element(0, j));
    int i = 0;
    if (!has_start) b.store(i++, j, fold);
    for (; i < rows; ++i) b.store(i, j, fold = op(fold, b.element(i, j)));
    last[j] = fold;
  }
}

/// Scans `count` rows of many neighbours, from row `first` on.
template <int count, bool has_carry, bool is_exclusive, class Op, class Lines>
[[gnu::always_inline]] inline void scan_rows(const Op& op, const Lines& lines, std::int64_t first) {
  using R = typename Lines::Fold;
  const Lines b = lines;
  R* const last = b.last;
  const R* const carry = b.carry;
  KOKKOSSCAN_IMPL_INDEPENDENT for (int j = 0; j < b.count; ++j) {
    R fold = last[j];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < count; ++i) {
      const R next = op(fold, b.element(first + i, j));
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
