// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines neighbouring lines row after row, in the order of memory, or a pack of rows at once.
/// What lines have combined to waits in the nearest caches; each register of results is stored as
/// it is computed, to a multiple of its size, wherever rows begin.

#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Stores results of rows, whole registers to multiples of their size. Where a row ends within a
/// register, that part waits for the row that goes on there.
template <class A, int places>
class RowStores {
  using V = Register<A, places>;
  static constexpr int lanes = sizeof(V) / sizeof(A);

 public:
  [[gnu::always_inline]] explicit RowStores(bool streams) : m_streams(streams) {
    for (int i = 0; i < lanes; ++i) m_index.lanes[i] = i;
  }

  [[gnu::always_inline]] void store(A* to, const V& results) const {
    hidden(m_streams) ? stream_register(to, results) : store_register(to, results);
  }
  /// Lanes begin ... end - 1 of a register.
  [[gnu::always_inline]] void store_part(A* to, const V& results, int begin, int end) {
    if (to == m_to && (end == m_begin || begin == m_end)) {
      const auto split = static_cast<truth_t<A>>(end == m_begin ? end : begin);
      const Register<truth_t<A>, places> is_low(m_index.lanes < split);
      store(to, end == m_begin ? select(is_low, results, m_part) : select(is_low, m_part, results));
      m_to = nullptr;
      return;
    }
    flush();
    m_part = results;
    m_to = to;
    m_begin = begin;
    m_end = end;
  }
  /// Stores a part that nothing goes on with.
  [[gnu::always_inline]] void flush() {
    if (m_to == nullptr) return;
    A values[lanes];
    store_register(values, m_part);
    for (int i = m_begin; i < m_end; ++i) {
      if (m_streams) {
        stream_value(m_to + i, values[i]);
      } else {
        m_to[i] = values[i];
      }
    }
    m_to = nullptr;
  }

 private:
  const bool m_streams;
  Register<truth_t<A>, places> m_index;
  V m_part{};
  A* m_to = nullptr;
  int m_begin = 0, m_end = 0;
};

/// The least lines of rows that combine_rows() takes. Registers of what lines have combined to
/// begin elsewhere in each row; where they were stored a short while ago, loads wait.
template <class A>
inline constexpr int least_row = wide_row_bytes / sizeof(A);

/// The least lines of rows of which a pack is taken at once.
template <class A>
inline constexpr int least_pack_row = pack_row_bytes / sizeof(A);

/// A pack of rows at once, whole registers of results, which begin at multiples of their size: what
/// lines have combined to is needed once, not in each row.
///
/// \param none    a neutral register
/// \param carries what comes before the chunk
/// \param begins  whether these are the first rows of the chunk
template <int places, class Op, class A, class R>
[[gnu::always_inline]] inline void combine_pack_of_rows(
    const Op& op, const Register<A, places>& none, const SlabBlock<A, R>& block,
    const ChunkOfRows<A>& rows, const A* carries, bool begins, const RowStores<A, places>& stores) {
  using V = Register<A, places>;
  constexpr int lanes = sizeof(V) / sizeof(A);
  const int width = block.width;
  // Each row asks for its own elements ahead, and at its end for those of the row four below.
  const std::int64_t distance = block.ahead < 0 ? -block.ahead : block.ahead;
  const std::int64_t ahead = distance < width ? distance : width;
  const std::int64_t turn = width - ahead;
  const std::int64_t skip = pack_length * rows.x_row - width;
  const bool is_nearest = block.caches == Caches::nearest;
  for (int w = 0; w < width; w += lanes) {
    const A* const from = rows.x + w;
    const A* const later = from + ahead + (w >= turn ? skip : 0);
    V x[pack_length];
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      hidden(is_nearest) ? __builtin_prefetch(later + i * rows.x_row, 0, 0)
                         : __builtin_prefetch(later + i * rows.x_row);
      x[i] = load_register<places>(from + i * rows.x_row);
    }
    const V before = begins ? none : load_register<places>(block.folds + w);
    const V carry = load_register<places>(carries + w);
    const V pair = combine_registers(op, x[0], x[1]);
    const V folds[pack_length] = {
        combine_registers(op, before, x[0]), combine_registers(op, before, pair),
        combine_registers(op, before, combine_registers(op, pair, x[2])),
        combine_registers(op, before,
                          combine_registers(op, pair, combine_registers(op, x[2], x[3])))};
    store_register(block.folds + w, folds[pack_length - 1]);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      stores.store(rows.b + i * rows.b_row + w, combine_registers(op, carry, folds[i]));
    }
  }
}

