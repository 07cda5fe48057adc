// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds chunks of lines whose elements are contiguous, in registers along the line.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The carry of a line: the fold of all earlier tiles, and of the earlier chunks of the tile.
template <class R>
struct Carry {
  R tiles;
  R chunks;
};

/// What precedes a part of some lines: in the carried type, and B at its beginning.
template <class A, class R, int width>
struct PrefixOfPart {
  R tiles[width];
  A before[width];
};

/// The last chunk that was combined: the fold of the tile's chunks before it, and its total.
template <class A, class R>
struct LastChunk {
  R before;
  A total;
};

/// One chunk at each place of registers: its packs of elements, then of prefixes, then of results.
template <class A, int places>
using PacksOfChunk = Pack<A, places>[chunk_length / pack_length];

/// Loads up to one chunk at each place.
///
/// \param x        the first element at the first place
/// \param distance from the first element at one place to that at the next
/// \param count    the number of elements: whole packs, at least one
/// \param packs    receives them; missing packs repeat the last one
template <class A, int places>
[[gnu::always_inline]] inline void load_packs(const A* x, std::int64_t distance, int count,
                                              PacksOfChunk<A, places>& packs) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    const bool is_missing = i > 0 && i * pack_length >= count;
    packs[i] = is_missing ? packs[i - 1] : load<places>(x + i * pack_length, distance);
  }
}

/// Whether a chunk at some place may contain a NaN.
template <class A, int places>
[[gnu::always_inline]] inline bool may_have_nan(const PacksOfChunk<A, places>& packs) {
  if constexpr (Pack<A>::parts == 1) {
    return any(where_nan(packs[0].part[0], packs[1].part[0], packs[2].part[0], packs[3].part[0]));
  } else {
    return any(where_nan(packs[0].part[0], packs[0].part[1], packs[1].part[0], packs[1].part[1],
                         packs[2].part[0], packs[2].part[1], packs[3].part[0], packs[3].part[1]));
  }
}

/// Reverses the values of chunks.
template <class A, int places>
[[gnu::always_inline]] inline void reverse_packs(PacksOfChunk<A, places>& packs) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length / 2; ++i) {
    const Pack<A, places> other = reversed(packs[i]);
    packs[i] = reversed(packs[chunk_length / pack_length - 1 - i]);
    packs[chunk_length / pack_length - 1 - i] = other;
  }
}

/// Computes the prefixes within up to one chunk at each place.
///
/// \param op    the operator, or its Exact form
/// \param none  a neutral value
/// \param packs the elements; on return, the prefixes
template <class Op, class A, int places>
[[gnu::always_inline]] inline void fold_packs(const Op& op, const Register<A, places>& none,
                                              int count, PacksOfChunk<A, places>& packs) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (i > 0 && count <= i * pack_length) {
      packs[i] = packs[i - 1];
      continue;
    }
    packs[i] = prefixes(op, packs[i], none);
    if (i > 0) packs[i] = combine(op, broadcast_last(packs[i - 1]), packs[i]);
  }
}

/// Stores the packs of one place in memory order.
///
/// \param count the number of values: whole packs
template <int place, class A, int places>
[[gnu::always_inline]] inline void store_packs(const PacksOfChunk<A, places>& packs, int count,
                                               A* b) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (i * pack_length >= count) return;
    store<place>(b + i * pack_length, packs[i]);
  }
}

/// Elements of a line, and where their results go.
template <class A>
struct BlockOfLine {
  const A* x;          ///< the first element
  A* b;                ///< receives the first inclusive result
  std::int64_t begin;  ///< the index of the first element in the line
  int count;           ///< whole chunks, except at the end of a line
  int step;            ///< the direction of elements and results in memory: 1 or -1
  bool streams;        ///< whether results have addresses for non-temporal stores of registers
  A* folds;            ///< buffer for prefixes: fold_length elements in one page
  Prefetches ahead;    ///< for the line from its first element on
};

/// Loads a chunk at each place from x on, upwards (step 1) or downwards (step -1).
template <int step, class A, int places>
[[gnu::always_inline]] inline void load_chunks(const A* x, PacksOfChunk<A, places>& packs) {
  load_packs(step > 0 ? x : x - (chunk_length - 1), step * chunk_length, chunk_length, packs);
  if constexpr (step < 0) reverse_packs(packs);
}

/// Folds a block of whole chunks of a tile, one at each place at a time.
///
/// \param chunks the fold of the tile's earlier chunks; on return, including these
/// \return the last chunk
template <class Op, class A, class R>
LastChunk<A, R> fold_chunks(Registers registers, const Op& op, const BlockOfLine<A>& block,
                            R& chunks) {
  return call_with(
      registers, [ op, &block, &chunks ](auto places) __attribute__((always_inline)) {
        constexpr int at_once = places * chunk_length;
        const auto wide = carrying(op);
        const auto none = hidden<places>(neutral(op));
        R before = chunks;
        LastChunk<A, R> last{};
        for (int k = 0; k < block.count; k += at_once) {
          PacksOfChunk<A, places> packs;
          block.step > 0 ? load_chunks<1>(block.x + k, packs) : load_chunks<-1>(block.x - k, packs);
          const bool is_exact = minds_nan<Op> && may_have_nan(packs);
          is_exact ? fold_packs(exactly(op), none, chunk_length, packs)
                   : fold_packs(op, none, chunk_length, packs);
          for_each_place<places>([&](auto place) __attribute__((always_inline)) {
            last = {before, host::last<place>(packs[3])};
            before = wide(before, static_cast<R>(last.total));
          });
        }
        chunks = before;
        return last;
      });
}

}  // namespace KokkosScan::impl::host
