// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans several lines in order, side by side: each line waits for its last combination, and only
/// other lines can hide that latency. For sums and products of float and double, each lane of a
/// register holds another line; for other operators the compiler sees loops over independent lines.

#include <KokkosScan/impl/host/blend.hpp>
#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/operator_traits.hpp>
#include <KokkosScan/operators.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether registers combine exactly like the operator, and there is a neutral value.
template <class Op, class A>
inline constexpr bool combines_registers = std::floating_point<A>&& is_vectorized<A> &&
                                           (std::same_as<Op, InOrder<Sum<A>>> ||
                                            std::same_as<Op, InOrder<Prod<A>>>);

// ---- Strips: lines that are neighbours in memory ------------------------------------------------

/// Elements of neighbouring lines, and where their results go.
template <class A>
struct BlockOfStrip {
  const A* x;
  std::int64_t x_row;  ///< distance between the elements of a line
  A* y;                ///< may be x
  std::int64_t y_row;
  A* folds;  ///< the fold of each line so far
  int rows;
  int width;
  Form form;
  bool streams;  ///< non-temporal stores; y and y_row are multiples of 32 bytes
};

/// The mask of these elements.
template <class A>
struct CountsOfStrip {
  const StoredBool* counts;
  std::int64_t row;   ///< distance between the flags of a line
  const bool* exist;  ///< whether each line has a fold yet; null if all have
  A identity;         ///< the result of lines without a fold
};
/// For inputs without a mask.
struct AllCount {};

/// Rows that are combined together.
inline constexpr int rows_at_once = 4;

/// Combines a strip in registers. Masked-out elements, and folds that do not exist yet, are
/// replaced by a neutral value.
template <bool streams, bool is_exclusive, int places, class Op, class A, class Counts>
[[gnu::always_inline]] inline void combine_strip_in_registers(const Op& op,
                                                              const BlockOfStrip<A>& b,
                                                              const Counts& c) {
  constexpr bool is_masked = !std::is_same_v<Counts, AllCount>;
  constexpr int lanes_of_place = 16 / static_cast<int>(sizeof(A));
  constexpr int lanes = places * lanes_of_place;
  [[maybe_unused]] const Register<A, places> none = hidden<places>(neutral(op));
  [[maybe_unused]] const auto truths_at = [](const StoredBool* at) __attribute__((always_inline)) {
    return truths_of_lanes<A, places>(at, at + lanes_of_place);
  };
  int w = 0;
  for (; w + lanes <= b.width; w += lanes) {
    Register<A, places> fold = load_register<places>(b.folds + w);
    const A* x = b.x + w;
    A* y = b.y + w;
    const auto element = [&](int k) __attribute__((always_inline)) {
      const Register<A, places> values = load_register<places>(x + k * b.x_row);
      if constexpr (is_masked) {
        return blend(truths_at(c.counts + k * c.row + w), values, none);
      } else {
        return values;
      }
    };
    const auto store = [&](const Register<A, places>& result) __attribute__((always_inline)) {
      if constexpr (streams) {
        stream_register(y, result);
      } else {
        store_register(y, result);
      }
      y += b.y_row;
    };
    const auto combine_next = [&](const Register<A, places>& from) __attribute__((always_inline)) {
      const Register<A, places> next = combine_registers(op, fold, from);
      store(is_exclusive ? fold : next);
      fold = next;
    };
    if constexpr (is_masked) {
      if (c.exist != nullptr) {
        const Register<A, places> identity = broadcast<places>(c.identity).part[0];
        Register<truth_t<A>, places> exist = truths_at(as_stored_bools(c.exist + w));
        for (int k = 0; k < b.rows; ++k) {
          const Register<A, places> next = combine_registers(op, fold, element(k));
          if (is_exclusive) store(blend(exist, fold, identity));
          exist.lanes |= truths_at(c.counts + k * c.row + w).lanes;
          if (!is_exclusive) store(blend(exist, next, identity));
          fold = next;
        }
        store_register(b.folds + w, fold);
        continue;
      }
    }
    if (b.rows == rows_at_once) {
      // All loads first, to avoid 4K aliasing with earlier stores.
      Register<A, places> from[rows_at_once];
      for (int k = 0; k < rows_at_once; ++k) from[k] = element(k);
      for (int k = 0; k < rows_at_once; ++k) combine_next(from[k]);
    } else {
      for (int k = 0; k < b.rows; ++k) combine_next(element(k));
    }
    store_register(b.folds + w, fold);
  }
  for (; w < b.width; ++w) {
    A fold = b.folds[w];
    [[maybe_unused]] bool exists = true;
    if constexpr (is_masked) exists = c.exist == nullptr || c.exist[w];
    for (int k = 0; k < b.rows; ++k) {
      A next = b.x[k * b.x_row + w];
      [[maybe_unused]] const bool existed = exists;
      if constexpr (is_masked) {
        const bool counts = c.counts[k * c.row + w];
        if (!counts) next = neutral(op);
        exists = exists || counts;
      }
      next = op(fold, next);
      A result = is_exclusive ? fold : next;
      if constexpr (is_masked) {
        if (!(is_exclusive ? existed : exists)) result = c.identity;
      }
      b.y[k * b.y_row + w] = result;
      fold = next;
    }
    b.folds[w] = fold;
  }
}

