// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for lines that fill a warp and fit into the registers of a block: each element is
/// loaded once, scanned in registers, and its result stored once. All loads are issued before the
/// first value is used.
///
/// The combination tree counts from the element that is scanned first. E neighbours make a pack,
/// which one lane combines; 16 packs make a half row, whose lanes combine by the scheme of Kogge
/// and Stone, in the accumulator. Half rows of a warp combine by the same scheme, 32 at a time, and
/// the warps of a line left to right, both in the carried type. With U the fold of all before a
/// half row, l that of the packs before the own one in it, and x the elements so far of the pack,
///
///     B(k) = U * (l * x)    within a pack,
///     B(k) = U * l          at the end of a pack, where l includes it,
///     B(k) = U              at the end of a half row, where U includes it,
///
/// and a part that is empty is left out. U is rounded to the accumulator. E depends on the types
/// alone, the half rows of a warp on the types and n.

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

/// a * b if the condition holds, else `otherwise`.
template <class Op, class T>
__device__ __forceinline__ T combine_if(bool condition, const Op& op, const T& a, const T& b,
                                        const T& otherwise) {
  if constexpr (is_eager<Op>) {
    const T both = op(a, b);
    return condition ? both : otherwise;
  } else {
    return condition ? static_cast<T>(op(a, b)) : otherwise;
  }
}

/// Loads a pack with one instruction.
template <int E, class T>
__device__ __forceinline__ void load_at_once(const T* from, T (&to)[E]) {
  using W = typename UnitOf<sizeof(T) * E>::type;
  const W word = __ldcg(reinterpret_cast<const W*>(from));
  memcpy(static_cast<void*>(to), &word, sizeof(W));
}

/// Stores a pack with one instruction. (As an assignment, which the compiler may move, results of
/// other packs would wait in registers and spill.)
template <int E, class T>
__device__ __forceinline__ void store_at_once(T* to, const T (&from)[E]) {
  using W = typename UnitOf<sizeof(T) * E>::type;
  W word;
  memcpy(&word, from, sizeof(W));
  __stcg(reinterpret_cast<W*>(to), word);
}

/// Packs of a half row, whose lanes combine in the accumulator; everything above combines in the
/// carried type.
inline constexpr int packs_of_half_row = 16;

/// Scans the packs of neighbouring lanes. On return x[i] is the fold of the pack's first i + 1
/// elements, but the last is the fold of the line's elements in this half row up to and with it.
///
/// Lanes combine by the scheme of Kogge and Stone (IEEE Trans. Comput. C-22, 1973), so the order of
/// combination depends on the place in the line and not on the lane. A sum of floats is rounded
/// twice in a pack of four (its total is added in pairs) and four times among 16 packs.
///
/// \param pack  number of the lane's pack within its line and this row
/// \param valid elements of the line from this pack on; users' operators see no others
template <int E, class A, class Op>
__device__ __forceinline__ void scan_half_rows(const Op& op, A (&x)[E], int pack, int valid) {
  const bool is_full = valid >= E;
  A total = x[E - 1];
  if (is_eager<Op> || is_full) total = fold_pack<0, E>(op, x);
#pragma unroll
  for (int i = 1; i < E - 1; ++i) {
    if (is_eager<Op> || i < valid) x[i] = op(x[i - 1], x[i]);
  }
  const int place = pack % packs_of_half_row;
#pragma unroll
  for (int distance = 1; distance < packs_of_half_row; distance *= 2) {
    const A before = shuffle_up(total, distance);
    // A pack that is not full is the last of its line: nothing follows that would need its total.
    const bool has_before = place >= distance && (is_eager<Op> || is_full);
    total = combine_if(has_before, op, before, total, total);
  }
  x[E - 1] = total;
}

/// E neighbours in shared memory, moved 16 bytes at a time where they fill those: scalar access to
/// packs would meet the same bank E times.
template <class T, int E>
struct alignas(sizeof(T) * E % 16 == 0 ? 16 : alignof(T)) Pack {
  T value[E];
};

/// Reads the lane's pack of a row in shared memory.
template <class A, int E>
__device__ __forceinline__ void read_pack(const A* row, A (&x)[E], int lane) {
  const Pack<A, E> pack = reinterpret_cast<const Pack<A, E>*>(row)[lane];
#pragma unroll
  for (int i = 0; i < E; ++i) x[i] = pack.value[i];
}
/// Writes it.
template <class A, int E>
__device__ __forceinline__ void write_pack(A* row, const A (&x)[E], int lane) {
  Pack<A, E> pack;
#pragma unroll
  for (int i = 0; i < E; ++i) pack.value[i] = x[i];
  reinterpret_cast<Pack<A, E>*>(row)[lane] = pack;
}

/// Changes a row from striped (x[i] is element i * 32 + lane) to packed (x[i] is element
/// lane * E + i), through shared memory of the warp.
template <class A, int E>
__device__ __forceinline__ void stripes_to_packs(A* row, A (&x)[E], int lane) {
#pragma unroll
  for (int i = 0; i < E; ++i) row[i * lanes + lane] = x[i];
  __syncwarp();
  read_pack(row, x, lane);
  __syncwarp();
}

