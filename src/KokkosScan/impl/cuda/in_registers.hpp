// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for lines that fill at least a warp and fit into the registers of a block: each
/// element is loaded once, scanned in registers, and its result stored once. All loads are issued
/// before the first value is used.
///
/// The combination tree is that of chunk.hpp: E neighbours form a pack, V packs a chunk, 32 chunks
/// the part of a warp. Lanes load packs in a striped arrangement, so that accesses are coalesced,
/// but each folds the packs of one chunk: shared memory transposes the folds of packs and, on the
/// way back, their prefixes. E and V depend on the types alone.

#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tiles.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// Loads a pack with one instruction.
template <int E, class T>
__device__ __forceinline__ void load_at_once(const T* from, T (&to)[E]) {
  using W = typename UnitOf<sizeof(T) * E>::type;
  const W word = __ldcg(reinterpret_cast<const W*>(from));
  memcpy(static_cast<void*>(to), &word, sizeof(W));
}

/// Stores a pack with one instruction. (The compiler could move a plain assignment, and results of
/// other packs would stay in registers and spill.)
template <int E, class T>
__device__ __forceinline__ void store_at_once(T* to, const T (&from)[E]) {
  using W = typename UnitOf<sizeof(T) * E>::type;
  W word;
  memcpy(&word, from, sizeof(W));
  __stcg(reinterpret_cast<W*>(to), word);
}

/// Rearranges a row from striped (x[i] is element i * 32 + lane) to packed (x[i] is element
/// lane * E + i), through shared memory of the warp. (Scalar access would have E-way bank
/// conflicts.)
template <class A, int E>
__device__ __forceinline__ void stripes_to_packs(A* row, A (&x)[E], int lane) {
#pragma unroll
  for (int i = 0; i < E; ++i) row[i * lanes + lane] = x[i];
  __syncwarp();
  move_pack(x, reinterpret_cast<const std::byte*>(row + lane * E));
  __syncwarp();
}

/// The inverse of stripes_to_packs().
template <class A, int E>
__device__ __forceinline__ void packs_to_stripes(A* row, A (&x)[E], int lane) {
  move_pack(reinterpret_cast<std::byte*>(row + lane * E), x);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < E; ++i) x[i] = row[i * lanes + lane];
  __syncwarp();
}

// ---- Load ---------------------------------------------------------------------------------------

/// Loads V packs of a line, `step` elements apart, the first at element k. The packs are aligned in
/// memory, and n is a multiple of their length. Elements from n on are unspecified.
template <int V, int E, class A, class T>
__device__ __forceinline__ void load_packs(const ArrayLine<T>& line, int k, int step, int n,
                                           A (&x)[V][E]) {
  using Raw = std::remove_const_t<T>;
  const bool backward = line.stride < 0;
  const Raw* pack = backward ? line.data - k - (E - 1) : line.data + k;
  const int stride = backward ? -step : step;
  Raw raw[V][E] = {};  // initialised, since packs past the end are converted, too
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (k + v * step < n) load_at_once(pack, raw[v]);
    pack += stride;
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
#pragma unroll
    for (int i = 0; i < E; ++i) x[v][i] = static_cast<A>(backward ? raw[v][E - 1 - i] : raw[v][i]);
  }
}
template <int V, int E, class A, int Rank, class Function>
__device__ __forceinline__ void load_packs(const ComputedLine<Rank, Function>& line, int k,
                                           int step, int n, A (&x)[V][E]) {
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (k + v * step >= n) continue;
#pragma unroll
    for (int i = 0; i < E; ++i) x[v][i] = static_cast<A>(line(k + v * step + i));
  }
}
template <int V, int E, class A, class Values, class Mask>
__device__ __forceinline__ void load_packs(const SelectedLine<A, Values, Mask>& line, int k,
                                           int step, int n, A (&x)[V][E]) {
  bool selected[V][E];
  load_packs(line.values, k, step, n, x);
  load_packs(line.mask, k, step, n, selected);
#pragma unroll
  for (int v = 0; v < V; ++v) {
#pragma unroll
    for (int i = 0; i < E; ++i) x[v][i] = selected[v][i] ? x[v][i] : line.identity;
  }
}

