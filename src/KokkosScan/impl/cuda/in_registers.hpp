// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Another kernel for contiguous lines longer than a tile, if they fit into the registers of a
/// block: each element is loaded once, scanned in registers, and its result stored once. All loads
/// are issued before the first value is used.
///
/// The combination tree is that of parts of lines. Lanes load packs in a striped arrangement, so
/// that accesses are coalesced, but each folds the packs of one chunk: shared memory transposes the
/// folds of packs and, on the way back, their prefixes.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// V packs of a line as they lie in memory, each loaded with one instruction, `step` elements
/// apart, the first at element k. Those from n on are zero.
template <int V, int E, class T>
struct PacksOfLine {
  using Raw = std::remove_const_t<T>;
  using Word = typename UnitOf<sizeof(T) * E>::type;
  bool backward;
  Word words[V];

  __device__ __forceinline__ PacksOfLine(const ArrayLine<T>& line, int k, int step, int n)
      : backward(line.stride < 0) {
    const Raw* pack = backward ? line.data - k - (E - 1) : line.data + k;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      words[v] = k + v * step < n ? __ldcg(reinterpret_cast<const Word*>(pack)) : Word{};
      pack += backward ? -step : step;
    }
  }
  /// The elements of a pack in scan order.
  __device__ __forceinline__ void get(int v, Raw (&x)[E]) const {
    Raw raw[E];
    memcpy(static_cast<void*>(raw), &words[v], sizeof(Word));
#pragma unroll
    for (int i = 0; i < E; ++i) x[i] = backward ? raw[E - 1 - i] : raw[i];
  }
};
/// Loads the elements of such packs.
template <int V, int E, class A, class T>
__device__ __forceinline__ void load_packs(const ArrayLine<T>& line, int k, int step, int n,
                                           A (&x)[V][E]) {
  const PacksOfLine<V, E, T> packs(line, k, step, n);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    std::remove_const_t<T> raw[E];
    packs.get(v, raw);
#pragma unroll
    for (int i = 0; i < E; ++i) x[v][i] = static_cast<A>(raw[i]);
  }
}
template <int V, int E, class A, class T, class Mask>
__device__ __forceinline__ void load_packs(
    const SelectedLine<A, ArrayLine<T>, ArrayLine<Mask>>& line, int k, int step, int n,
    A (&x)[V][E]) {
  const PacksOfLine<V, E, Mask> mask(line.mask, k, step, n);
  load_packs(line.values, k, step, n, x);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    std::remove_const_t<Mask> selects[E];
    mask.get(v, selects);
#pragma unroll
    for (int i = 0; i < E; ++i) x[v][i] = static_cast<bool>(selects[i]) ? x[v][i] : line.identity;
  }
}

/// Stores a pack of results at `pack`, its lowest address, with one instruction. (The compiler
/// could move a plain assignment, and results of other packs would stay in registers and spill.)
template <int E, class Value, class A>
__device__ __forceinline__ void store_pack(Value* pack, bool backward, const A (&x)[E]) {
  using Word = typename UnitOf<sizeof(Value) * E>::type;
  Value raw[E];
#pragma unroll
  for (int i = 0; i < E; ++i) raw[i] = static_cast<Value>(backward ? x[E - 1 - i] : x[i]);
  Word word;
  memcpy(&word, raw, sizeof(Word));
  __stcg(reinterpret_cast<Word*>(pack), word);
}

/// Packs of a chunk: an odd number, so that lanes which read their chunks have no bank conflicts.
template <class P>
inline constexpr int packs_of_chunk =
    round_chunk(INT32_MAX, Types<P>::pack, Types<P>::size_that_cuts) / Types<P>::pack;
/// Bytes of shared memory for the folds of a warp's packs, and the one after the last.
template <class P>
inline constexpr int bytes_of_folds = sizeof(typename Types<P>::R) *
                                      (lanes * packs_of_chunk<P> + 1);
/// Bytes of shared memory for the totals of warps.
template <class R>
inline constexpr int bytes_of_warp_totals = sizeof(R) * lanes;