/// The way back.
template <class A, int E>
__device__ __forceinline__ void packs_to_stripes(A* row, A (&x)[E], int lane) {
  write_pack(row, x, lane);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < E; ++i) x[i] = row[i * lanes + lane];
  __syncwarp();
}

// ---- Load ---------------------------------------------------------------------------------------

/// How threads move the packs of a line.
enum class PackAccess {
  whole,            ///< with one instruction each
  striped_results,  ///< elements so, results as below
  striped           ///< a row at a time, one by one, through shared memory
};

/// Loads V packs of a line, `step` elements apart, the first from element k on; the packs are
/// aligned in memory and n is a multiple of their length. Elements from n on are left alone.
template <int V, int E, class A, class T>
__device__ __forceinline__ void load_packs(const ArrayLine<T>& line, int k, int step, int n,
                                           A (&x)[V][E]) {
  using Raw = std::remove_const_t<T>;
  const bool backward = line.stride < 0;
  const Raw* pack = backward ? line.data - k - (E - 1) : line.data + k;
  const int stride = backward ? -step : step;
  Raw raw[V][E];
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

/// Loads `count` stripes of a line: elements k, k + 32, ...
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
template <int Count, class A, class Line>
__device__ __forceinline__ void load_stripes(const Line& line, int k, int n, A* x) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if (k + i * lanes < n) x[i] = static_cast<A>(line(k + i * lanes));
  }
}

// ---- Store --------------------------------------------------------------------------------------

/// Stores a whole pack of results at `pack`, its lowest address.
template <int E, class Value>
__device__ __forceinline__ void store_pack(Value* pack, bool backward, const Value (&y)[E]) {
  Value raw[E];
#pragma unroll
  for (int i = 0; i < E; ++i) raw[i] = backward ? y[E - 1 - i] : y[i];
  store_at_once(pack, raw);
}

/// From a scanned pack to B after each of its elements.
///
/// \param valid  elements of the line in the pack
/// \param before U, the fold of all before the half row
/// \param left   l, the fold of the packs before the own one in the half row, if has_left
/// \param x      as scan_half_rows() leaves it
template <int E, class P>
__device__ __forceinline__ void fold_all(const P& p, int valid,
                                         const Maybe<typename Types<P>::A>& before, bool has_left,
                                         const typename Types<P>::A& left,
                                         const typename Types<P>::A (&x)[E],
                                         typename Types<P>::A (&folds)[E]) {
  using A = typename Types<P>::A;
  constexpr bool eager = is_eager<typename Types<P>::Op>;
#pragma unroll
  for (int i = 0; i < E; ++i) {
    const bool exists = eager || i < valid;
    // The last element has been combined with the packs before.
    const A in_half = i == E - 1 ? x[i] : A(combine_if(has_left && exists, p.op, left, x[i], x[i]));
    folds[i] = combine_if(before.exists && exists, p.op, before.value, in_half, in_half);
  }
}

/// Bytes of shared memory through which a warp exchanges a row.
template <class P, class T = Types<P>>
inline constexpr int bytes_of_row =
    std::max<int>(sizeof(typename T::A), sizeof(typename T::Value)) * lanes* T::pack;
/// Bytes of shared memory for the totals of warps.
template <class R>
inline constexpr int bytes_of_warp_totals = sizeof(R) * (most_threads_in_registers / lanes);

/// A value of the carried type that may be absent, from one of the accumulator.
template <class R, class A>
__device__ __forceinline__ Maybe<R> widened(const Maybe<A>& value) {
  return value.exists ? Maybe<R>(static_cast<R>(value.value)) : Maybe<R>();
}

/// Rows of a warp: what the registers for elements hold.
template <class P>
inline constexpr int rows_of_warp =
    std::max<int>(1, element_registers / (Types<P>::pack * registers_of(sizeof(typename P::A))));

