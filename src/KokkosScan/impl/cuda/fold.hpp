// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds of whole lines, without results: the first thing that a scan over ranks needs of a rank
/// (impl/mpi/tree.hpp). They use the carried type and combine values in the order of the line, so
/// the operator need not commute.
///
/// In contiguous lines a lane folds a few neighbours, whose folds its warp combines with shuffles,
/// tile by tile. Other lines are folded by one thread each, which reads several elements before it
/// combines them; neighbouring threads have neighbouring lines. If there are too few lines to keep
/// the device busy, they are cut into parts, which are folded in the same way.

#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace KokkosScan::impl::cuda {

inline constexpr int threads_that_fold_lines = 256;
inline constexpr int warps_that_fold_lines = threads_that_fold_lines / lanes;
/// Neighbours that a lane folds: few, so that the loads of a warp cover few sectors.
template <class R>
inline constexpr int neighbours_that_fold = sizeof(R) <= 8 ? 4 : (sizeof(R) <= 16 ? 2 : 1);
/// Short lines from which a lane reads before it combines.
inline constexpr int short_lines_at_once = 4;
/// Elements of a column that a thread reads before it combines.
template <class R>
inline constexpr int rows_that_fold = sizeof(R) <= 8 ? 8 : (sizeof(R) <= 16 ? 4 : 1);
/// The fewest elements of a part.
inline constexpr std::int64_t least_row_part = 512;
inline constexpr std::int64_t least_column_part = 64;
/// Parts of rows for each resident warp: with several, the load is balanced better at the end.
inline constexpr int rounds_of_rows = 2;
/// The most parts of a line that one warp combines.
inline constexpr std::int64_t most_parts_of_warp = 1024;

/// Where folds are stored: in the totals of the problem, or in the workspace if lines are cut.
template <class R>
struct FoldedParts {
  std::int64_t parts;   ///< of a line
  std::int64_t length;  ///< of a part, in elements
  R* folds;             ///< line by line

  template <class P>
  __device__ __forceinline__ void store(const P& p, const Coordinates& place, std::int64_t line,
                                        std::int64_t part, const R& fold) const {
    if (parts == 1) {
      p.totals.line(place)(0) = fold;
    } else {
      folds[line * parts + part] = fold;
    }
  }
};

/// Reads elements of a line and converts them to the carried type.
template <class P>
struct ReadLine {
  using A = typename P::A;
  using R = typename Combination<P>::R;
  decltype(std::declval<P>().input.line(std::declval<Coordinates>())) elements;

  __device__ __forceinline__ R operator()(std::int64_t k) const {
    return static_cast<R>(static_cast<A>(elements(k)));
  }
};

/// Reads the elements from `first` to before `end`, at most N.
///
/// \return how many were read
template <int N, class R, class Read>
__device__ __forceinline__ int read_neighbours(R (&x)[N], const Read& read, std::int64_t first,
                                               std::int64_t end) {
  const std::int64_t left = end - first;
  if (left >= N) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = read(first + i);
    return N;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < left) x[i] = read(first + i);
  }
  return left > 0 ? static_cast<int>(left) : 0;
}
template <int N, class R, class Op>
__device__ __forceinline__ R fold_neighbours(const Op& op, const R (&x)[N], int count) {
  R fold = x[0];
#pragma unroll
  for (int i = 1; i < N; ++i) {
    if (i < count) fold = static_cast<R>(op(fold, x[i]));
  }
  return fold;
}

/// The fold of elements begin ... end - 1, at least one, by a warp. All lanes return it.
template <class R, class Op, class Read>
__device__ __forceinline__ R fold_by_warp(const Op& op, const Read& read, std::int64_t begin,
                                          std::int64_t end) {
  constexpr int N = neighbours_that_fold<R>;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  Fold<Op, R> fold(op);
  R x[N];
  int count = read_neighbours(x, read, begin + lane * N, end);
  for (std::int64_t tile = begin; tile < end; tile += lanes * N) {
    // Prefetches the next tile.
    R next[N];
    const int next_count = read_neighbours(next, read, tile + (lanes + lane) * N, end);
    const R folds = scan_lanes(op, fold_neighbours(op, x, count), lane, count > 0);
    const std::int64_t left = end - tile;
    const int last = left >= lanes * N ? lanes - 1 : static_cast<int>((left - 1) / N);
    fold = Fold<Op, R>(op, fold.then(op, shuffle(folds, last)));
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = next[i];
    count = next_count;
  }
  return fold.value();
}

