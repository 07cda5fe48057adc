// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines slabs of one or two rows of a few lines, as many as lie in a block: registers go
/// through memory as it lies, whatever they hold of which slab. A table says which elements have a
/// row before them; it repeats with the slabs.

#include <KokkosScan/impl/host/chunk_of_lines.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/select.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The most rows and the most lines of a small slab.
inline constexpr int most_small_rows = 2;
inline constexpr int most_small_width = 15;

/// Which elements of slabs are in a second row.
template <class A>
struct SecondRows {
  static constexpr int lanes = 32 / sizeof(A);
  int period = 0;  ///< elements of a slab
  truth_t<A> truths[most_small_rows * most_small_width + lanes];

  /// \param direction in which rows lie in memory
  void prepare(int rows, int width, int direction) {
    period = rows * width;
    for (int i = 0; i < period + lanes; ++i) {
      const int row = i % period / width;
      truths[i] = rows == 2 && row == (direction < 0 ? 0 : 1) ? -1 : 0;
    }
  }
};

/// A block of small slabs that follow each other.
template <class A>
struct SmallSlabs {
  /// How many elements around a block may be read, in whole cache lines: what follows a margin in
  /// L1 begins one.
  static constexpr int line = cache_line / sizeof(A);
  static constexpr int margin = (most_small_width + 32 / sizeof(A) + line - 1) / line * line;

  const SecondRows<A>* second_rows;
  const A* x;          ///< a row and a register around it may be read
  A* b;                ///< where results go, and some more up to a register behind
  int width;           ///< of a slab
  int count;           ///< elements
  int direction;       ///< in which rows lie in memory
  std::int64_t ahead;  ///< how far from elements others are asked for
  bool is_exclusive;
  A start;             ///< the starting value, or a neutral one
  A first;             ///< B(0)
  StreamedRun<A> run;  ///< results that the kernel stores, beside what it computes
};

/// Scans a block of small slabs, in the widest registers that there may be.
template <class Op, class A>
void combine_small_slabs(const Op& op, const SmallSlabs<A>& slabs) {
  call_with(
      most_registers, [ op, slabs ](auto places) __attribute__((always_inline)) {
        if constexpr (are_widest<places>) {
          using V = Register<A, places>;
          constexpr int lanes = sizeof(V) / sizeof(A);
          constexpr int turn = turn_bytes / sizeof(V) * lanes, lag = lag_bytes / sizeof(A);
          const SmallSlabs<A> block = slabs;  // what is stored cannot alias it
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
              const V fold = combine_registers(exact, select(is_second, before, none), x);
              const V result = combine_registers(exact, start, block.is_exclusive ? before : fold);
              store_register(block.b + i,
                             block.is_exclusive ? select(is_second, result, first) : result);
              j += step;
              if (j >= period) j -= period;
            }
          }
          run.template finish<places>();
        }
      });
}

}  // namespace KokkosScan::impl::host
