// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines lines side by side that lie interleaved: element k of line w of a slab is `width`
/// places from element k + 1. The kernels take whole blocks of slabs, so that nothing is done once
/// a line.

#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// What lines have combined to, for up to Width of them. Registers that reach over the first or the
/// last line use the places around. It begins a page: registers that reach over the end of one cost
/// hundreds of cycles a row, where they have been stored a short while ago.
template <class A, class R, int Width>
struct alignas(page_bytes) SlabState {
  static constexpr int spill = 32 / sizeof(A);
  alignas(32) A carry_[Width + 2 * spill];
  alignas(32) A folds_[Width + 2 * spill];
  alignas(32) A pairs_[Width + 2 * spill];
  alignas(32) A thirds_[Width + 2 * spill];
  alignas(32) R tiles_[Width + 2 * spill];
  alignas(32) R chunks_[Width + 2 * spill];

  R* tiles() { return tiles_ + spill; }
  R* chunks() { return chunks_ + spill; }
  A* carry() { return carry_ + spill; }
  A* folds() { return folds_ + spill; }
  A* pairs() { return pairs_ + spill; }
  A* thirds() { return thirds_ + spill; }
};

/// Rows k ... k + rows - 1 of each of some slabs.
template <class A, class R>
struct SlabBlock {
  const A* x;           ///< the first row; may be read up to a register before and behind
  std::int64_t x_row;   ///< from row to row
  std::int64_t x_slab;  ///< from slab to slab
  A* b;                 ///< where results go, and some more up to a register behind
  std::int64_t b_row, b_slab;
  int slabs, rows, width;
  int begin;                   ///< the place in its tile of the first row; begins a pack
  bool begins_lines;           ///< else the state says what came before
  bool ends_chunk;             ///< whether the last chunk joins those before
  bool streams;                ///< past the caches
  bool takes_rows;             ///< whether lines are combined row by row
  bool keeps_gaps;             ///< whether nothing behind a row's results is overwritten
  std::int64_t results_ahead;  ///< how far from results memory of others is asked for, or 0
  std::int64_t ahead;          ///< how far from elements, in places of x, others are asked for
  Caches caches;               ///< where to
  const A* starts;             ///< of each line: the starting value, or a neutral one
  const A* firsts;           ///< of each line: B(0), where that is stored before the other results
  std::int64_t starts_slab;  ///< from slab to slab of these; 0: all slabs have the same
  R* tiles;
  R* chunks;
  A* carry;
  A* folds;
  A* pairs;            ///< the first element of a pack that has begun, or the first two
  A* thirds;           ///< its third
  StreamedRun<A> run;  ///< results that the kernel stores, beside what it computes
};

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

/// Up to four rows of a register of lines. Results are stored row by row.
///
/// \param count  how many rows
/// \param before what the chunk's earlier rows combine to; on return, these included
template <int places, class Op, class A>
[[gnu::always_inline]] inline void combine_pack_of_lines(const Op& op, const ChunkOfRows<A>& rows,
                                                         int count, Register<A, places>& before,
                                                         const Register<A, places>& carry) {
  using V = Register<A, places>;
  V x[pack_length];
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
    x[i] = load_register<places>(rows.x + (i < count ? i : 0) * rows.x_row);
  }
  V folds[pack_length];
  fold_rows(op, before, x, folds);
  before = count == 1 ? folds[0] : count == 2 ? folds[1] : count == 3 ? folds[2] : folds[3];
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
    if (i < count) store_register(rows.b + i * rows.b_row, combine_registers(op, carry, folds[i]));
  }
}

