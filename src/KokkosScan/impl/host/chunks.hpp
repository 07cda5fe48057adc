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

/// Stores packs of a place, in the order of memory.
///
/// \param count how many of their values: whole packs
template <bool streams, int step, int place, class A, int places>
[[gnu::always_inline]] inline void store_packs(const Chunks<A, places>& packs, int count, A* b) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length / pack_length; ++i) {
    if (i * pack_length >= count) return;
    if constexpr (step < 0) {
      store<streams, place>(b + (chunk_length - pack_length) - i * pack_length, reverse(packs[i]));
    } else {
      store<streams, place>(b + i * pack_length, packs[i]);
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

/// Folds whole chunks of a tile, as many as registers have places at a time.
///
/// \param chunks what the tile's chunks before these combine to; on return, these included
/// \return the last chunk
template <class A, class Op, class X, class R>
LastChunk<A, R> fold_chunks(Registers registers, const Op& op, const X& elements, int count,
                            R& chunks) {
  LastChunk<A, R> end{};
  call_with(
      registers,
      [ op, elements, count, &chunks, &end ](auto places) __attribute__((always_inline)) {
        constexpr int at_once = places * chunk_length;
        const auto wide = carrying(op);
        const auto none = hidden<places>(neutral(op));
        R before = chunks;
        LastChunk<A, R> last{};
        for (int k = 0; k < count; k += at_once) {
          Chunks<A, places> packs;
          A totals[places];
          load_packs<1>(elements + k, chunk_length, neutral(op), chunk_length, packs);
          bool is_exact = false;
          if constexpr (minds_nan<Op>) {
            is_exact = may_have_nan(packs);
            if (is_exact) {
              fold_packs(Exact<Op>{op}, none, chunk_length, packs);
              for_each_place<places>([&](auto place) __attribute__((always_inline)) {
                totals[place] = host::last<place>(packs[3]);
              });
            }
          }
          if (!is_exact) total_chunks(op, packs, totals);
          KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
            last = {before, totals[place]};
            before = wide(before, static_cast<R>(totals[place]));
          }
        }
        chunks = before;
        end = last;
      });
  return end;
}

/// Scans elements of a line, up to fold_length at a time. Their folds wait in L1, and then what
/// comes before each chunk is combined with them: neither waits for the other so, and registers
/// that hold two chunks side by side are stored as they are, and loaded as results lie in memory.
///
/// \tparam step the direction in which elements and results lie in memory
template <int step, int places, class Op, class A, class R>
class BlocksOfLine {
  static constexpr int at_once = places * chunk_length;
  static constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
  static constexpr int of_place = Pack<A>::lanes;
  static constexpr int packs_of_chunk = chunk_length / pack_length;

 public:
  /// \param folds   what folds wait in: fold_length elements, in one page
  /// \param ahead   how far from elements, in scan order, others are asked for
  /// \param streams whether results pass the caches by, to multiples of a register
  [[gnu::always_inline]] BlocksOfLine(const Op& op, A* folds, const Ahead& ahead, bool streams)
      : m_op(op),
        m_none(hidden<places>(neutral(op))),
        m_folds(folds),
        m_ahead(step > 0 ? ahead.elements : -ahead.elements - (at_once - 1)),
        m_caches(ahead.caches),
        m_streams(streams) {}

  /// What comes before the elements that follow.
  Carry<R> carry;

  /// The last result.
  [[gnu::always_inline]] A result() const { return m_op(m_before, m_total); }

  /// \param x     the elements: a pointer or SelectedElements
  /// \param count how many; not whole chunks only at the end of the line, where `step` is 1
  /// \param b     where the first result goes; results fill registers
  template <class X>
  [[gnu::always_inline]] void scan(const X& x, int count, A* b) {
    bool is_exact = false;
    int i = 0;
    for (; i + at_once <= count; i += at_once) {
      prefetch<step>(x + (m_ahead + i * step), at_once, m_caches);
      fold(x + i * step, chunk_length, m_none, m_folds + i, is_exact);
    }
    if (i < count) prefetch<step>(x + (m_ahead + i * step), at_once, m_caches);
    for (A* folds = m_folds + i; i < count; i += chunk_length, folds += of_place) {
      const int left = step > 0 && count - i < chunk_length ? count - i : chunk_length;
      fold(x + i * step, left, at_place<0>(m_none), folds, is_exact);
    }
    if constexpr (minds_nan<Op>) {
      if (is_exact) return combine_all(Exact<Op>{m_op}, count, b);
    }
    combine_all(m_op, count, b);
  }
  /// The elements that follow begin a tile.
  [[gnu::always_inline]] void end_tile() {
    const auto wide = carrying(m_op);
    carry = {wide(carry.tiles, carry.chunks), neutral(wide)};
  }

 private:
  /// Folds a chunk at each place, or one or less at the first.
  template <class X, int used>
  [[gnu::always_inline]] void fold(const X& x, int count, const Register<A, used>& none, A* folds,
                                   bool& is_exact) const {
    Chunks<A, used> packs;
    load_packs<step>(x, step * chunk_length, neutral(m_op), count, packs);
    bool may_have = false;
    if constexpr (minds_nan<Op>) {
      may_have = may_have_nan(packs);
      if (may_have) fold_packs(Exact<Op>{m_op}, none, count, packs);
    }
    if (may_have) {
      is_exact = true;
    } else {
      fold_packs(m_op, none, count, packs);
    }
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < packs_of_chunk; ++i) {
      const Pack<A, used> pack = step > 0 ? packs[i] : reverse(packs[packs_of_chunk - 1 - i]);
      KOKKOSSCAN_IMPL_UNROLL for (int part = 0; part < Pack<A>::parts; ++part) {
        store_register(folds + (i * Pack<A>::parts + part) * places * of_place, pack.part[part]);
      }
    }
  }

  template <class Exactly>
  [[gnu::always_inline]] void combine_all(const Exactly& op, int count, A* b) {
    if (m_streams) {
      combine_with(
          op, count, b,
          [](A * to, const auto& r) __attribute__((always_inline)) { stream_register(to, r); });
    } else {
      combine_with(
          op, count, b,
          [](A * to, const auto& r) __attribute__((always_inline)) { store_register(to, r); });
    }
  }
  /// Combines what comes before each chunk with its folds.
  template <class Exactly, class Put>
  [[gnu::always_inline]] void combine_with(const Exactly& op, int count, A* b, const Put& put) {
    const auto wide = carrying(m_op);
    // The last of a chunk: elements that are missing leave it as it is.
    constexpr int last = step > 0 ? (chunk_length - of_place) * places + of_place - 1 : 0;
    if (step < 0) b -= chunk_length - 1;
    for (int k = 0; k < count; k += at_once) {
      KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
        const int left = count - k - place * chunk_length;
        if (place > 0 && left <= 0) break;
        const A* const folds = m_folds + k + place * of_place;
        m_before = static_cast<A>(wide(carry.tiles, carry.chunks));
        m_total = folds[last];
        carry.chunks = wide(carry.chunks, static_cast<R>(m_total));
        const auto before = broadcast<places>(m_before).part[0];
        KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length; i += lanes) {
          if (i > 0 && i >= left) break;
          put(b + i, combine_registers(op, before, load_folds(folds + places * i)));
        }
        b += step * chunk_length;
      }
    }
  }
  /// Neighbours that fill a register, the first ones at `folds`.
  [[gnu::always_inline]] static Register<A, places> load_folds(const A* folds) {
    if constexpr (places == 1) {
      return load_register(folds);
    } else {
      return join(load_register(folds), load_register(folds + places * of_place));
    }
  }

  const Op m_op;
  const Register<A, places> m_none;
  A* const m_folds;
  const std::int64_t m_ahead;
  const Caches m_caches;
  const bool m_streams;
  A m_before{}, m_total{};
};

