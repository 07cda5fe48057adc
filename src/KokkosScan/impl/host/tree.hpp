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
#include <algorithm>
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

/// How a pass goes through memory: upwards (step 1) or downwards (step -1); and by how many values
/// results wait for their place, so that they are stored at multiples of 16 bytes.
struct Way {
  Pass pass;
  int step = 1;
  int shift = 0;
};

/// The last chunk that was combined: what a tile's chunks before it combine to, and its total.
template <class A, class R>
struct LastChunk {
  R before;
  A total;
};

/// Chunks side by side, one at each place of registers: their packs of elements, then the folds
/// from the chunk's begin to each of them, then the results.
template <class A, int places>
using Chunks = Pack<A, places>[chunk_length / pack_length];

/// Elements of a line that lie in memory as accumulators, where a mask selects them; `other`
/// elsewhere. Elements that no mask selects are pointers.
template <class A>
struct SelectedElements {
  const A* values;
  const bool* selected;
  A other;

  [[gnu::always_inline]] SelectedElements operator+(std::int64_t k) const {
    return {values + k, selected + k, other};
  }
  template <int step>
  [[gnu::always_inline]] friend void prefetch(const SelectedElements& x, int count, Caches caches) {
    prefetch<step>(x.values, count, caches);
    prefetch<step>(x.selected, count, caches);
  }
  /// Whether there are any.
  explicit operator bool() const { return values != nullptr; }
};

/// Loads up to a chunk at each place.
///
/// \param x     the first element at the first place; the next is `distance` on
/// \param none  a value that leaves every other as it is, for what is missing of the last pack
/// \param count how many elements; fewer than a chunk only where `step` is 1
/// \param packs receives them; missing packs are as the last
template <int step, class A, int places>
[[gnu::always_inline]] inline void load_packs(const A* x, std::int64_t distance, const A& none,
                                              int count, Chunks<A, places>& packs) {
  for (int i = 0; i < chunk_length / pack_length; ++i, x += step * pack_length) {
    const int left = count - i * pack_length;
    if (left <= 0) {
      packs[i] = packs[i - 1];
      continue;
    }
    if constexpr (step < 0) {
      packs[i] = reverse(load<places>(x - (pack_length - 1), distance));
    } else {
      packs[i] = left < pack_length ? load_some<places>(x, distance, left, none)
                                    : load<places>(x, distance);
    }
  }
}
template <int step, class A, int places>
[[gnu::always_inline]] inline void load_packs(const SelectedElements<A>& x, std::int64_t distance,
                                              const A& none, int count, Chunks<A, places>& packs) {
  if (count < chunk_length) {
    A loaded[places][chunk_length];
    for (int place = 0; place < places; ++place) {
      for (int i = 0; i < chunk_length; ++i) {
        const std::int64_t at = place * distance + i;
        loaded[place][i] = i >= count ? none : x.selected[at] ? x.values[at] : x.other;
      }
    }
    return load_packs<1>(static_cast<const A*>(loaded[0]), chunk_length, none, chunk_length, packs);
  }
  const std::int64_t first = step < 0 ? 1 - chunk_length : 0;
  const Truths<A, places> truths(x.selected + first, distance);
  const auto other = broadcast<places>(x.other);
  for (int i = 0; i < chunk_length / pack_length; ++i) {
    Pack<A, places> pack = load<places>(x.values + first + i * pack_length, distance);
    for (int part = 0; part < Pack<A>::parts; ++part) {
      pack.part[part] = select(truths.of_pack[i][part], pack.part[part], other.part[part]);
    }
    if constexpr (step < 0) {
      packs[chunk_length / pack_length - 1 - i] = reverse(pack);
    } else {
      packs[i] = pack;
    }
  }
}

