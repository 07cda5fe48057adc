// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The combination tree of the host backend: in which order the values of a line combine.
///
/// It counts from the element that is scanned first. Four neighbours make a pack, whose prefixes
/// are x0, x0 * x1, (x0 * x1) * x2 and (x0 * x1) * (x2 * x3). Four packs make a chunk, and combine
/// left to right, in the accumulator. 64 chunks make a tile; chunks combine left to right to the
/// tile and tiles left to right to the line, in the carried type. With P the starting value and all
/// earlier tiles, q the earlier chunks of the tile, l the earlier packs of the chunk and x the
/// prefix in the pack,
///
///     B(k) = (P * q) * (l * x)
///
/// where P * q is rounded to the accumulator, and a part that is empty is left out: a neutral value
/// stands for it. So B(k) is one expression in the first k elements, whatever the strides, threads
/// and other lines are.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/host/simd.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Elements of a chunk.
inline constexpr int chunk_length = 4 * pack_length;
/// Elements of a tile, the least that one thread takes of a line that threads share.
inline constexpr int tile_length = 64 * chunk_length;

/// What combines in a scan: the operator in the accumulator A and in the carried type R.
template <class P>
struct Combination {
  using A = typename P::A;
  using Op = std::remove_cv_t<decltype(P::op)>;
  using R = carried_t<Op, A>;
  using Wide = std::remove_cvref_t<decltype(carrying(std::declval<Op>()))>;
};

/// A value that leaves each one that it is combined with as it is: the identity, but that of a sum
/// of floats is -0, as 0 + (-0) is 0.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T neutral(const Sum<T>&) {
  if constexpr (std::is_floating_point_v<T>) return -T(0);
  return T(0);
}
template <class Op>
KOKKOS_FORCEINLINE_FUNCTION constexpr auto neutral(const Op&) {
  return Op::identity();
}

/// Whether vectors combine NaNs otherwise than the operator does.
template <class Op>
inline constexpr bool minds_nan = false;
template <class T>
inline constexpr bool minds_nan<Min<T>> = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool minds_nan<Max<T>> = std::is_floating_point_v<T>;

/// What a line has combined to: all tiles before the own one, and the chunks before in it.
template <class R>
struct Carry {
  R tiles;
  R chunks;
};

/// Whether a pass over elements stores the prefixes or only wants their total.
enum class Pass { scan, fold };

/// Combines up to a chunk of a line.
///
/// \param x     the elements
/// \param count how many; fewer than a chunk only at the end of the line
/// \param carry P * q
/// \param b     the prefixes, B(k+1) and on; up to three places behind them are overwritten
/// \return the chunk's total
template <Pass pass, class Op, class A>
KOKKOS_FORCEINLINE_FUNCTION A combine_chunk(const Op& op, const A* x, int count, const A& carry,
                                            A* b) {
  const Pack<A> none = broadcast(neutral(op));
  const Pack<A> before = broadcast(carry);
  Pack<A> folds = none;
  const auto combine_pack = [&](const Pack<A>& pack, int place) {
    const Pack<A> in_pack = prefixes(op, pack, none);
    folds = place == 0 ? in_pack : combine(op, broadcast_last(folds), in_pack);
    if constexpr (pass == Pass::scan) store(b + place, combine(op, before, folds));
  };
  if (count == chunk_length) {
    if constexpr (minds_nan<Op>) {
      if (has_nan_of_16(x)) {
        // The operator as it is; any order gives the same bits.
        A total = x[0];
        for (int i = 0; i < chunk_length; ++i) {
          if (i > 0) total = op(total, x[i]);
          if constexpr (pass == Pass::scan) b[i] = op(carry, total);
        }
        return total;
      }
    }
    combine_pack(load(x), 0);
    combine_pack(load(x + 4), 4);
    combine_pack(load(x + 8), 8);
    combine_pack(load(x + 12), 12);
    return last(folds);
  }
  if constexpr (minds_nan<Op>) {
    A total = x[0];
    for (int i = 0; i < count; ++i) {
      if (i > 0) total = op(total, x[i]);
      if constexpr (pass == Pass::scan) b[i] = op(carry, total);
    }
    return total;
  }
  int i = 0;
  for (; i + pack_length <= count; i += pack_length) combine_pack(load(x + i), i);
  if (i < count) combine_pack(load_some(x + i, count - i, none), i);
  return last(folds);
}

/// The last chunk that was combined: what a tile's chunks before it combine to, and its total.
template <class A, class R>
struct LastChunk {
  R before;
  A total;
};

/// Combines elements of one tile, whole chunks except at the end of the line.
///
/// \param carry what comes before; on return, chunks includes the elements
template <Pass pass, class Op, class A, class R>
KOKKOS_FORCEINLINE_FUNCTION LastChunk<A, R> combine_chunks(const Op& op, const A* x, int count,
                                                           Carry<R>& carry, A* b) {
  const auto wide = carrying(op);
  LastChunk<A, R> end{};
  for (int k = 0; k < count; k += chunk_length) {
    const int length = count - k < chunk_length ? count - k : chunk_length;
    const A before = static_cast<A>(wide(carry.tiles, carry.chunks));
    end = {carry.chunks, combine_chunk<pass>(op, x + k, length, before, b + k)};
    carry.chunks = wide(carry.chunks, static_cast<R>(end.total));
  }
  return end;
}

/// Combines four elements of each of `count` neighbouring lines: row i has element i of each.
///
/// \param folds the lines' earlier packs of the chunk; on return, they include these
/// \param carry P * q of each line
/// \param b     where the rows of prefixes go
template <Pass pass, class Op, class A>
void combine_rows(const Op& op, const A* const (&x)[pack_length], int count, A* folds,
                  const A* carry, A* const (&b)[pack_length]) {
  using V = native_t<A>;
  constexpr int lanes = 16 / sizeof(A);
  const auto combine_one = [&](int w) {
    const A pair = op(x[0][w], x[1][w]);
    const A f[] = {op(folds[w], x[0][w]), op(folds[w], pair), op(folds[w], op(pair, x[2][w])),
                   op(folds[w], op(pair, op(x[2][w], x[3][w])))};
    folds[w] = f[3];
    if constexpr (pass == Pass::scan) {
      for (int i = 0; i < pack_length; ++i) b[i][w] = op(carry[w], f[i]);
    }
  };
  int w = 0;
  for (; w + lanes <= count; w += lanes) {
    const V x0 = load_register(x[0] + w), x1 = load_register(x[1] + w);
    const V x2 = load_register(x[2] + w), x3 = load_register(x[3] + w);
    if constexpr (minds_nan<Op>) {
      if (any((x0 != x0) | (x1 != x1) | (x2 != x2) | (x3 != x3))) {
        for (int lane = 0; lane < lanes; ++lane) combine_one(w + lane);
        continue;
      }
    }
    const V before = load_register(folds + w);
    const V pair = combine(op, x0, x1);
    const V f3 = combine(op, before, combine(op, pair, combine(op, x2, x3)));
    store_register(folds + w, f3);
    if constexpr (pass == Pass::scan) {
      const V c = load_register(carry + w);
      store_register(b[0] + w, combine(op, c, combine(op, before, x0)));
      store_register(b[1] + w, combine(op, c, combine(op, before, pair)));
      store_register(b[2] + w, combine(op, c, combine(op, before, combine(op, pair, x2))));
      store_register(b[3] + w, combine(op, c, f3));
    }
  }
  for (; w < count; ++w) combine_one(w);
}

}  // namespace KokkosScan::impl::host
