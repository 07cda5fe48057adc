// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines one chunk of lines side by side, a register of lines at a time: element k of a line is
/// a row away from element k + 1.

#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Where rows of one chunk of some lines are, and where their results go.
template <class A>
struct ChunkOfRows {
  const A* x;
  std::int64_t x_row;
  A* b;
  std::int64_t b_row;
};

/// The operator, or the form of it that minds NaNs.
template <class Op>
[[gnu::always_inline]] inline auto exactly(const Op& op) {
  if constexpr (minds_nan<Op>) {
    return Exact<Op>{op};
  } else {
    return op;
  }
}

/// From the rows of a pack to what each combines to with those before it.
///
/// \param before what the chunk's earlier rows combine to
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

/// A pack of a register of lines.
///
/// \param carry  what comes before the chunk
/// \param before what the chunk's earlier rows combine to; on return, these included
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
  if constexpr (minds_nan<Op>) {
    // Vectors lose a NaN that follows a number; the carry is followed by the earlier rows, too.
    if (any(where_nan(before, x[0], x[1], x[2], x[3]))) return combine_by(Exact<Op>{op});
  }
  combine_by(op);
}

/// Where the rows of a pack are, and where their results go.
template <class A>
struct PackOfLines {
  const A* x[pack_length];
  A* b[pack_length];

  /// \param count how many rows; the first one stands for others
  [[gnu::always_inline]] PackOfLines(const ChunkOfRows<A>& rows, int count) {
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      x[i] = hidden(rows.x + (i < count ? i : 0) * rows.x_row);
      b[i] = hidden(rows.b + i * rows.b_row);
    }
  }
};

/// A pack of a register of lines, from line w on. Results are stored row by row.
///
/// \param folds   what the chunk's earlier rows combine to; on return, these included
/// \param carries what comes before the chunk
template <int places, class Op, class A>
[[gnu::always_inline]] inline void combine_pack_of_rows(const Op& op, const PackOfLines<A>& rows,
                                                        std::int64_t w, A* folds,
                                                        const A* carries) {
  using V = Register<A, places>;
  V before = load_register<places>(folds + w);
  const V carry = load_register<places>(carries + w);
  V x[pack_length];
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
    x[i] = load_register<places>(rows.x[i] + w);
  }
  combine_pack(
      op, carry, before, x, [&](int i, const V& results) __attribute__((always_inline)) {
        store_register(rows.b[i] + w, results);
      });
  store_register(folds + w, before);
}

/// One to three rows, likewise.
///
/// \param count how many rows
template <int places, class Op, class A>
[[gnu::always_inline]] inline void combine_rest_of_rows(const Op& op, const PackOfLines<A>& rows,
                                                        int count, std::int64_t w, A* folds,
                                                        const A* carries) {
  using V = Register<A, places>;
  V x[pack_length], with[pack_length];
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
    x[i] = load_register<places>(rows.x[i] + w);
  }
  const auto exact = exactly(op);
  const V carry = load_register<places>(carries + w);
  fold_rows(exact, load_register<places>(folds + w), x, with);
  store_register(folds + w, count == 1 ? with[0] : count == 2 ? with[1] : with[2]);
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i + 1 < pack_length; ++i) {
    if (i < count) store_register(rows.b[i] + w, combine_registers(exact, carry, with[i]));
  }
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

/// What comes before the next chunk of a register of lines.
///
/// \param fold   what the chunk combines to
/// \param tiles  what earlier tiles combine to; on return, this one included where it ends
/// \param chunks what the tile's earlier chunks combine to; on return, this one included
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
