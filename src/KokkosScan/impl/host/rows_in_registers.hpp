// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines slabs whose rows fill at most a few registers: the state of their lines stays in
/// registers. For wider rows see slab_rows.hpp.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The state of the lines of a slab, in registers. Elements, results and per-line values are all
/// addressed relative to the first line.
///
/// \tparam registers number of registers per row
template <int registers, int places, class Op, class A, class R>
class LinesInRegisters {
  using V = Register<A, places>;
  static constexpr int lanes = sizeof(V) / sizeof(A);

 public:
  [[gnu::always_inline]] LinesInRegisters(const Op& op, const SlabBlock<A, R>& block)
      : m_op(op), m_none(hidden<places>(neutral(op))) {
    // Only the first register exceeds the row. It reaches into the next row, which is stored later,
    // or if that must not change (keeps_gaps), it overlaps other lines of the same row.
    const int rest = block.width % lanes;
    const bool descends = block.b_row < 0;
    if (rest == 0 || (registers == 1 && !descends)) {
      m_first = 0;
      m_next = lanes;
    } else if (descends && !block.keeps_gaps) {
      m_first = rest - lanes;
      m_next = lanes;
    } else {
      m_first = block.width - (block.keeps_gaps ? lanes : rest);
      m_next = -m_first;
    }
  }

