// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A block of slabs: its rows and results, the state of its lines, and how kernels prefetch.

#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/stored_bool.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The state of up to Width lines. Registers may exceed the first and the last line, so there is
/// space around each array. The state begins at a page boundary: loading a register across a page
/// boundary soon after it has been stored takes hundreds of cycles.
template <class A, class R, int Width>
struct alignas(page_bytes) SlabState {
  static constexpr int spill = 32 / sizeof(A);
  alignas(32) A carry_[Width + 2 * spill];
  alignas(32) A folds_[Width + 2 * spill];
  alignas(32) A pairs_[Width + 2 * spill];
  alignas(32) A thirds_[Width + 2 * spill];
  alignas(32) R tiles_[Width + 2 * spill];
  alignas(32) R chunks_[Width + 2 * spill];

  R* tiles() { return tiles_ + spill; }
  R* chunks() { return chunks_ + spill; }
  A* carry() { return carry_ + spill; }
  A* folds() { return folds_ + spill; }
  A* pairs() { return pairs_ + spill; }
  A* thirds() { return thirds_ + spill; }
};

/// The mask of a block's elements.
template <class A>
struct MaskOfRows {
  const StoredBool* selected;  ///< of the first row; null if there is no mask
  std::int64_t row, slab;      ///< distances between rows and between slabs
  A identity;                  ///< replaces masked-out elements
};

/// Rows k ... k + rows - 1 of each of several slabs.
template <class A, class R>
struct SlabBlock {
  const A* x;           ///< the first row; a register before and behind the rows may be read
  std::int64_t x_row;   ///< distance between rows
  std::int64_t x_slab;  ///< distance between slabs
  MaskOfRows<A> mask;   ///< the mask, if it is applied while rows are combined one by one
  A* b;                 ///< results; up to a register behind them may be overwritten
  std::int64_t b_row, b_slab;
  int slabs, rows, width;
  int begin;                   ///< index of the first row in its tile; begins a pack
  bool begins_lines;           ///< whether these are the first rows; else the state precedes them
  bool ends_chunk;             ///< whether the last chunk is complete and updates the carry
  bool streams;                ///< non-temporal stores
  bool takes_rows;             ///< whether lines are combined row by row
  bool keeps_gaps;             ///< whether nothing behind a row's results may be overwritten
  std::int64_t results_ahead;  ///< prefetch distance of results, or 0
  std::int64_t ahead;          ///< prefetch distance of elements, from x
  Caches caches;               ///< the caches to prefetch to
  const A* starts;             ///< for each line the starting value, or a neutral one
  const A* firsts;             ///< for each line B(0), if it is stored before the other results
  std::int64_t starts_slab;    ///< distance between slabs in both; 0 if all slabs share them
  R* tiles;
  R* chunks;
  A* carry;
  A* folds;
  A* pairs;            ///< the first element of an incomplete pack, or the first two combined
  A* thirds;           ///< its third element
  StreamedRun<A> run;  ///< results that the kernel stores while it computes others

  /// Reverses the order of slabs.
  void reverse_slabs() {
    const auto reverse = [this](auto& first, std::int64_t& slab) {
      first += (slabs - 1) * slab;
      slab = -slab;
    };
    reverse(x, x_slab);
    reverse(b, b_slab);
    if (mask.selected != nullptr) reverse(mask.selected, mask.slab);
  }
};

/// Prefetches the memory of results that are stored directly, starting from those at b: ordinary
/// stores read their cache lines first.
template <class A, class R>
[[gnu::always_inline]] inline void ask_for_results(const SlabBlock<A, R>& block, const A* b,
                                                   std::int64_t distance) {
  if (block.results_ahead == 0) return;
  const int step = (distance < 0 ? -cache_line : cache_line) / static_cast<int>(sizeof(A));
  const std::int64_t bytes = (distance < 0 ? -distance : distance) * static_cast<int>(sizeof(A));
  const A* later = b + block.results_ahead;
  for (std::int64_t i = 0; i < bytes; i += cache_line, later += step) __builtin_prefetch(later, 1);
}

}  // namespace KokkosScan::impl::host
