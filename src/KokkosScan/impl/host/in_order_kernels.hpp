// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combines several lines in order, side by side: each line waits for its last combination, so only
/// other lines can fill that time. Sums and products of float and double have a line in each lane
/// of their registers; for all else the compiler sees a loop over independent lines.

#include <KokkosScan/impl/host/combine.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/operator_traits.hpp>
#include <KokkosScan/operators.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether registers combine as the operator does, with a value that leaves others as they are.
template <class Op, class A>
inline constexpr bool combines_registers = std::floating_point<A>&& is_vectorized<A> &&
                                           (std::same_as<Op, InOrder<Sum<A>>> ||
                                            std::same_as<Op, InOrder<Prod<A>>>);

// ---- Columns: the lines are neighbours ----------------------------------------------------------

/// Some elements of neighbouring lines, which become results.
template <class A>
struct Columns {
  const A* x;
  std::int64_t x_row;  ///< between the elements of a line
  A* y;                ///< may be x
  std::int64_t y_row;
  A* folds;  ///< of each line so far
  int rows;
  int width;
  Form form;
  bool streams;  ///< past the caches; y and y_row are multiples of 16 bytes
};

/// Rows that are combined at once.
inline constexpr int rows_at_once = 4;

template <bool streams, bool is_exclusive, int places, class Op, class A>
[[gnu::always_inline]] inline void combine_columns_in_registers(const Op& op, const Columns<A>& b) {
  constexpr int lanes = places * 16 / static_cast<int>(sizeof(A));
  int w = 0;
  for (; w + lanes <= b.width; w += lanes) {
    Register<A, places> fold = load_register<places>(b.folds + w);
    const A* x = b.x + w;
    A* y = b.y + w;
    const auto combine_next = [&](const Register<A, places>& from) __attribute__((always_inline)) {
      const Register<A, places> next = combine_registers(op, fold, from);
      const Register<A, places>& result = is_exclusive ? fold : next;
      if constexpr (streams) {
        stream_register(y, result);
      } else {
        store_register(y, result);
      }
      fold = next;
      y += b.y_row;
    };
    if (b.rows == rows_at_once) {
      // All loads first: one that follows a store a multiple of 4096 bytes away waits for it.
      Register<A, places> from[rows_at_once];
      for (int k = 0; k < rows_at_once; ++k) from[k] = load_register<places>(x + k * b.x_row);
      for (int k = 0; k < rows_at_once; ++k) combine_next(from[k]);
    } else {
      for (int k = 0; k < b.rows; ++k) combine_next(load_register<places>(x + k * b.x_row));
    }
    store_register(b.folds + w, fold);
  }
  for (; w < b.width; ++w) {
    A fold = b.folds[w];
    for (int k = 0; k < b.rows; ++k) {
      const A next = op(fold, b.x[k * b.x_row + w]);
      b.y[k * b.y_row + w] = is_exclusive ? fold : next;
      fold = next;
    }
    b.folds[w] = fold;
  }
}

/// Combines down the columns, whose folds all exist.
template <class Op, class A>
void combine_columns(Registers registers, const Op& op, const Columns<A>& block) {
  if constexpr (combines_registers<Op, A>) {
    call_with(
        registers, [&](auto places) __attribute__((always_inline)) {
          const Columns<A> b = block;
          if (b.form == Form::exclusive) {
            b.streams ? combine_columns_in_registers<true, true, places>(op.op, b)
                      : combine_columns_in_registers<false, true, places>(op.op, b);
          } else {
            b.streams ? combine_columns_in_registers<true, false, places>(op.op, b)
                      : combine_columns_in_registers<false, false, places>(op.op, b);
          }
        });
  } else {
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

// ---- Rows: each line has neighbouring elements --------------------------------------------------

/// Lines that are combined side by side.
inline constexpr int lines_at_once = 8;

/// Turns a square of lanes at each place.
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

/// Combines elements begin ... end - 1 of lines_at_once lines, which are `pitch` apart and whose
/// folds all exist, in their places: four at a time, or two of double, as many lines as registers
/// have lanes.
template <int places, class Op, class A>
[[gnu::always_inline]] inline int combine_rows_in_registers(const Op& op, A* x, int pitch,
                                                            int begin, int end, A* folds) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(A));
  constexpr int lines = lanes * places;
  constexpr int count = lines_at_once / lines;
  Register<A, places> fold[count];
  for (int i = 0; i < count; ++i) fold[i] = load_register<places>(folds + i * lines);
  int k = begin;
  for (; k + lanes <= end; k += lanes) {
    for (int i = 0; i < count; ++i) {
      A* const first = x + i * lines * pitch + k;
      Register<A, places> r[lanes];
      for (int j = 0; j < lanes; ++j) {
        if constexpr (places == 1) {
          r[j] = load_register(first + j * pitch);
        } else {
          r[j] = join(load_register(first + j * pitch), load_register(first + (lanes + j) * pitch));
        }
      }
      transpose<A, places>(r);
      for (int j = 0; j < lanes; ++j) r[j] = fold[i] = combine_registers(op, fold[i], r[j]);
      transpose<A, places>(r);
      for (int j = 0; j < lanes; ++j) {
        store_register(first + j * pitch, at_place<0>(r[j]));
        if constexpr (places == 2) store_register(first + (lanes + j) * pitch, at_place<1>(r[j]));
      }
    }
  }
  for (int i = 0; i < count; ++i) store_register(folds + i * lines, fold[i]);
  return k;
}

template <class Op, class A>
void combine_rows(Registers registers, const Op& op, A* x, int pitch, int begin, int end,
                  A* folds) {
  int k = begin;
  if constexpr (combines_registers<Op, A>) {
    k = call_with(
        registers, [ =, &op ](auto places) __attribute__((always_inline)) {
          return combine_rows_in_registers<places>(op.op, x, pitch, begin, end, folds);
        });
  }
  for (; k < end; ++k) {
    for (int i = 0; i < lines_at_once; ++i) {
      A* const at = x + i * pitch + k;
      *at = folds[i] = op(folds[i], *at);
    }
  }
}

}  // namespace KokkosScan::impl::host