/// Whether there may be a NaN among the elements of a chunk at each place.
template <class A, int places>
[[gnu::always_inline]] inline bool may_have_nan(const Chunks<A, places>& packs) {
  if constexpr (Pack<A>::parts == 1) {
    return any(where_nan(packs[0].part[0], packs[1].part[0], packs[2].part[0], packs[3].part[0]));
  } else {
    return any(where_nan(packs[0].part[0], packs[0].part[1], packs[1].part[0], packs[1].part[1],
                         packs[2].part[0], packs[2].part[1], packs[3].part[0], packs[3].part[1]));
  }
}

/// Folds up to a chunk at each place.
///
/// \param op    the operator, or its Exact form
/// \param none  a value that leaves every other as it is
/// \param packs the elements; on return, the folds from the begin of the chunk
template <class Op, class A, int places>
[[gnu::always_inline]] inline void fold_packs(const Op& op, const A& none, int count,
                                              Chunks<A, places>& packs) {
  for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (count <= i * pack_length) {
      packs[i] = packs[i - 1];
      continue;
    }
    packs[i] = prefixes(op, packs[i], broadcast<places>(none));
    if (i > 0) packs[i] = combine(op, broadcast_last(packs[i - 1]), packs[i]);
  }
}

/// Stores results of a place, `count` of them.
template <Way way, int place, class A, int places>
[[gnu::always_inline]] inline void store_packs(const Chunks<A, places>& results, int count, A* b) {
  constexpr bool streams = way.pass == Pass::stream;
  for (int i = 0; i < chunk_length / pack_length; ++i) {
    const int left = count - i * pack_length;
    if (left <= 0) return;
    if constexpr (way.step < 0) {
      store<streams, place>(b - i * pack_length - (pack_length - 1), reverse(results[i]));
    } else if (left >= pack_length) {
      store<streams, place>(b + i * pack_length, results[i]);
    } else {
      store_some<place>(b + i * pack_length, results[i], left);
    }
  }
}

/// The total of a chunk at each place, without its other prefixes: half of the work.
template <class Op, class A, int places>
[[gnu::always_inline]] inline void total_chunks(const Op& op, const Chunks<A, places>& packs,
                                                A (&totals)[places]) {
  const Pack<A, places> of_packs = totals_of_packs(op, packs);
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    A t[pack_length];
    store<false, place>(t, of_packs);
    totals[place] = op(op(op(t[0], t[1]), t[2]), t[3]);
  });
}

/// Chunks that are folded, one at each place, and wait to be combined with what comes before them.
template <class A, int places>
struct Folded {
  Chunks<A, places> folds;
  A before[places];  ///< P * q
  bool is_exact;     ///< whether there may be NaNs that the operator minds
};

/// Loads and folds whole chunks of a line, as many as registers have places, or up to one chunk.
///
/// \param x      the elements
/// \param count  how many of a chunk; not all only at the end of the line, where `step` is 1
/// \param carry  what comes before; on return, chunks includes the elements
/// \param folded receives them
template <Pass pass, int step, int places, class Op, class X, class A, class R>
[[gnu::always_inline]] inline LastChunk<A, R> fold_neighbours(const Op& op, const X& x, int count,
                                                              Carry<R>& carry,
                                                              Folded<A, places>& folded) {
  const auto wide = carrying(op);
  A totals[places];
  load_packs<step>(x, step * chunk_length, neutral(op), count, folded.folds);
  folded.is_exact = false;
  if constexpr (minds_nan<Op>) folded.is_exact = may_have_nan(folded.folds);
  if (pass == Pass::fold && !folded.is_exact && count == chunk_length) {
    total_chunks(op, folded.folds, totals);
  } else {
    if (folded.is_exact) {
      if constexpr (minds_nan<Op>) fold_packs(Exact<Op>{op}, neutral(op), count, folded.folds);
    } else {
      fold_packs(op, neutral(op), count, folded.folds);
    }
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      totals[place] = last<place>(folded.folds[3]);
    });
  }
  LastChunk<A, R> end{};
  for (int place = 0; place < places; ++place) {
    folded.before[place] = static_cast<A>(wide(carry.tiles, carry.chunks));
    end = {carry.chunks, totals[place]};
    carry.chunks = wide(carry.chunks, static_cast<R>(totals[place]));
  }
  return end;
}

