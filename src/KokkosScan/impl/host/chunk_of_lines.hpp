// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines one chunk of several lines side by side, one register of lines at a time. Element k + 1
/// of a line is one row after element k.

#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Folds the rows of a pack: folds[i] combines `before` and rows 0 to i.
///
/// \param before the fold of the chunk's earlier rows
template <int places, class Op, class A>
[[gnu::always_inline]] inline void fold_rows(const Op& op, const Register<A, places>& before,
                                             const Register<A, places> (&x)[pack_length],
                                             Register<A, places> (&folds)[pack_length]) {
  const Register<A, places> pair = combine_registers(op, x[0], x[1]);
  folds[0] = combine_registers(op, before, x[0]);
  folds[1] = combine_registers(op, before, pair);
  folds[2] = combine_registers(op, before, combine_registers(op, pair, x[2]));
  folds[3] =
      combine_registers(op, before, combine_registers(op, pair, combine_registers(op, x[2], x[3])));
}

/// Scans a pack of rows in one register of lines.
///
/// \param carry  the prefix of the chunk
/// \param before the fold of the chunk's earlier rows; on return, including these
/// \param put    put(row, results)
template <int places, class Op, class A, class Put>
[[gnu::always_inline]] inline void combine_pack(const Op& op, const Register<A, places>& carry,
                                                Register<A, places>& before,
                                                const Register<A, places> (&x)[pack_length],
                                                const Put& put) {
  const auto combine_by = [&](const auto& exact) __attribute__((always_inline)) {
    Register<A, places> folds[pack_length];
    fold_rows(exact, before, x, folds);
    before = folds[pack_length - 1];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      put(i, combine_registers(exact, carry, folds[i]));
    }
  };
  // Vector minima lose a NaN that a number follows, also one in `before`.
  const bool is_exact = minds_nan<Op> && any(where_nan(before, x[0], x[1], x[2], x[3]));
  is_exact ? combine_by(exactly(op)) : combine_by(op);
}

/// Stores a register of lines in the carried type.
template <class R, class A, int places>
[[gnu::always_inline]] inline void store_wide(R* to, const Register<A, places>& r) {
  if constexpr (std::is_same_v<A, R>) {
    store_register(to, r);
  } else {
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      store_register(to + place * pack_length, widened(at_place<place>(r)));
    });
  }
}

/// Ends a chunk of one register of lines, and returns the carry into the next.
///
/// \param fold   the total of the chunk
/// \param tiles  the fold of earlier tiles; on return, including this one if it ends
/// \param chunks the fold of the tile's earlier chunks; on return, including this one
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline Register<A, places> end_chunk_of_lines(
    const Op& op, const Register<A, places>& fold, bool ends_tile, R* tiles, R* chunks) {
  const auto wide = carrying(op);
  const auto end_chunk = [&](const auto& total, R* tiles_of, R* chunks_of)
      __attribute__((always_inline)) {
    constexpr int at_once = sizeof(total) / sizeof(R) == 16 / sizeof(R) ? 1 : 2;
    auto tile = load_register<at_once>(tiles_of);
    auto chunk = combine_registers(exactly(wide), load_register<at_once>(chunks_of), total);
    if (ends_tile) {
      tile = combine_registers(exactly(wide), tile, chunk);
      store_register(tiles_of, tile);
      chunk = broadcast<at_once>(neutral(wide)).part[0];
    }
    store_register(chunks_of, chunk);
    return combine_registers(exactly(wide), tile, chunk);
  };
  if constexpr (std::is_same_v<A, R>) {
    return end_chunk(fold, tiles, chunks);
  } else if constexpr (places == 1) {
    return narrowed(end_chunk(widened(fold), tiles, chunks));
  } else {
    return join(
        narrowed(end_chunk(widened(at_place<0>(fold)), tiles, chunks)),
        narrowed(end_chunk(widened(at_place<1>(fold)), tiles + pack_length, chunks + pack_length)));
  }
}

}  // namespace KokkosScan::impl::host
