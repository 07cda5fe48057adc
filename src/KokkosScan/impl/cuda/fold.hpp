// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds of whole lines, without results: the first thing that a scan over ranks needs of a rank
/// (impl/mpi/tree.hpp). They use the carried type and combine values in the order of the line, so
/// the operator need not commute.
///
/// The lanes of a line fold a few neighbours each and combine their folds with shuffles, tile by
/// tile. Contiguous lines have up to 32 lanes; others have one, and neighbouring lanes have
/// neighbouring lines. If there are too few lines to keep the device busy, they are cut into parts,
/// whose folds are then folded in the same way.

#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

inline constexpr int threads_that_fold = 256;
/// Neighbours that a lane reads before it combines them: few, so that the loads of a warp cover few
/// sectors.
template <class R>
inline constexpr int neighbours_that_fold = sizeof(R) <= 8 ? 8 : (sizeof(R) <= 16 ? 4 : 1);
/// The fewest elements of a part.
inline constexpr std::int64_t least_row_part = 512;
inline constexpr std::int64_t least_column_part = 64;
/// Parts of rows for each resident warp: with several, the load is balanced better at the end.
inline constexpr int rounds_of_rows = 2;

/// How lines are folded.
struct FoldShape {
  std::int64_t n;       ///< of a line
  std::int64_t parts;   ///< of a line
  std::int64_t length;  ///< of a part
  int width;            ///< lanes of a part; a power of two
};

/// Folds parts of lines, of at least one element each.
///
/// \tparam A the type of elements, which the operator carries as R
/// \param  to takes the folds of a line's parts
template <class A, class R, class Op, class In, class To>
__global__ void __launch_bounds__(threads_that_fold)
    fold_lines(const __grid_constant__ Op op, const __grid_constant__ Batch batch,
               const __grid_constant__ In in, const __grid_constant__ To to,
               const __grid_constant__ FoldShape shape) {
  constexpr int N = neighbours_that_fold<R>;
  const int place = static_cast<int>(threadIdx.x) % shape.width;
  const std::int64_t index =
      (std::int64_t{blockIdx.x} * threads_that_fold + threadIdx.x) / shape.width;
  const bool exists = index < batch.count * shape.parts;
  const Division at(exists ? index : 0, batch.count);
  const Coordinates line = batch.coordinates(at.remainder);
  const auto elements = in.line(line);
  const auto read = [&](std::int64_t k) { return static_cast<R>(static_cast<A>(elements(k))); };
  const std::int64_t begin = at.quotient * shape.length;
  const std::int64_t end = begin + shape.length < shape.n ? begin + shape.length : shape.n;
  Fold<Op, R> fold(op);
#pragma unroll 1
  for (std::int64_t tile = begin; tile < end; tile += shape.width * N) {
    const std::int64_t k = tile + place * N;
    R next{};
    if (k + N <= end) {
      R x[N];
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = read(k + i);
      next = x[0];
#pragma unroll
      for (int i = 1; i < N; ++i) next = static_cast<R>(op(next, x[i]));
    } else if (k < end) {
      next = read(k);
      for (int i = 1; k + i < end; ++i) next = static_cast<R>(op(next, read(k + i)));
    }
    if (shape.width > 1) {
      const std::int64_t present = (end - tile + N - 1) / N;
      const int last = (present < shape.width ? static_cast<int>(present) : shape.width) - 1;
      const int first_lane = static_cast<int>(threadIdx.x) % lanes - place;
      next = shuffle(scan_lanes(op, next, place, k < end), first_lane + last);
    }
    fold = {op, fold.then(op, next)};
  }
  if (place == 0 && exists) to.line(line)(at.quotient) = fold.value();
}

/// Folds lines of at least one element and stores the folds in the totals of a problem, whose type
/// is the carried one. For the types of problems that Backend supports.
struct LineFold {
  /// The bytes that suffice for fold() with this many lines of n elements, or fewer.
  template <class P, class Exec>
  static std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
    if (n < 2 * least_column_part) return 0;
    const std::int64_t parts = threads_of(exec) + lines;
    // The parts of parts are fewer by least_row_part, and so on.
    return static_cast<std::size_t>(parts + parts / (least_row_part / 2)) *
           sizeof(typename Combination<P>::R);
  }

  /// \param workspace of workspace_bytes() bytes
  template <class Exec, class P>
  static void fold(const Exec& exec, const P& p, std::byte* workspace) {
    fold<typename P::A>(exec, p, p.input, p.n, p.n > 1 && has_contiguous_lines(p),
                        reinterpret_cast<typename Combination<P>::R*>(workspace));
  }

 private:
  template <class A, class Exec, class P, class In, class R>
  static void fold(const Exec& exec, const P& p, const In& in, std::int64_t n, bool are_rows,
                   R* workspace) {
    const std::int64_t lines = p.batch.count;
    FoldShape shape{n, 1, n, 1};
    while (are_rows && shape.width < lanes && shape.width * neighbours_that_fold<R> < n) {
      shape.width *= 2;
    }
    // A warp folds a long row, so all resident warps are needed. A thread reads several rows of its
    // column at once, so a quarter of the resident threads suffices.
    const std::int64_t most =
        are_rows ? threads_of(exec) / lanes * rounds_of_rows : threads_of(exec);
    const std::int64_t enough = are_rows ? most : most / 4;
    const std::int64_t least = are_rows ? least_row_part : least_column_part;
    if (lines < enough && n >= 2 * least) {
      shape.length = divide_up(n, std::min(divide_up(most, lines), n / least));
      shape.parts = divide_up(n, shape.length);  // none is empty
    }
    const auto fold_to = [&](const auto& to) {
      const Launch launch{p.function, "cuda/fold_lines",
                          divide_up(lines * shape.parts * shape.width, threads_that_fold),
                          threads_that_fold, 0};
      using Op = typename Combination<P>::Wide;
      enqueue(exec, launch, fold_lines<A, R, Op, In, std::remove_cvref_t<decltype(to)>>, n, lines,
              Op(carrying(p.op)), p.batch, in, to, shape);
    };
    if (shape.parts == 1) return fold_to(p.totals);
    Array<R> folds{workspace, {1, {}}};
    std::int64_t stride = shape.parts;
    for (int d = p.batch.rank - 1; d >= 0; stride *= p.batch.extent[d--]) {
      folds.strides.batch[d] = stride;
    }
    fold_to(folds);
    fold<R>(exec, p, Array<const R>{workspace, folds.strides}, shape.parts, true,
            workspace + lines * shape.parts);
  }
  template <class Exec>
  static std::int64_t threads_of(const Exec& exec) {
    return std::int64_t{2048} * multiprocessors(exec);
  }
};

}  // namespace KokkosScan::impl::cuda