/// Combines chunks with what comes before them and stores the results.
///
/// \param b      where B(k+1) and on go
/// \param result receives the last of them
/// \param waiting the pack before, of which the last `way.shift` results are stored now; on return,
///               the last pack
template <Way way, class Op, class A, int places>
[[gnu::always_inline]] inline void store_neighbours(const Op& op, const Folded<A, places>& folded,
                                                    int count, A* b, A& result, Pack<A>& waiting) {
  Chunks<A, places> results;
  const auto before = broadcast<A>(folded.before);
  for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (folded.is_exact) {
      if constexpr (minds_nan<Op>) results[i] = combine(Exact<Op>{op}, before, folded.folds[i]);
    } else {
      results[i] = combine(op, before, folded.folds[i]);
    }
  }
  result = last<places - 1>(results[3]);
  if constexpr (way.shift > 0) {
    const Pack<A, places> earlier = before_places(waiting, results[3]);
    waiting = at_last_place(results[3]);
    for (int i = chunk_length / pack_length - 1; i >= 0; --i) {
      results[i] = shift_in<way.shift>(i > 0 ? results[i - 1] : earlier, results[i]);
    }
  }
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    store_packs<way, place>(results, count, b + place * way.step * chunk_length - way.shift);
  });
}

/// Combines elements of one tile, whole chunks except at the end of the line, and whole chunks only
/// where results are streamed.
///
/// \param x      the elements: a pointer or SelectedElements
/// \param ahead  how far from the elements, in scan order, those begin that are asked for, and
///               where to
/// \param carry  what comes before; on return, chunks includes the elements
/// \param b      where B(k+1) and on go
/// \param result receives B at their end
/// \param last_pack where `way.shift` is not 0: the four results before; on return, the last four
template <Way way, class Op, class X, class A, class R>
LastChunk<A, R> combine_chunks(Registers registers, const Op& op, const X& x, int count,
                               Ahead ahead, Carry<R>& carry, A* b, A& result,
                               A* last_pack = nullptr) {
  return call_with(
      registers, [ =, &op, &x, &carry, &result ](auto places) __attribute__((always_inline)) {
        constexpr int at_once = places * chunk_length;
        constexpr bool stores = way.pass != Pass::fold;
        // Where results stay in the caches, so does all that is asked for.
        const Caches caches = way.pass == Pass::stream ? ahead.caches : Caches::all;
        // Copies, which stores of results cannot alias, stay in registers.
        const X from = x;
        Carry<R> before = carry;
        A last_result{};
        LastChunk<A, R> end{};
        Pack<A> waiting;
        if constexpr (way.shift > 0) waiting = load(last_pack);
        const X later = from + (way.step > 0 ? ahead.elements : -ahead.elements - (at_once - 1));
        const auto fold = [&](int k, int of_chunk, auto& folded) __attribute__((always_inline)) {
          end = fold_neighbours<way.pass, way.step>(op, from + k * way.step, of_chunk, before,
                                                    folded);
        };
        const auto store = [&](int k, int of_chunk, const auto& folded)
            __attribute__((always_inline)) {
          if constexpr (stores) {
            store_neighbours<way>(op, folded, of_chunk, b + k * way.step, last_result, waiting);
          }
        };
        int k = 0;
        if (at_once <= count) {
          // Each is stored when the next are folded: neither waits for the other, which fills the
          // time that a fold from pack to pack and then to the carry takes.
          Folded<A, places> next;
          fold(0, chunk_length, next);
          for (k = at_once; k + at_once <= count; k += at_once) {
            Folded<A, places> folded = next;
            prefetch<way.step>(later + k * way.step, at_once, caches);
            fold(k, chunk_length, next);
            store(k - at_once, chunk_length, folded);
          }
          store(k - at_once, chunk_length, next);
        }
        Folded<A, 1> folded;
        for (; k + chunk_length <= count; k += chunk_length) {
          fold(k, chunk_length, folded);
          store(k, chunk_length, folded);
        }
        if constexpr (way.pass != Pass::stream) {
          if (k < count) {
            fold(k, count - k, folded);
            store(k, count - k, folded);
          }
        }
        if constexpr (way.shift > 0) KokkosScan::impl::host::store<false>(last_pack, waiting);
        carry = before;
        result = last_result;
        return end;
      });
}