/// Scans lines of which a block holds one.
///
/// \tparam access other than striped where packs are aligned: in all operands, or in the input
template <PackAccess access, class P>
__global__ void __launch_bounds__(most_threads_in_registers)
    scan_in_registers(const __grid_constant__ P problem) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  using Value = typename Types<P>::Value;
  constexpr int V = rows_of_warp<P>;
  constexpr int E = Types<P>::pack;
  constexpr int row_length = lanes * E;
  const auto op = carrying(problem.op);
  using Op = typename Types<P>::Carrying;
  constexpr bool eager = is_eager<Op>;
  constexpr bool packs = access != PackAccess::striped;
  std::byte* const shared = shared_memory();

  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const LineNumber number{problem.batch, blockIdx.x};
  const int n = static_cast<int>(problem.n);
  const int first = warp * V * row_length;
  const auto input = problem.input.line(number);
  const ArrayLine<Value> output = problem.output.line(number);
  // Shared memory holds totals of warps, then a row of each warp.
  R* const totals = reinterpret_cast<R*>(shared);
  std::byte* const row = shared + bytes_of_warp_totals<R> + warp * bytes_of_row<P>;

  // Load.
  A x[V][E];
  if constexpr (packs) {
    load_packs(input, first + lane * E, row_length, n, x);
  } else {
    load_stripes<V * E>(input, first + lane, n, &x[0][0]);
  }

  // Scan the half rows. Their totals gather in the lanes: that of half row h in lane h % 32.
  constexpr int groups = (2 * V + lanes - 1) / lanes;
  constexpr int rows_of_group = lanes / 2;
  const int end_of_half = lane % 2 == 0 ? packs_of_half_row - 1 : lanes - 1;
  A half_totals[groups] = {};
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int k = first + v * row_length + lane * E;
    if constexpr (!packs) stripes_to_packs(reinterpret_cast<A*>(row), x[v], lane);
    scan_half_rows<E>(problem.op, x[v], lane, n - k);
    const A half_total = shuffle(x[v][E - 1], end_of_half);
    if (lane / 2 == v % rows_of_group) half_totals[v / rows_of_group] = half_total;
  }
  // Half rows that are full; no other has a total, and nothing follows it that would need one.
  const int halves_left = n <= first ? 0 : (n - first) / (row_length / 2);
  const int full_halves = halves_left < 2 * V ? halves_left : 2 * V;
  R halves[groups];  // folds of the warp up to and with each half row
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    halves[g] = static_cast<R>(half_totals[g]);
    const int half = g * lanes + lane;
#pragma unroll
    for (int distance = 1; distance < lanes && distance < 2 * V; distance *= 2) {
      const R lower = shuffle_up(halves[g], distance);
      const bool has_lower = lane >= distance && (eager || half < full_halves);
      halves[g] = combine_if(has_lower, op, lower, halves[g], halves[g]);
    }
    if (g > 0) {
      const R groups_before = shuffle(halves[g - 1], lanes - 1);
      halves[g] = combine_if(eager || half < full_halves, op, groups_before, halves[g], halves[g]);
    }
  }

  // Carry: the fold of the starting value and the warps before. A total may be stored in place of
  // the starting value, behind the barrier.
  Maybe<R> before = widened<R>(problem.start.at(number));
  if (lane == (2 * V - 1) % lanes) totals[warp] = halves[groups - 1];
  __syncthreads();
  for (int w = 0; w < warp; ++w) before = Maybe<R>(combine(op, before, totals[w]));
  // What comes before the warp, and B at the end of each half row, rounded to the accumulator.
  const A before_warp = static_cast<A>(before.value);
  A ends_of_halves[groups];
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const bool combines = before.exists && (eager || g * lanes + lane < full_halves);
    ends_of_halves[g] =
        static_cast<A>(combine_if(combines, op, before.value, halves[g], halves[g]));
  }

  // Store.
  const bool backward = output.stride < 0;
  const int step = backward ? -row_length : row_length;
  Value* pack =
      backward ? output.data - (first + lane * E) - (E - 1) : output.data + (first + lane * E);
  Value* stripe = output.data + (first + lane) * output.stride;
  const bool in_first_half = lane < packs_of_half_row;
  const bool has_left = lane % packs_of_half_row > 0;
  const bool ends_half = lane % packs_of_half_row == packs_of_half_row - 1;
  const Ends<P> ends{problem};
  A end_before = before_warp;  // B at the end of the row before
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int row_begin = first + v * row_length;
    const int k = row_begin + lane * E;
    const A left = shuffle_up(x[v][E - 1], 1);
    const A middle = shuffle(ends_of_halves[v / rows_of_group], 2 * (v % rows_of_group));
    const A end = shuffle(ends_of_halves[v / rows_of_group], 2 * (v % rows_of_group) + 1);

    Maybe<A> before_half(in_first_half ? end_before : middle);
    before_half.exists = v > 0 || !in_first_half || before.exists;
    A folds[E];
    fold_all<E>(problem, n - k, before_half, has_left, left, x[v], folds);
    if (ends_half) folds[E - 1] = in_first_half ? middle : end;
    // B(k); nothing comes before the first element of a line without a starting value.
    A at_begin = combine_if(has_left && before_half.exists && (eager || k < n), problem.op,
                            before_half.value, left, has_left ? left : before_half.value);
    if (k == 0 && !before.exists) at_begin = problem.identity.value;

    const bool inclusive = problem.form == Form::inclusive;
    Value y[E];
#pragma unroll
    for (int i = 0; i < E; ++i) {
      y[i] = static_cast<Value>(inclusive ? folds[i] : (i == 0 ? at_begin : folds[i - 1]));
    }
    if constexpr (access == PackAccess::whole) {
      if (k < n) store_pack(pack, backward, y);
      pack += step;
    } else {
      packs_to_stripes(reinterpret_cast<Value*>(row), y, lane);
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (row_begin + i * lanes + lane < n) *stripe = y[i];
        stripe += backward ? -lanes : lanes;
      }
    }
    if (ends.exist() && k < n) {
      if (k == 0) ends.store_begin(number, at_begin);
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (k + i == n - 1) ends.store_end(number, folds[i]);
      }
    }
    end_before = end;
  }
}

}  // namespace KokkosScan::impl::cuda