/// Where the results of a line go.
template <class A>
struct LineResults {
  A* b;                ///< of B(k+1) and on: in memory, or in L1
  bool streams;        ///< whether they pass the caches by; `b` is a multiple of a register then
  bool waits;          ///< whether they wait in L1, and `run` takes them past the caches
  StreamedRun<A> run;  ///< of results that rewind
};

/// Scans elements of a line: whole chunks, except at the end of the line where `step` is 1.
///
/// \param elements a pointer or SelectedElements
/// \param begin    how many elements of the line come before them
/// \param ahead    how far from the elements, in scan order, those begin that are asked for, and
///                 where to
/// \param carry    what comes before; on return, what comes after
/// \param folds    what the folds wait in: fold_length elements of a page
/// \param result   receives B at their end
template <int step, class Op, class X, class A, class R>
void scan_elements(Registers registers, const Op& op, const X& elements, std::int64_t begin,
                   std::int64_t count, const Ahead& ahead, Carry<R>& carry,
                   const LineResults<A>& results, A* folds, A& result) {
  call_with(
      registers, [ op, elements, begin, count, ahead, results, folds, &carry, &
                   result ](auto places) __attribute__((always_inline)) {
        constexpr int length = fold_length<A>;
        BlocksOfLine<step, places, Op, A, R> blocks(op, folds, ahead, results.streams);
        blocks.carry = carry;
        // Copies, which stores of results cannot alias.
        const X x = elements;
        StreamedRun<A> run = results.run;
        A* b = results.b;
        const bool waits = results.waits;
        for (std::int64_t k = 0; k < count;) {
          const auto left_of_tile = static_cast<int>(tile_length - (begin + k) % tile_length);
          int block = left_of_tile < length ? left_of_tile : length;
          if (count - k < block) block = static_cast<int>(count - k);
          blocks.scan(x + k * step, block, b + k * step);
          if (block == left_of_tile) blocks.end_tile();
          k += block;
          if (!waits) continue;
          // In place, the last result may belong where the next element is.
          const A* const end = b + k * step;
          constexpr int lag = lag_bytes / sizeof(A);
          if constexpr (step > 0) {
            run.template store_up_to<places>(end - lag);
          } else {
            run.template store_down_to<places>(end + 1 + lag);
          }
          b += run.template rewind<places>(step > 0 ? end - 1 : end + 2, length + chunk_length,
                                           step > 0);
        }
        if (waits) run.template finish<places>();
        carry = blocks.carry;
        result = blocks.result();
      });
}

}  // namespace KokkosScan::impl::host
