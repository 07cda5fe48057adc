// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Elements of rows of neighbouring lines, with or without a mask.

#include <KokkosScan/impl/host/blend.hpp>
#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Rows of elements without a mask.
template <class A>
struct ElementRows {
  using Elements = const A*;  ///< of a row, from some element on
  Elements first;
  std::int64_t row;  ///< distance between rows

  template <class R>
  ElementRows(const SlabBlock<A, R>& block, std::int64_t slab)
      : first(block.x + slab * block.x_slab), row(block.x_row) {}
  [[gnu::always_inline]] Elements operator[](std::int64_t k) const { return first + k * row; }
  [[gnu::always_inline]] void skip(std::int64_t rows) { first = (*this)[rows]; }
  /// Whether rows are contiguous, so that elements around a row can be read within the block.
  template <class R>
  static bool are_dense(const SlabBlock<A, R>& block) {
    return block.x_row == block.width || block.x_row == -block.width;
  }
};
template <class A>
[[gnu::always_inline]] inline const A* values_of(const A* x) {
  return x;
}
template <int places, class A>
[[gnu::always_inline]] inline Register<A, places> load_elements(const A* x) {
  return load_register<places>(x);
}
template <class A>
[[gnu::always_inline]] inline A element(const A* x, int i) {
  return x[i];
}
/// A register's worth of values as elements.
template <class A>
[[gnu::always_inline]] inline const A* as_elements(const A* values, const A*) {
  return values;
}

/// Rows of elements with a mask.
template <class A>
struct MaskedRows {
  using Elements = MaskedElements<A>;
  Elements first;
  std::int64_t row, mask_row;

  template <class R>
  MaskedRows(const SlabBlock<A, R>& block, std::int64_t slab)
      : first{block.x + slab * block.x_slab, block.mask.selected + slab * block.mask.slab,
              block.mask.identity},
        row(block.x_row),
        mask_row(block.mask.row) {}
  [[gnu::always_inline]] Elements operator[](std::int64_t k) const {
    return {first.values + k * row, first.selected + k * mask_row, first.other};
  }
  [[gnu::always_inline]] void skip(std::int64_t rows) { first = (*this)[rows]; }
  template <class R>
  static bool are_dense(const SlabBlock<A, R>& block) {
    return ElementRows<A>::are_dense(block) && block.mask.row == block.x_row &&
           block.mask.slab == block.x_slab;
  }
};
template <class A>
[[gnu::always_inline]] inline const A* values_of(const MaskedElements<A>& x) {
  return x.values;
}
template <int places, class A>
[[gnu::always_inline]] inline Register<A, places> load_elements(const MaskedElements<A>& x) {
  constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
  const auto truths = truths_of_lanes<A, places>(x.selected, x.selected + lanes / places);
  return blend(truths, load_register<places>(x.values), broadcast<places>(x.other).part[0]);
}
template <class A>
[[gnu::always_inline]] inline A element(const MaskedElements<A>& x, int i) {
  return x.selected[i] ? x.values[i] : x.other;
}
template <class A>
[[gnu::always_inline]] inline MaskedElements<A> as_elements(const A* values,
                                                            const MaskedElements<A>& x) {
  static constexpr StoredBool yes(true);
  static constexpr StoredBool all[8] = {yes, yes, yes, yes, yes, yes, yes, yes};
  return {values, all, x.other};
}

}  // namespace KokkosScan::impl::host