/// Rows of one chunk of a register of lines.
///
/// \param begins whether these are the first rows of the chunk
/// \param folds  what the chunk's earlier rows combine to; on return, these included
template <int places, class Op, class A>
[[gnu::always_inline]] inline void combine_chunk_of_lines(const Op& op, ChunkOfRows<A> rows,
                                                          int count, bool begins, A* folds,
                                                          const A* carries) {
  using V = Register<A, places>;
  V before = broadcast<places>(neutral(op)).part[0];
  if (!begins) before = load_register<places>(folds);
  const V carry = load_register<places>(carries);
  for (; count > 0; count -= pack_length) {
    bool is_exact = false;
    if constexpr (minds_nan<Op>) {
      // Vectors lose a NaN that follows a number; the carry is followed by the earlier packs, too.
      V sum = before;
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
        sum.lanes += load_register<places>(rows.x + (i < count ? i : 0) * rows.x_row).lanes;
      }
      is_exact = any(where_nan(sum));
      if (is_exact) {
        combine_pack_of_lines<places>(Exact<Op>{op}, rows,
                                      count < pack_length ? count : pack_length, before, carry);
      }
    }
    if (is_exact) {
      // Done.
    } else if (count >= pack_length) {
      combine_pack_of_lines<places>(op, rows, pack_length, before, carry);
    } else {
      combine_pack_of_lines<places>(op, rows, count, before, carry);
    }
    rows.x += pack_length * rows.x_row;
    rows.b += pack_length * rows.b_row;
  }
  store_register(folds, before);
}

/// Rows of one chunk of two lines, of values of 4 bytes: a register holds two rows, and steps of
/// the tree combine rows of one register. Rows behind the last, to a whole pack, are overwritten.
///
/// \tparam step  the direction in which rows lie in memory
template <int step, class Op, class A>
[[gnu::always_inline]] inline void combine_chunk_of_pairs(const Op& op, ChunkOfRows<A> rows,
                                                          int count, bool begins, A* folds,
                                                          const A* carries) {
  using V = Register<A>;
  const auto exact = exactly(op);
  const V none = broadcast(neutral(op)).part[0];
  const auto in_order = [](const V& r) __attribute__((always_inline)) {
    return step > 0 ? r : shuffle<2, 3, 0, 1>(r, r);
  };
  // Of two rows: what is behind the first, and the second for both.
  const auto later = [&](const V& r) __attribute__((always_inline)) {
    return shuffle<0, 1, 4, 5>(none, r);
  };
  const auto last = [](const V& r) __attribute__((always_inline)) {
    return shuffle<2, 3, 2, 3>(r, r);
  };
  const V state = load_register(folds), carry_of_lines = load_register(carries);
  V before = begins ? none : shuffle<0, 1, 0, 1>(state, state);
  const V carry = shuffle<0, 1, 0, 1>(carry_of_lines, carry_of_lines);
  const int first = step > 0 ? 0 : -2, second = step > 0 ? 4 : -6;
  for (; count > 0; count -= pack_length) {
    V low = in_order(load_register(rows.x + first)),
      high = in_order(load_register(rows.x + second));
    low = combine_registers(exact, later(low), low);
    high = combine_registers(exact, later(high), high);
    high = combine_registers(exact, last(low), high);
    low = combine_registers(exact, before, low);
    high = combine_registers(exact, before, high);
    before = last(high);
    store_register(rows.b + first, in_order(combine_registers(exact, carry, low)));
    store_register(rows.b + second, in_order(combine_registers(exact, carry, high)));
    rows.x += pack_length * rows.x_row;
    rows.b += pack_length * rows.b_row;
  }
  store_register(folds, before);
}

/// Stores results of a block that are some way behind those at `b`, which are next.
template <int places, class A, class R>
[[gnu::always_inline]] inline void store_behind(const SlabBlock<A, R>& block, const A* b,
                                                StreamedRun<A>& run) {
  constexpr int lag = lag_bytes / sizeof(A);
  if (block.b_row > 0) {
    run.template store_up_to<places>(b - lag);
  } else {
    run.template store_down_to<places>(b + block.width + lag);
  }
}

/// Calls f(element) for one of each cache line that `distance` elements from `first` on have, in
/// the order of memory, which the hardware can foresee.
template <class A, class F>
[[gnu::always_inline]] inline void for_each_cache_line(const A* first, std::int64_t distance,
                                                       const F& f) {
  const int step = (distance < 0 ? -cache_line : cache_line) / static_cast<int>(sizeof(A));
  const std::int64_t bytes = (distance < 0 ? -distance : distance) * static_cast<int>(sizeof(A));
  for (std::int64_t i = 0; i < bytes; i += cache_line, first += step) f(first);
}