/// Folds parts of contiguous lines, one per warp.
template <class P>
__global__ void __launch_bounds__(threads_that_fold_lines)
    fold_rows(const __grid_constant__ P p,
              const __grid_constant__ FoldedParts<typename Combination<P>::R> parts) {
  using R = typename Combination<P>::R;
  const std::int64_t index =
      std::int64_t{blockIdx.x} * warps_that_fold_lines + static_cast<int>(threadIdx.x) / lanes;
  if (index >= p.batch.count * parts.parts) return;
  const Division at(index, parts.parts);
  const Coordinates place = p.batch.coordinates(at.quotient);
  const std::int64_t begin = at.remainder * parts.length;
  const std::int64_t end = begin + parts.length < p.n ? begin + parts.length : p.n;
  const R fold = fold_by_warp<R>(carrying(p.op), ReadLine<P>{p.input.line(place)}, begin, end);
  if (threadIdx.x % lanes == 0) parts.store(p, place, at.quotient, at.remainder, fold);
}

/// Folds short contiguous lines, each by a warp or a part of one.
///
/// \param width lanes of a line
template <class P>
__global__ void __launch_bounds__(threads_that_fold_lines)
    fold_short_rows(const __grid_constant__ P p, int width) {
  using R = typename Combination<P>::R;
  constexpr int N = neighbours_that_fold<R>;
  const auto& op = carrying(p.op);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int lines_of_warp = lanes / width;
  const int place_in_line = lane % width;
  const std::int64_t warp =
      std::int64_t{blockIdx.x} * warps_that_fold_lines + static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t first = warp * (lines_of_warp * short_lines_at_once) + lane / width;
  R x[short_lines_at_once][N];
  int count[short_lines_at_once];
#pragma unroll
  for (int i = 0; i < short_lines_at_once; ++i) {
    const std::int64_t line = first + i * lines_of_warp;
    count[i] = 0;
    if (line >= p.batch.count) continue;
    const Coordinates place = p.batch.coordinates(line);
    count[i] = read_neighbours(x[i], ReadLine<P>{p.input.line(place)},
                               std::int64_t{place_in_line} * N, p.n);
  }
  const int last = static_cast<int>((p.n - 1) / N);
#pragma unroll
  for (int i = 0; i < short_lines_at_once; ++i) {
    const R fold = scan_lanes(op, fold_neighbours(op, x[i], count[i]), place_in_line, count[i] > 0);
    const std::int64_t line = first + i * lines_of_warp;
    if (place_in_line != last || line >= p.batch.count) continue;
    p.totals.line(p.batch.coordinates(line))(0) = fold;
  }
}

