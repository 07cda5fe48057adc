// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans and folds neighbouring lines side by side, one register of lines at a time. Element k + 1
/// of a line is one row after element k.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The state of the lines of a strip at the beginning of a chunk or of a pack.
template <class A, class R>
struct StateOfLines {
  A* folds;   ///< the fold of the chunk's earlier packs
  A* carry;   ///< the prefix of the chunk
  R* tiles;   ///< the fold of earlier tiles
  R* chunks;  ///< the fold of the tile's earlier chunks
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
  static constexpr int lanes = 16 * places / static_cast<int>(sizeof(A));
  Register<A, places> fold, carry;
  R *tiles, *chunks;

  [[gnu::always_inline]] void load(const StateOfLines<A, R>& state, std::int64_t w) {
    fold = load_register<places>(state.folds + w);
    carry = load_register<places>(state.carry + w);
    tiles = state.tiles + w;
    chunks = state.chunks + w;
  }
  [[gnu::always_inline]] void store(const StateOfLines<A, R>& state, std::int64_t w) const {
    store_register(state.folds + w, fold);
    store_register(state.carry + w, carry);
  }
};

/// The state of a register that overlaps the one before it: a copy, taken before that one is
/// scanned, since both change the state of lines that they share, in the same way.
template <int places, class A, class R>
struct StateOfLastRegister : StateOfRegister<places, A, R> {
  using StateOfRegister<places, A, R>::lanes;
  R own_tiles[lanes], own_chunks[lanes];

  [[gnu::always_inline]] void load(const StateOfLines<A, R>& state, std::int64_t w) {
    StateOfRegister<places, A, R>::load(state, w);
    __builtin_memcpy(own_tiles, this->tiles, sizeof own_tiles);
    __builtin_memcpy(own_chunks, this->chunks, sizeof own_chunks);
    this->tiles = own_tiles;
    this->chunks = own_chunks;
  }
  [[gnu::always_inline]] void store(const StateOfLines<A, R>& state, std::int64_t w) const {
    StateOfRegister<places, A, R>::store(state, w);
    __builtin_memcpy(state.tiles + w, own_tiles, sizeof own_tiles);
    __builtin_memcpy(state.chunks + w, own_chunks, sizeof own_chunks);
  }
  /// Sets the state at the beginning of lines.
  template <class Op>
  [[gnu::always_inline]] void start(const Op& op, const A* starts, bool has_chunks) {
    this->fold = broadcast<places>(neutral(op)).part[0];
    this->carry = load_register<places>(starts);
    this->tiles = own_tiles;
    this->chunks = own_chunks;
    if (!has_chunks) return;
    store_wide(this->tiles, this->carry);
    for (R& chunk : own_chunks) chunk = neutral(carrying(op));
  }
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
      if (ahead != 0) __builtin_prefetch(x + i * x_row + ahead);
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
      if (ahead != 0 && k + i < end) __builtin_prefetch(x + i * x_row + ahead);
    }
    fold_rows(exact, fold, elements, folds);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i + 1 < pack_length; ++i) {
      if (k + i < end) put(i, combine_registers(exact, carry, folds[i]));
    }
  }
  state.fold = fold;
  state.carry = carry;
}

/// Calls f(w) for the first line w of each register of lines, and last(w) for the lines at the end
/// of a row that do not fill one: that register overlaps the one before.
template <int lanes, class F, class Last>
[[gnu::always_inline]] inline void for_each_register(int width, const F& f, const Last& last) {
  int w = 0;
  KOKKOSSCAN_IMPL_ROLLED for (; w + lanes <= width; w += lanes) f(w);
  if (w < width) last(width < lanes ? 0 : width - lanes);
}

/// The same with the state of each register: f(state, w).
///
/// \param shift 0, or negative where a register exceeds a row of few lines below: its state begins
///              so many lines before it
template <int places, class A, class R, class F>
[[gnu::always_inline]] inline void for_each_state(const StateOfLines<A, R>& states, int width,
                                                  int shift, const F& f) {
  constexpr int lanes = StateOfRegister<places, A, R>::lanes;
  StateOfLastRegister<places, A, R> last;
  if (width % lanes != 0) last.load(states, (width < lanes ? 0 : width - lanes) + shift);
  for_each_register<lanes>(
      width,
      [&](int w) __attribute__((always_inline)) {
        StateOfRegister<places, A, R> state;
        state.load(states, w);
        f(state, w);
        state.store(states, w);
      },
      [&](int w) __attribute__((always_inline)) {
        f(last, w);
        last.store(states, w + shift);
      });
}

/// Scans a block of rows.
template <class Op, class A, class R>
void combine_slabs(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [ op, slabs ](auto places_) __attribute__((always_inline)) {
        constexpr int places = places_;
        using State = StateOfRegister<places, A, R>;
        const SlabBlock<A, R> block = slabs;
        const int width = block.width;
        // Rows of few lines that are stored downwards: registers exceed them below.
        const int shift = width < State::lanes && block.b.row < 0 ? width - State::lanes : 0;
        const A* x = block.x.data + shift;
        A* b = block.b.data + shift;
        if (block.starts.values == nullptr) {
          if (block.starts.firsts != nullptr) {
            std::copy_n(block.starts.firsts, width, block.b.data - block.b.row);
          }
          SlabBlock<A, R> part = block;
          const int most_rows = width > 2 * State::lanes ? chunk_length : block.rows;
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
        const A* starts = block.starts.values + shift;
        const A* firsts = block.starts.firsts;
        for (int s = 0; s < block.slabs; ++s) {
          if (firsts != nullptr) {
            A* const to = b - shift - block.b.row;
            for (int w = 0; w < width; ++w) to[w] = firsts[w];
            firsts += block.starts.slab;
          }
          const auto scan = [&](int w) __attribute__((always_inline)) {
            StateOfLastRegister<places, A, R> state;
            state.start(op, starts + w, has_chunks);
            scan_register(op, block, x + w, b + w, state);
          };
          for_each_register<State::lanes>(width, scan, scan);
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