/// Scans a block of slabs whose rows have least_row lines or more. Nothing is stored but results.
template <class Op, class A, class R>
void combine_rows(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [ op, slabs ](auto places) __attribute__((always_inline)) {
        const SlabBlock<A, R> block = slabs;  // what is stored cannot alias it
        using V = Register<A, places>;
        constexpr int lanes = sizeof(V) / sizeof(A);
        const auto exact = exactly(op);
        const V none = broadcast<places>(neutral(op)).part[0];
        const int width = block.width;
        // What registers at the ends of rows may read: the block, where rows follow each other.
        const bool is_dense = block.x_row == width || block.x_row == -width;
        const std::int64_t first_slab = block.x_slab < 0 ? block.slabs - 1 : 0;
        const std::int64_t last_slab = block.slabs - 1 - first_slab;
        const A* const low = block.x + first_slab * block.x_slab +
                             (block.x_row < 0 ? (block.rows - 1) * block.x_row : 0);
        const A* const high = block.x + last_slab * block.x_slab +
                              (block.x_row < 0 ? 0 : (block.rows - 1) * block.x_row) + width;
        // Where elements of the next row are asked for, and how far they are from those behind a
        // row; behind the last row follows the first one of the next strip.
        const std::int64_t turn = width - block.ahead;
        const bool turns = block.x_row != width && block.ahead > 0 && block.ahead < width;
        std::int64_t skip = 0;
        const bool is_nearest = block.caches == Caches::nearest;
        RowStores<A, places> stores(block.streams);

        // One row; combine(w, from) combines lines w ... w + lanes - 1, elements being at `from`.
        const auto pass = [&](const A* x, A* to, const auto& combine)
            __attribute__((always_inline)) {
          const auto misplaced =
              static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(A) % lanes);
          const int head = misplaced == 0 ? 0 : lanes - misplaced;
          const int tail = (width - head) % lanes;
          // The end where the row before has left a part comes first.
          for (int side = 0; side < 2; ++side) {
            const bool is_head = (side == 0) == (block.b_row > 0);
            const int begin = is_head ? lanes - head : 0;
            const int end = is_head ? lanes : tail;
            if (begin < end) {
              const int w = is_head ? head - lanes : width - tail;
              const A* from = x + w;
              A edge[lanes];
              if (!is_dense || from < low || from + lanes > high) {
                for (int i = 0; i < lanes; ++i) {
                  edge[i] = i >= begin && i < end ? from[i] : neutral(op);
                }
                from = edge;
              }
              stores.store_part(to + w, combine(w, from), begin, end);
            }
            if (side == 1) break;
            for (int w = head; w + lanes <= width; w += lanes) {
              const A* const later = x + w + block.ahead + (w >= turn ? skip : 0);
              hidden(is_nearest) ? __builtin_prefetch(later, 0, 0) : __builtin_prefetch(later);
              stores.store(to + w, combine(w, x + w));
            }
          }
        };

        for (int s = 0; s < block.slabs; ++s) {
          const A* x = block.x + s * block.x_slab;
          A* b = block.b + s * block.b_slab;
          const A* const starts = block.starts + s * block.starts_slab;
          if (block.begins_lines && (block.ends_chunk || block.rows > chunk_length)) {
            for (int w = 0; w < width; w += lanes) {
              const V start = load_register<places>(starts + w);
              store_register(block.carry + w, start);
              store_wide(block.tiles + w, start);
              store_wide(block.chunks + w, none);
            }
          }
          if (block.firsts != nullptr) {
            const A* const firsts = block.firsts + s * block.starts_slab;
            pass(
                x, b, [&](int w, const A*) __attribute__((always_inline)) {
                  return load_register<places>(firsts + w);
                });
            b += block.b_row;
          }
          // Whole packs of rows at once, where registers of results begin alike in all rows.
          const bool are_alike = width >= least_pack_row<A> && width % lanes == 0 &&
                                 block.b_row % lanes == 0 &&
                                 reinterpret_cast<std::uintptr_t>(b) / sizeof(A) % lanes == 0;
          for (int k = 0, count = 1; k < block.rows;
               k += count, x += count * block.x_row, b += count * block.b_row) {
            const int place = (block.begin + k) % chunk_length;
            if (turns) {
              skip = k + 1 < block.rows ? block.x_row - width : (1 - block.rows) * block.x_row;
            }
            const A* const carry = block.begins_lines && k < chunk_length ? starts : block.carry;
            // P and Q are the earlier rows of a pack: its first, or first two, and its third.
            const auto combine_row = [&](auto row, auto begins) __attribute__((always_inline)) {
              pass(
                  x, b, [&](int w, const A* from) __attribute__((always_inline)) {
                    V e = load_register<places>(from);
                    A *const p = block.pairs + w, *const q = block.thirds + w;
                    A* const folds = block.folds + w;
                    if constexpr (row == 0) store_register(p, e);
                    if constexpr (row == 2) store_register(q, e);
                    if constexpr (row == 3) {
                      e = combine_registers(exact, load_register<places>(q), e);
                    }
                    if constexpr (row != 0) {
                      e = combine_registers(exact, load_register<places>(p), e);
                    }
                    if constexpr (row == 1) store_register(p, e);
                    const V before = begins ? none : load_register<places>(folds);
                    const V fold = combine_registers(exact, before, e);
                    if constexpr (begins) store_register(folds, none);
                    if constexpr (row == 3) store_register(folds, fold);
                    return combine_registers(exact, load_register<places>(carry + w), fold);
                  });
            };
            count = are_alike && place % pack_length == 0 && k + pack_length <= block.rows
                        ? pack_length
                        : 1;
            switch (count == 1 ? place % pack_length : pack_length) {
              case pack_length:
                combine_pack_of_rows<places>(exact, none, block,
                                             ChunkOfRows<A>{x, block.x_row, b, block.b_row}, carry,
                                             place == 0, stores);
                break;
              case 0:
                if (place == 0) {
                  combine_row(constant<0>, constant<true>);
                } else {
                  combine_row(constant<0>, constant<false>);
                }
                break;
              case 1:
                combine_row(constant<1>, constant<false>);
                break;
              case 2:
                combine_row(constant<2>, constant<false>);
                break;
              default:
                combine_row(constant<3>, constant<false>);
            }
            if (place + count == chunk_length && (k + count < block.rows || block.ends_chunk)) {
              const bool ends_tile = (block.begin + k + count) % tile_length == 0;
              for (int w = 0; w < width; w += lanes) {
                const auto fold = load_register<places>(block.folds + w);
                store_register(
                    block.carry + w,
                    end_chunk_of_lines(op, fold, ends_tile, block.tiles + w, block.chunks + w));
              }
            }
          }
        }
        stores.flush();
      });
}

}  // namespace KokkosScan::impl::host
