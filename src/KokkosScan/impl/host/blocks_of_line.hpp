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
#include <cstdint>

namespace KokkosScan::impl::host {

/// Scans elements of a line, up to fold_length at a time, in two passes: the first computes the
/// prefixes within each chunk and keeps them in L1, the second combines them with the carry. So the
/// passes do not wait for each other, and registers that hold two chunks side by side can be stored
/// as they are and reloaded in memory order.
template <int places, class Op, class A, class R>
class BlocksOfLine {
  static constexpr int at_once = places * chunk_length;
  static constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
  static constexpr int of_place = Pack<A>::lanes;
  static constexpr int packs_of_chunk = chunk_length / pack_length;

 public:
  /// \param folds buffer for the prefixes within chunks: fold_length elements, in one page
  /// \param ahead the prefetch distance; 0 prefetches nothing
  [[gnu::always_inline]] BlocksOfLine(const Op& op, A* folds, std::int64_t ahead)
      : m_op(op), m_none(hidden<places>(neutral(op))), m_folds(folds), m_ahead(ahead) {}

  /// The carry into the next chunk.
  Carry<R> carry;

  /// The last result.
  [[gnu::always_inline]] A result() const { return m_op(m_before, m_total); }

  /// \param count the number of elements; whole chunks, except at the end of a line
  /// \param b     the address of the first result; whole registers are stored
  [[gnu::always_inline]] void scan(const A* x, int count, A* b) {
    bool is_exact = false;
    int i = 0;
    for (; i + at_once <= count; i += at_once) {
      if (m_ahead != 0) prefetch(x + (m_ahead + i), at_once);
      fold(x + i, m_none, m_folds + i, is_exact);
    }
    if (i < count && m_ahead != 0) prefetch(x + (m_ahead + i), at_once);
    for (A* folds = m_folds + i; i < count; i += chunk_length, folds += of_place) {
      const A* chunk = x + i;
      A padded[chunk_length];
      if (count - i < chunk_length) {
        for (int j = 0; j < chunk_length; ++j) padded[j] = i + j < count ? chunk[j] : neutral(m_op);
        chunk = padded;
      }
      fold(chunk, at_place<0>(m_none), folds, is_exact);
    }
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
    load_packs(x, chunk_length, chunk_length, packs);
    if (minds_nan<Op> && may_have_nan(packs)) {
      is_exact = true;
      fold_packs(exactly(m_op), none, chunk_length, packs);
    } else {
      fold_packs(m_op, none, chunk_length, packs);
    }
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
    constexpr int last = (chunk_length - of_place) * places + of_place - 1;
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
          store_register(b + i, combine_registers(op, before, load_folds(folds + places * i)));
        }
        b += chunk_length;
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
  A* const m_folds;
  const std::int64_t m_ahead;
  A m_before{}, m_total{};
};

/// Scans elements of a line: whole chunks, except at the end of a line.
///
/// \param x      the elements
/// \param begin  the index of the first element in the line
/// \param ahead  the prefetch distance; 0 prefetches nothing
/// \param carry  the carry into the first element; on return, behind the last
/// \param b      receives the inclusive results; whole registers are stored
/// \param folds  buffer for prefixes: fold_length elements in one page
/// \return B at the end of the elements
template <class Op, class A, class R>
A scan_elements(Registers registers, const Op& op, const A* x, std::int64_t begin, int count,
                std::int64_t ahead, Carry<R>& carry, A* b, A* folds) {
  return call_with(
      registers,
      [ op, x, begin, count, ahead, b, folds, &carry ](auto places) __attribute__((always_inline)) {
        constexpr int length = fold_length<A>;
        BlocksOfLine<places, Op, A, R> blocks(op, folds, ahead);
        blocks.carry = carry;
        for (int k = 0; k < count;) {
          const auto left_of_tile = static_cast<int>(tile_length - (begin + k) % tile_length);
          int block = left_of_tile < length ? left_of_tile : length;
          if (count - k < block) block = count - k;
          blocks.scan(x + k, block, b + k);
          if (block == left_of_tile) blocks.end_tile();
          k += block;
        }
        carry = blocks.carry;
        return blocks.result();
      });
}

}  // namespace KokkosScan::impl::host
