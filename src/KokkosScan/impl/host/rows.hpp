// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines neighbouring lines row by row in memory order, or a pack of rows at a time. The state
/// of the lines stays in L1 or L2. Each register of results is stored as it is computed, at an
/// aligned address, wherever rows begin.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/row_elements.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Stores rows of results in whole, aligned registers. If a row ends within a register, that part
/// is kept and joined with the row that continues there.
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
      store(to, end == m_begin ? blend(is_low, results, m_part) : blend(is_low, m_part, results));
      m_to = nullptr;
      return;
    }
    flush();
    m_part = results;
    m_to = to;
    m_begin = begin;
    m_end = end;
  }
  /// Stores a part that no row continues.
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

/// Minimum width of rows for combine_rows(). The state's registers are unaligned differently in
/// each row, and in narrower rows loads would stall on recent stores of the state.
template <class A>
inline constexpr int least_row = wide_row_bytes / sizeof(A);

/// The same for strips of masked rows.
template <class A>
inline constexpr int least_masked_strip = masked_strip_bytes / sizeof(A);

/// Minimum width of rows that are taken a pack at a time.
template <class A>
inline constexpr int least_pack_row = pack_row_bytes / sizeof(A);

/// Prefetches an element, without GCC making two loops of the surrounding one.
[[gnu::always_inline]] inline void ask_for(const void* element, bool is_nearest) {
  // Not by ?:, at which Clang 14 crashes with -O0.
  if (hidden(is_nearest)) {
    __builtin_prefetch(element, 0, 0);
  } else {
    __builtin_prefetch(element);
  }
}

/// A pack of rows that is combined at once, to load and store the state once for four rows.
template <int places, class Op, class A, class R>
class PackOfRows {
  using V = Register<A, places>;
  static constexpr int lanes = sizeof(V) / sizeof(A);
  static constexpr int line = cache_line / sizeof(A);
  static constexpr int turn = lag_bytes / sizeof(A);

 public:
  /// \param none    a neutral register
  /// \param carries the prefixes of the chunk
  /// \param begins  whether these are the first rows of the chunk
  /// \param is_last whether this is the last pack of the block
  [[gnu::always_inline]] PackOfRows(const Op& op, const V& none, const SlabBlock<A, R>& block,
                                    const ChunkOfRows<A>& rows, const A* carries, bool begins,
                                    bool is_last)
      : m_op(op),
        m_none(none),
        m_rows(rows),
        m_width(block.width),
        m_folds(block.folds),
        m_carries(carries),
        m_begins(begins),
        m_is_nearest(block.caches == Caches::nearest) {
    // Each row prefetches its own elements, and near its end those of the row four further on, or
    // in the last pack, those of the first rows of the next strip.
    const std::int64_t distance = block.ahead < 0 ? -block.ahead : block.ahead;
    m_ahead = distance < m_width ? distance : m_width;
    m_turn = m_width - m_ahead;
    m_skip = is_last ? (pack_length - block.rows) * rows.x_row : pack_length * rows.x_row - m_width;
  }

