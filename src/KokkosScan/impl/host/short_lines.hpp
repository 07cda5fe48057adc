// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines short lines that follow each other in memory, with registers along them.

#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/trees.hpp>

namespace KokkosScan::impl::host {

/// Scans whole lines, one at each place; up to three elements behind each are overwritten.
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline void combine_line_at_each_place(const Op& op,
                                                              const SlabBlock<A, R>& block, int s) {
  const auto wide = carrying(op);
  const int n = block.rows;
  const A* const x = block.x + s * block.x_slab;
  A* const b = block.b + s * block.b_slab + (block.firsts == nullptr ? 0 : 1);
  R start[places], chunks[places];
  A before[places];
  for (int place = 0; place < places; ++place) {
    before[place] = block.starts[(s + place) * block.starts_slab];
    start[place] = static_cast<R>(before[place]);
    chunks[place] = neutral(wide);
  }
  const auto none = broadcast<places>(neutral(op));
  Pack<A, places> fold = none, first;
  auto carry = broadcast<A>(before);
  for (int k = 0; k < n; k += pack_length) {
    if (k % chunk_length == 0) {
      for (int place = 0; place < places; ++place) {
        const A* const later = x + k + place * block.x_slab + block.ahead;
        block.caches == Caches::nearest ? __builtin_prefetch(later, 0, 0)
                                        : __builtin_prefetch(later);
      }
    }
    const auto elements = load<places>(x + k, block.x_slab);
    Pack<A, places> result;
    const auto combine_pack = [&](const auto& exact) __attribute__((always_inline)) {
      fold = combine(exact, fold, prefixes(exact, elements, none));
      result = combine(exact, carry, fold);
    };
    bool is_exact = false;
    if constexpr (minds_nan<Op>) {
      auto sum = fold.part[0];
      for (int i = 0; i < Pack<A>::parts; ++i) sum.lanes += elements.part[i].lanes;
      is_exact = any(where_nan(sum));
      if (is_exact) combine_pack(Exact<Op>{op});
    }
    if (!is_exact) combine_pack(op);
    if (k == 0) first = result;
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      store<false, place>(b + k + place * block.b_slab, result);
    });
    fold = broadcast_last(fold);
    if ((k + pack_length) % chunk_length == 0) {
      for_each_place<places>([&](auto place) __attribute__((always_inline)) {
        chunks[place] = wide(chunks[place], static_cast<R>(last<place>(fold)));
        before[place] = static_cast<A>(wide(start[place], chunks[place]));
      });
      carry = broadcast<A>(before);
      fold = none;
    }
  }
  // What is behind the first line is the begin of the second.
  if constexpr (places == 2) store<false, 1>(b + block.b_slab, first);
}

/// Scans a block of slabs of one line each, upwards in memory. Lines are at most a tile.
template <class Op, class A, class R>
void combine_short_lines(Registers registers, const Op& op, const SlabBlock<A, R>& block) {
  call_with(
      registers, [ op, block ](auto places) __attribute__((always_inline)) {
        int s = 0;
        for (; s + places <= block.slabs; s += places) {
          combine_line_at_each_place<places>(op, block, s);
        }
        if (s < block.slabs) combine_line_at_each_place<1>(op, block, s);
        for (s = 0; block.firsts != nullptr && s < block.slabs; ++s) {
          block.b[s * block.b_slab] = block.firsts[s * block.starts_slab];
        }
      });
}

}  // namespace KokkosScan::impl::host
