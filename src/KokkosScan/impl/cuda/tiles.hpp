// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for contiguous lines of which one or more fit in a tile.
///
/// A block copies its tile to shared memory as it lies in global memory. Each thread folds its
/// chunk, lanes and warps combine their totals, each thread scans its chunk with its prefix
/// (chunk.hpp has the combination tree), and the block copies the results back. So each element is
/// loaded and stored once, in long runs of quads, whatever the length, alignment and direction of
/// the lines.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/staged_inputs.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

// Assumed by enqueue().
static_assert(sizeof(WarpTotals<std::byte[largest_value]>) < 1024);
static_assert(threads_of_lines(true) >= most_threads && threads_of_lines(false) >= most_threads);

/// Scans the lines of a tile whose threads take whole lines. (What threads that share lines do as
/// well costs a third of a copy where lines have two elements.)
template <class P>
__device__ __forceinline__ void scan_whole_lines(const StagedTile<P>& staged) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  const P& problem = staged.problem;
  const Tile& tile = staged.tile;
  const auto op = carrying(problem.op);
  const Ends<P> ends{problem};
  staged.with_access([&](auto packs, bool backward) {
    for (int i = 0; i < staged.shape.lines_of_thread; ++i) {
      const int line = static_cast<int>(threadIdx.x) * staged.shape.lines_of_thread + i;
      if (line >= tile.lines) break;
      const Maybe<A> start = problem.start.at(tile.line(line));
      const A first = start.exists ? start.value : problem.identity.value;
      const A last =
          Chunk<P>(staged, line, 0)
              .template scan_elements<packs.value>(backward, fold_of_start<R>(op, start), first);
      if (ends.exist()) {
        ends.store_begin(tile.line(line), first, staged.results.extra(line));
        ends.store_end(tile.line(line), last, staged.results.extra(line));
      }
    }
  });
}
/// Scans the lines of a tile that threads share.
template <class P>
__device__ __forceinline__ void scan_shared_lines(const StagedTile<P>& staged) {
  using R = typename Types<P>::R;
  const P& problem = staged.problem;
  const auto op = carrying(problem.op);
  // Several lines share one warp, or a line has whole warps.
  const auto thread = static_cast<int>(threadIdx.x);
  const int line = staged.shape.by_threads_of_line.quotient(thread);
  const Chunk<P> chunk(staged, line, thread - line * staged.shape.cut.threads_of_line);
  const auto start =
      chunk.length > 0 ? problem.start.at(staged.tile.line(line)) : Maybe<typename Types<P>::A>();
  const FoldedChunk<R> folded = chunk.fold();
  Fold<typename Types<P>::Carrying, R> warps_before(op);
  if (staged.shape.cut.threads_of_line > lanes) {
    __shared__ WarpTotals<R> totals;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    if (threadIdx.x % lanes == lanes - 1) totals[warp] = folded.folds;
    __syncthreads();
    warps_before = fold_warps(op, totals.data(), 0, chunk.length > 0 ? warp : 0);
  } else {
    // Other lanes must read their starting values before totals can overwrite them.
    __syncwarp();
  }
  chunk.scan(true, true, folded, fold_of_start<R>(op, start), warps_before);
}

/// Scans lines of which one or more fit in a tile.
///
/// \param packs_are_aligned whether packs are aligned in all operands but wide results
/// \param are_wide whether lines have n+1 results each, contiguous with the next line's
template <class P>
__global__ void __launch_bounds__(threads_of_lines(Types<P>::has_several_arrays),
                                  blocks_of_lines(Types<P>::has_several_arrays))
    scan_lines(const __grid_constant__ P problem, const __grid_constant__ Shape shape,
               bool packs_are_aligned, int padding, bool are_wide) {
  using T = Types<P>;
  using Value = typename T::Value;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * shape.lines_of_tile;
  const std::int64_t left = problem.batch.count - first;
  const int lines = static_cast<int>(left < shape.lines_of_tile ? left : shape.lines_of_tile);
  const int first_result =
      are_wide && (problem.extra == Extra::first) != is_backward(problem.output) ? 1 : 0;
  StagedTile<P> staged{
      problem,
      shape,
      packs_are_aligned,
      {problem.batch, first, 0, lines, shape.cut.tile_length, is_backward(problem.output)},
      {},
      {{}, shape.cut.tile_length + (are_wide ? 1 : 0), first_result, are_wide}};
  const Tile& tile = staged.tile;
  Stage<typename T::In>& input = staged.input;
  Results<Value>& results = staged.results;

  // Load.
  __shared__ Barrier loaded;
  if (threadIdx.x == 0) {
    loaded.initialize(1);
    after_initialization();
  }
  Region region{0, shape.lines_of_tile * shape.cut.tile_length, padding};
  // Where the results are in global memory, if they are one run; not kept in registers meanwhile.
  const auto run_of_results = [&]() -> Value* {
    return tile.flat(problem.output, results.pitch) - first_result;
  };
  input.place(problem.input, tile, region, are_wide ? nullptr : run_of_results());
  input.begin_load(problem.input, tile, loaded, threads_of_block());
  input.load(problem.input, tile, threads_of_block());
  if (are_wide) {
    region.padding = 0;
    region.elements += shape.lines_of_tile;
  }
  results.slots = place_results<P>(run_of_results(), region, input, !are_wide);
  // Thread 0 begins bulk copies, all threads those of quads.
  if (threadIdx.x == 0) loaded.arrive();
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  loaded.wait(0);

  // Scan.
  if (shape.cut.threads_of_line == 1) {
    scan_whole_lines(staged);
  } else {
    scan_shared_lines(staged);
  }
  before_bulk_copies();
  __syncthreads();

  // Store.
  begin_store<T::stores_in_bulk>(results.slots, problem.output, tile, run_of_results(),
                                 tile.lines * results.pitch);
  wait_for_bulk_stores();
}

}  // namespace KokkosScan::impl::cuda