/// Scans a line of n elements at each place.
template <Pass pass, int places, class Op, class A, class R>
[[gnu::always_inline]] inline void combine_lines_at_places(const Op& op, const A* x,
                                                           std::int64_t stride, int n,
                                                           const R& start, A* b, int extent) {
  const auto wide = carrying(op);
  R chunks[places];
  for (int place = 0; place < places; ++place) chunks[place] = neutral(wide);
  for (int k = 0; k < n; k += chunk_length) {
    const int count = std::min(n - k, chunk_length);
    Chunks<A, places> folds;
    load_packs<1>(x + k, stride, neutral(op), count, folds);
    const auto combine_by = [&](const auto& exact) __attribute__((always_inline)) {
      A before[places];
      fold_packs(exact, neutral(op), count, folds);
      for_each_place<places>([&](auto place) __attribute__((always_inline)) {
        before[place] = static_cast<A>(wide(start, chunks[place]));
        chunks[place] = wide(chunks[place], static_cast<R>(last<place>(folds[3])));
      });
      for (auto& pack : folds) pack = combine(exact, broadcast<A>(before), pack);
    };
    bool is_exact = false;
    if constexpr (minds_nan<Op>) {
      is_exact = may_have_nan(folds);
      if (is_exact) combine_by(Exact<Op>{op});
    }
    if (!is_exact) combine_by(op);
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      store_packs<Way{pass}, place>(folds, count, b + place * extent + k);
    });
  }
}

/// Scans several lines of at most a tile each. Where the pass streams, lines are whole packs and
/// results begin at multiples of 16 bytes.
///
/// \tparam length that of a line where it is at most a chunk, so that lines need no loop; else 0
/// \param stride from line to line of the elements
/// \param start  the starting value or what stands for none, the same for all
/// \param before B(0), stored before the other results, or null; then the last result of a line
///               is stored at the begin of the next, and its B(0) over it
/// \param extent from line to line of the results
template <Pass pass, int length, class Op, class A, class R>
void combine_lines(Registers registers, const Op& op, const A* x, std::int64_t stride, int n,
                   int lines, const R& start, const A* before, A* b, int extent) {
  A* const results = before == nullptr ? b : b + 1;
  call_with(
      registers, [ =, &op, &start ](auto places) __attribute__((always_inline)) {
        const int count = length > 0 ? length : n;
        const A* from = x;
        A* to = results;
        int l = 0;
        for (; l + places <= lines; l += places, from += places * stride, to += places * extent) {
          combine_lines_at_places<pass, places>(op, from, stride, count, start, to, extent);
        }
        if (l < lines) combine_lines_at_places<pass, 1>(op, from, stride, count, start, to, extent);
      });
  for (int l = 0; before != nullptr && l < lines; ++l) b[l * extent] = *before;
}

/// combine_lines() for a length that is known when it runs.
template <Pass pass, class Op, class A, class R, int... N>
void combine_lines(std::integer_sequence<int, N...>, Registers registers, const Op& op, const A* x,
                   std::int64_t stride, int n, int lines, const R& start, const A* before, A* b,
                   int extent) {
  using Function =
      void (*)(Registers, const Op&, const A*, std::int64_t, int, int, const R&, const A*, A*, int);
  constexpr bool streams = pass == Pass::stream;
  constexpr Function functions[] = {&combine_lines < pass,
                                    streams ? N / pack_length * pack_length : N, Op, A, R > ...};
  const int length = n <= chunk_length ? n : 0;
  functions[length](registers, op, x, stride, n, lines, start, before, b, extent);
}

