// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines lines whose elements follow each other in memory, with registers along them.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/select.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// What a line has combined to: all tiles before the own one, and the chunks before in it.
template <class R>
struct Carry {
  R tiles;
  R chunks;
};

/// What is done with results: they are stored, also past the caches, or in L1 and from there past
/// the caches, or only the total is wanted.
enum class Pass { scan, stream, stage, fold };

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
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length;
                              ++i, x += step * pack_length) {
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
    KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
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
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    Pack<A, places> pack = load<places>(x.values + first + i * pack_length, distance);
    KOKKOSSCAN_IMPL_UNROLL for (int part = 0; part < Pack<A>::parts; ++part) {
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
[[gnu::always_inline]] inline void fold_packs(const Op& op, const Register<A, places>& none,
                                              int count, Chunks<A, places>& packs) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (count <= i * pack_length) {
      packs[i] = packs[i - 1];
      continue;
    }
    packs[i] = prefixes(op, packs[i], none);
    if (i > 0) packs[i] = combine(op, broadcast_last(packs[i - 1]), packs[i]);
  }
}

/// Stores results of a place, `count` of them.
template <bool streams, int step, int place, class A, int places>
[[gnu::always_inline]] inline void store_packs(const Chunks<A, places>& results, int count, A* b) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    const int left = count - i * pack_length;
    if (left <= 0) return;
    if constexpr (step < 0) {
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
  Pack<A, places> before;  ///< P * q
  bool is_exact;           ///< whether there may be NaNs that the operator minds

  Folded() = default;
  Folded(const Folded&) = delete;
  [[gnu::always_inline]] Folded& operator=(const Folded& other) {
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) folds[i] =
        other.folds[i];
    before = other.before;
    is_exact = other.is_exact;
    return *this;
  }
};

/// Loads and folds whole chunks of a line, as many as registers have places, or up to one chunk.
///
/// \param x      the elements
/// \param count  how many of a chunk; not all only at the end of the line, where `step` is 1
/// \param carry  what comes before; on return, chunks includes the elements
/// \param folded receives them
template <bool only_folds, int step, int places, class Op, class X, class A, class R>
[[gnu::always_inline]] inline LastChunk<A, R> fold_neighbours(const Op& op,
                                                              const Register<A, places>& none,
                                                              const X& x, int count,
                                                              Carry<R>& carry,
                                                              Folded<A, places>& folded) {
  const auto wide = carrying(op);
  A totals[places];
  load_packs<step>(x, step * chunk_length, neutral(op), count, folded.folds);
  folded.is_exact = false;
  if constexpr (minds_nan<Op>) folded.is_exact = may_have_nan(folded.folds);
  if (only_folds && !folded.is_exact && count == chunk_length) {
    total_chunks(op, folded.folds, totals);
  } else {
    if (folded.is_exact) {
      if constexpr (minds_nan<Op>) fold_packs(Exact<Op>{op}, none, count, folded.folds);
    } else {
      fold_packs(op, none, count, folded.folds);
    }
    for_each_place<places>([&](auto place) __attribute__((always_inline)) {
      totals[place] = last<place>(folded.folds[3]);
    });
  }
  LastChunk<A, R> end{};
  A before[places];
  KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
    before[place] = static_cast<A>(wide(carry.tiles, carry.chunks));
    end = {carry.chunks, totals[place]};
    carry.chunks = wide(carry.chunks, static_cast<R>(totals[place]));
  }
  folded.before = broadcast<A>(before);
  return end;
}

/// Combines chunks with what comes before them and stores the results.
///
/// \param b      where B(k+1) and on go
/// \param result receives the last of them
template <int step, class Op, class A, int places>
[[gnu::always_inline]] inline void store_neighbours(Pass pass, const Op& op,
                                                    const Folded<A, places>& folded, int count,
                                                    A* b, A& result) {
  Chunks<A, places> results;
  const auto& before = folded.before;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (folded.is_exact) {
      if constexpr (minds_nan<Op>) results[i] = combine(Exact<Op>{op}, before, folded.folds[i]);
    } else {
      results[i] = combine(op, before, folded.folds[i]);
    }
  }
  result = last<places - 1>(results[3]);
  for_each_place<places>([&](auto place) __attribute__((always_inline)) {
    A* const to = b + place * step * chunk_length;
    pass == Pass::stream ? store_packs<true, step, place>(results, count, to)
                         : store_packs<false, step, place>(results, count, to);
  });
}

