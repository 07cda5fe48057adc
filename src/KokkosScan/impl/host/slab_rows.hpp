// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines neighbouring lines side by side: element k + 1 of a line is one row, `width` elements,
/// after element k. Kernels take whole blocks of slabs, to avoid overhead per line. Here the state
/// of lines is in L1; for narrow rows see rows_in_registers.hpp.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Prefetches elements and stores earlier results, once for every turn_bytes of rows that are
/// combined. Larger batches of either would stall the computation.
template <int places, class A, class R>
class BesideRows {
  static constexpr int line = cache_line / sizeof(A), turn = turn_bytes / sizeof(A);
  static constexpr int lag = lag_bytes / sizeof(A);

 public:
  /// \param is_downwards whether elements are prefetched downwards
  [[gnu::always_inline]] BesideRows(const SlabBlock<A, R>& block, bool is_downwards)
      : m_run(block.run),
        m_b(block.b),
        m_ahead(block.ahead),
        m_step(is_downwards ? -line : line),
        m_behind(block.b_row > 0 ? 0 : block.width),
        m_room(2 * turn + chunk_length * (register_bytes / static_cast<int>(sizeof(A))) +
               (pack_length + 1) * block.width),
        m_is_upwards(block.b_row > 0),
        m_is_nearest(block.caches == Caches::nearest) {}

  /// \param x the first of the following rows
  [[gnu::always_inline]] void begin(const A* x) { m_later = x + m_ahead; }
  /// \param count number of elements that are combined next
  /// \param at    offset of their results, relative to the first results
  [[gnu::always_inline]] void operator()(int count, std::int64_t at) {
    m_count += count;
    if (m_count < turn) return;
    if (m_ahead != 0) {
      const int lines = (m_count + line - 1) / line;
      const A* const behind = m_later + lines * m_step;
      const A* later = m_later;
      if (m_is_nearest) {
        for (; later != behind; later += m_step) __builtin_prefetch(later, 0, 0);
      } else {
        for (; later != behind; later += m_step) __builtin_prefetch(later);
      }
      m_later = behind;
      m_count -= lines * line;
    } else {
      m_count = 0;
    }
    const A* const end = results(at) + m_behind;
    if (m_is_upwards) {
      m_run.template store_up_to<places>(end - lag);
    } else {
      m_run.template store_down_to<places>(end + lag);
    }
    m_b += m_run.template rewind<places>(end, m_room, m_is_upwards);
  }
  /// The address of those results.
  [[gnu::always_inline]] A* results(std::int64_t at) const { return m_b + at; }
  [[gnu::always_inline]] void finish() { m_run.template finish<places>(); }

 private:
  StreamedRun<A> m_run;
  A* m_b;  ///< base of all results, as if none had been moved by rewinding
  const std::int64_t m_ahead, m_step, m_behind;
  const int m_room;  ///< maximum number of results until the next call, including an extra row
  const bool m_is_upwards, m_is_nearest;
  const A* m_later = nullptr;
  int m_count = 0;
};