/// Bytes of a short row, those of the widest register.
inline constexpr int short_row_bytes = 32;

/// Packs of rows of neighbouring lines: element i of pack p of line w is x[i][p * step + w].
template <class T>
struct Rows {
  T* row[pack_length];
  std::int64_t step;

  [[gnu::always_inline]] T* at(int i, std::int64_t p, int w) const { return row[i] + p * step + w; }
};

/// Elements where they are selected, `other` elsewhere.
template <class A>
struct SelectedRows {
  Rows<const A> values;
  Rows<const bool> selected;
  A other;
};

/// Element i of pack p of line w.
template <class A>
[[gnu::always_inline]] inline A element(const Rows<const A>& x, int i, std::int64_t p, int w) {
  return *x.at(i, p, w);
}
template <class A>
[[gnu::always_inline]] inline A element(const SelectedRows<A>& x, int i, std::int64_t p, int w) {
  return *x.selected.at(i, p, w) ? *x.values.at(i, p, w) : x.other;
}

/// The same of as many lines as a register has lanes.
template <int places, class A>
[[gnu::always_inline]] inline Register<A, places> elements(const Rows<const A>& x, int i,
                                                           std::int64_t p, int w) {
  return load_register<places>(x.at(i, p, w));
}
template <int places, class A>
[[gnu::always_inline]] inline Register<A, places> elements(const SelectedRows<A>& x, int i,
                                                           std::int64_t p, int w) {
  return select(load_truth<A, places>(x.selected.at(i, p, w)),
                load_register<places>(x.values.at(i, p, w)), broadcast<places>(x.other).part[0]);
}

/// From pack p on.
template <class T>
[[gnu::always_inline]] inline Rows<T> at_pack(const Rows<T>& x, std::int64_t p) {
  return {{x.at(0, p, 0), x.at(1, p, 0), x.at(2, p, 0), x.at(3, p, 0)}, x.step};
}
template <class A>
[[gnu::always_inline]] inline SelectedRows<A> at_pack(const SelectedRows<A>& x, std::int64_t p) {
  return {at_pack(x.values, p), at_pack(x.selected, p), x.other};
}

/// combine_rows() for packs begin ... end - 1 of line w.
template <Pass pass, class Op, class X, class A>
[[gnu::always_inline]] inline void combine_line_of_rows(const Op& op, const X& x, int w,
                                                        std::int64_t begin, std::int64_t end,
                                                        A* folds, const A* carry,
                                                        const Rows<A>& b) {
  for (std::int64_t p = begin; p < end; ++p) {
    const A x0 = element(x, 0, p, w), x1 = element(x, 1, p, w);
    const A x2 = element(x, 2, p, w), x3 = element(x, 3, p, w);
    const A pair = op(x0, x1);
    const A f[] = {op(folds[w], x0), op(folds[w], pair), op(folds[w], op(pair, x2)),
                   op(folds[w], op(pair, op(x2, x3)))};
    folds[w] = f[3];
    if constexpr (pass != Pass::fold) {
      for (int i = 0; i < pack_length; ++i) *b.at(i, p, w) = op(carry[w], f[i]);
    }
  }
}

/// The pack of a register of lines: results go to b0 ... b3, if there are any, and the fold that
/// includes the pack is returned.
template <Pass pass, class Op, class V>
[[gnu::always_inline]] inline V combine_pack_of_rows(const Op& op, const V& before, const V& carry,
                                                     const V& x0, const V& x1, const V& x2,
                                                     const V& x3, V& b0, V& b1, V& b2, V& b3) {
  const V pair = combine_registers(op, x0, x1);
  const V fold =
      combine_registers(op, before, combine_registers(op, pair, combine_registers(op, x2, x3)));
  if constexpr (pass != Pass::fold) {
    b0 = combine_registers(op, carry, combine_registers(op, before, x0));
    b1 = combine_registers(op, carry, combine_registers(op, before, pair));
    b2 = combine_registers(op, carry,
                           combine_registers(op, before, combine_registers(op, pair, x2)));
    b3 = combine_registers(op, carry, fold);
  }
  return fold;
}