/// Asks for what is ahead of `distance` elements from x on.
template <class A, class R>
[[gnu::always_inline]] inline void ask_ahead(const SlabBlock<A, R>& block, const A* x,
                                             std::int64_t distance) {
  if (block.ahead == 0) return;
  for_each_cache_line(
      x + block.ahead, distance, [&](const A* later) __attribute__((always_inline)) {
        block.caches == Caches::nearest ? __builtin_prefetch(later, 0, 0)
                                        : __builtin_prefetch(later);
      });
}

/// Asks for memory of results that are stored where they belong, from b on, whose cache lines are
/// read first.
template <class A, class R>
[[gnu::always_inline]] inline void ask_for_results(const SlabBlock<A, R>& block, const A* b,
                                                   std::int64_t distance) {
  if (block.results_ahead == 0) return;
  for_each_cache_line(
      b + block.results_ahead, distance,
      [](const A* later) __attribute__((always_inline)) { __builtin_prefetch(later, 1); });
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

/// Scans slabs of whole lines of at most a chunk: nothing is kept of lines.
///
/// \param store_firsts, combine_chunk as in combine_slabs()
template <int places, class A, class R, class StoreFirsts, class CombineChunk>
[[gnu::always_inline]] inline void combine_short_slabs(const SlabBlock<A, R>& block,
                                                       const StoreFirsts& store_firsts,
                                                       const CombineChunk& combine_chunk) {
  StreamedRun<A> run = block.run;
  const int turn = turn_bytes / static_cast<int>(sizeof(A)) / (block.rows * block.width) + 1;
  const std::int64_t first_row = block.firsts == nullptr ? 0 : block.b_row;
  const A* x = block.x;
  A* b = block.b;
  for (int begin = 0; begin < block.slabs; begin += turn) {
    const int end = begin + turn < block.slabs ? begin + turn : block.slabs;
    store_behind<places>(block, b, run);
    ask_ahead(block, x, (end - begin) * block.x_slab);
    ask_for_results(block, b, (end - begin) * block.b_slab);
    for (int s = begin; s < end; ++s, x += block.x_slab, b += block.b_slab) {
      store_firsts(s, b);
      combine_chunk(ChunkOfRows<A>{x, block.x_row, b + first_row, block.b_row}, block.rows, true,
                    block.starts + s * block.starts_slab);
    }
  }
  run.template finish<places>();
}

/// Scans a block. Where the lines of a slab do not fill registers, one of them reaches into the
/// rows that follow in scan order, which are stored later.
template <class Op, class A, class R>
void combine_slabs(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [ op, slabs ](auto places) __attribute__((always_inline)) {
        const SlabBlock<A, R> block = slabs;  // what is stored cannot alias it
        StreamedRun<A> run = block.run;
        using V = Register<A, places>;
        constexpr int lanes = sizeof(V) / sizeof(A);
        const V none = broadcast<places>(neutral(op)).part[0];
        const int width = block.width;
        const int rest = width % lanes;
        // Registers of lines: the one that spills comes first.
        const int spilling = block.b_row < 0 ? rest - lanes : width - rest;
        const int first = block.b_row < 0 ? rest : 0;
        const auto for_each_register = [&](const auto& f) __attribute__((always_inline)) {
          for (int w = rest == 0 ? 0 : spilling, next = rest == 0 ? lanes : first, i = 0; i < width;
               i += lanes, w = next, next += lanes) {
            f(w);
          }
        };
        const bool is_pair = sizeof(A) == 4 && width == 2 && block.x_row == block.b_row;
        // A pair stores and loads the same registers of what it has combined to.
        const auto for_each_of_state = [&](const auto& f) __attribute__((always_inline)) {
          if (is_pair) {
            f(0);
          } else {
            for_each_register(f);
          }
        };
        // Those of a row of results: where nothing behind it may change, the last one covers lines
        // of the one before, too.
        const bool overlaps = block.keeps_gaps && rest != 0;
        const auto for_each_of_row = [&](const auto& f) __attribute__((always_inline)) {
          if (!overlaps) return for_each_register(f);
          f(width - lanes);
          for (int w = 0; w < width - rest; w += lanes) f(w);
        };
        // B(0) of a slab's lines, where it is stored.
        const auto store_firsts = [&](int s, A* b) __attribute__((always_inline)) {
          if (block.firsts == nullptr) return;
          const A* const firsts = block.firsts + s * block.starts_slab;
          for_each_of_row([&](int w) __attribute__((always_inline)) {
            const V result = load_register<places>(firsts + w);
            store_register(b + w, result);
          });
        };
        const auto combine_chunk = [&](const ChunkOfRows<A>& chunk, int rows, bool begins,
                                       const A* carries) __attribute__((always_inline)) {
          if (!is_pair) {
            // What the register before has folded, which the last one is not to change.
            A* const before_last = block.folds + (overlaps ? width - rest - lanes : 0);
            const V folds = load_register<places>(before_last);
            return for_each_of_row([&](int w) __attribute__((always_inline)) {
              combine_chunk_of_lines<places>(
                  op, ChunkOfRows<A>{chunk.x + w, chunk.x_row, chunk.b + w, chunk.b_row}, rows,
                  begins, block.folds + w, carries + w);
              if (overlaps && w == width - lanes) store_register(before_last, folds);
            });
          }
          if constexpr (sizeof(A) == 4) {
            block.x_row > 0
                ? combine_chunk_of_pairs<1>(op, chunk, rows, begins, block.folds, carries)
                : combine_chunk_of_pairs<-1>(op, chunk, rows, begins, block.folds, carries);
          }
        };
        if constexpr (are_widest<places>) {
          if (block.rows <= chunk_length && block.begins_lines && !block.ends_chunk) {
            return combine_short_slabs<places>(block, store_firsts, combine_chunk);
          }
        }
        for (int s = 0; s < block.slabs; ++s) {
          const A* x = block.x + s * block.x_slab;
          A* b = block.b + s * block.b_slab;
          const A* const starts = block.starts + s * block.starts_slab;
          store_firsts(s, b);
          if (block.firsts != nullptr) b += block.b_row;
          for (int k = 0; k < block.rows;) {
            const int left = block.rows - k;
            const int of_chunk = chunk_length - (block.begin + k) % chunk_length;
            const int rows = left < of_chunk ? left : of_chunk;
            const bool goes_on = k + rows < block.rows || block.ends_chunk;
            const bool begins_lines = k == 0 && block.begins_lines;
            const bool begins_chunk = (block.begin + k) % chunk_length == 0;
            if (begins_lines && goes_on) {
              for_each_of_state([&](int w) __attribute__((always_inline)) {
                const V start = load_register<places>(starts + w);
                store_register(block.carry + w, start);
                store_wide(block.tiles + w, start);
                store_wide(block.chunks + w, none);
              });
            }
            const A* const x_of_rows = x + k * block.x_row;
            A* const b_of_rows = b + k * block.b_row;
            ask_ahead(block, x_of_rows, block.x_row < 0 ? -rows * width : rows * width);
            ask_for_results(block, b_of_rows, rows * block.b_row);
            store_behind<places>(block, b_of_rows, run);
            combine_chunk(ChunkOfRows<A>{x_of_rows, block.x_row, b_of_rows, block.b_row}, rows,
                          begins_chunk, begins_lines ? starts : block.carry);
            k += rows;
            if (goes_on && (block.begin + k) % chunk_length == 0) {
              const bool ends_tile = (block.begin + k) % tile_length == 0;
              for_each_of_state([&](int w) __attribute__((always_inline)) {
                const auto fold = load_register<places>(block.folds + w);
                const auto carry =
                    end_chunk_of_lines(op, fold, ends_tile, block.tiles + w, block.chunks + w);
                store_register(block.carry + w, carry);
              });
            }
          }
        }
        run.template finish<places>();
      });
}

}  // namespace KokkosScan::impl::host
