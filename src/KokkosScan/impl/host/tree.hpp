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
#include <utility>

namespace KokkosScan::impl::host {

/// Elements of a chunk.
inline constexpr int chunk_length = 4 * pack_length;
/// Elements of a tile, the least that one thread takes of a line that threads share.
inline constexpr int tile_length = 64 * chunk_length;

/// A value that leaves each one that it is combined with as it is: the identity, but that of a sum
/// of floats is -0, as 0 + (-0) is 0.
template <class T>
[[gnu::always_inline]] inline constexpr T neutral(const Sum<T>&) {
  if constexpr (std::is_floating_point_v<T>) return -T(0);
  return T(0);
}
template <class Op>
[[gnu::always_inline]] inline constexpr auto neutral(const Op&) {
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

/// What a pass over elements does with results: stores them, stores whole registers past the
/// caches, or only wants the total.
enum class Pass { scan, stream, fold };

/// How a pass goes through memory: upwards (step 1) or downwards (step -1).
struct Way {
  Pass pass;
  int step = 1;
};

/// combine_chunk(), by `op`, which may be exact about NaNs.
template <Way way, class Op, class A>
[[gnu::always_inline]] inline A combine_packs(const Op& op, const Pack<A>& none, const A* x,
                                              int count, const A& carry, A* b, A& result) {
  const Pack<A> before = broadcast(carry);
  Pack<A> folds = none;
  Pack<A> results = none;
  const auto put = [](A* to, const Pack<A>& pack) {
    if constexpr (way.pass == Pass::stream) {
      stream(to, pack);
    } else {
      store(to, pack);
    }
  };
  const auto combine_pack = [&](const Pack<A>& in_order, int place) {
    const Pack<A> in_pack = prefixes(op, in_order, none);
    if (place == 0) {
      folds = in_pack;
    } else {
      folds = combine(op, broadcast_last(folds), in_pack);
    }
    if constexpr (way.pass == Pass::fold) return;
    results = combine(op, before, folds);
    if constexpr (way.step < 0) {
      put(b - place - (pack_length - 1), reverse(results));
    } else {
      put(b + place, results);
    }
  };
  const auto load_pack = [&](int place) {
    if constexpr (way.step < 0) return reverse(load(x - place - (pack_length - 1)));
    return load(x + place);
  };
  if (count == chunk_length) {
    combine_pack(load_pack(0), 0);
    combine_pack(load_pack(4), 4);
    combine_pack(load_pack(8), 8);
    combine_pack(load_pack(12), 12);
  } else if constexpr (way.step > 0) {
    int i = 0;
    for (; i + pack_length <= count; i += pack_length) combine_pack(load_pack(i), i);
    if (i < count) combine_pack(load_some(x + i, count - i, none), i);
  }
  if constexpr (way.pass != Pass::fold) result = last(results);
  return last(folds);
}

/// Combines up to a chunk of a line.
///
/// \param x      the elements
/// \param count  how many; fewer than a chunk only at the end of the line, where `way.step` is 1
/// \param carry  P * q
/// \param b      where B(k+1) and on go; up to three places behind them are overwritten
/// \param result receives the last of them
/// \return the chunk's total
template <Way way, class Op, class A>
[[gnu::always_inline]] inline A combine_chunk(const Op& op, const A* x, int count, const A& carry,
                                              A* b, A& result) {
  const Pack<A> none = broadcast(neutral(op));
  if constexpr (way.pass == Pass::fold && !minds_nan<Op>) {
    // Without prefixes half of the work is left.
    if (count == chunk_length) {
      A totals[pack_length];
      store(totals, totals_of_packs(op, x));
      return op(op(op(totals[0], totals[1]), totals[2]), totals[3]);
    }
  }
  if constexpr (minds_nan<Op>) {
    if (has_nan(way.step > 0 ? x : x - (count - 1), count)) {
      return combine_packs<way>(Exact<Op>{op}, none, x, count, carry, b, result);
    }
  }
  return combine_packs<way>(op, none, x, count, carry, b, result);
}

/// Scans several lines of n elements, up to a chunk each. A function of its own for each n, so that
/// a line costs no loop.
///
/// \param carry  the starting value or what stands for none, the same for all
/// \param before B(0), stored before the other results, or null
template <int n, class Op, class A>
void combine_short_lines(const Op& op, const A* x, std::int64_t stride, int lines, const A& carry,
                         const A* before, A* b, int extent) {
  for (int l = 0; l < lines; ++l, x += stride, b += extent) {
    A* results = b;
    if (before != nullptr) *results++ = *before;
    if constexpr (n < pack_length) {
      A fold = x[0];
      results[0] = op(carry, fold);
      for (int i = 1; i < n; ++i) results[i] = op(carry, fold = op(fold, x[i]));
    } else {
      A unused;
      combine_chunk<Way{Pass::scan}>(op, x, n, carry, results, unused);
    }
  }
}

/// combine_short_lines() for an n that is known when it runs.
template <class Op, class A, int... N>
void combine_short_lines(std::integer_sequence<int, N...>, int n, const Op& op, const A* x,
                         std::int64_t stride, int lines, const A& carry, const A* before, A* b,
                         int extent) {
  using Function = void (*)(const Op&, const A*, std::int64_t, int, const A&, const A*, A*, int);
  constexpr Function functions[] = {&combine_short_lines<N + 1, Op, A>...};
  functions[n - 1](op, x, stride, lines, carry, before, b, extent);
}

/// The last chunk that was combined: what a tile's chunks before it combine to, and its total.
template <class A, class R>
struct LastChunk {
  R before;
  A total;
};

/// Combines elements of one tile, whole chunks except at the end of the line.
///
/// \param carry  what comes before; on return, chunks includes the elements
/// \param result receives B at their end
template <Way way, class Op, class A, class R>
[[gnu::always_inline]] inline LastChunk<A, R> combine_chunks(const Op& op, const A* x, int count,
                                                             Carry<R>& carry, A* b, A& result) {
  const auto wide = carrying(op);
  LastChunk<A, R> end{};
  R chunks = carry.chunks;
  A last_result{};
  for (int k = 0; k < count; k += chunk_length) {
    const int length = count - k < chunk_length ? count - k : chunk_length;
    const A before = static_cast<A>(wide(carry.tiles, chunks));
    A* to = way.pass == Pass::fold ? nullptr : b + k * way.step;
    end = {chunks, combine_chunk<way>(op, x + k * way.step, length, before, to, last_result)};
    chunks = wide(chunks, static_cast<R>(end.total));
  }
  carry.chunks = chunks;
  result = last_result;
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
    if constexpr (pass != Pass::fold) {
      for (int i = 0; i < pack_length; ++i) b[i][w] = op(carry[w], f[i]);
    }
  };
  int w = 0;
  for (; w + lanes <= count; w += lanes) {
    const V x0 = load_register(x[0] + w), x1 = load_register(x[1] + w);
    const V x2 = load_register(x[2] + w), x3 = load_register(x[3] + w);
    const V before = load_register(folds + w);
    if constexpr (minds_nan<Op>) {
      // Vectors lose a NaN that follows a number; the carry is followed by the earlier packs, too.
      if (any((x0 != x0) | (x1 != x1) | (x2 != x2) | (x3 != x3) | (before != before))) {
        for (int lane = 0; lane < lanes; ++lane) combine_one(w + lane);
        continue;
      }
    }
    const V pair = combine(op, x0, x1);
    const V f3 = combine(op, before, combine(op, pair, combine(op, x2, x3)));
    store_register(folds + w, f3);
    if constexpr (pass != Pass::fold) {
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
