// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines short, contiguous lines, in registers along the lines.

#include <KokkosScan/impl/host/blocks_of_line.hpp>
#include <KokkosScan/impl/host/column_kernels.hpp>
#include <KokkosScan/impl/host/trees.hpp>

namespace KokkosScan::impl::host {

/// Combines up to one chunk of a line at each place: whole packs of elements and of results.
///
/// \param before the prefix of each chunk
/// \param totals receives the total of each chunk
/// \return the first pack of results
template <int packs, class Op, class A, class R, int places>
[[gnu::always_inline]] inline Pack<A, places> combine_packs_of_lines(
    const Op& op, const SlabBlock<A, R>& block, const Register<A, places>& none, const A* x, A* b,
    const Pack<A, places>& before, A (&totals)[places]) {
  constexpr int count = packs * pack_length;
  PacksOfChunk<A, places> folds;
  load_packs(x, block.x.slab, count, folds);
  const auto combine_by = [&](const auto& exact) __attribute__((always_inline)) {
    fold_packs(exact, none, count, folds);
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      totals[place] = last<place>(folds[packs - 1]);
    });
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < packs; ++i) {
      folds[i] = combine(exact, before, folds[i]);
    }
  };
  minds_nan<Op>&& may_have_nan(folds) ? combine_by(exactly(op)) : combine_by(op);
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    store_packs<place>(folds, count, b + place * block.b.slab);
  });
  return folds[0];
}

/// Scans one whole line at each place. Up to three elements behind each line are overwritten.
///
/// \param x, b the first elements and the first inclusive result of the first line
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline void combine_line_at_each_place(const Op& op,
                                                              const SlabBlock<A, R>& block,
                                                              const Register<A, places>& none,
                                                              A (&before)[places], const A* x,
                                                              A* b) {
  const auto wide = carrying(op);
  const int n = block.rows;
  R start[places], chunks[places];
  A totals[places];
  KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
    start[place] = static_cast<R>(before[place]);
    chunks[place] = neutral(wide);
  }
  auto carry = broadcast<A>(before);
  Pack<A, places> first{};
  int k = 0;
  const auto combine_next = [&](auto packs) __attribute__((always_inline)) {
    const auto results =
        combine_packs_of_lines<packs>(op, block, none, x + k, b + k, carry, totals);
    if (k == 0) first = results;
  };
  for (; k + chunk_length < n; k += chunk_length) {
    combine_next(constant<4>);
    KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
      chunks[place] = wide(chunks[place], static_cast<R>(totals[place]));
      before[place] = static_cast<A>(wide(start[place], chunks[place]));
    }
    carry = broadcast<A>(before);
  }
  switch ((n - k + pack_length - 1) / pack_length) {
    case 1:
      combine_next(constant<1>);
      break;
    case 2:
      combine_next(constant<2>);
      break;
    case 3:
      combine_next(constant<3>);
      break;
    default:
      combine_next(constant<4>);
  }
  // The end of the first line has overwritten the beginning of the second: restore it.
  if constexpr (places == 2) {
    if (n % pack_length != 0) store<1>(b + block.b.slab, first);
  }
}

/// Scans a block of slabs of one line each, upwards in memory: lines of up to side_by_side_bytes
/// side by side, longer ones, of at most a tile, one after the other.
///
/// \param folds buffer for prefixes: fold_length elements in one page
template <class Op, class A, class R>
void combine_short_lines(Registers registers, const Op& op, const SlabBlock<A, R>& lines,
                         A* folds) {
  call_with(
      registers, [ op, lines, folds ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        SlabBlock<A, R> block = lines;
        const auto none = hidden<places>(neutral(op));
        // A single line is computed at both places; with an odd number, the last one twice.
        if (block.slabs == 1) block.x.slab = block.b.slab = block.starts.slab = 0;
        const A* const starts = block.starts.values;
        const A* const firsts = block.starts.firsts;
        // For lines of one to four packs, the number of packs is a compile-time constant.
        const auto scan = [&](auto packs) __attribute__((always_inline)) {
          for (int s = 0; s < block.slabs; s += places) {
            const int first = s + places <= block.slabs || s == 0 ? s : block.slabs - places;
            const A* const x = block.x.data + first * block.x.slab;
            A* const b = block.b.data + first * block.b.slab;
            if (block.ahead != 0) prefetch(x + block.ahead, places * block.rows);
            A before[places], totals[places];
            for_each_place<places>([&](auto place) __attribute__((always_inline)) {
              before[place] = starts[(first + place) * block.starts.slab];
            });
            if constexpr (packs == 0) {
              combine_line_at_each_place<places>(op, block, none, before, x, b);
            } else {
              combine_packs_of_lines<packs>(op, block, none, x, b, broadcast<A>(before), totals);
            }
            // Afterwards, because lines overwrite what follows them.
            if (firsts == nullptr) continue;
            for_each_place<places>([&](auto place) __attribute__((always_inline)) {
              b[place * block.b.slab - 1] = firsts[(first + place) * block.starts.slab];
            });
          }
        };
        if (block.rows * static_cast<int>(sizeof(A)) <= side_by_side_bytes) {
          switch ((block.rows + pack_length - 1) / pack_length) {
            case 1:
              return scan(constant<1>);
            case 2:
              return scan(constant<2>);
            case 3:
              return scan(constant<3>);
            case 4:
              return scan(constant<4>);
            default:
              return scan(constant<0>);
          }
        }
        constexpr int length = fold_length<A>;
        // The last pack may extend into the next line.
        const int whole = (block.rows + pack_length - 1) / pack_length * pack_length;
        for (int s = 0; s < block.slabs; ++s) {
          const A* const x = block.x.data + s * block.x.slab;
          A* const b = block.b.data + s * block.b.slab;
          BlockOfLine<A> line{x, b, 0, whole, 1, false, folds, {}};
          if (block.ahead != 0) line.ahead.add(x + block.ahead, 1);
          BlocksOfLine<1, places, Op, A, R> blocks(op, line);
          blocks.carry = {static_cast<R>(starts[s * block.starts.slab]), neutral(carrying(op))};
          if (firsts != nullptr) b[-1] = firsts[s * block.starts.slab];
          for (int k = 0; k < whole; k += length) {
            blocks.scan(k, whole - k < length ? whole - k : length);
          }
        }
      });
}

}  // namespace KokkosScan::impl::host