/// Loads `Count` stripes of a line: elements k, k + 32, ...
template <int Count, class A, class T>
__device__ __forceinline__ void load_stripes(const ArrayLine<T>& line, int k, int n, A* x) {
  const T* element = line.data + k * line.stride;
  const int step = line.stride < 0 ? -lanes : lanes;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if (k + i * lanes < n) x[i] = static_cast<A>(*element);
    element += step;
  }
}
/// Loads the values first, then the mask in several steps to limit register pressure.
template <int Count, class A, class Values, class Mask>
__device__ __forceinline__ void load_stripes(const SelectedLine<A, Values, Mask>& line, int k,
                                             int n, A* x) {
  constexpr int at_once = Count < 16 ? Count : 16;
  static_assert(Count % at_once == 0);
  load_stripes<Count>(line.values, k, n, x);
#pragma unroll
  for (int first = 0; first < Count; first += at_once) {
    // As in memory: bytes that are compared with 0 as soon as they are loaded cost registers.
    using Stored = std::remove_cvref_t<decltype(line.mask(k))>;
    std::conditional_t<std::is_same_v<Stored, StoredBool>, StoredBool, bool> selected[at_once] = {};
    load_stripes<at_once>(line.mask, k + first * lanes, n, selected);
#pragma unroll
    for (int i = 0; i < at_once; ++i) x[first + i] = selected[i] ? x[first + i] : line.identity;
  }
}

// ---- Store --------------------------------------------------------------------------------------

/// Stores a pack of results at `pack`, its lowest address.
template <int E, class Value, class A>
__device__ __forceinline__ void store_pack(Value* pack, bool backward, const A (&x)[E]) {
  Value raw[E];
#pragma unroll
  for (int i = 0; i < E; ++i) raw[i] = static_cast<Value>(backward ? x[E - 1 - i] : x[i]);
  store_at_once(pack, raw);
}

/// Replaces the elements of a pack by B after each but the last.
///
/// \param before the prefix of the pack, or a neutral value
template <int E, class Op, class A, class R>
__device__ __forceinline__ void scan_pack(const Op& op, const R& before, A (&x)[E]) {
  A run = static_cast<A>(before);
#pragma unroll
  for (int i = 0; i < E - 1; ++i) x[i] = run = op(run, x[i]);
}

/// The folds of a warp's packs in shared memory. Lanes write neighbours, and read the packs of a
/// chunk, without bank conflicts.
template <int V, class R>
struct FoldsOfPacks {
  /// Includes one fold after the last pack. A multiple of 16.
  static constexpr int bytes = (sizeof(R) * (lanes * V + lanes + 1) + quad - 1) / quad * quad;

  R* memory;

  [[nodiscard]] __device__ __forceinline__ R& operator[](int pack) const {
    return memory[pack + pack / V];
  }
};

/// Bytes of shared memory in which a warp rearranges a row.
template <class P, class T = Types<P>>
inline constexpr int bytes_of_row = sizeof(typename T::A) * lanes* T::pack;
/// Bytes of shared memory for the totals of warps.
template <class R>
inline constexpr int bytes_of_warp_totals = sizeof(R) * (most_threads_in_registers / lanes);

/// Rows of a warp, as many as the registers for elements can hold.
template <class P>
inline constexpr int rows_of_warp =
    std::max<int>(1, element_registers / (Types<P>::pack * registers_of(sizeof(typename P::A))));

/// Whether the packs of lines are aligned in the input and in the output, so that one instruction
/// moves each. Unaligned elements and results are moved one by one, and rows are rearranged in
/// shared memory.
struct AlignedPacks {
  bool in_input, in_output;

  /// Bytes of shared memory for each warp.
  template <class P>
  [[nodiscard]] KOKKOS_FUNCTION constexpr int bytes_of_warp() const {
    return FoldsOfPacks<rows_of_warp<P>, typename Types<P>::R>::bytes +
           (in_input && in_output ? 0 : bytes_of_row<P>);
  }
};

/// Scans lines, one per block.
template <class P>
__global__ void __launch_bounds__(most_threads_in_registers)
    scan_in_registers(const __grid_constant__ P problem, AlignedPacks packs) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  using Value = typename Types<P>::Value;
  using Op = typename Types<P>::Carrying;
  static_assert(is_eager<Op>, "elements behind the end of a line have any bits");
  constexpr int V = rows_of_warp<P>;
  constexpr int E = Types<P>::pack;
  constexpr int row_length = lanes * E;
  const auto op = carrying(problem.op);
  std::byte* const shared = shared_memory();

  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const LineNumber number{problem.batch, blockIdx.x};
  const int n = static_cast<int>(problem.n);
  const int first = warp * V * row_length;
  const auto input = problem.input.line(number);
  const ArrayLine<Value> output = problem.output.line(number);
  // Shared memory holds the totals of warps, then the memory of each warp.
  R* const totals = reinterpret_cast<R*>(shared);
  std::byte* const of_warp = shared + bytes_of_warp_totals<R> + warp * packs.bytes_of_warp<P>();
  const FoldsOfPacks<V, R> folds_of_packs{reinterpret_cast<R*>(of_warp)};
  std::byte* const row = of_warp + FoldsOfPacks<V, R>::bytes;

  // Load.
  A x[V][E];
  if (packs.in_input) {
    load_packs(input, first + lane * E, row_length, n, x);
  } else {
    load_stripes<V * E>(input, first + lane, n, &x[0][0]);
#pragma unroll
    for (int v = 0; v < V; ++v) stripes_to_packs(reinterpret_cast<A*>(row), x[v], lane);
  }

  // Fold the packs, the chunk, and the chunks of the lanes before.