/// Folds parts of lines of any strides, one per thread.
template <class P>
__global__ void __launch_bounds__(threads_that_fold_lines)
    fold_columns(const __grid_constant__ P p,
                 const __grid_constant__ FoldedParts<typename Combination<P>::R> parts) {
  using R = typename Combination<P>::R;
  constexpr int N = rows_that_fold<R>;
  const std::int64_t index = std::int64_t{blockIdx.x} * threads_that_fold_lines + threadIdx.x;
  if (index >= p.batch.count * parts.parts) return;
  const Division at(index, p.batch.count);
  const Coordinates place = p.batch.coordinates(at.remainder);
  const ReadLine<P> read{p.input.line(place)};
  const auto& op = carrying(p.op);
  std::int64_t k = at.quotient * parts.length;
  const std::int64_t end = k + parts.length < p.n ? k + parts.length : p.n;
  R fold = read(k++);
  for (; k + N <= end; k += N) {
    R x[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = read(k + i);
#pragma unroll
    for (int i = 0; i < N; ++i) fold = static_cast<R>(op(fold, x[i]));
  }
  for (; k < end; ++k) fold = static_cast<R>(op(fold, read(k)));
  parts.store(p, place, at.remainder, at.quotient, fold);
}

/// Combines the parts of each line.
///
/// \param warps per line, each with neighbouring parts: one, or all warps of a block
template <class P>
__global__ void __launch_bounds__(threads_that_fold_lines)
    join_parts(const __grid_constant__ P p,
               const __grid_constant__ FoldedParts<typename Combination<P>::R> parts, int warps) {
  using R = typename Combination<P>::R;
  R* const of_warps = reinterpret_cast<R*>(shared_memory());
  const auto& op = carrying(p.op);
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t line = (std::int64_t{blockIdx.x} * warps_that_fold_lines + warp) / warps;
  const std::int64_t of_warp = (parts.parts + warps - 1) / warps;
  const std::int64_t begin = warp % warps * of_warp;
  const std::int64_t end = begin + of_warp < parts.parts ? begin + of_warp : parts.parts;
  if (line < p.batch.count && begin < end) {
    const R* const folds = parts.folds + line * parts.parts;
    const R fold = fold_by_warp<R>(
        op, [=](std::int64_t k) { return folds[k]; }, begin, end);
    if (threadIdx.x % lanes == 0) of_warps[warp] = fold;
  }
  __syncthreads();
  if (line >= p.batch.count || static_cast<int>(threadIdx.x) % (warps * lanes) != 0) return;
  R fold = of_warps[warp];
  for (int w = 1; w * of_warp < parts.parts; ++w) {
    fold = static_cast<R>(op(fold, of_warps[warp + w]));
  }
  p.totals.line(p.batch.coordinates(line))(0) = fold;
}

/// Folds lines of at least one element and stores the folds in the totals of a problem, whose type
/// is the carried one. For the types of problems that Backend supports.
struct LineFold {
  /// The bytes that suffice for fold() with this many lines of n elements, or fewer.
  template <class P, class Exec>
  static std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
    if (n < 2 * least_column_part) return 0;
    const std::int64_t threads = std::int64_t{threads_of_multiprocessor} * multiprocessors(exec);
    return static_cast<std::size_t>(threads + lines) * sizeof(typename Combination<P>::R);
  }

  /// \param workspace of workspace_bytes() bytes
  template <class Exec, class P>
  static void fold(const Exec& exec, const P& p, std::byte* workspace) {
    using R = typename Combination<P>::R;
    constexpr int N = neighbours_that_fold<R>;
    const std::int64_t lines = p.batch.count;
    const bool are_rows = p.n > 1 && has_contiguous_lines(p);
    if (are_rows && p.n <= lanes * N) {
      int width = 1;
      while (width * N < p.n) width *= 2;
      const std::int64_t of_block =
          std::int64_t{warps_that_fold_lines} * (lanes / width) * short_lines_at_once;
      const Launch launch{p.function, "cuda/fold_short_rows", divide_up(lines, of_block),
                          threads_that_fold_lines, 0};
      return enqueue(exec, launch, fold_short_rows<P>, p.n, lines, p, width);
    }
    // A warp folds one row, so all resident warps are needed. A thread reads several rows of its
    // column at once, so a quarter of the resident threads suffices.
    const std::int64_t threads = std::int64_t{threads_of_multiprocessor} * multiprocessors(exec);
    const std::int64_t most = are_rows ? threads / lanes * rounds_of_rows : threads;
    const std::int64_t enough = are_rows ? most : threads / 4;
    const std::int64_t least = are_rows ? least_row_part : least_column_part;
    FoldedParts<R> parts{1, p.n, reinterpret_cast<R*>(workspace)};
    if (lines < enough && p.n >= 2 * least) {
      parts.length = divide_up(p.n, std::min(divide_up(most, lines), p.n / least));
      parts.parts = divide_up(p.n, parts.length);  // none is empty
    }
    const std::int64_t of_block = are_rows ? warps_that_fold_lines : threads_that_fold_lines;
    const Launch launch{p.function, are_rows ? "cuda/fold_rows" : "cuda/fold_columns",
                        divide_up(lines * parts.parts, of_block), threads_that_fold_lines, 0};
    enqueue(exec, launch, are_rows ? fold_rows<P> : fold_columns<P>, p.n, lines, p, parts);
    if (parts.parts == 1) return;
    const int warps = parts.parts > most_parts_of_warp ? warps_that_fold_lines : 1;
    const Launch join{p.function, "cuda/join_parts",
                      divide_up(lines * warps, warps_that_fold_lines), threads_that_fold_lines,
                      warps_that_fold_lines * static_cast<int>(sizeof(R))};
    enqueue(exec, join, join_parts<P>, p.n, lines, p, parts, warps);
  }

 private:
  static constexpr int threads_of_multiprocessor = 2048;
};

}  // namespace KokkosScan::impl::cuda
