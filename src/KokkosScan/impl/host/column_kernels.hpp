// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans and folds neighbouring lines side by side, one register of lines at a time. Element k + 1
/// of a line is one row after element k.

#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

// ---- One chunk of a register of lines ---------------------------------------------------------

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

// ---- Blocks of rows ---------------------------------------------------------------------------

/// The state of the lines of a strip at the beginning of a chunk or of a pack.
template <class A, class R>
struct StateOfLines {
  A* folds;   ///< the fold of the chunk's earlier packs
  A* carry;   ///< the prefix of the chunk
  R* tiles;   ///< the fold of earlier tiles
  R* chunks;  ///< the fold of the tile's earlier chunks

  [[gnu::always_inline]] StateOfLines from(std::int64_t w) const {
    return {folds + w, carry + w, tiles + w, chunks + w};
  }
  template <int lanes>
  [[gnu::always_inline]] void copy_to(const StateOfLines& to) const {
    __builtin_memcpy(to.folds, folds, lanes * sizeof(A));
    __builtin_memcpy(to.carry, carry, lanes * sizeof(A));
    __builtin_memcpy(to.tiles, tiles, lanes * sizeof(R));
    __builtin_memcpy(to.chunks, chunks, lanes * sizeof(R));
  }
};

/// What is known before the first row of lines: a value of each line, and of the lines of further
/// slabs `slab` further on.
template <class A>
struct Starts {
  const A* values = nullptr;  ///< starting values, or neutral ones; null if a state precedes
  const A* firsts = nullptr;  ///< B before the first row, if that is stored too
  std::int64_t slab = 0;
};

/// Rows of each of several slabs. Where lines are fewer than the lanes of a register, registers
/// exceed them: memory before and behind the rows is read, and overwritten in b.
template <class A, class R>
struct SlabBlock {
  SlabsOf<const A> x;
  SlabsOf<A> b;  ///< inclusive results; of a row of few lines those of the next row are overwritten
  int slabs, rows, width;
  int begin = 0;  ///< index of the first row in its tile; begins a pack
  Starts<A> starts = {};
  StateOfLines<A, R> state = {};  ///< used if there are no starts; then there is one slab
  std::int64_t ahead = 0;         ///< prefetch distance from x; 0 prefetches nothing
};

/// The state of one register of lines.
template <int places, class A, class R>
struct StateOfRegister {
  Register<A, places> fold, carry;
  R *tiles, *chunks;
};

/// Scans the rows of one register of lines.
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline void scan_register(const Op& op, const SlabBlock<A, R>& block,
                                                 const A* x, A* b,
                                                 StateOfRegister<places, A, R>& state) {
  using V = Register<A, places>;
  const std::int64_t x_row = block.x.row, b_row = block.b.row, ahead = block.ahead;
  const int end = block.begin + block.rows;
  V fold = state.fold, carry = state.carry;
  const auto put = [&](int i, const V& results) __attribute__((always_inline)) {
    store_register(b + i * b_row, results);
  };
  int k = block.begin;
  KOKKOSSCAN_IMPL_ROLLED for (; k + pack_length <= end; k += pack_length) {
    V elements[pack_length];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      elements[i] = load_register<places>(x + i * x_row);
      __builtin_prefetch(x + i * x_row + ahead);
    }
    combine_pack(op, carry, fold, elements, put);
    x += pack_length * x_row;
    b += pack_length * b_row;
    if ((k + pack_length) % chunk_length != 0) continue;
    carry = end_chunk_of_lines(op, fold, (k + pack_length) % tile_length == 0, state.tiles,
                               state.chunks);
    fold = broadcast<places>(neutral(op)).part[0];
  }
  if (k < end) {
    const auto exact = exactly(op);
    V elements[pack_length], folds[pack_length];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      elements[i] = load_register<places>(x + (k + i < end ? i : 0) * x_row);
      if (k + i < end) __builtin_prefetch(x + i * x_row + ahead);
    }
    fold_rows(exact, fold, elements, folds);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i + 1 < pack_length; ++i) {
      if (k + i < end) put(i, combine_registers(exact, carry, folds[i]));
    }
  }
  state.fold = fold;
  state.carry = carry;
}