/// Stores a register, past the caches where the pass streams.
template <Pass pass, class A, int places>
[[gnu::always_inline]] inline void store_in(A* to, const Register<A, places>& r) {
  if constexpr (pass == Pass::stream) {
    stream_register(to, r);
  } else {
    store_register(to, r);
  }
}

/// combine_rows() from line w on, as long as registers are full; returns the line after those.
///
/// Rows are passed by value: stores of results, which could alias all that is not a copy, leave
/// those in registers.
template <Pass pass, int places, class Op, class X, class A>
[[gnu::always_inline]] inline int combine_registers_of_rows(const Op& op, X x, int w, int count,
                                                            int packs, A* folds, const A* carry,
                                                            Rows<A> b) {
  using V = Register<A, places>;
  constexpr int lanes = sizeof(V) / sizeof(A);
  for (; w + lanes <= count; w += lanes) {
    V before = load_register<places>(folds + w);
    V c = before;
    if constexpr (pass != Pass::fold) c = load_register<places>(carry + w);
    for (std::int64_t p = 0; p < packs; ++p) {
      const V x0 = elements<places>(x, 0, p, w), x1 = elements<places>(x, 1, p, w);
      const V x2 = elements<places>(x, 2, p, w), x3 = elements<places>(x, 3, p, w);
      if constexpr (minds_nan<Op>) {
        // Vectors lose a NaN that follows a number; the carry is followed by the earlier packs,
        // too.
        if (any(where_nan(x0, x1, x2, x3, before))) {
          store_register(folds + w, before);
          for (int lane = w; lane < w + lanes; ++lane) {
            combine_line_of_rows<pass>(op, x, lane, p, p + 1, folds, carry, b);
          }
          before = load_register<places>(folds + w);
          continue;
        }
      }
      V b0, b1, b2, b3;
      before = combine_pack_of_rows<pass>(op, before, c, x0, x1, x2, x3, b0, b1, b2, b3);
      if constexpr (pass != Pass::fold) {
        store_in<pass>(b.at(0, p, w), b0);
        store_in<pass>(b.at(1, p, w), b1);
        store_in<pass>(b.at(2, p, w), b2);
        store_in<pass>(b.at(3, p, w), b3);
      }
    }
    store_register(folds + w, before);
  }
  return w;
}

/// combine_rows() of pack p, from line w on, for whole cache lines of results, each of which is
/// stored past the caches at once; returns the line after those.
///
/// \param streamed how many of the rows of results are stored so
template <int places, class Op, class X, class A>
[[gnu::always_inline]] inline int stream_registers_of_rows(const Op& op, X x, std::int64_t p, int w,
                                                           int count, A* folds, const A* carry,
                                                           Rows<A> b, int streamed) {
  using V = Register<A, places>;
  constexpr int lanes = sizeof(V) / sizeof(A);
  constexpr int of_line = cache_line / sizeof(A);
  for (; w + of_line <= count; w += of_line) {
    V results[pack_length][of_line / lanes];
    V after[of_line / lanes];
    [[maybe_unused]] Register<truth_t<A>, places> nan = native_t<truth_t<A>, places>{};
    for (int i = 0; i < of_line / lanes; ++i) {
      const int at = w + i * lanes;
      const V before = load_register<places>(folds + at);
      const V x0 = elements<places>(x, 0, p, at);
      const V x1 = elements<places>(x, 1, p, at);
      const V x2 = elements<places>(x, 2, p, at);
      const V x3 = elements<places>(x, 3, p, at);
      if constexpr (minds_nan<Op>) nan = nan.lanes | where_nan(x0, x1, x2, x3, before).lanes;
      after[i] = combine_pack_of_rows<Pass::scan>(op, before, load_register<places>(carry + at), x0,
                                                  x1, x2, x3, results[0][i], results[1][i],
                                                  results[2][i], results[3][i]);
    }
    if (minds_nan<Op> && any(nan)) {
      combine_registers_of_rows<Pass::scan, places>(op, at_pack(x, p), w, w + of_line, 1, folds,
                                                    carry, at_pack(b, p));
      continue;
    }
    for (int i = 0; i < of_line / lanes; ++i) store_register(folds + w + i * lanes, after[i]);
    for (int row = 0; row < pack_length; ++row) {
      for (int i = 0; i < of_line / lanes; ++i) {
        A* const to = b.at(row, p, w + i * lanes);
        row < streamed ? stream_register(to, results[row][i]) : store_register(to, results[row][i]);
      }
    }
  }
  return w;
}