#pragma unroll
  for (int v = 0; v < V; ++v) {
    // Rows past the end are skipped for operators that convert each element to the carried type,
    // such as products; for sums a branch would cost more.
    constexpr int rows_at_once = 4;
    if (is_carried_throughout<typename Types<P>::Op, A> &&
        first + v / rows_at_once * rows_at_once * row_length >= n) {
      continue;
    }
    folds_of_packs[v * lanes + lane] = carried_pack(problem.op, x[v]);
  }
  __syncwarp();
  R chunk = folds_of_packs[lane * V];
#pragma unroll
  for (int v = 1; v < V; ++v) chunk = op(chunk, folds_of_packs[lane * V + v]);
  const R chunks = scan_lanes(op, chunk, lane, true);

  // Carry. The starting value is read before the barrier, since a total may overwrite it after it.
  using Prefix = Fold<Op, R>;
  const Maybe<A> start_value = problem.start.at(number);
  const Prefix start = fold_of_start<R>(op, start_value);
  if (lane == lanes - 1) totals[warp] = chunks;
  __syncthreads();
  const Prefix warps_before = fold_warps(op, totals, 0, warp);
  const Prefix before_warp = join(op, start, warps_before);
  const R chunks_before = shuffle_up(chunks, 1);
  Prefix before = lane == 0 ? before_warp : Prefix(op, before_warp.then(op, chunks_before));
#pragma unroll
  for (int v = 0; v < V; ++v) {
    R& fold = folds_of_packs[lane * V + v];
    const Prefix with_pack(op, before.then(op, fold));
    fold = before.value();
    before = with_pack;
  }
  if (lane == lanes - 1) folds_of_packs[lanes * V] = start.then(op, warps_before.then(op, chunks));
  __syncwarp();

  // Scan: replaces x by the results.
  const Ends<P> ends{problem};
  const bool inclusive = problem.form == Form::inclusive;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int k = first + v * row_length + lane * E;
    const R before_pack = folds_of_packs[v * lanes + lane];
    const R with_pack = folds_of_packs[v * lanes + lane + 1];
    // B(k), which is the identity at the beginning of a line without a starting value.
    const A at_begin =
        k == 0 && !start_value.exists ? problem.identity.value : static_cast<A>(before_pack);
    scan_pack(problem.op, before_pack, x[v]);
    x[v][E - 1] = static_cast<A>(with_pack);
#pragma unroll
    for (int i = E - 1; i > 0; --i) x[v][i] = inclusive ? x[v][i] : x[v][i - 1];
    x[v][0] = inclusive ? x[v][0] : at_begin;
    if (v == 0 && k == 0 && ends.exist()) ends.store_begin(number, at_begin);
  }

  // Store.
  const bool backward = output.stride < 0;
  if (packs.in_output) {
    Value* pack =
        backward ? output.data - (first + lane * E) - (E - 1) : output.data + (first + lane * E);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (first + v * row_length + lane * E < n) store_pack(pack, backward, x[v]);
      pack += backward ? -row_length : row_length;
    }
  } else {
    Value* stripe = output.data + (first + lane) * output.stride;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      packs_to_stripes(reinterpret_cast<A*>(row), x[v], lane);
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (first + v * row_length + i * lanes + lane < n) *stripe = static_cast<Value>(x[v][i]);
        stripe += backward ? -lanes : lanes;
      }
    }
  }
  if (ends.exist()) {
    // The row in which this thread has the last pack of the line, if it has that.
    const int left = n - E - (first + lane * E);
    const int v = left / row_length;
    if (left == v * row_length && left >= 0 && v < V) {
      ends.store_end(number, static_cast<A>(folds_of_packs[v * lanes + lane + 1]));
    }
  }
}

}  // namespace KokkosScan::impl::cuda