/// Calls f(state, w) for each register of lines of a row, w being its first line. The register at
/// the end of a row overlaps the one before. As both change the state of lines that they share, in
/// the same way, it has a copy, taken before that one is scanned.
///
/// \param shift 0, or negative where a register exceeds a row of few lines below: its state begins
///              so many lines before it
template <int places, class A, class R, class F>
[[gnu::always_inline]] inline void for_each_state(const StateOfLines<A, R>& states, int width,
                                                  int shift, const F& f) {
  constexpr int lanes = lanes_of<A, places>;
  A folds[lanes], carry[lanes];
  R tiles[lanes]{}, chunks[lanes];  // only because GCC does not see that copy_to() sets them
  const StateOfLines<A, R> own{folds, carry, tiles, chunks};
  const int last = width < lanes ? 0 : width - lanes, whole = width - width % lanes;
  if (whole < width) states.from(last + shift).template copy_to<lanes>(own);
  KOKKOSSCAN_IMPL_ROLLED for (int w = 0; w < width; w += lanes) {
    const StateOfLines<A, R> lines = w < whole ? states.from(w) : own;
    StateOfRegister<places, A, R> state{load_register<places>(lines.folds),
                                        load_register<places>(lines.carry), lines.tiles,
                                        lines.chunks};
    f(state, w < whole ? w : last);
    store_register(lines.folds, state.fold);
    store_register(lines.carry, state.carry);
  }
  if (whole < width) own.template copy_to<lanes>(states.from(last + shift));
}

/// Scans a block of rows.
template <class Op, class A, class R>
void combine_slabs(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [ op, slabs ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        constexpr int lanes = lanes_of<A, places>;
        using State = StateOfRegister<places, A, R>;
        const SlabBlock<A, R> block = slabs;
        const int width = block.width;
        // Rows of few lines that are stored downwards: registers exceed them below.
        const int shift = width < lanes && block.b.row < 0 ? width - lanes : 0;
        const A* x = block.x.data + shift;
        A* b = block.b.data + shift;
        if (block.starts.values == nullptr) {
          if (block.starts.firsts != nullptr) {
            std::copy_n(block.starts.firsts, width, block.b.data - block.b.row);
          }
          SlabBlock<A, R> part = block;
          const int most_rows = width > 2 * lanes ? chunk_length : block.rows;
          KOKKOSSCAN_IMPL_ROLLED for (int k = 0; k < block.rows; k += most_rows) {
            part.rows = block.rows - k < most_rows ? block.rows - k : most_rows;
            for_each_state<places>(
                block.state, width,
                shift, [&](State & state, int w) __attribute__((always_inline)) {
                  scan_register(op, part, x + w, b + w, state);
                });
            part.begin += most_rows;
            x += most_rows * block.x.row;
            b += most_rows * block.b.row;
          }
          return;
        }
        const bool has_chunks = block.rows >= chunk_length;
        R tiles[lanes] = {}, chunks[lanes] = {};
        const A* starts = block.starts.values + shift;
        const A* firsts = block.starts.firsts;
        for (int s = 0; s < block.slabs; ++s) {
          if (firsts != nullptr) {
            A* const to = b - shift - block.b.row;
            for (int w = 0; w < width; ++w) to[w] = firsts[w];
            firsts += block.starts.slab;
          }
          const auto scan = [&](int w) __attribute__((always_inline)) {
            State state{broadcast<places>(neutral(op)).part[0], load_register<places>(starts + w),
                        tiles, chunks};
            if (has_chunks) {
              store_wide(tiles, state.carry);
              for (R& chunk : chunks) chunk = neutral(carrying(op));
            }
            scan_register(op, block, x + w, b + w, state);
          };
          int w = 0;
          KOKKOSSCAN_IMPL_ROLLED for (; w + lanes <= width; w += lanes) scan(w);
          // Not in the loop, where it would be slower: often it is the only register of a slab.
          if (w < width) scan(width < lanes ? 0 : width - lanes);
          x += block.x.slab;
          b += block.b.slab;
          starts += block.starts.slab;
        }
      });
}

/// Folds whole chunks of one slab. Its state holds the fold of the tile's earlier chunks without
/// the last one, and the last one's total.
template <class Op, class A, class R>
void fold_slab(Registers registers, const Op& op, const SlabBlock<A, R>& slab) {
  call_with(
      registers, [ op, slab ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        using State = StateOfRegister<places, A, R>;
        using V = Register<A, places>;
        const SlabBlock<A, R> block = slab;
        const int width = block.width;
        const auto exact = exactly(op);
        const auto fold = [&](State & state, int w) __attribute__((always_inline)) {
          const A* x = block.x.data + w;
          V total = state.fold;
          KOKKOSSCAN_IMPL_ROLLED for (int k = 0; k < block.rows; k += chunk_length) {
            end_chunk_of_lines(op, total, false, state.tiles, state.chunks);
            total = broadcast<places>(neutral(op)).part[0];
            KOKKOSSCAN_IMPL_ROLLED for (int i = 0; i < chunk_length; i += pack_length) {
              V elements[pack_length], folds[pack_length];
              KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < pack_length; ++j) {
                elements[j] = load_register<places>(x + j * block.x.row);
                __builtin_prefetch(x + j * block.x.row + block.ahead);
              }
              fold_rows(exact, total, elements, folds);
              total = folds[pack_length - 1];
              x += pack_length * block.x.row;
            }
          }
          state.fold = total;
        };
        for_each_state<places>(block.state, width, 0, fold);
      });
}

}  // namespace KokkosScan::impl::host
