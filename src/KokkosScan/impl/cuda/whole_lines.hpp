// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kernels for lines that fit into the registers of a block: each element is loaded once, scanned
/// in registers, and its result stored once. All loads are issued before the first value is used.
///
/// The combination tree counts from the element that is scanned first. E neighbours make a pack,
/// which one lane combines; 16 packs make a half row, whose lanes combine by the scheme of Kogge
/// and Stone, in the accumulator. Half rows of a warp combine by the same scheme, 32 at a time, and
/// the warps of a line left to right, both in the carried type. With U the fold of all before a
/// half row, l that of the packs before the own one in it, and x the elements so far of the pack,
///
///     B(k) = (U * l) * x    within a pack,
///     B(k) = U * l          at the end of a pack, where l includes it,
///     B(k) = U              at the end of a half row, where U includes it,
///
/// and a part that is empty is left out. U is rounded to the accumulator. E depends on the types
/// alone, the half rows of a warp on the types and n.

#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// How a warp reaches memory: a pack a lane, which needs lines that are aligned to packs; or a
/// stripe of neighbouring elements an instruction, exchanged through shared memory, at any
/// alignment and for any input.
enum class Access { packs, stripes };

/// What a problem's types are to the kernels.
template <class P>
struct Types {
  using A = typename P::A;
  using R = carried_t<std::remove_cv_t<decltype(P::op)>, A>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
};

// ---- Load ---------------------------------------------------------------------------------------

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
    if (k + v * step < n) load_streaming(pack, raw[v]);
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
  store_streaming(pack, raw);
}

/// From a scanned pack to what is stored in the places of its elements: B(k+1) ... B(k+E), or
/// B(k) ... B(k+E-1).
///
/// \param valid  elements of the line in the pack
/// \param before the fold of all before the pack
/// \param at_end B at the end of the pack, where it is full
template <int E, class P>
__device__ __forceinline__ void results(const P& p, int valid,
                                        const Maybe<typename Types<P>::A>& before,
                                        const typename Types<P>::A& at_end,
                                        const typename Types<P>::A (&x)[E],
                                        typename Types<P>::A (&folds)[E],
                                        typename Types<P>::Value (&y)[E]) {
  using A = typename Types<P>::A;
  using Value = typename Types<P>::Value;
  constexpr bool eager = is_eager<std::remove_cv_t<decltype(P::op)>>;
#pragma unroll
  for (int i = 0; i < E - 1; ++i) {
    if (eager || i < valid) {
      folds[i] = combine_if(before.exists, p.op, before.value, x[i], x[i]);
    }
  }
  folds[E - 1] = at_end;
  const bool inclusive = p.form == Form::inclusive;
  const A first = before.exists ? before.value : p.identity.value;
#pragma unroll
  for (int i = 0; i < E; ++i) {
    y[i] = static_cast<Value>(inclusive ? folds[i] : (i == 0 ? first : folds[i - 1]));
  }
}

/// Stores what the ends of a line have besides the results: B(0) before an inclusive output, B(n)
/// behind an exclusive one, and the total. Called for the packs that hold the first and the last
/// element; `folds` are B(k+1) ... B(k+E).
template <int E, class P>
__device__ __forceinline__ void store_ends(const P& p, const Coordinates& c,
                                           const ArrayLine<typename Types<P>::Value>& output, int k,
                                           const Maybe<typename Types<P>::A>& before,
                                           const typename Types<P>::A (&folds)[E]) {
  using Value = typename Types<P>::Value;
  const int n = static_cast<int>(p.n);
  if (k == 0 && p.extra == Extra::first) {
    output(-1) = static_cast<Value>(before.exists ? before.value : p.identity.value);
  }
  if (k < n && k + E >= n) {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if (k + i != n - 1) continue;
      if (p.extra == Extra::last) output(n) = static_cast<Value>(folds[i]);
      if (p.totals.data != nullptr) {
        p.totals.line(c)(0) = static_cast<typename Types<P>::Total>(folds[i]);
      }
    }
  }
}

/// Bytes of shared memory through which a warp exchanges a row.
template <class P, int E, class T = Types<P>>
inline constexpr int bytes_of_row =
    std::max<int>(sizeof(typename T::A), sizeof(typename T::Value)) * lanes* E;

/// A value of the carried type that may be absent, from one of the accumulator.
template <class R, class A>
__device__ __forceinline__ Maybe<R> widened(const Maybe<A>& value) {
  return value.exists ? Maybe<R>(static_cast<R>(value.value)) : Maybe<R>();
}

// ---- Lines of several rows ----------------------------------------------------------------------