/// Combines the lines of a strip. All folds must exist, or be neutral if there is a mask.
template <class Op, class A, class Counts = AllCount>
void combine_strip(Registers registers, const Op& op, const BlockOfStrip<A>& block,
                   const Counts& counts = {}) {
  if constexpr (combines_registers<Op, A>) {
    call_with(
        registers, [&](auto places) __attribute__((always_inline)) {
          const BlockOfStrip<A> b = block;
          const Counts c = counts;
          if (b.form == Form::exclusive) {
            b.streams ? combine_strip_in_registers<true, true, places>(op.op, b, c)
                      : combine_strip_in_registers<false, true, places>(op.op, b, c);
          } else {
            b.streams ? combine_strip_in_registers<true, false, places>(op.op, b, c)
                      : combine_strip_in_registers<false, false, places>(op.op, b, c);
          }
        });
  } else {
    static_assert(std::is_same_v<Counts, AllCount>);
    for (int k = 0; k < block.rows; ++k) {
      const A* const x = block.x + k * block.x_row;
      A* const y = block.y + k * block.y_row;
      A* const folds = block.folds;
      if (block.form == Form::exclusive) {
        for (int w = 0; w < block.width; ++w) {
          const A next = op(folds[w], x[w]);
          y[w] = folds[w];
          folds[w] = next;
        }
      } else {
        for (int w = 0; w < block.width; ++w) y[w] = folds[w] = op(folds[w], x[w]);
      }
    }
  }
}

// ---- Lines with neighbouring elements -----------------------------------------------------------

/// Lines that are combined side by side.
inline constexpr int lines_at_once = 8;

/// Elements of lines_at_once lines, and where their results go.
template <class A>
struct BlockOfLines {
  const A* x[lines_at_once];
  A* y[lines_at_once];  ///< may be x
  A* folds;             ///< the fold of each line so far
  int count;            ///< elements per line
  Form form;
  const StoredBool* counts[lines_at_once];  ///< the mask, if there is one
};

/// Transposes a square of lanes at each place.
template <class A, int places>
[[gnu::always_inline]] inline void transpose(Register<A, places> (&r)[16 / sizeof(A)]) {
  if constexpr (sizeof(A) == 4) {
    const auto a = shuffle<0, 4, 1, 5>(r[0], r[1]), b = shuffle<2, 6, 3, 7>(r[0], r[1]);
    const auto c = shuffle<0, 4, 1, 5>(r[2], r[3]), d = shuffle<2, 6, 3, 7>(r[2], r[3]);
    r[0] = shuffle<0, 1, 4, 5>(a, c);
    r[1] = shuffle<2, 3, 6, 7>(a, c);
    r[2] = shuffle<0, 1, 4, 5>(b, d);
    r[3] = shuffle<2, 3, 6, 7>(b, d);
  } else {
    const auto a = shuffle<0, 2>(r[0], r[1]);
    r[1] = shuffle<1, 3>(r[0], r[1]);
    r[0] = a;
  }
}

