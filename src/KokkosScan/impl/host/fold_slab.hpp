// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds neighbouring lines side by side, in the order of the combination tree, for the thread that
/// scans the next part of these lines.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/row_elements.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Folds the rows of a block, which are whole chunks of a tile. For each line the state holds the
/// last chunk and the fold of the tile's chunks before it, and is updated.
///
/// \tparam Rows ElementRows or MaskedRows; if rows are narrower than a register, up to one
///              register before them may be read
template <class Rows, class Op, class A, class R>
[[gnu::noinline]] void fold_slab(Registers registers, const Op& op, const SlabBlock<A, R>& slab) {
  call_with(
      registers, [&](auto places) __attribute__((always_inline)) {
        const SlabBlock<A, R> block = slab;  // a copy, so that stores cannot alias it
        using V = Register<A, places>;
        constexpr int lanes = sizeof(V) / sizeof(A);
        const auto exact = exactly(op);
        const V none = hidden<places>(neutral(op));
        const int width = block.width;
        // From the last line down. The last register may overlap the one before it, so it works on
        // a copy of the original state.
        const int lowest = width < lanes ? width - lanes : 0;
        A lowest_total[lanes];
        R lowest_chunks[lanes];
        __builtin_memcpy(lowest_total, block.folds + lowest, sizeof lowest_total);
        __builtin_memcpy(lowest_chunks, block.chunks + lowest, sizeof lowest_chunks);
        for (int w = width - lanes, left = width; left > 0; w = w < lanes ? 0 : w - lanes) {
          left -= lanes;
          A* const total_of_lines = left > 0 ? block.folds + w : lowest_total;
          R* const chunks_of_lines = left > 0 ? block.chunks + w : lowest_chunks;
          V total = load_register<places>(total_of_lines);
          // In registers: otherwise each chunk waits for stores of the one before to be reloaded.
          R chunks[lanes], tiles[lanes]{};
          __builtin_memcpy(chunks, chunks_of_lines, sizeof chunks);
          Rows rows(block, 0);
          for (int k = 0; k < block.rows; k += chunk_length) {
            end_chunk_of_lines(op, total, false, tiles, chunks);
            total = none;
            KOKKOSSCAN_IMPL_ROLLED for (int i = 0; i < chunk_length; i += pack_length) {
              V x[pack_length], folds[pack_length];
              KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < pack_length; ++j) {
                x[j] = load_elements<places>(rows[0] + w);
                rows.skip(1);
              }
              fold_rows(exact, total, x, folds);
              total = folds[pack_length - 1];
            }
          }
          store_register(total_of_lines, total);
          __builtin_memcpy(chunks_of_lines, chunks, sizeof chunks);
        }
        __builtin_memcpy(block.folds + lowest, lowest_total, sizeof lowest_total);
        __builtin_memcpy(block.chunks + lowest, lowest_chunks, sizeof lowest_chunks);
      });
}

}  // namespace KokkosScan::impl::host