/// Scans lines of more than a row; a line belongs to `warps_of_line` warps of one block.
///
/// \tparam V rows of a warp
template <class P, int V, int E, Access access, int Threads>
__global__ void __launch_bounds__(Threads)
    scan_whole_lines(const __grid_constant__ P problem, int warps_of_line) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  using Value = typename Types<P>::Value;
  constexpr int row_length = lanes * E;
  const auto op = carrying(problem.op);
  using Op = std::remove_cv_t<decltype(op)>;
  constexpr bool eager = is_eager<Op>;
  extern __shared__ __align__(16) std::byte shared[];

  const int warp = threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  const int part = warp % warps_of_line;
  const int lines_of_block = blockDim.x / lanes / warps_of_line;
  const std::int64_t line =
      static_cast<std::int64_t>(blockIdx.x) * lines_of_block + warp / warps_of_line;
  const bool exists = line < problem.batch.count;
  const Coordinates c = problem.batch.coordinates(exists ? line : 0);
  const int n = exists ? static_cast<int>(problem.n) : 0;
  const int first = part * V * row_length;
  const auto input = problem.input.line(c);
  const ArrayLine<Value> output = problem.output.line(c);
  // Shared memory holds totals of warps, then a row of each warp.
  R* const totals = reinterpret_cast<R*>(shared);
  const int after_totals = (blockDim.x / lanes * static_cast<int>(sizeof(R)) + 15) / 16 * 16;
  std::byte* const row = shared + after_totals + warp * bytes_of_row<P, E>;

  // Load.
  A x[V][E];
  if constexpr (access == Access::packs) {
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
    if constexpr (access == Access::stripes)
      stripes_to_packs(reinterpret_cast<A*>(row), x[v], lane);
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

  // Carry: the fold of the starting value and the warps before.
  Maybe<R> before = widened<R>(problem.start.at(c));
  if (warps_of_line > 1) {
    if (lane == (2 * V - 1) % lanes) totals[warp] = halves[groups - 1];
    __syncthreads();
    if (first < n) {
      for (int w = warp - part; w < warp; ++w) before = Maybe<R>(combine(op, before, totals[w]));
    }
  }
  // What comes before the warp, and B at the end of each half row, rounded to the accumulator.
  const A before_warp = static_cast<A>(before.value);
  A ends[groups];
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const bool combines = before.exists && (eager || g * lanes + lane < full_halves);
    ends[g] = static_cast<A>(combine_if(combines, op, before.value, halves[g], halves[g]));
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
  const bool has_ends = problem.extra != Extra::none || problem.totals.data != nullptr;
  A end_before = before_warp;  // B at the end of the row before
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int row_begin = first + v * row_length;
    const int k = row_begin + lane * E;
    const A mine = x[v][E - 1];
    const A left = shuffle_up(mine, 1);
    const A middle = shuffle(ends[v / rows_of_group], 2 * (v % rows_of_group));
    const A end = shuffle(ends[v / rows_of_group], 2 * (v % rows_of_group) + 1);

    Maybe<A> before_half(in_first_half ? end_before : middle);
    before_half.exists = v > 0 || !in_first_half || before.exists;
    const bool joins_left = has_left && before_half.exists;
    Maybe<A> before_pack(combine_if(joins_left && (eager || k < n), problem.op, before_half.value,
                                    left, has_left ? left : before_half.value));
    before_pack.exists = has_left || before_half.exists;
    A at_end = combine_if(before_half.exists && (eager || k + E <= n), problem.op,
                          before_half.value, mine, mine);
    if (ends_half) at_end = in_first_half ? middle : end;

    A folds[E];
    Value y[E];
    results<E>(problem, n - k, before_pack, at_end, x[v], folds, y);
    if constexpr (access == Access::packs) {
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
    if (has_ends && (row_begin == 0 || (row_begin < n && row_begin + row_length >= n))) {
      store_ends<E>(problem, c, output, k, before_pack, folds);
    }
    end_before = end;
  }
}

// ---- Lines of up to a row -----------------------------------------------------------------------