/// Scans a block. If the lines of a slab do not fill whole registers, one register extends into the
/// rows that follow in scan order, which are stored later.
template <class Op, class A, class R>
void combine_in_caches(Registers registers, const Op& op, const SlabBlock<A, R>& slabs) {
  call_with(
      registers, [&](auto places) __attribute__((always_inline)) {
        const SlabBlock<A, R> block = slabs;  // a copy, so that stores cannot alias it
        using V = Register<A, places>;
        constexpr int lanes = sizeof(V) / sizeof(A);
        const V none = broadcast<places>(neutral(op)).part[0];
        const int width = block.width;
        const int rest = width % lanes;
        // If nothing behind a row may change, its last register overlaps the one before.
        const bool overlaps = block.keeps_gaps && rest != 0;
        // The order of registers: the one that exceeds the row, or overlaps, comes first.
        struct Order {
          int first, second, width;
        };
        const int spilling = block.b_row < 0 ? rest - lanes : width - rest;
        const Order of_lines =
            rest == 0 ? Order{0, lanes, width} : Order{spilling, block.b_row < 0 ? rest : 0, width};
        const Order of_row = overlaps ? Order{width - lanes, 0, width} : of_lines;
        const auto for_each_register =
            [](const Order& order, const auto& f) __attribute__((always_inline)) {
          for (std::int64_t w = order.first, next = order.second, left = order.width; left > 0;
               left -= lanes, w = next, next += lanes) {
            f(w);
          }
        };
        BesideRows<places, A, R> beside(block, block.x_row < 0);
        // Stores B(0) of a slab's lines, if it is stored.
        const auto store_firsts = [&](int s, std::int64_t at) __attribute__((always_inline)) {
          if (block.firsts == nullptr) return;
          A* const b = beside.results(at);
          const A* const firsts = block.firsts + s * block.starts_slab;
          for_each_register(
              of_row, [&](std::int64_t w) __attribute__((always_inline)) {
                const V result = load_register<places>(firsts + w);
                store_register(b + w, result);
              });
        };
        // Combines rows of one chunk; `at` is the offset of their results.
        const auto combine_chunk = [&](ChunkOfRows<A> rows, std::int64_t at, int count, bool begins,
                                       const A* carries) __attribute__((always_inline)) {
          if (begins) {
            for_each_register(
                of_lines, [&](std::int64_t w) __attribute__((always_inline)) {
                  store_register(block.folds + w, none);
                });
          }
          // The folds of the register before the last, which the overlapping one must not change.
          A* const before_last = block.folds + (overlaps ? width - rest - lanes : 0);
          const std::int64_t last = overlaps ? width - lanes : 2 * width;
          for (int taken = 0; count > 0; count -= taken) {
            taken = count < pack_length ? count : pack_length;
            beside(taken * width, at);
            rows.b = beside.results(at);
            const PackOfLines<A> pack(rows, taken);
            const V folds = load_register<places>(before_last);
            const auto combine_by = [&](const auto& combine_lines) __attribute__((always_inline)) {
              for_each_register(
                  of_row, [&](std::int64_t w) __attribute__((always_inline)) {
                    combine_lines(w);
                    if (w == last) store_register(before_last, folds);
                  });
            };
            if (taken == pack_length) {
              combine_by([&](std::int64_t w) __attribute__((always_inline)) {
                combine_pack_of_rows<places>(op, pack, w, block.folds, carries);
              });
            } else {
              combine_by([&](std::int64_t w) __attribute__((always_inline)) {
                combine_rest_of_rows<places>(op, pack, taken, w, block.folds, carries);
              });
            }
            rows.x += taken * rows.x_row;
            at += taken * rows.b_row;
          }
        };
        const std::int64_t first_row = block.firsts == nullptr ? 0 : block.b_row;
        for (int s = 0; s < block.slabs; ++s) {
          const A* x = block.x + s * block.x_slab;
          std::int64_t at = s * block.b_slab;
          const A* const starts = block.starts + s * block.starts_slab;
          beside.begin(x);
          store_firsts(s, at);
          at += first_row;
          for (int k = 0; k < block.rows;) {
            const int left = block.rows - k;
            const int of_chunk = chunk_length - (block.begin + k) % chunk_length;
            const int rows = left < of_chunk ? left : of_chunk;
            const bool goes_on = k + rows < block.rows || block.ends_chunk;
            const bool begins_lines = k == 0 && block.begins_lines;
            const bool begins_chunk = (block.begin + k) % chunk_length == 0;
            if (begins_lines && goes_on) {
              for_each_register(
                  of_lines, [&](std::int64_t w) __attribute__((always_inline)) {
                    const V start = load_register<places>(starts + w);
                    store_register(block.carry + w, start);
                    store_wide(block.tiles + w, start);
                    store_wide(block.chunks + w, none);
                  });
            }
            ask_for_results(block, block.b + at, rows * block.b_row);
            combine_chunk({x, block.x_row, nullptr, block.b_row}, at, rows, begins_chunk,
                          begins_lines ? starts : block.carry);
            k += rows;
            x += rows * block.x_row;
            at += rows * block.b_row;
            if (goes_on && (block.begin + k) % chunk_length == 0) {
              const bool ends_tile = (block.begin + k) % tile_length == 0;
              for_each_register(
                  of_lines, [&](std::int64_t w) __attribute__((always_inline)) {
                    const auto fold = load_register<places>(block.folds + w);
                    const auto carry =
                        end_chunk_of_lines(op, fold, ends_tile, block.tiles + w, block.chunks + w);
                    store_register(block.carry + w, carry);
                  });
            }
          }
        }
        beside.finish();
      });
}

}  // namespace KokkosScan::impl::host
