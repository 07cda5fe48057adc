// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines slabs of a few elements, as many as lie in a block: registers go through memory as it
/// lies, whatever they hold of which slab, once for each step of the tree. A table says how many
/// rows back what each element combines with is; it repeats with the slabs.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/select.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// The most rows and the most lines of a small slab.
inline constexpr int most_small_rows = pack_length;
inline constexpr int most_small_width = 15;

/// Whether slabs are small: a step more costs more than lines that fill a register each.
template <class A>
constexpr bool is_small(int rows, int width) {
  constexpr int lanes = 32 / sizeof(A);
  if (width == 1 && rows > 2) return false;
  return rows <= most_small_rows && width <= (rows <= 2 ? most_small_width : lanes - 1);
}

/// The steps of the tree, pairs of rows and packs, and exclusive results from inclusive ones. Each
/// says for the elements of a slab how many rows back the left operand is; 0: none.
template <class A>
struct SmallSteps {
  static constexpr int lanes = 32 / sizeof(A);
  using Back = truth_t<A>;
  enum Step { pairs, packs, shift, count };

  int period = 0;  ///< elements of a slab
  Back back[count][most_small_rows * most_small_width + lanes];

  /// \param direction in which rows lie in memory
  void prepare(int rows, int width, int direction) {
    period = rows * width;
    for (int i = 0; i < period + lanes; ++i) {
      const int place = i % period / width;
      const int row = direction < 0 ? rows - 1 - place : place;
      back[pairs][i] = row % 2;
      back[packs][i] = row < 2 ? 0 : row - 1;
      back[shift][i] = row > 0 ? 1 : 0;
    }
  }
};

/// A block of small slabs that follow each other.
template <class A>
struct SmallSlabs {
  /// How many elements around a block may be read.
  static constexpr int margin = 2 * most_small_width + 32 / sizeof(A);

  const SmallSteps<A>* steps;
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
};

/// What small slabs combine to.
template <class A>
struct SmallResults {
  const A* results;
  const A* folds;  ///< without the starting value, where results are exclusive
};

/// One step: each element and the one that is so many rows back as the table says, at most `most`.
///
/// \param none what stands for none
/// \param combined combined(left, right) is the result
template <int most, class V, class A, class F>
[[gnu::always_inline]] inline void combine_step(const SmallSlabs<A>& block, int step, const V& none,
                                                const A* from, A* to, const F& combined) {
  constexpr int lanes = sizeof(V) / sizeof(A);
  constexpr int places = sizeof(V) / 16;
  const int row = block.direction * block.width;
  const int period = block.steps->period, turn = lanes % period;
  const auto* const back = block.steps->back[step];
  for (int i = 0, j = 0; i < block.count; i += lanes) {
    if (block.ahead != 0 && from == block.x) __builtin_prefetch(from + i + block.ahead, 0, 0);
    const auto rows_back = load_register<places>(back + j);
    V left = none;
    KOKKOSSCAN_IMPL_UNROLL for (int d = 1; d <= most; ++d) {
      left = select(Register<truth_t<A>, places>(rows_back.lanes == static_cast<truth_t<A>>(d)),
                    load_register<places>(from + i - d * row), left);
    }
    store_register(to + i, combined(left, load_register<places>(from + i)));
    j += turn;
    if (j >= period) j -= period;
  }
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
        const A* from = block.x;
        if (block.rows > 1) {
          combine_step<1>(block, SmallSteps<A>::pairs, none, from, block.first, combine);
          from = block.first;
        }
        if (block.rows > 2) {
          combine_step<2>(block, SmallSteps<A>::packs, none, from, block.second, combine);
          from = block.second;
        }
        const A* const folds = from;
        if (block.is_exclusive) {
          // Of the first rows it is what they have without a starting value.
          const V first = block.start != nullptr ? none : broadcast<places>(block.identity).part[0];
          A* const to = from == block.second ? block.first : block.second;
          combine_step<1>(
              block, SmallSteps<A>::shift, first, from, to,
              [](const V& left, const V&) __attribute__((always_inline)) { return left; });
          from = to;
        }
        if (block.start != nullptr) {
          const V start = broadcast<places>(*block.start).part[0];
          A* const to = from == block.first ? block.first : block.second;
          for (int i = 0; i < block.count; i += sizeof(V) / sizeof(A)) {
            store_register(to + i, combine(start, load_register<places>(from + i)));
          }
          from = to;
        }
        return SmallResults<A>{from, folds};
      });
}

}  // namespace KokkosScan::impl::host