  /// Stores results with non-temporal stores, some distance behind the computation, in whole cache
  /// lines. (Half lines of four rows in turn are far slower on Zen 3 if rows are a multiple of
  /// pages apart.) The few results at the ends of a row are also stored so: in the caches, each
  /// would cost the load of its line.
  [[gnu::always_inline]] void scan() const {
    // Two buffers in turn; each begins with the last cache line of the results before.
    using Results = A[pack_length][line + turn + lanes];
    alignas(cache_line) Results results[2];
    int next[pack_length];  // the first result that is not stored yet
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
      const auto begin = reinterpret_cast<std::uintptr_t>(row(i)) / sizeof(A) % line;
      next[i] = static_cast<int>((line - begin) % line);
    }
    const auto store = [&](const Results& from, int begin, int end) __attribute__((always_inline)) {
      for (int i = 0; i < pack_length; ++i) {
        A* const to = row(i);
        const A* const x = from[i] + line - begin;
        int n = next[i];
        for (int e = 0; begin == 0 && e < n; ++e) stream_value(to + e, x[e]);
        for (; n + line <= end; n += line) {
          KOKKOSSCAN_IMPL_UNROLL for (int l = 0; l < line; l += lanes) {
            stream_register(to + n + l, load_register<places>(x + n + l));
          }
        }
        for (; end == m_width && n < end; ++n) stream_value(to + n, x[n]);
        next[i] = n;
      }
    };
    for (int w = 0, which = 0; w < m_width + turn; w += turn, which ^= 1) {
      Results &own = results[which], &last = results[which ^ 1];
      if (w < m_width) {
        combine(
            w, w + turn < m_width ? w + turn : m_width,
            [&](int i, int at, const V& r)
                __attribute__((always_inline)) { store_register(own[i] + line + (at - w), r); });
      }
      if (w == 0) continue;
      store(last, w - turn, w < m_width ? w : m_width);
      for (int i = 0; i < pack_length; ++i) std::memcpy(own[i], last[i] + turn, cache_line);
    }
  }

 private:
  [[gnu::always_inline]] A* row(int i) const { return m_rows.b + i * m_rows.b_row; }

  /// Calls put(row, line, results) for registers of lines. The last one may exceed the end.
  template <class Put>
  [[gnu::always_inline]] void combine(int begin, int end, const Put& put) const {
    for (int w = begin; w < end; w += lanes) {
      const A* from = m_rows.x + w;
      std::int64_t row = m_rows.x_row;
      const A* const later = from + m_ahead + (w >= m_turn ? m_skip : 0);
      A rest[pack_length * lanes];
      if (w + lanes > end) {
        KOKKOSSCAN_IMPL_ROLLED for (int i = 0; i < pack_length; ++i) {
          for (int e = 0; e < lanes; ++e)
            rest[i * lanes + e] = e < end - w ? from[i * row + e] : A{};
        }
        from = rest;
        row = lanes;
      }
      V x[pack_length];
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
        ask_for(later + i * m_rows.x_row, m_is_nearest);
        x[i] = load_register<places>(from + i * row);
      }
      const V before = m_begins ? m_none : load_register<places>(m_folds + w);
      const V carry = load_register<places>(m_carries + w);
      V folds[pack_length];
      fold_rows(m_op, before, x, folds);
      store_register(m_folds + w, folds[pack_length - 1]);
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < pack_length; ++i) {
        put(i, w, combine_registers(m_op, carry, folds[i]));
      }
    }
  }

  const Op m_op;
  const V m_none;
  const ChunkOfRows<A> m_rows;
  const int m_width;
  A* const m_folds;
  const A* const m_carries;
  const bool m_begins;
  const bool m_is_nearest;
  std::int64_t m_ahead, m_turn, m_skip;
};

