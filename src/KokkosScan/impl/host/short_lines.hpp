// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines short, contiguous lines, in registers along the lines.

#include <KokkosScan/impl/host/blocks_of_line.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
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
  load_packs<1>(x, block.x_slab, neutral(op), count, folds);
  const auto combine_by = [&](const auto& exact) __attribute__((always_inline)) {
    fold_packs(exact, none, count, folds);
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      totals[place] = last<place>(folds[packs - 1]);
    });
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < packs; ++i) {
      folds[i] = combine(exact, before, folds[i]);
    }
  };
  bool is_exact = false;
  if constexpr (minds_nan<Op>) {
    is_exact = may_have_nan(folds);
    if (is_exact) combine_by(Exact<Op>{op});
  }
  if (!is_exact) combine_by(op);
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    A* const to = b + place * block.b_slab;
    block.streams ? store_packs<true, place>(folds, count, to)
                  : store_packs<false, place>(folds, count, to);
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
  Pack<A, places> first;
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
    if (n % pack_length != 0) store<false, 1>(b + block.b_slab, first);
  }
}

/// Scans a block of slabs of one line each, upwards in memory: lines of up to side_by_side_bytes
/// side by side, longer ones, of at most a tile, one after the other. Non-temporal stores write
/// whole packs, or whole registers of longer lines, to aligned addresses.
template <class Op, class A, class R>
void combine_short_lines(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [ op, slabs ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        SlabBlock<A, R> block = slabs;
        StreamedRun<A> run = block.run;
        constexpr int lag = lag_bytes / sizeof(A);
        // A single line is computed at both places; with an odd number, the last one twice.
        if (block.slabs == 1) block.x_slab = block.b_slab = block.starts_slab = 0;
        const auto none = hidden<places>(neutral(op));
        const std::int64_t starts_slab = block.starts_slab, x_slab = block.x_slab,
                           b_slab = block.b_slab;
        A* b_of_first = block.b;  // base of all results, as if none were moved by rewinding
        const int shift = block.firsts == nullptr ? 0 : 1;
        // Lines between two rounds of prefetches and stores.
        const int least = turn_bytes / static_cast<int>(sizeof(A)) / block.rows;
        const int most = least / places * places + places;
        // Stores earlier results, before at most `count` results are computed from `next` on.
        const auto store_before = [&](const A* next, std::int64_t count)
            __attribute__((always_inline)) {
          run.template store_up_to<places, true>(next - lag);
          b_of_first += run.template rewind<places>(next, count, true);
        };
        // For lines of one to four packs, the number of packs is a compile-time constant.
        const auto scan = [&](auto packs) __attribute__((always_inline)) {
          const A* later = block.x + block.ahead;
          const auto start_of = [&](int first, A(&before)[places]) __attribute__((always_inline)) {
            for_each_place<places>([&](auto place) __attribute__((always_inline)) {
              before[place] = block.starts[(first + place) * starts_slab];
            });
          };
          A before[places], totals[places];
          start_of(0, before);
          auto carry = broadcast<A>(before);
          for (int begin = 0; begin < block.slabs; begin += most) {
            const int end = begin + most < block.slabs ? begin + most : block.slabs;
            // The last line may be combined again, together with the one before it.
            store_before(b_of_first + begin * b_slab, end < block.slabs ? most * b_slab : 0);
            if (block.ahead != 0) {
              const A* const behind = block.x + end * x_slab + block.ahead;
              for (; later < behind; later += cache_line / sizeof(A)) {
                if (block.caches == Caches::nearest) {
                  __builtin_prefetch(later, 0, 0);
                } else {
                  __builtin_prefetch(later);
                }
              }
            }
            for (int s = begin; s < end; s += places) {
              const int first = s + places <= block.slabs || s == 0 ? s : block.slabs - places;
              const A* const x = block.x + first * x_slab;
              A* const b = b_of_first + first * b_slab + shift;
              if constexpr (packs == 0) {
                start_of(first, before);
                combine_line_at_each_place<places>(op, block, none, before, x, b);
              } else {
                if (starts_slab != 0) {
                  start_of(first, before);
                  carry = broadcast<A>(before);
                }
                combine_packs_of_lines<packs>(op, block, none, x, b, carry, totals);
              }
            }
            // Afterwards, because lines overwrite what follows them.
            for (int s = begin; shift > 0 && s < end; ++s) {
              b_of_first[s * b_slab] = block.firsts[s * starts_slab];
            }
          }
        };
        bool is_done = false;
        if constexpr (are_widest<places>) {
          is_done = block.rows <= chunk_length;
          if (block.rows <= pack_length) {
            scan(constant<1>);
          } else if (block.rows <= 2 * pack_length) {
            scan(constant<2>);
          } else if (block.rows <= 3 * pack_length) {
            scan(constant<3>);
          } else if (is_done) {
            scan(constant<4>);
          }
        }
        if (!is_done && block.rows * static_cast<int>(sizeof(A)) <= side_by_side_bytes) {
          scan(constant<0>);
        } else if (!is_done) {
          // The last pack may extend into the next line. These lines need no carry, so that memory
          // serves as the buffer of prefixes.
          constexpr int length = fold_length<A>;
          const int whole = (block.rows + pack_length - 1) / pack_length * pack_length;
          BlocksOfLine<1, places, Op, A, R> blocks(op, block.carry, {block.ahead, block.caches},
                                                   block.streams);
          for (int s = 0; s < block.slabs; ++s) {
            blocks.carry = {static_cast<R>(block.starts[s * starts_slab]), neutral(carrying(op))};
            for (int k = 0; k < whole; k += length) {
              store_before(b_of_first + s * b_slab + k, length + chunk_length);
              A* const b = b_of_first + s * b_slab;
              if (k == 0 && shift > 0) *b = block.firsts[s * starts_slab];
              blocks.scan(block.x + s * x_slab + k, whole - k < length ? whole - k : length,
                          b + shift + k);
            }
          }
        }
        run.template finish<places>();
      });
}

}  // namespace KokkosScan::impl::host
