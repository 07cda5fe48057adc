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
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Scans elements of a line, up to fold_length at a time, in two passes: the first computes the
/// prefixes within each chunk and keeps them in L1, the second combines them with the carry. So the
/// passes do not wait for each other, and registers that hold two chunks side by side can be stored
/// as they are and reloaded in memory order.
///
/// \tparam step the direction of elements and results in memory
template <int step, int places, class Op, class A, class R>
class BlocksOfLine {
  static constexpr int at_once = places * chunk_length;
  static constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
  static constexpr int of_place = Pack<A>::lanes;
  static constexpr int packs_of_chunk = chunk_length / pack_length;

 public:
  /// \param folds   buffer for the prefixes within chunks: fold_length elements, in one page
  /// \param ahead   the prefetch distance, in scan order
  /// \param streams whether results are written with non-temporal stores, to aligned addresses
  [[gnu::always_inline]] BlocksOfLine(const Op& op, A* folds, const Ahead& ahead, bool streams)
      : m_op(op),
        m_none(hidden<places>(neutral(op))),
        m_folds(folds),
        m_ahead(step > 0 ? ahead.elements : -ahead.elements - (at_once - 1)),
        m_caches(ahead.caches),
        m_streams(streams) {}

  /// The carry into the next chunk.
  Carry<R> carry;

  /// The last result.
  [[gnu::always_inline]] A result() const { return m_op(m_before, m_total); }

  /// \param x     the elements: a pointer or MaskedElements
  /// \param count the number of elements; whole chunks, except at the end of a line if step is 1
  /// \param b     the address of the first result; whole registers are stored
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
  /// To be called at the end of a tile.
  [[gnu::always_inline]] void end_tile() {
    const auto wide = carrying(m_op);
    carry = {wide(carry.tiles, carry.chunks), neutral(wide)};
  }

 private:
  /// Folds one chunk at each place, or a chunk that may be incomplete at the first place.
  template <class X, int used>
  [[gnu::always_inline]] void fold(const X& x, int count, const Register<A, used>& none, A* folds,
                                   bool& is_exact) const {
    PacksOfChunk<A, used> packs;
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
  /// Combines the carry of each chunk with the chunk's prefixes.
  template <class Exactly, class Put>
  [[gnu::always_inline]] void combine_with(const Exactly& op, int count, A* b, const Put& put) {
    const auto wide = carrying(m_op);
    // The chunk's last prefix. In an incomplete chunk, missing elements leave it unchanged.
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
  const Caches m_caches;
  const bool m_streams;
  A m_before{}, m_total{};
};

/// The destination of a line's results.
template <class A>
struct LineResults {
  A* b;                ///< address of B(k+1), in memory or in L1
  bool streams;        ///< non-temporal stores to `b`, which is aligned to a register
  bool waits;          ///< results are staged in L1, and `run` writes them with non-temporal stores
  StreamedRun<A> run;  ///< the staged results; it rewinds
};

/// Scans elements of a line: whole chunks, except at the end of a line if step is 1.
///
/// \param elements a pointer or MaskedElements
/// \param begin    the index of the first element in the line
/// \param ahead    the prefetch distance in scan order, and the caches to prefetch to
/// \param carry    the carry into the first element; on return, behind the last
/// \param folds    buffer for prefixes: fold_length elements in one page
/// \param result   receives B at the end of the elements
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
        // Copies, so that stores of results cannot alias them.
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
          // In place, the last result may belong where the next element is still to be loaded.
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
