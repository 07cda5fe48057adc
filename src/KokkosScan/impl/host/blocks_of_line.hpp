// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans lines whose elements are contiguous, one block of chunks at a time.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Scans elements of a line, up to fold_length at a time, in two passes: the first computes the
/// prefixes within each chunk and keeps them in L1, the second combines them with the carry. So the
/// passes do not wait for each other, and registers that hold two chunks side by side can be stored
/// as they are and reloaded in memory order.
///
/// \tparam step the direction of elements and results in memory: 1 or -1
template <int step, int places, class Op, class A, class R>
class BlocksOfLine {
  static constexpr int at_once = places * chunk_length;
  static constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
  static constexpr int of_place = Pack<A>::lanes;
  static constexpr int packs_of_chunk = chunk_length / pack_length;

 public:
  [[gnu::always_inline]] BlocksOfLine(const Op& op, const BlockOfLine<A>& block)
      : m_op(op), m_none(hidden<places>(neutral(op))), m_block(block) {}

  /// The carry into the next chunk.
  Carry<R> carry;

  /// The last result.
  [[gnu::always_inline]] A result() const { return m_op(m_before, m_total); }

  /// Scans elements begin ... begin + count - 1 of the block. Unless results are written with
  /// non-temporal stores, whole registers of them are stored.
  [[gnu::always_inline]] void scan(int begin, int count) {
    const A* const x = m_block.x + begin * step;
    bool is_exact = false;
    int i = 0;
    for (; i + at_once <= count; i += at_once) {
      m_block.ahead.template elements<at_once, sizeof(A)>(m_block.begin + begin + i);
      fold(x + i * step, m_none, m_block.folds + i, is_exact);
    }
    if (i < count) m_block.ahead.template elements<at_once, sizeof(A)>(m_block.begin + begin + i);
    for (A* folds = m_block.folds + i; i < count; i += chunk_length, folds += of_place) {
      const A* chunk = x + i * step;
      A padded[chunk_length];
      if (count - i < chunk_length) {
        A* const first = step > 0 ? padded : padded + (chunk_length - 1);
        KOKKOSSCAN_IMPL_ROLLED for (int j = 0; j < chunk_length; ++j) {
          first[j * step] = i + j < count ? chunk[j * step] : neutral(m_op);
        }
        chunk = first;
      }
      fold(chunk, at_place<0>(m_none), folds, is_exact);
    }
    A* const b = m_block.b + begin * step;
    is_exact ? combine_all(exactly(m_op), count, b) : combine_all(m_op, count, b);
  }
  /// To be called at the end of a tile.
  [[gnu::always_inline]] void end_tile() {
    const auto wide = carrying(m_op);
    carry = {wide(carry.tiles, carry.chunks), neutral(wide)};
  }

 private:
  /// Folds one chunk at each place, or at the first place only.
  template <int used>
  [[gnu::always_inline]] void fold(const A* x, const Register<A, used>& none, A* folds,
                                   bool& is_exact) const {
    PacksOfChunk<A, used> packs;
    load_chunks<step>(x, packs);
    if (minds_nan<Op> && may_have_nan(packs)) {
      is_exact = true;
      fold_packs(exactly(m_op), none, chunk_length, packs);
    } else {
      fold_packs(m_op, none, chunk_length, packs);
    }
    if constexpr (step < 0) reverse_packs(packs);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < packs_of_chunk; ++i) {
      const Pack<A, used>& pack = packs[i];
      KOKKOSSCAN_IMPL_UNROLL for (int part = 0; part < Pack<A>::parts; ++part) {
        store_register(folds + (i * Pack<A>::parts + part) * places * of_place, pack.part[part]);
      }
    }
  }

  /// Combines the carry of each chunk with the chunk's prefixes.
  template <class Exactly>
  [[gnu::always_inline]] void combine_all(const Exactly& op, int count, A* b) {
    const auto wide = carrying(m_op);
    // The chunk's last prefix. In an incomplete chunk, missing elements leave it unchanged.
    constexpr int last = step > 0 ? (chunk_length - of_place) * places + of_place - 1 : 0;
    if (step < 0) b -= chunk_length - 1;
    for (int k = 0; k < count; k += at_once) {
      KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
        const int left = count - k - place * chunk_length;
        if (place > 0 && left <= 0) break;
        const A* const folds = m_block.folds + k + place * of_place;
        m_before = static_cast<A>(wide(carry.tiles, carry.chunks));
        m_total = folds[last];
        carry.chunks = wide(carry.chunks, static_cast<R>(m_total));
        const auto before = broadcast<places>(m_before).part[0];
        const auto results_at = [&](int i) __attribute__((always_inline)) {
          return combine_registers(op, before, load_folds(folds + places * i));
        };
        if (m_block.streams) {
          KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length; i += lanes) {
            const auto results = results_at(i);
            for_each_place<places>([&](auto at) __attribute__((always_inline)) {
              stream_register(b + i + at * of_place, at_place<at>(results));
            });
          }
        } else {
          KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < chunk_length; i += lanes) {
            if (i > 0 && step > 0 && i >= left) break;
            store_register(b + i, results_at(i));
          }
        }
        b += step * chunk_length;
      }
    }
  }
  /// Loads a register of neighbours, the first of which is at `folds`.
  [[gnu::always_inline]] static Register<A, places> load_folds(const A* folds) {
    if constexpr (places == 1) {
      return load_register(folds);
    } else {
      return join(load_register(folds), load_register(folds + places * of_place));
    }
  }

  const Op m_op;
  const Register<A, places> m_none;
  const BlockOfLine<A> m_block;
  A m_before{}, m_total{};
};

/// Scans elements of a line.
///
/// \param carry the carry into the first element; on return, behind the last
/// \return B at the end of the elements
template <class Op, class A, class R>
A scan_elements(Registers registers, const Op& op, const BlockOfLine<A>& block, Carry<R>& carry) {
  return call_with(
      registers, [ op, &block, &carry ](auto places) __attribute__((always_inline)) {
        const auto scan = [&](auto step) __attribute__((always_inline)) {
          constexpr int length = fold_length<A>;
          BlocksOfLine<step, places, Op, A, R> blocks(op, block);
          blocks.carry = carry;
          const int size = block.count;
          auto left_of_tile = static_cast<int>(tile_length - block.begin % tile_length);
          for (int k = 0; k < size;) {
            const int count = std::min({left_of_tile, length, size - k});
            blocks.scan(k, count);
            k += count;
            left_of_tile -= count;
            if (left_of_tile > 0) continue;
            blocks.end_tile();
            left_of_tile = tile_length;
          }
          carry = blocks.carry;
          return blocks.result();
        };
        return block.step > 0 ? scan(constant<1>) : scan(constant<-1>);
      });
}

}  // namespace KokkosScan::impl::host