/// Combines chunks in registers of some places: as many as fill these, and with one place what is
/// left at the end of the line; the parameters are combine_chunks()'s.
///
/// \tparam compiled_for  the pass, but that scan stands for stream as well
template <Pass compiled_for, int step, int places, class Op, class X, class A, class R>
[[gnu::always_inline]] inline LastChunk<A, R> combine_chunks_at_places(
    Pass pass, const Op& op, const X& x, int count, const Ahead& ahead, Carry<R>& carry, A* b,
    A& result, StreamedRun<A>& staged) {
  constexpr int at_once = places * chunk_length;
  constexpr bool only_folds = compiled_for == Pass::fold;
  // Where results stay in the caches, so does all that is asked for.
  const bool streams = pass == Pass::stream || pass == Pass::stage;
  const Caches caches = streams ? ahead.caches : Caches::all;
  // Copies, which stores of results cannot alias, stay in registers.
  const X from = x;
  const auto none = hidden<places>(neutral(op));
  Carry<R> before = carry;
  A last_result{};
  LastChunk<A, R> end{};
  const X later = from + (step > 0 ? ahead.elements : -ahead.elements - (at_once - 1));
  const auto fold = [&](int k, int of_chunk, auto& folded) __attribute__((always_inline)) {
    end = fold_neighbours<only_folds, step>(op, none, from + k * step, of_chunk, before, folded);
  };
  const auto store = [&](int k, int of_chunk, const auto& folded) __attribute__((always_inline)) {
    if constexpr (only_folds) return;
    store_neighbours<step>(pass, op, folded, of_chunk, b + k * step, last_result);
  };
  const int whole = count / at_once * at_once;
  StreamedRun<A> run = staged;
  Folded<A, places> next;
  if (whole > 0) {
    // Each is stored when the next are folded: neither waits for the other, which fills the
    // time that a fold from pack to pack and then to the carry takes.
    fold(0, chunk_length, next);
    for (int k = at_once; k <= whole; k += at_once) {
      Folded<A, places> folded;
      folded = next;
      if (k < whole) {
        prefetch<step>(later + k * step, at_once, caches);
        fold(k, chunk_length, next);
      }
      store(k - at_once, chunk_length, folded);
      if constexpr (compiled_for == Pass::stage) {
        run.template store_up_to<places>(b + (k - at_once) - lag_bytes / sizeof(A));
      }
    }
    staged = run;
  }
  if constexpr (places == 1 && step > 0) {
    const int rest = count - whole;
    if (rest > 0) {
      fold(whole, rest, next);
      store(whole, rest, next);
    }
  }
  carry = before;
  result = last_result;
  return end;
}

/// Combines elements of one tile, whole chunks except at the end of the line, and whole chunks only
/// where results are streamed or `step` is -1.
///
/// \tparam step  the direction in which elements and results lie in memory
/// \param x      the elements: a pointer or SelectedElements
/// \param ahead  how far from the elements, in scan order, those begin that are asked for, and
///               where to
/// \param carry  what comes before; on return, chunks includes the elements
/// \param b      where B(k+1) and on go
/// \param result receives B at their end
/// \param staged the results, and those before them in L1, which are stored past the caches
/// \return what the last chunk left behind
template <int step, class Op, class X, class A, class R>
LastChunk<A, R> combine_chunks(Registers registers, Pass pass, const Op& op, const X& x, int count,
                               Ahead ahead, Carry<R>& carry, A* b, A& result,
                               StreamedRun<A> staged = {}) {
  const EmptiesX87 at_end;
  // What does not fill wide registers is left for narrow ones.
  LastChunk<A, R> end{};
  int done = 0;
  const auto combine = [ =, &op, &x, &carry, &result, &staged, &done, &end ](auto places)
      __attribute__((always_inline)) {
    constexpr int at_once = places * chunk_length;
    const int begin = done;
    const int left = places == 1 ? count - begin : count / at_once * at_once;
    done += left;
    const auto combine_for = [&](auto compiled_for) __attribute__((always_inline)) {
      end = combine_chunks_at_places<compiled_for, step, places>(
          pass, op, x + begin * step, left, ahead, carry, b + begin * step, result, staged);
    };
    if constexpr (step > 0) {
      if (pass == Pass::fold) return combine_for(constant<Pass::fold>);
      if constexpr (places > 1) {
        if (pass == Pass::stage) return combine_for(constant<Pass::stage>);
      }
    }
    combine_for(constant<Pass::scan>);
  };
  if (count >= 2 * chunk_length) call_if_wide(registers, combine);
  if (done < count) combine(constant<1>);
  if (pass == Pass::stage) staged.finish(registers);
  return end;
}

}  // namespace KokkosScan::impl::host
