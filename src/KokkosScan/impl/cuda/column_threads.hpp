// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for columns so many that each thread has one: it walks down its column, chunk by
/// chunk, and waits for nobody. Neighbouring threads have neighbouring columns, whatever their
/// alignment. column_tree.hpp has the combination tree. (Loads and ends are written out here and in
/// column_tiles.hpp: by functions that both call, 72 x 10^6 has 0.80 instead of 0.85.)

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

static_assert(std::max(longest_beside_strips, longest_of_threads) <= elements_of_section);

/// Scans columns of which each thread has one.
///
/// \param stores_together whether rows are not made of sectors: (95189, 60, 47) has 0.83 instead of
///                        0.63 then, but (449, 38, 15712) 0.905 instead of 0.93
template <class P>
__global__ void __launch_bounds__(threads_of_columns,
                                  blocks_of_column_threads(sizeof(typename P::A)))
    scan_columns_by_threads(const __grid_constant__ P problem, bool stores_together) {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Prefix = Fold<typename T::Carrying, R>;
  constexpr int V = chunk_of_column;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};

  const std::int64_t number = std::int64_t{blockIdx.x} * threads_of_columns + threadIdx.x;
  const bool exists = number < problem.batch.count;
  const Batch& batch = problem.batch;
  const std::int64_t inner = batch.rank == 0 ? 1 : batch.extent[batch.rank - 1];
  const Division at(exists ? number : 0, inner);
  const ColumnPlace place{batch, at.quotient, static_cast<int>(at.remainder)};
  const auto input = problem.input.line(place);
  const auto output = problem.output.line(place);
  const bool has_start = problem.start.exists();
  const int n = static_cast<int>(problem.n);

  // Columns have one section, so that only the starting value comes before it.
  ColumnPrefix<typename T::Carrying, R> prefix(op);
  prefix.sections = fold_of_start<R>(op, problem.start.at(place));
  Prefix chunks(op);  // before the own one in its half of the row
  for (int k = 0; k < n; k += V) {
    const int left = n - k;
    const int length = left < V ? left : V;
    const bool is_full = length == V;

    // Load: without conditions where they are not needed, which would make each load wait for the
    // last.
    A x[V][1];
    if (is_full) {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][0] = static_cast<A>(input(k + v));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][0] = v < length ? static_cast<A>(input(k + v)) : A{};
    }

    // Scan: x becomes B after each element.
    Prefix run = prefix.join_all(op, chunks);
    const A at_begin = k == 0 && !has_start ? problem.identity.value : static_cast<A>(run.value());
    if (is_full) {
      chunks = Prefix(op, chunks.then(op, fold_chunk_of_column<R>(problem.op, op, x, 0)));
    }
#pragma unroll
    for (int p = 0; p < V; p += pack_of_column) {
      if (p == 0 || length > p) scan_pack_of_column(problem.op, op, run, x, p, 0, length - p);
    }
    if (is_full) x[V - 1][0] = static_cast<A>(prefix.join_all(op, chunks).value());
    if (is_full && (k + V) % (half_row_of_chunks * V) == 0) {
      if ((k + V) % elements_of_row != 0) {
        prefix.half = chunks;
      } else {
        prefix.rows = Prefix(op, prefix.rows.then(op, prefix.half.then(op, chunks.value())));
        prefix.half = Prefix(op);
      }
      chunks = Prefix(op);
    }

    if (exists && ends.exist()) {
      if (k == 0) ends.store_begin(place, at_begin);
      if (left <= V) {
        A last = x[0][0];
#pragma unroll
        for (int v = 1; v < V; ++v) last = v < length ? x[v][0] : last;
        ends.store_end(place, last);
      }
    }
    if (problem.form == Form::exclusive) {
#pragma unroll
      for (int v = V - 1; v > 0; --v) x[v][0] = x[v - 1][0];
      x[0][0] = at_begin;
    }

    // Store: all warps at once, where two of them write to the same 32 bytes. Else the memory is
    // read for the rest of these, as long as it is not there.
    if (stores_together) __syncthreads();
    if (!exists) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v < length) output(k + v) = static_cast<Value>(x[v][0]);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