/// Scans lines, one per block, whose packs are aligned.
template <class P>
__global__ void __launch_bounds__(most_threads_in_registers)
    scan_in_registers(const __grid_constant__ P problem, const __grid_constant__ Cut cut) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  using Value = typename Types<P>::Value;
  using Op = typename Types<P>::Carrying;
  using Prefix = Fold<Op, R>;
  static_assert(is_eager<Op>, "elements behind the end of a line have any bits");
  constexpr int V = packs_of_chunk<P>;
  constexpr int E = Types<P>::pack;
  constexpr int row_length = lanes * E;
  const auto op = carrying(problem.op);

  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const LineNumber number{problem.batch, blockIdx.x};
  const int n = static_cast<int>(problem.n);
  const int first = warp * V * row_length + lane * E;
  const ArrayLine<Value> output = problem.output.line(number);
  R* const totals = reinterpret_cast<R*>(shared_memory());
  R* const folds = reinterpret_cast<R*>(shared_memory() + bytes_of_warp_totals<R>) +
                   warp * (bytes_of_folds<P> / static_cast<int>(sizeof(R)));

  // Load.
  A x[V][E];
  load_packs(problem.input.line(number), first, row_length, n, x);
  // Keeps the compiler from converting elements to the carried type before it has issued all loads:
  // products had 0.87 of a copy instead of 0.98 on an H200.
  __syncwarp();

  // Fold the packs, the chunk, and the chunks of the lanes before.
#pragma unroll
  for (int v = 0; v < V; ++v) folds[v * lanes + lane] = carried_pack(problem.op, x[v]);
  __syncwarp();
  R* const of_chunk = folds + lane * V;
  R chunk = of_chunk[0];
#pragma unroll
  for (int v = 1; v < V; ++v) chunk = op(chunk, of_chunk[v]);
  const R chunks = scan_lanes(op, chunk, lane, true);
  if (lane == lanes - 1) totals[warp] = chunks;

  // Carry. The starting value is read before the barrier, since a total may overwrite it after it.
  const Maybe<A> start_value = problem.start.at(number);
  const Prefix start = fold_of_start<R>(op, start_value);
  __syncthreads();
  // Lane w has the prefix of warp w: the fold of earlier tiles, and of earlier warps of its tile.
  static_assert(most_threads_in_registers / lanes < lanes);
  const int warps = static_cast<int>(blockDim.x) / lanes;
  const int warps_of_tile = cut.threads_of_line / lanes;
  const int last_tile = static_cast<int>(cut.tiles_of_line) - 1;
  const int tile = lane / warps_of_tile < last_tile ? lane / warps_of_tile : last_tile;
  const int end = lane < warps ? lane : warps;
  const Prefix warps_before = fold_warps(op, totals, tile * warps_of_tile, end);
  // Lane t has the fold of tile t, then of all up to it. (That of the last is not used.)
  R tiles = shuffle(warps_before.then(op, totals[lane]), (lane + 1) * warps_of_tile - 1);
  if (lane == 0) tiles = start.then(op, tiles);
  tiles = scan_lanes(op, tiles, lane, true);
  const R tiles_before = shuffle(tiles, tile - 1);
  const R prefix = join(op, tile == 0 ? start : Prefix(op, tiles_before), warps_before).value();

  // The prefixes of packs take the place of their folds, and that of the next warp follows.
  const Prefix before_warp(op, shuffle(prefix, warp));
  const R chunks_before = shuffle_up(chunks, 1);
  Prefix before = lane == 0 ? before_warp : Prefix(op, before_warp.then(op, chunks_before));
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const Prefix with_pack(op, before.then(op, of_chunk[v]));
    of_chunk[v] = before.value();
    before = with_pack;
  }
  if (lane == warp + 1) folds[lanes * V] = prefix;
  __syncwarp();

  // Scan and store.
  const Ends<P> ends{problem};
  const bool inclusive = problem.form == Form::inclusive;
  const bool backward = output.stride < 0;
  Value* pack = backward ? output.data - first - (E - 1) : output.data + first;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int k = first + v * row_length;
    const R before_pack = folds[v * lanes + lane];
    const A with_pack = static_cast<A>(folds[v * lanes + lane + 1]);
    // B(k), which is the identity at the beginning of a line without a starting value.
    const A at_begin =
        k == 0 && !start_value.exists ? problem.identity.value : static_cast<A>(before_pack);
    Prefix run(op, before_pack);
    scan_pack(problem.op, op, run, x[v], E, false);
    x[v][E - 1] = with_pack;
#pragma unroll
    for (int i = E - 1; i > 0; --i) x[v][i] = inclusive ? x[v][i] : x[v][i - 1];
    x[v][0] = inclusive ? x[v][0] : at_begin;
    if (k < n) store_pack(pack, backward, x[v]);
    pack += backward ? -row_length : row_length;
    if (v == 0 && k == 0 && ends.exist()) ends.store_begin(number, at_begin);
  }
  if (ends.exist()) {
    // The row in which this thread has the last pack of the line, if it has that. (Once, not in the
    // loop, whose code would be three times as long.)
    const int v = (n - E - first) / row_length;
    if (first + v * row_length == n - E && v >= 0 && v < V) {
      ends.store_end(number, static_cast<A>(folds[v * lanes + lane + 1]));
    }
  }
}

}  // namespace KokkosScan::impl::cuda
