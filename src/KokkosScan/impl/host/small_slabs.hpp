// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines slabs of one or two rows of a few lines, as many as lie in a block: registers go
/// through memory as it lies, whatever they hold of which slab. A table says which elements have a
/// row before them; it repeats with the slabs.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/select.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
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
  /// How many elements around a block may be read.
  static constexpr int margin = most_small_width + 32 / sizeof(A);

  const SecondRows<A>* second_rows;
  const A* x;          ///< a row and a register around it may be read
  A* first;            ///< room for the elements, with the margin
  A* second;           ///< the same
  int rows, width;     ///< of a slab
  int count;           ///< elements
  int direction;       ///< in which rows lie in memory
  std::int64_t ahead;  ///< how far from elements others are asked for
  const A* start;      ///< the starting value, or null
  bool is_exclusive;
  A identity;  ///< the first exclusive result where there is no starting value
  A* place;    ///< where results belong past the caches; or null
};

/// What small slabs combine to.
template <class A>
struct SmallResults {
  const A* results;
  const A* folds;  ///< without the starting value, where results are exclusive
};

/// One step: each element and the one before it in its line.
///
/// \param none what stands for none
/// \param run  results that are stored, where these are the last ones
/// \param combined combined(left, right) is the result
template <class V, class A, class F>
[[gnu::always_inline]] inline void combine_step(const SmallSlabs<A>& block, const V& none,
                                                const A* from, A* to, StreamedRun<A> run,
                                                const F& combined) {
  constexpr int lanes = sizeof(V) / sizeof(A);
  constexpr int places = sizeof(V) / 16;
  constexpr int turn = turn_bytes / sizeof(V) * lanes, lag = lag_bytes / sizeof(A);
  const int row = block.direction * block.width;
  const int period = block.second_rows->period, step = lanes % period;
  for (int begin = 0, j = 0; begin < block.count; begin += turn) {
    const int end = begin + turn < block.count ? begin + turn : block.count;
    run.template store_up_to<places>(to + begin - lag);
    for (int i = begin; i < end; i += lanes) {
      if (block.ahead != 0 && from == block.x) __builtin_prefetch(from + i + block.ahead, 0, 0);
      const auto is_second = load_register<places>(block.second_rows->truths + j);
      const V left = select(is_second, load_register<places>(from + i - row), none);
      store_register(to + i, combined(left, load_register<places>(from + i)));
      j += step;
      if (j >= period) j -= period;
    }
  }
  run.template finish<places>();
}

/// Scans a block of small slabs.
template <class Op, class A>
SmallResults<A> combine_small_slabs(Registers registers, const Op& op, const SmallSlabs<A>& slabs) {
  return call_with(
      registers, [ op, slabs ](auto places) __attribute__((always_inline)) {
        using V = Register<A, places>;
        const SmallSlabs<A> block = slabs;  // what is stored cannot alias it
        const V none = hidden<places>(neutral(op));
        const auto combine = [&](const V& left, const V& right) __attribute__((always_inline)) {
          return combine_registers(exactly(op), left, right);
        };
        // The last step stores results.
        int steps = (block.rows > 1 ? 1 : 0) + (block.is_exclusive ? 1 : 0) +
                    (block.start != nullptr ? 1 : 0);
        const auto run_of = [&](const A* results) __attribute__((always_inline)) {
          const bool is_stored = steps-- <= 1 && block.place != nullptr;
          return is_stored ? StreamedRun<A>(results, block.count, block.place, 1)
                           : StreamedRun<A>();
        };
        const A* from = block.x;
        if (steps == 0) run_of(from).template finish<places>();
        if (block.rows > 1) {
          combine_step(block, none, from, block.first, run_of(block.first), combine);
          from = block.first;
        }
        const A* const folds = from;
        if (block.is_exclusive) {
          // Of the first rows it is what they have without a starting value.
          const V first = block.start != nullptr ? none : broadcast<places>(block.identity).part[0];
          A* const to = from == block.second ? block.first : block.second;
          combine_step(
              block, first, from, to, run_of(to),
              [](const V& left, const V&) __attribute__((always_inline)) { return left; });
          from = to;
        }
        if (block.start != nullptr) {
          const V start = broadcast<places>(*block.start).part[0];
          A* const to = from == block.second ? block.second : block.first;
          combine_step(
              block, none, from, to,
              run_of(to), [&](const V&, const V& right) __attribute__((always_inline)) {
                return combine(start, right);
              });
          from = to;
        }
        return SmallResults<A>{from, folds};
      });
}

}  // namespace KokkosScan::impl::host