  /// First chunk of lines that have at most one chunk: only the starting values precede it.
  [[gnu::always_inline]] void begin_chunk(const A* starts) {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      m_carry[r] = load_register<places>(starts + m_first + line_of(r));
    }
  }
  /// First chunk of lines of any length.
  [[gnu::always_inline]] void begin(const A* starts) {
    begin_chunk(starts);
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      store_wide(m_tiles[r], m_carry[r]);
      store_wide(m_chunks[r], m_none);
    }
  }
  /// Loads the state of a block.
  [[gnu::always_inline]] void load(const SlabBlock<A, R>& block) {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      const std::int64_t w = m_first + line_of(r);
      m_carry[r] = load_register<places>(block.carry + w);
      __builtin_memcpy(m_tiles[r], block.tiles + w, sizeof m_tiles[r]);
      __builtin_memcpy(m_chunks[r], block.chunks + w, sizeof m_chunks[r]);
    }
  }
  [[gnu::always_inline]] void store(const SlabBlock<A, R>& block) const {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      const std::int64_t w = m_first + line_of(r);
      store_register(block.carry + w, m_carry[r]);
      store_register(block.folds + w, m_total[r]);
      __builtin_memcpy(block.tiles + w, m_tiles[r], sizeof m_tiles[r]);
      __builtin_memcpy(block.chunks + w, m_chunks[r], sizeof m_chunks[r]);
    }
  }
  [[gnu::always_inline]] void store_firsts(const A* firsts, A* b) const {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      const std::int64_t w = m_first + line_of(r);
      const V results = load_register<places>(firsts + w);
      store_register(b + w, results);
    }
  }

  /// Scans all rows of a short slab, from the first row and the first results on.
  [[gnu::always_inline]] void scan_slab(const SlabBlock<A, R>& block, const A* x, A* b) const {
    V folds[registers];
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) folds[r] = m_none;
    scan_rows(x + m_first, block.x_row, b + m_first, block.b_row, block.rows, folds);
  }

  /// Scans up to a chunk of rows.
  ///
  /// \param x  the first row
  /// \param at offset of the first result, relative to the first results of the block
  template <class Beside>
  [[gnu::always_inline]] void scan(const SlabBlock<A, R>& block, const A* x, std::int64_t at,
                                   int count, Beside& beside) {
    // A single register takes a whole chunk without a loop, which matters for narrow rows. More
    // registers take packs, nearly in memory order.
    constexpr int most = registers == 1 ? chunk_length : pack_length;
    const std::int64_t x_row = block.x_row, b_row = block.b_row;
    V folds[registers];
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) folds[r] = m_none;
    x += m_first;
    for (int taken = 0; count > 0; count -= taken) {
      taken = count < most ? count : most;
      beside(taken * block.width, at);
      A* const b = beside.results(at) + m_first;
      if (taken == most) {
        KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < most; i += pack_length) {
          scan_pack(x + i * x_row, x_row, b + i * b_row, b_row, folds);
        }
      } else {
        scan_rows(x, x_row, b, b_row, taken, folds);
      }
      x += taken * x_row;
      at += taken * b_row;
    }
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) m_total[r] = folds[r];
  }

  /// Scans two chunks of rows of two 4-byte values, upwards in memory: each register holds two
  /// rows, and each place one chunk. The first chunk must not end a tile.
  template <class Beside>
  [[gnu::always_inline]] void scan_two_chunks_of_pairs(const A* x, std::int64_t at,
                                                       Beside& beside) {
    using Pairs = Register<A, 2>;
    constexpr int of_chunk = 2 * chunk_length, registers_of_chunk = of_chunk / 4;
    const auto exact = exactly(m_op);
    const Pairs none = hidden<2>(neutral(m_op));
    const auto last = [](const auto& r) __attribute__((always_inline)) {
      return shuffle<2, 3, 2, 3>(r, r);
    };
    beside(2 * of_chunk, at);
    Pairs folds[registers_of_chunk], before = none;
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < registers_of_chunk; i += 2) {
      Pairs low = join(load_register(x + 4 * i), load_register(x + of_chunk + 4 * i));
      Pairs high = join(load_register(x + 4 * i + 4), load_register(x + of_chunk + 4 * i + 4));
      low = combine_registers(exact, shuffle<0, 1, 4, 5>(none, low), low);
      high = combine_registers(exact, shuffle<0, 1, 4, 5>(none, high), high);
      high = combine_registers(exact, last(low), high);
      folds[i] = combine_registers(exact, before, low);
      folds[i + 1] = combine_registers(exact, before, high);
      before = last(folds[i + 1]);
    }
    const auto twice = [](const V& r) __attribute__((always_inline)) {
      return shuffle<0, 1, 0, 1>(r, r);
    };
    const V carry = twice(m_carry[0]);
    m_total[0] = at_place<0>(before);
    end_chunk(false);
    const Pairs carries = join(carry, twice(m_carry[0]));
    m_total[0] = at_place<1>(before);
    A* const b = beside.results(at);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < registers_of_chunk; ++i) {
      folds[i] = combine_registers(exact, carries, folds[i]);
      store_register(b + 4 * i, at_place<0>(folds[i]));
      store_register(b + of_chunk + 4 * i, at_place<1>(folds[i]));
    }
  }

  [[gnu::always_inline]] void end_chunk(bool ends_tile) {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      m_carry[r] = end_chunk_of_lines(m_op, m_total[r], ends_tile, m_tiles[r], m_chunks[r]);
    }
  }

 private:
  [[gnu::always_inline]] void scan_pack(const A* x, std::int64_t x_row, A* b, std::int64_t b_row,
                                        V (&before)[registers]) const {
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      V e[pack_length];
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
        e[i] = load_register<places>(x + i * x_row + line_of(r));
      }
      combine_pack(
          m_op, m_carry[r], before[r],
          e, [&](int i, const V& results) __attribute__((always_inline)) {
            store_register(b + i * b_row + line_of(r), results);
          });
    }
  }
  /// Scans whole packs, and an incomplete one at the end.
  [[gnu::always_inline]] void scan_rows(const A* x, std::int64_t x_row, A* b, std::int64_t b_row,
                                        int count, V (&before)[registers]) const {
    KOKKOSSCAN_IMPL_ROLLED for (; count >= pack_length; count -= pack_length) {
      scan_pack(x, x_row, b, b_row, before);
      x += pack_length * x_row;
      b += pack_length * b_row;
    }
    if (count > 0) scan_rest(x, x_row, b, b_row, count, before);
  }
  /// Scans one to three rows.
  [[gnu::always_inline]] void scan_rest(const A* x, std::int64_t x_row, A* b, std::int64_t b_row,
                                        int count, V (&before)[registers]) const {
    const auto exact = exactly(m_op);
    KOKKOSSCAN_IMPL_UNROLL for (int r = 0; r < registers; ++r) {
      V e[pack_length], folds[pack_length];
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
        e[i] = i < count ? load_register<places>(x + i * x_row + line_of(r)) : m_none;
      }
      fold_rows(exact, before[r], e, folds);
      before[r] = folds[pack_length - 1];
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i + 1 < pack_length; ++i) {
        if (i >= count) break;
        store_register(b + i * b_row + line_of(r), combine_registers(exact, m_carry[r], folds[i]));
      }
    }
  }
  /// The first line of register r, relative to m_first.
  [[gnu::always_inline]] std::int64_t line_of(int r) const {
    return r == 0 ? 0 : m_next + (r - 1) * lanes;
  }

  const Op m_op;
  const V m_none;
  /// The first line of the first register, the base of all addresses; the distance to the second.
  std::int64_t m_first, m_next;
  // Always written before they are read, but compilers do not see that.
  V m_carry[registers] = {}, m_total[registers] = {};
  R m_tiles[registers][lanes] = {}, m_chunks[registers][lanes] = {};
};

/// Whether each slab has at most one chunk, and nothing follows it.
template <class A, class R>
bool are_short(const SlabBlock<A, R>& block) {
  return block.rows <= chunk_length && block.begins_lines && !block.ends_chunk;
}

