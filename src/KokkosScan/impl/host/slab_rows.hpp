// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines lines side by side that lie interleaved: element k of line w of a slab is `width`
/// places from element k + 1. The kernels take whole blocks of slabs, so that nothing is done once
/// a line.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

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
        const bool is_pair = sizeof(A) == 4 && width == 2 && block.x_row == block.b_row;
        // Where nothing behind a row may change, its last register covers lines of the one before,
        // too.
        const bool overlaps = block.keeps_gaps && rest != 0;
        // Registers of lines: the one that spills, or covers others' lines, comes first.
        struct Order {
          int first, second, width;
        };
        const int spilling = block.b_row < 0 ? rest - lanes : width - rest;
        const Order of_lines =
            rest == 0 ? Order{0, lanes, width} : Order{spilling, block.b_row < 0 ? rest : 0, width};
        // A pair stores and loads the same registers of what it has combined to.
        const Order of_state = is_pair ? Order{0, 0, 1} : of_lines;
        const Order of_row = overlaps ? Order{width - lanes, 0, width} : of_lines;
        const auto for_each_register =
            [](const Order& order, const auto& f) __attribute__((always_inline)) {
          for (int w = order.first, next = order.second, i = 0; i < order.width;
               i += lanes, w = next, next += lanes) {
            f(w);
          }
        };
        // B(0) of a slab's lines, where it is stored.
        const auto store_firsts = [&](int s, A* b) __attribute__((always_inline)) {
          if (block.firsts == nullptr) return;
          const A* const firsts = block.firsts + s * block.starts_slab;
          for_each_register(
              of_row, [&](int w) __attribute__((always_inline)) {
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
            return for_each_register(
                of_row, [&](int w) __attribute__((always_inline)) {
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
              for_each_register(
                  of_state, [&](int w) __attribute__((always_inline)) {
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
              for_each_register(
                  of_state, [&](int w) __attribute__((always_inline)) {
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