/// Combines packs of each of `count` neighbouring lines, of one chunk.
///
/// \param x     the elements: Rows or SelectedRows
/// \param folds the lines' earlier packs of the chunk; on return, they include these
/// \param carry P * q of each line
/// \param b     where the rows of prefixes go
/// \param streamed how many of the four rows Pass::stream stores past the caches, all of them where
///              there are several packs; their addresses are begins of cache lines
template <Pass pass, class Op, class X, class A>
void combine_rows(Registers registers, const Op& op, const X& x, int count, int packs, A* folds,
                  const A* carry, const Rows<A>& b, int streamed = 0) {
  // Copies, which stores of results cannot alias, stay in registers.
  call_with(
      registers, [ =, &op ](auto places) __attribute__((always_inline)) {
        const auto combine_packs_of_rows = [ =, &op ](int known) __attribute__((always_inline)) {
          int w = 0;
          if constexpr (pass == Pass::stream) {
            // A row after the other: each fills its cache lines at once.
            for (std::int64_t p = 0; p < known; ++p) {
              w = stream_registers_of_rows<places>(op, x, p, 0, count, folds, carry, b, streamed);
            }
          }
          constexpr Pass rest = pass == Pass::fold ? Pass::fold : Pass::scan;
          w = combine_registers_of_rows<rest, places>(op, x, w, count, known, folds, carry, b);
          w = combine_registers_of_rows<rest, 1>(op, x, w, count, known, folds, carry, b);
          for (; w < count; ++w) combine_line_of_rows<rest>(op, x, w, 0, known, folds, carry, b);
        };
        // Wide strips have one pack at a time, and then no loop inside the one over lines.
        if (packs == 1) return combine_packs_of_rows(1);
        combine_packs_of_rows(packs);
      });
}

/// combine_rows() of lines whose rows are of short_row_bytes and follow each other. Registers of
/// results, which begin at multiples of 16, are stored past the caches as they come: they fill
/// cache lines in order.
template <class Op, class X, class A>
void stream_short_rows(Registers registers, const Op& op, const X& x, int packs, A* folds,
                       const A* carry, const Rows<A>& b) {
  call_with(
      registers, [ =, &op ](auto places) __attribute__((always_inline)) {
        combine_registers_of_rows<Pass::stream, places>(op, x, 0, short_row_bytes / sizeof(A),
                                                        packs, folds, carry, b);
      });
}

/// Ends a chunk of each of `count` neighbouring lines, before another chunk of the tile, or before
/// another tile.
template <class Op, class A, class R>
void end_chunk_of_rows(Registers registers, const Op& op, int count, bool ends_tile, A* folds,
                       R* chunks, R* tiles, A* carry) {
  call_with(
      registers, [ =, &op ](auto) __attribute__((always_inline)) {
        const auto wide = carrying(op);
        for (int w = 0; w < count; ++w) {
          R chunk = wide(chunks[w], static_cast<R>(folds[w]));
          if (ends_tile) {
            tiles[w] = wide(tiles[w], chunk);
            chunk = neutral(wide);
          }
          folds[w] = neutral(op);
          chunks[w] = chunk;
          carry[w] = static_cast<A>(wide(tiles[w], chunk));
        }
      });
}

}  // namespace KokkosScan::impl::host