/// Scans lines of up to a row; a row holds as many whole lines as fit.
///
/// \tparam V rows of a warp
/// \param packs of a line
/// \param lines_of_row
template <class P, int V, int E, Access access, int Threads>
__global__ void __launch_bounds__(Threads)
    scan_short_lines(const __grid_constant__ P problem, int packs, int lines_of_row) {
  using A = typename Types<P>::A;
  using R = typename Types<P>::R;
  using Value = typename Types<P>::Value;
  const auto op = carrying(problem.op);
  constexpr bool eager = is_eager<std::remove_cv_t<decltype(op)>>;
  extern __shared__ __align__(16) std::byte shared[];

  const int warp = threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  const int n = static_cast<int>(problem.n);
  const int line_of_lane = lane / packs;
  const int pack = lane - line_of_lane * packs;
  const int k = pack * E;
  const std::int64_t first_line =
      (static_cast<std::int64_t>(blockIdx.x) * (Threads / lanes) + warp) * (V * lines_of_row);
  // Lines of the warp that exist.
  const std::int64_t rest = problem.batch.count - first_line;
  if (rest <= 0) return;
  const int lines = static_cast<int>(rest < V * lines_of_row ? rest : V * lines_of_row);
  const auto has_pack = [&](int v) {
    return line_of_lane < lines_of_row && v * lines_of_row + line_of_lane < lines;
  };

  // Striped access: the line and the place of element i * 32 + lane, the same for each row.
  std::byte* row = shared + warp * bytes_of_row<P, E>;
  int line_of_stripe[E] = {};
  int place_of_stripe[E] = {};
  if constexpr (access == Access::stripes) {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      const int element = i * lanes + lane;
      line_of_stripe[i] = element / n;
      place_of_stripe[i] = element - line_of_stripe[i] * n;
    }
  }
  const auto has_stripe = [&](int v, int i) {
    return line_of_stripe[i] < lines_of_row && v * lines_of_row + line_of_stripe[i] < lines;
  };
  const auto slot_of_stripe = [&](int i) {
    return line_of_stripe[i] * packs * E + place_of_stripe[i];
  };

  // Load.
  A x[V][E];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const std::int64_t line_of_row = first_line + v * lines_of_row;
    if constexpr (access == Access::packs) {
      if (!has_pack(v)) continue;
      const Coordinates c = problem.batch.coordinates(line_of_row + line_of_lane);
      A pack_of_row[1][E];
      load_packs(problem.input.line(c), k, 0, n, pack_of_row);
#pragma unroll
      for (int i = 0; i < E; ++i) x[v][i] = pack_of_row[0][i];
    } else {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (!has_stripe(v, i)) continue;
        const Coordinates c = problem.batch.coordinates(line_of_row + line_of_stripe[i]);
        x[v][i] = static_cast<A>(problem.input.line(c)(place_of_stripe[i]));
      }
    }
  }

  // Scan and store.
  const int place = pack % packs_of_half_row;
  const bool in_second_half = pack >= packs_of_half_row;
  const bool has_left = place > 0;
  const bool ends_half = place == packs_of_half_row - 1;
  const bool has_ends = problem.extra != Extra::none || problem.totals.data != nullptr;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const std::int64_t line_of_row = first_line + v * lines_of_row;
    if constexpr (access == Access::stripes) {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (has_stripe(v, i)) reinterpret_cast<A*>(row)[slot_of_stripe(i)] = x[v][i];
      }
      __syncwarp();
      read_pack(reinterpret_cast<const A*>(row), x[v], lane);
      __syncwarp();
    }
    const bool exists = has_pack(v);
    const int valid = exists ? n - k : 0;
    scan_half_rows<E>(problem.op, x[v], pack, valid);
    const A mine = x[v][E - 1];
    const A left = shuffle_up(mine, 1);
    // The total of the line's first half row, for packs of its second.
    const A half = shuffle(mine, (lane - pack + packs_of_half_row - 1) % lanes);

    const Coordinates c = problem.batch.coordinates(exists ? line_of_row + line_of_lane : 0);
    const Maybe<A> start = problem.start.at(c);
    const Maybe<R> start_wide = widened<R>(start);
    Maybe<A> before_half(start.value);
    before_half.exists = start.exists || in_second_half;
    if (in_second_half && (eager || exists)) {
      before_half.value = static_cast<A>(combine(op, start_wide, static_cast<R>(half)));
    }
    Maybe<A> before_pack(combine_if(has_left && before_half.exists && (eager || exists), problem.op,
                                    before_half.value, left, has_left ? left : before_half.value));
    before_pack.exists = has_left || before_half.exists;
    A at_end = combine_if(before_half.exists && (eager || valid >= E), problem.op,
                          before_half.value, mine, mine);
    if (ends_half && valid >= E) {
      // Halves combine before the start joins them.
      R total = static_cast<R>(mine);
      if (in_second_half) total = op(static_cast<R>(half), total);
      at_end = static_cast<A>(combine(op, start_wide, total));
    }

    A folds[E];
    Value y[E];
    results<E>(problem, valid, before_pack, at_end, x[v], folds, y);
    const ArrayLine<Value> output = problem.output.line(c);
    if constexpr (access == Access::packs) {
      const bool backward = output.stride < 0;
      if (exists) {
        store_pack(backward ? output.data - k - (E - 1) : output.data + k, backward, y);
      }
    } else {
      write_pack(reinterpret_cast<Value*>(row), y, lane);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (!has_stripe(v, i)) continue;
        const Coordinates s = problem.batch.coordinates(line_of_row + line_of_stripe[i]);
        problem.output.line(s)(place_of_stripe[i]) =
            reinterpret_cast<Value*>(row)[slot_of_stripe(i)];
      }
      __syncwarp();
    }
    // A total may be stored where lanes have read the starting value.
    if (has_ends) __syncwarp();
    if (has_ends && exists) store_ends<E>(problem, c, output, k, before_pack, folds);
  }
}

}  // namespace KokkosScan::impl::cuda