/// Scans a block of short slabs whose rows fill at most one register. Prefetches and stores of
/// earlier results are done once for several slabs, because they take longer than a slab itself.
template <class Op, class A, class R>
[[gnu::noinline]] void combine_short_slabs(Registers registers, const Op& op,
                                           const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [&](auto places) __attribute__((always_inline)) {
        if constexpr (are_widest<places>) {
          const SlabBlock<A, R> block = slabs;  // a copy, so that stores cannot alias it
          LinesInRegisters<1, places, Op, A, R> lines(op, block);
          BesideRows<places, A, R> beside(block, block.x_slab < 0);
          beside.begin(block.x);
          const int elements = block.rows * block.width;
          const int of_turn = 1 + turn_bytes / static_cast<int>(sizeof(A)) / (elements + 1);
          const std::int64_t first_row = block.firsts == nullptr ? 0 : block.b_row;
          const A* x = block.x;
          for (int s = 0, end = 0; s < block.slabs;) {
            end = block.slabs - s < of_turn ? block.slabs : s + of_turn;
            const std::int64_t at = s * block.b_slab;
            beside((end - s) * elements, at);
            ask_for_results(block, block.b + at, (end - s) * block.b_slab);
            A* b = beside.results(at);
            for (; s < end; ++s, x += block.x_slab, b += block.b_slab) {
              if (s == 0 || block.starts_slab != 0) {
                lines.begin_chunk(block.starts + s * block.starts_slab);
              }
              if (block.firsts != nullptr) {
                lines.store_firsts(block.firsts + s * block.starts_slab, b);
              }
              lines.scan_slab(block, x, b + first_row);
            }
          }
          beside.finish();
        }
      });
}

/// Scans slabs whose rows fill `registers_of_row` registers, or half of one; state in registers.
template <int registers_of_row, bool is_half, class Op, class A, class R>
[[gnu::noinline]] void combine_in_registers(Registers registers, const Op& op,
                                            const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [&](auto places) __attribute__((always_inline)) {
        if constexpr (are_widest<places>) {
          const SlabBlock<A, R> block = slabs;  // a copy, so that stores cannot alias it
          const bool is_short = registers_of_row > 1 && are_short(block);
          LinesInRegisters<registers_of_row, is_half ? 1 : places.value, Op, A, R> lines(op, block);
          [[maybe_unused]] const bool are_pairs =
              block.width == 2 && block.x_row == 2 && block.b_row == 2;
          BesideRows<places, A, R> beside(block, is_short ? block.x_slab < 0 : block.x_row < 0);
          beside.begin(block.x);
          for (int s = 0; s < block.slabs; ++s) {
            const A* x = block.x + s * block.x_slab;
            std::int64_t at = s * block.b_slab;
            if (!is_short) beside.begin(x);
            if (block.begins_lines) {
              lines.begin(block.starts + s * block.starts_slab);
            } else {
              lines.load(block);
            }
            if (block.firsts != nullptr) {
              lines.store_firsts(block.firsts + s * block.starts_slab, beside.results(at));
              at += block.b_row;
            }
            for (int k = 0; k < block.rows;) {
              const int left = block.rows - k;
              int rows = left < chunk_length ? left : chunk_length;
              bool is_done = false;
              if constexpr (is_half && sizeof(A) == 4) {
                constexpr int two = 2 * chunk_length;
                is_done = are_pairs && left >= two && (block.begin + k) % two == 0;
                if (is_done) {
                  rows = two;
                  lines.scan_two_chunks_of_pairs(x, at, beside);
                }
              }
              if (!is_done) {
                ask_for_results(block, block.b + at, rows * block.b_row);
                lines.scan(block, x, at, rows, beside);
              }
              k += rows;
              x += rows * block.x_row;
              at += rows * block.b_row;
              if (k < block.rows || block.ends_chunk) {
                lines.end_chunk((block.begin + k) % tile_length == 0);
              }
            }
          }
          beside.finish();
          if (!is_short) lines.store(block);
        }
      });
}

/// Maximum size of rows that are combined in registers: the state of wider ones would leave none of
/// the 16 registers for elements.
inline constexpr int most_in_registers = 4 * register_bytes;

/// Scans a block of slabs.
template <class Op, class A, class R>
void combine_slabs(Registers registers, const Op& op, const SlabBlock<A, R>& block) {
  const int bytes = block.width * static_cast<int>(sizeof(A));
  // State stays in registers for whole chunks only, except at the end of lines.
  const bool are_chunks =
      block.begin % chunk_length == 0 && (block.rows % chunk_length == 0 || !block.ends_chunk);
  if (registers != most_registers || bytes > most_in_registers || !are_chunks) {
    return combine_in_caches(registers, op, block);
  }
  if (bytes <= register_bytes && are_short(block)) return combine_short_slabs(registers, op, block);
  if constexpr (register_bytes > 16) {
    if (bytes <= 16) return combine_in_registers<1, true>(registers, op, block);
  }
  if (bytes <= register_bytes) {
    combine_in_registers<1, false>(registers, op, block);
  } else if (bytes <= 2 * register_bytes) {
    combine_in_registers<2, false>(registers, op, block);
  } else if (bytes <= 3 * register_bytes) {
    combine_in_registers<3, false>(registers, op, block);
  } else {
    combine_in_registers<4, false>(registers, op, block);
  }
}

}  // namespace KokkosScan::impl::host
