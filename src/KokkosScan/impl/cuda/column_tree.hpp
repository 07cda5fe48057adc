// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the elements of a line combine whose neighbours are neighbours in memory, a column; and what
/// the kernels for columns share.
///
/// The combination tree counts from the element that is scanned first. Four elements make a pack,
/// which combines in the accumulator, two packs a chunk, eight chunks a row of chunks, 64 of those
/// a section, 32 sections a group; each combine left to right, chunks and all above in the carried
/// type. With G the fold of the starting value and all earlier groups, S that of the earlier
/// sections of the group, Q of the earlier rows of chunks of the section, q of the earlier chunks
/// of the row, p of the packs before the own one in the chunk, and x the elements so far of the
/// pack,
///
///     B(k) = ((G * (S * (Q * q))) * p) * x    within a pack, what is in front being rounded to the
///                                             accumulator,
///     B(k) = (G * (S * (Q * q))) * p          at the end of a pack, where p includes it,
///     B(k) = G * (S * (Q * q))                at the end of a chunk, where q includes it,
///
/// and a part that is empty is left out. How columns are cut into tiles does not matter.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// From the elements x[p][e], x[p + 1][e], ... of a pack to B after each of them. `run`, all before
/// the pack, becomes all with it.
///
/// \param valid elements from the pack's first on
template <class Op, class Carrying, class R, class A, int V, int E>
__device__ __forceinline__ void scan_pack_of_column(const Op& op, const Carrying& carrying_op,
                                                    Fold<Carrying, R>& run, A (&x)[V][E], int p,
                                                    int e, int valid) {
  constexpr int pack = pack_of_column;
  constexpr bool eager = is_eager<Op>;
  const Fold<Op, A> before =
      run.exists() ? Fold<Op, A>(op, static_cast<A>(run.value())) : Fold<Op, A>(op);
  const bool is_full = eager || valid >= pack;
  if (is_full) {
    const A all[pack] = {x[p][e], x[p + 1][e], x[p + 2][e], x[p + 3][e]};
    run = Fold<Carrying, R>(carrying_op,
                            run.then(carrying_op, static_cast<R>(fold_pack<0, pack>(op, all))));
  }
#pragma unroll
  for (int v = 1; v < pack - 1; ++v) {
    if (eager || v < valid) x[p + v][e] = op(x[p + v - 1][e], x[p + v][e]);
  }
#pragma unroll
  for (int v = 0; v < pack - 1; ++v) {
    if (eager || v < valid) x[p + v][e] = before.then(op, x[p + v][e]);
  }
  if (is_full) x[p + pack - 1][e] = static_cast<A>(run.value());
}

/// The fold of a chunk of a column.
template <class R, class Op, class Carrying, class A, int V, int E>
__device__ __forceinline__ R fold_chunk_of_column(const Op& op, const Carrying& carrying_op,
                                                  const A (&x)[V][E], int e) {
  const A a[4] = {x[0][e], x[1][e], x[2][e], x[3][e]};
  const A b[4] = {x[4][e], x[5][e], x[6][e], x[7][e]};
  return carrying_op(static_cast<R>(fold_pack<0, 4>(op, a)),
                     static_cast<R>(fold_pack<0, 4>(op, b)));
}

/// What comes before a chunk of a column but the chunks of its own row: G, S and Q.
template <class Op, class R>
struct ColumnPrefix {
  Fold<Op, R> groups, sections, rows;

  [[nodiscard]] __device__ __forceinline__ Fold<Op, R> join_all(
      const Op& op, const Fold<Op, R>& chunks_before) const {
    return join(op, groups, join(op, sections, join(op, rows, chunks_before)));
  }
};

/// A prefix of each column in shared memory, as a tile hands it to the next.
template <class R>
struct ColumnCarry {
  static constexpr int folds = 3;  ///< of a column

  R* memory;
  int stride;  ///< between the folds of a column

  /// The prefix of a column before chunk `first` of the column.
  ///
  /// \param has_groups whether the first fold is there
  template <class Op>
  [[nodiscard]] __device__ __forceinline__ ColumnPrefix<Op, R> get(const Op& op, int column,
                                                                   int first,
                                                                   bool has_groups) const {
    ColumnPrefix<Op, R> prefix{Fold<Op, R>(op), Fold<Op, R>(op), Fold<Op, R>(op)};
    const R* const at = memory + column;
    if (has_groups) prefix.groups = Fold<Op, R>(op, at[0]);
    if (first % chunks_of_group >= chunks_of_section) {
      prefix.sections = Fold<Op, R>(op, at[stride]);
    }
    if (first % chunks_of_section != 0) prefix.rows = Fold<Op, R>(op, at[2 * stride]);
    return prefix;
  }
  /// What comes before chunk `next`, which begins a row: the prefix before the row that ends there
  /// and the chunks of that row.
  template <class Op>
  __device__ __forceinline__ void put(const Op& op, int column, int next,
                                      const ColumnPrefix<Op, R>& prefix, const R& chunks) const {
    const R of_section = prefix.rows.then(op, chunks);
    const R of_group = prefix.sections.then(op, of_section);
    const bool ends_group = next % chunks_of_group == 0;
    R* const at = memory + column;
    at[0] = ends_group ? prefix.groups.then(op, of_group) : prefix.groups.value();
    at[stride] = next % chunks_of_section == 0 ? of_group : prefix.sections.value();
    at[2 * stride] = of_section;
  }
};

}  // namespace KokkosScan::impl::cuda