/// Scans a block of slabs whose rows have least_row lines or more. Stores only results.
///
/// \tparam Rows ElementRows or MaskedRows
template <class Rows, class Op, class A, class R>
void combine_rows(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [&](auto places) __attribute__((always_inline)) {
        const SlabBlock<A, R> block = slabs;  // a copy, so that stores cannot alias it
        using V = Register<A, places>;
        using Elements = typename Rows::Elements;
        constexpr int lanes = sizeof(V) / sizeof(A);
        const auto exact = exactly(op);
        const V none = broadcast<places>(neutral(op)).part[0];
        const int width = block.width;
        // Memory that registers at the ends of rows may read: the block, if rows are contiguous.
        const bool is_dense = Rows::are_dense(block);
        const std::int64_t first_slab = block.x_slab < 0 ? block.slabs - 1 : 0;
        const std::int64_t last_slab = block.slabs - 1 - first_slab;
        const A* const low = block.x + first_slab * block.x_slab +
                             (block.x_row < 0 ? (block.rows - 1) * block.x_row : 0);
        const A* const high = block.x + last_slab * block.x_slab +
                              (block.x_row < 0 ? 0 : (block.rows - 1) * block.x_row) + width;
        // From column `turn` on, elements of the next row are prefetched, `skip` further on; in the
        // last row, those of the first row of the next strip.
        const std::int64_t turn = width - block.ahead;
        const bool turns = block.x_row != width && block.ahead > 0 && block.ahead < width;
        std::int64_t skip = 0;
        const bool is_nearest = block.caches == Caches::nearest;
        RowStores<A, places> stores(block.streams);
        // Not for masked rows, for which packs are slower.
        constexpr bool may_be_packs = are_widest<places> && std::is_same_v<Rows, ElementRows<A>>;
        const bool are_packs = may_be_packs && block.streams && width >= least_pack_row<A>;

        // One row; combine(w, from) combines lines w ... w + lanes - 1, whose elements are `from`.
        const auto pass = [&](const Elements& x, A* to, const auto& combine)
            __attribute__((always_inline)) {
          const auto misplaced =
              static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(A) % lanes);
          const int head = misplaced == 0 ? 0 : lanes - misplaced;
          const int tail = (width - head) % lanes;
          // First the end at which the row before has left a part of a register.
          for (int side = 0; side < 2; ++side) {
            const bool is_head = (side == 0) == (block.b_row > 0);
            const int begin = is_head ? lanes - head : 0;
            const int end = is_head ? lanes : tail;
            if (begin < end) {
              const int w = is_head ? head - lanes : width - tail;
              Elements from = x + w;
              A edge[lanes];
              if (!is_dense || values_of(from) < low || values_of(from) + lanes > high) {
                KOKKOSSCAN_IMPL_ROLLED for (int i = 0; i < lanes; ++i) {
                  edge[i] = i >= begin && i < end ? element(from, i) : neutral(op);
                }
                from = as_elements(edge, x);
              }
              stores.store_part(to + w, combine(w, from), begin, end);
            }
            if (side == 1) break;
            for (int w = head; w + lanes <= width; w += lanes) {
              // Only if elements come from memory; in the caches prefetching costs time.
              if (hidden(block.streams)) {
                ask_for(values_of(x) + w + block.ahead + (w >= turn ? skip : 0), is_nearest);
              }
              stores.store(to + w, combine(w, x + w));
            }
          }
        };

        for (int s = 0; s < block.slabs; ++s) {
          Rows rows(block, s);
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
                rows[0], b, [&](int w, const Elements&) __attribute__((always_inline)) {
                  return load_register<places>(firsts + w);
                });
            b += block.b_row;
          }
          for (int k = 0, count = 1; k < block.rows;
               k += count, rows.skip(count), b += count * block.b_row) {
            const int place = (block.begin + k) % chunk_length;
            if (turns) {
              skip = k + 1 < block.rows ? block.x_row - width : (1 - block.rows) * block.x_row;
            }
            const A* const carry = block.begins_lines && k < chunk_length ? starts : block.carry;
            // p and q hold the earlier rows of a pack: its first, or first two combined; its third.
            const auto combine_row = [&](auto row, auto begins) __attribute__((always_inline)) {
              pass(
                  rows[0], b, [&](int w, const Elements& from) __attribute__((always_inline)) {
                    V e = load_elements<places>(from);
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
            count = are_packs && place % pack_length == 0 && k + pack_length <= block.rows
                        ? pack_length
                        : 1;
            switch (count == 1 ? place % pack_length : pack_length) {
              case pack_length:
                if constexpr (may_be_packs) {
                  stores.flush();
                  PackOfRows<places, decltype(exact), A, R>(
                      exact, none, block,
                      ChunkOfRows<A>{values_of(rows[0]), rows.row, b, block.b_row}, carry,
                      place == 0, k + 2 * pack_length > block.rows)
                      .scan();
                }
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
