// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines short, contiguous lines, in registers along the lines.

#include <KokkosScan/impl/host/blocks_of_line.hpp>
#include <KokkosScan/impl/host/column_kernels.hpp>
#include <KokkosScan/impl/host/trees.hpp>

namespace KokkosScan::impl::host {

/// Combines up to one chunk of a line at each place: whole packs of elements and of results, from
/// element k on.
///
/// \param packs  a number of packs, which may be a compile-time constant
/// \param before the prefix of each chunk
/// \param totals receives the total of each chunk, if it is whole
/// \return the first pack of results
template <class Packs, class Op, class A, class R, int places>
[[gnu::always_inline]] inline Pack<A, places> combine_packs_of_lines(
    Packs packs, const Op& op, const SlabBlock<A, R>& lines, const Register<A, places>& none, int k,
    const Pack<A, places>& before, A (&totals)[places]) {
  const int count = packs * pack_length;
  PacksOfChunk<A, places> folds;
  load_packs(lines.x.data + k, lines.x.slab, count, folds);
  const auto combine_by = [&](const auto& exact) __attribute__((always_inline)) {
    fold_packs(exact, none, count, folds);
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      totals[place] = last<place>(folds[chunk_length / pack_length - 1]);
    });
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
      folds[i] = combine(exact, before, folds[i]);
    }
  };
  minds_nan<Op>&& may_have_nan(folds) ? combine_by(exactly(op)) : combine_by(op);
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    store_packs<place>(folds, count, lines.b.data + k + place * lines.b.slab);
  });
  return folds[0];
}

/// Scans one whole line of more than a chunk at each place. Up to three elements behind each line
/// are overwritten.
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline void combine_line_at_each_place(const Op& op,
                                                              const SlabBlock<A, R>& lines,
                                                              const Register<A, places>& none,
                                                              A (&before)[places]) {
  const auto wide = carrying(op);
  const int n = lines.rows;
  R start[places], chunks[places];
  A totals[places];
  KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
    start[place] = static_cast<R>(before[place]);
    chunks[place] = neutral(wide);
  }
  auto carry = broadcast<A>(before);
  Pack<A, places> first{};
  int k = 0;
  for (; k + chunk_length < n; k += chunk_length) {
    const auto results = combine_packs_of_lines(constant<4>, op, lines, none, k, carry, totals);
    if (k == 0) first = results;
    KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
      chunks[place] = wide(chunks[place], static_cast<R>(totals[place]));
      before[place] = static_cast<A>(wide(start[place], chunks[place]));
    }
    carry = broadcast<A>(before);
  }
  combine_packs_of_lines((n - k + pack_length - 1) / pack_length, op, lines, none, k, carry,
                         totals);
  // The end of the first line has overwritten the beginning of the second: restore it.
  if constexpr (places == 2) {
    if (n % pack_length != 0) store<1>(lines.b.data + lines.b.slab, first);
  }
}

/// Scans a block of slabs of one line each, upwards in memory, side by side.
template <class Op, class A, class R>
void combine_short_lines(Registers registers, const Op& op, const SlabBlock<A, R>& lines) {
  call_with(
      registers, [ op, lines ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        SlabBlock<A, R> block = lines;
        const auto none = hidden<places>(neutral(op));
        // A single line is computed at both places; with an odd number, the last one twice.
        if (block.slabs == 1) block.x.slab = block.b.slab = block.starts.slab = 0;
        const A* const starts = block.starts.values;
        const A* const firsts = block.starts.firsts;
        // For lines of one to four packs, the number of packs is a compile-time constant.
        const auto scan = [&](auto packs) __attribute__((always_inline)) {
          SlabBlock<A, R> part = block;
          for (int s = 0; s < block.slabs; s += places) {
            const int first = s + places <= block.slabs || s == 0 ? s : block.slabs - places;
            part.x.data = block.x.data + first * block.x.slab;
            part.b.data = block.b.data + first * block.b.slab;
            if (block.ahead != 0) prefetch(part.x.data + block.ahead, places * block.rows);
            A before[places], totals[places];
            for_each_place<places>([&](auto place) __attribute__((always_inline)) {
              before[place] = starts[(first + place) * block.starts.slab];
            });
            if constexpr (packs == 0) {
              combine_line_at_each_place<places>(op, part, none, before);
            } else {
              combine_packs_of_lines(packs, op, part, none, 0, broadcast<A>(before), totals);
            }
            // Afterwards, because lines overwrite what follows them.
            if (firsts == nullptr) continue;
            for_each_place<places>([&](auto place) __attribute__((always_inline)) {
              part.b.data[place * block.b.slab - 1] = firsts[(first + place) * block.starts.slab];
            });
          }
        };
        const int packs = (block.rows + pack_length - 1) / pack_length;
        if (packs == 1) return scan(constant<1>);
        if (packs == 2) return scan(constant<2>);
        if (packs == 3) return scan(constant<3>);
        packs == 4 ? scan(constant<4>) : scan(constant<0>);
      });
}

/// Scans a block of slabs of one line each, upwards in memory: lines of up to side_by_side_bytes
/// side by side, longer ones, of at most a tile, one after the other.
///
/// \param folds buffer for prefixes: fold_length elements in one page
template <class Op, class A, class R>
void combine_lines(Registers registers, const Op& op, const SlabBlock<A, R>& lines, A* folds) {
  if (lines.rows * static_cast<int>(sizeof(A)) <= side_by_side_bytes) {
    return combine_short_lines(registers, op, lines);
  }
  // The last pack may extend into the next line.
  const int whole = (lines.rows + pack_length - 1) / pack_length * pack_length;
  const A* const starts = lines.starts.values;
  const A* const firsts = lines.starts.firsts;
  for (int s = 0; s < lines.slabs; ++s) {
    const A* const x = lines.x.data + s * lines.x.slab;
    A* const b = lines.b.data + s * lines.b.slab;
    BlockOfLine<A> line{x, b, 0, whole, 1, false, folds, {}};
    if (lines.ahead != 0) line.ahead.add(x + lines.ahead, 1);
    if (firsts != nullptr) b[-1] = firsts[s * lines.starts.slab];
    Carry<R> carry{static_cast<R>(starts[s * lines.starts.slab]), neutral(carrying(op))};
    scan_elements(registers, op, line, carry);
  }
}

}  // namespace KokkosScan::impl::host
