// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines slabs of one or two rows of a few lines, as many as fill a block. Registers run over
/// the elements in memory order, regardless of slab boundaries. A table, periodic in the size of a
/// slab, says which elements have a row before them.

#include <KokkosScan/impl/host/blend.hpp>
#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Maximum number of rows and of lines in a small slab.
inline constexpr int most_small_rows = 2;
inline constexpr int most_small_width = 15;

/// The table: which elements of slabs are in a second row.
template <class A>
struct SecondRows {
  static constexpr int lanes = 32 / sizeof(A);
  int period = 0;  ///< elements of a slab
  truth_t<A> truths[most_small_rows * most_small_width + lanes];

  /// \param direction of rows in memory
  void prepare(int rows, int width, int direction) {
    period = rows * width;
    for (int i = 0; i < period + lanes; ++i) {
      const int row = i % period / width;
      truths[i] = rows == 2 && row == (direction < 0 ? 0 : 1) ? -1 : 0;
    }
  }
};

/// A block of contiguous small slabs.
template <class A>
struct SmallSlabs {
  /// Number of elements around a block that may be read, rounded up to whole cache lines, so that
  /// data behind a margin in L1 is aligned.
  static constexpr int line = cache_line / sizeof(A);
  static constexpr int margin = (most_small_width + 32 / sizeof(A) + line - 1) / line * line;

  const SecondRows<A>* second_rows;
  const A* x;          ///< a row and a register around the elements may be read
  A* b;                ///< results; up to a register behind them may be overwritten
  int width;           ///< lines per slab
  int count;           ///< elements in all slabs
  int direction;       ///< of rows in memory
  std::int64_t ahead;  ///< prefetch distance
  bool is_exclusive;
  A start;             ///< the starting value, or a neutral one
  A first;             ///< B(0)
  StreamedRun<A> run;  ///< results that the kernel stores while it computes others
};

/// Scans a block of small slabs, with the widest registers only.
template <class Op, class A>
void combine_small_slabs(const Op& op, const SmallSlabs<A>& slabs) {
  call_with(
      most_registers, [ op, slabs ](auto places) __attribute__((always_inline)) {
        if constexpr (are_widest<places>) {
          using V = Register<A, places>;
          constexpr int lanes = sizeof(V) / sizeof(A);
          constexpr int turn = turn_bytes / sizeof(V) * lanes, lag = lag_bytes / sizeof(A);
          const SmallSlabs<A> block = slabs;  // a copy, so that stores cannot alias it
          StreamedRun<A> run = block.run;
          const auto exact = exactly(op);
          const V none = hidden<places>(neutral(op));
          const V start = broadcast<places>(block.start).part[0];
          const V first = broadcast<places>(block.first).part[0];
          const int row = block.direction * block.width;
          const int period = block.second_rows->period, step = lanes % period;
          for (int begin = 0, j = 0; begin < block.count; begin += turn) {
            const int end = begin + turn < block.count ? begin + turn : block.count;
            run.template store_up_to<places>(block.b + begin - lag);
            for (int i = begin; i < end; i += lanes) {
              if (block.ahead != 0) __builtin_prefetch(block.x + i + block.ahead, 0, 0);
              const auto is_second = load_register<places>(block.second_rows->truths + j);
              const V before = load_register<places>(block.x + (i - row));
              const V x = load_register<places>(block.x + i);
              const V fold = combine_registers(exact, blend(is_second, before, none), x);
              const V result = combine_registers(exact, start, block.is_exclusive ? before : fold);
              store_register(block.b + i,
                             block.is_exclusive ? blend(is_second, result, first) : result);
              j += step;
              if (j >= period) j -= period;
            }
          }
          run.template finish<places>();
        }
      });
}

}  // namespace KokkosScan::impl::host