/// Combines the next elements of as many lines as a register has lanes, in `squares` squares of
/// four by four elements (two by two of double).
///
/// \param counts the mask, if there is one
template <int squares, bool is_masked, bool is_exclusive, int places, class Op, class A>
[[gnu::always_inline]] inline void combine_squares(const Op& op, const A* const* x, A* const* y,
                                                   [[maybe_unused]] const StoredBool* const* counts,
                                                   int k, Register<A, places>& fold) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(A));
  [[maybe_unused]] const Register<A, places> none = hidden<places>(neutral(op));
  Register<A, places> r[squares][lanes];
  KOKKOSSCAN_IMPL_UNROLL for (int s = 0; s < squares; ++s) {
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < lanes; ++j) {
      const A* const from = x[j] + k + s * lanes;
      if constexpr (places == 1) {
        r[s][j] = load_register(from);
      } else {
        r[s][j] = join(load_register(from), load_register(x[lanes + j] + k + s * lanes));
      }
      if constexpr (is_masked) {
        const int second = places == 1 ? j : lanes + j;
        r[s][j] = blend(
            truths_of_lanes<A, places>(counts[j] + k + s * lanes, counts[second] + k + s * lanes),
            r[s][j], none);
      }
    }
    transpose<A, places>(r[s]);
  }
  KOKKOSSCAN_IMPL_UNROLL for (int s = 0; s < squares; ++s) {
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < lanes; ++j) {
      const Register<A, places> next = combine_registers(op, fold, r[s][j]);
      r[s][j] = is_exclusive ? fold : next;
      fold = next;
    }
    transpose<A, places>(r[s]);
  }
  KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < lanes; ++j) {
    if constexpr (squares == 2) {
      // Whole 32-byte registers: half as many stores.
      store_register(y[j] + k, join(at_place<0>(r[0][j]), at_place<0>(r[1][j])));
      store_register(y[lanes + j] + k, join(at_place<1>(r[0][j]), at_place<1>(r[1][j])));
    } else {
      store_register(y[j] + k, at_place<0>(r[0][j]));
      if constexpr (places == 2) store_register(y[lanes + j] + k, at_place<1>(r[0][j]));
    }
  }
}

/// Combines lines whose folds all exist, squares at a time. Returns the number of elements done.
template <int places, bool is_masked, bool is_exclusive, class Op, class A>
[[gnu::always_inline]] inline int combine_lines_in_registers(const Op& op,
                                                             const BlockOfLines<A>& block) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(A));
  constexpr int lines = lanes * places;
  constexpr int groups = lines_at_once / lines;
  Register<A, places> fold[groups];
  KOKKOSSCAN_IMPL_UNROLL for (int g = 0; g < groups; ++g) {
    fold[g] = load_register<places>(block.folds + g * lines);
  }
  const int count = block.count;
  int k = 0;
  const auto combine_all = [&](auto squares) __attribute__((always_inline)) {
    for (; k + squares * lanes <= count; k += squares * lanes) {
      KOKKOSSCAN_IMPL_UNROLL for (int g = 0; g < groups; ++g) {
        combine_squares<squares, is_masked, is_exclusive>(
            op, block.x + g * lines, block.y + g * lines, block.counts + g * lines, k, fold[g]);
      }
    }
  };
  combine_all(std::integral_constant<int, places>{});
  if constexpr (places == 2) combine_all(std::integral_constant<int, 1>{});
  KOKKOSSCAN_IMPL_UNROLL for (int g = 0; g < groups; ++g) {
    store_register(block.folds + g * lines, fold[g]);
  }
  return k;
}

/// Combines lines side by side. All folds must exist, or be neutral if there is a mask.
template <bool is_masked, class Op, class A>
void combine_lines(Registers registers, const Op& op, const BlockOfLines<A>& block) {
  const bool is_exclusive = block.form == Form::exclusive;
  int k = 0;
  if constexpr (combines_registers<Op, A>) {
    k = call_with(
        registers, [&](auto places) __attribute__((always_inline)) {
          return is_exclusive ? combine_lines_in_registers<places, is_masked, true>(op.op, block)
                              : combine_lines_in_registers<places, is_masked, false>(op.op, block);
        });
  }
  for (; k < block.count; ++k) {
    KOKKOSSCAN_IMPL_UNROLL for (int l = 0; l < lines_at_once; ++l) {
      A& fold = block.folds[l];
      A x = block.x[l][k];
      if constexpr (is_masked) {
        // A table instead of a branch, which random masks would mispredict.
        const A choice[] = {neutral(op.op), x};
        x = choice[block.counts[l][k]];
      }
      const A next = op(fold, x);
      block.y[l][k] = is_exclusive ? fold : next;
      fold = next;
    }
  }
}

/// Combines a single line, whose fold must exist.
template <class Op, class A>
void combine_line(const Op& op, const BlockOfLines<A>& block) {
  const A* const x = block.x[0];
  A* const y = block.y[0];
  const int count = block.count;
  A fold = block.folds[0];
  if (block.form == Form::exclusive) {
    for (int k = 0; k < count; ++k) {
      const A next = op(fold, x[k]);
      y[k] = fold;
      fold = next;
    }
  } else {
    for (int k = 0; k < count; ++k) y[k] = fold = op(fold, x[k]);
  }
  block.folds[0] = fold;
}

}  // namespace KokkosScan::impl::host
