// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A block of slabs: where its rows are and where their results go, what its lines have combined
/// to, and how kernels ask for what is ahead and store what is behind.

#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/stored_bool.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// What lines have combined to, for up to Width of them. Registers that reach over the first or the
/// last line use the places around. It begins a page: registers that reach over the end of one cost
/// hundreds of cycles a row, where they have been stored a short while ago.
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

/// Which elements of a block count.
template <class A>
struct MaskOfRows {
  const StoredBool* selected;  ///< of the first row; null: they all do
  std::int64_t row, slab;      ///< from row to row, and from slab to slab
  A identity;                  ///< in the place of those that do not
};

/// Rows k ... k + rows - 1 of each of some slabs.
template <class A, class R>
struct SlabBlock {
  const A* x;           ///< the first row; may be read up to a register before and behind
  std::int64_t x_row;   ///< from row to row
  std::int64_t x_slab;  ///< from slab to slab
  MaskOfRows<A> mask;   ///< of elements that are selected as rows are combined, one by one
  A* b;                 ///< where results go, and some more up to a register behind
  std::int64_t b_row, b_slab;
  int slabs, rows, width;
  int begin;                   ///< the place in its tile of the first row; begins a pack
  bool begins_lines;           ///< else the state says what came before
  bool ends_chunk;             ///< whether the last chunk joins those before
  bool streams;                ///< past the caches
  bool takes_rows;             ///< whether lines are combined row by row
  bool keeps_gaps;             ///< whether nothing behind a row's results is overwritten
  std::int64_t results_ahead;  ///< how far from results memory of others is asked for, or 0
  std::int64_t ahead;          ///< how far from elements, in places of x, others are asked for
  Caches caches;               ///< where to
  const A* starts;             ///< of each line: the starting value, or a neutral one
  const A* firsts;           ///< of each line: B(0), where that is stored before the other results
  std::int64_t starts_slab;  ///< from slab to slab of these; 0: all slabs have the same
  R* tiles;
  R* chunks;
  A* carry;
  A* folds;
  A* pairs;            ///< the first element of a pack that has begun, or the first two
  A* thirds;           ///< its third
  StreamedRun<A> run;  ///< results that the kernel stores, beside what it computes

  /// The last slab first.
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

/// Asks for memory of results that are stored where they belong, from b on, whose cache lines are
/// read first.
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
