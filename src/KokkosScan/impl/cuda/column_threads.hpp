// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for so many columns that each thread scans one, chunk by chunk, without waiting.
/// Neighbouring threads scan neighbouring columns, of any alignment. column_tree.hpp has the
/// combination tree.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>

namespace KokkosScan::impl::cuda {

static_assert(longest_of_threads <= elements_of_section);

/// Scans columns, one per thread.
///
/// \param stores_together whether warps store together: faster unless rows are whole sectors
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

  // Columns have one section, so only the starting value comes before it.
  ColumnPrefix<typename T::Carrying, R> prefix(op);
  prefix.sections = fold_of_start<R>(op, problem.start.at(place));
  Prefix chunks(op);  // earlier chunks of this quarter
  for (int k = 0; k < n; k += V) {
    const int left = n - k;
    const int length = left < V ? left : V;
    const bool is_full = length == V;

    // Load: without conditions for a full chunk, so that the loads do not wait for each other.
    A x[V][1];
    if (is_full) {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][0] = static_cast<A>(input(k + v));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][0] = v < length ? static_cast<A>(input(k + v)) : A{};
    }

    // Scan: replaces x by B after each element.
    Prefix run = prefix.join_all(op, chunks);
    const A at_begin = k == 0 && !has_start ? problem.identity.value : static_cast<A>(run.value());
    if (is_full) {
      chunks = Prefix(op, chunks.then(op, fold_chunk_of_column<R, A>(problem.op, op, x, 0)));
    }
#pragma unroll
    for (int p = 0; p < V; p += pack_of_column) {
      if (p > 0 && length <= p) continue;
      PackOfColumn<A> pack(x, p, 0);
      scan_pack(problem.op, op, run, pack.x, length - p,
                is_harmless<typename T::Op> || length - p >= pack_of_column);
      pack.put(x, p, 0);
    }
    if (is_full) x[V - 1][0] = static_cast<A>(prefix.join_all(op, chunks).value());
    if (is_full && (k + V) % (quarter_of_chunks * V) == 0) {
      prefix.add_quarter(op, chunks.value(), (k + V) % elements_of_row == 0);
      chunks = Prefix(op);
    }

    const Ends<P> ends{problem};
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

    // Store: all warps together if two of them write to the same sector. Otherwise L2 would fetch
    // the rest of a partially written sector from memory.
    if (stores_together) __syncthreads();
    if (!exists) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v < length) output(k + v) = static_cast<Value>(x[v][0]);
    }
  }
}

}  // namespace KokkosScan::impl::cuda
