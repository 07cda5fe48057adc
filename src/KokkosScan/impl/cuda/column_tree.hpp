// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the elements of a column combine, that is, of a line whose neighbouring lines are its
/// neighbours in memory; and what the kernels for columns share.
///
/// The combination tree is indexed in scan order. Four elements form a pack, which combines as in
/// chunk.hpp. Two packs form a chunk, 4 chunks a quarter of a row, 4 quarters a row, 32 rows a
/// section. Each combines left to right, chunks and all above in the carried type. Let P be the
/// fold of the starting value and all earlier sections, Q that of the section's earlier rows, h
/// that of the row's earlier quarters, q that of the quarter's earlier chunks, p that of earlier
/// packs in the chunk, and x_1, x_2, ... the elements of the pack. Then
///
///     B(k) = (((P * (Q * (h * q))) * p) * x_1) * x_2 ...    within a pack, in the accumulator, to
///                                                           which the prefix is rounded,
///     B(k) = (P * (Q * (h * q))) * p                        at the end of a pack, where p includes
///                                                           it,
///     B(k) = P * (Q * (h * q))                              at the end of a chunk, where q
///                                                           includes it,
///
/// and empty parts are omitted. How columns are cut into tiles or strips does not matter.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

KOKKOS_FORCEINLINE_FUNCTION std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

/// The offset of a slab in a batch of more than two dimensions, which is rare.
inline __device__ __noinline__ std::int64_t offset_of_neighbours(const Batch& batch,
                                                                 const Strides& strides,
                                                                 std::int64_t outer) {
  std::int64_t sum = 0;
  // Not unrolled, for a single copy of the division: this is compiled into each kernel.
#pragma unroll 1
  for (int d = batch.rank - 2; d >= 0; --d) {
    const Division at(outer, batch.extent[d]);
    sum += at.remainder * strides.batch[d];
    outer = at.quotient;
  }
  return sum;
}

/// A column: its index among its neighbours, and the index of its slab.
struct ColumnPlace {
  const Batch& batch;
  std::int64_t outer;
  int column;

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset(const Strides& strides) const {
    if (batch.rank <= 1) return column * strides.batch[0];
    if (batch.rank == 2) return outer * strides.batch[0] + column * strides.batch[1];
    return offset_of_neighbours(batch, strides, outer) + column * strides.batch[batch.rank - 1];
  }
};

/// A pack of elements of a column, from x[v][e] on.
template <class A>
struct PackOfColumn {
  A x[pack_of_column];

  template <class Kept, int V, int E>
  __device__ __forceinline__ PackOfColumn(const Kept (&from)[V][E], int v, int e) {
#pragma unroll
    for (int i = 0; i < pack_of_column; ++i) x[i] = static_cast<A>(from[v + i][e]);
  }
  template <class Kept, int V, int E>
  __device__ __forceinline__ void put(Kept (&to)[V][E], int v, int e) const {
#pragma unroll
    for (int i = 0; i < pack_of_column; ++i) to[v + i][e] = static_cast<Kept>(x[i]);
  }
};

/// The fold of a chunk of a column, from x[v][e] on.
template <class R, class A, class Op, class Carrying, class Kept, int V, int E>
__device__ __forceinline__ R fold_chunk_of_column(const Op& op, const Carrying& carrying_op,
                                                  const Kept (&x)[V][E], int e, int v = 0) {
  return carrying_op(carried_pack(op, PackOfColumn<A>(x, v, e).x),
                     carried_pack(op, PackOfColumn<A>(x, v + pack_of_column, e).x));
}

/// Calls the function of an output for the results x[v][e], x[v + 1][e], ... of a chunk of column
/// e, the first of which is result k.
template <class Line, class A, int Rows, int E>
__device__ __forceinline__ void call_for_chunk(const Line& line, std::int64_t k, int length,
                                               const A (&x)[Rows][E], int e, int v = 0) {
  constexpr int V = chunk_of_column;
  using Value = typename Line::Result;
  if (length >= V) {
    // Without conditions, so that loads of the function do not wait for each other.
#pragma unroll
    for (int i = 0; i < V; ++i) line(k + i) = static_cast<Value>(x[v + i][e]);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (i < length) line(k + i) = static_cast<Value>(x[v + i][e]);
    }
  }
}

/// The fold of a row of chunks, of whose quarters the folds are in memory, `stride` apart.
template <class Op, class R>
__device__ __forceinline__ R fold_row(const Op& op, const R* quarters, int stride) {
  R fold = *quarters;
#pragma unroll
  for (int q = 1; q < quarters_of_row; ++q) {
    quarters += stride;
    fold = static_cast<R>(op(fold, *quarters));
  }
  return fold;
}

/// The prefix of a chunk of a column without earlier chunks of its quarter: P, Q and h.
template <class Op, class R>
struct ColumnPrefix {
  Fold<Op, R> sections, rows, quarters;

  __device__ __forceinline__ explicit ColumnPrefix(const Op& op)
      : sections(op), rows(op), quarters(op) {}

  [[nodiscard]] __device__ __forceinline__ Fold<Op, R> join_all(
      const Op& op, const Fold<Op, R>& chunks_before) const {
    return join(op, sections, join(op, rows, join(op, quarters, chunks_before)));
  }
  /// Appends a whole quarter.
  ///
  /// \param ends_row whether it is the last of its row
  __device__ __forceinline__ void add_quarter(const Op& op, const R& quarter, bool ends_row) {
    quarters = Fold<Op, R>(op, quarters.then(op, quarter));
    if (!ends_row) return;
    rows = Fold<Op, R>(op, rows.then(op, quarters.value()));
    quarters = Fold<Op, R>(op);
  }
  /// Appends quarters of one section: of one row, or from the beginning of a row on.
  ///
  /// \param memory where they are, `stride` apart
  __device__ __forceinline__ void add_quarters(const Op& op, const R* memory, int stride,
                                               int count) {
#pragma unroll 1
    for (; count >= quarters_of_row; count -= quarters_of_row) {
      rows = Fold<Op, R>(op, rows.then(op, fold_row(op, memory, stride)));
      memory += quarters_of_row * stride;
    }
#pragma unroll 1
    for (; count > 0; --count, memory += stride) {
      quarters = Fold<Op, R>(op, quarters.then(op, *memory));
    }
  }
};

}  // namespace KokkosScan::impl::cuda
