// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Columns in order, in registers: neighbouring threads have neighbouring lines, of any layout. A
/// thread loads the next elements of its own while it combines some.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Threads of a block that scans columns in order: as a rule, where there are so few columns that
/// each block shall have a multiprocessor, and where rows are not aligned and warps share nothing.
inline constexpr int threads_of_columns_in_order = 64;
inline constexpr int threads_of_few_columns_in_order = 32;
inline constexpr int threads_of_many_columns = 256;
/// Bytes of each of two chunks in registers: where columns are no longer than the first; where
/// there are threads enough to hide the latency of memory; and where there are not.
inline constexpr int bytes_of_short_chunk_in_order = 16;
inline constexpr int bytes_of_chunk_in_order = 32;
inline constexpr int bytes_of_long_chunk_in_order = 128;
/// Columns for each multiprocessor from which they are many.
inline constexpr int many_columns_in_order = 1024;
/// Neighbours from which warps share columns where rows are not aligned.
inline constexpr int least_columns_of_windows = 128;

/// Elements of a chunk of so many bytes.
template <class A>
constexpr int length_of_chunk_in_order(int bytes) {
  return std::max(1, bytes / static_cast<int>(sizeof(A)));
}

/// Neighbours in a line, in registers.
template <class A, int N, bool masked>
struct ChunkInOrder {
  A x[N];
  BitOfEach<N> counts = 0;

  /// Loads elements from k on. Behind the end of the line the last is loaded again: a condition
  /// would make each load wait for the one before.
  template <class Line>
  __device__ __forceinline__ void load(const Line& line, std::int64_t k, std::int64_t n) {
    if constexpr (masked) counts = 0;
    if (k + N <= n) {
#pragma unroll
      for (int i = 0; i < N; ++i) load_one(line, k + i, i);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) load_one(line, k + i < n ? k + i : n - 1, i);
    }
  }

 private:
  template <class Line>
  __device__ __forceinline__ void load_one(const Line& line, std::int64_t k, int i) {
    x[i] = element<A>(line, k);
    if constexpr (masked) counts |= static_cast<BitOfEach<N>>(impl::counts(line, k)) << i;
  }
};

/// Which columns a warp scans and which of their results it stores, where rows are not aligned:
/// warps share some columns, and each stores whole pieces of memory of a row, those that begin
/// among its columns and not among the next warp's. A piece that two warps wrote in part would be
/// read first. So the input must not be the output: shared columns are read twice.
struct Windows {
  int shared;  ///< columns that a warp shares with the next, as many as a piece has; 0: none
  std::int64_t warps_of_slab;  ///< for the columns that are neighbours
};

/// Bytes of a piece of memory.
inline constexpr int bytes_of_piece = 32;

/// The columns of a warp.
struct WindowOfWarp {
  std::int64_t first;  ///< number of the first
  int columns;         ///< that are there
  int stored;          ///< that are stored, from begin() on
  bool is_first, is_last;

  __device__ __forceinline__ WindowOfWarp(const Windows& windows, const Batch& batch,
                                          std::int64_t warp)
      : first(warp * lanes), stored(lanes - windows.shared), is_first(true), is_last(true) {
    std::int64_t left = batch.count - first;
    if (windows.shared > 0) {
      const std::int64_t inner = batch.extent[batch.rank - 1];
      const Division at(warp, windows.warps_of_slab);
      const std::int64_t column = at.remainder * stored;
      first = at.quotient * inner + column;
      left = first < batch.count ? inner - column : 0;
      is_first = at.remainder == 0;
      is_last = at.remainder == windows.warps_of_slab - 1;
    }
    columns = left < lanes ? static_cast<int>(left) : lanes;
  }
  /// The first column of the warp that it stores of a row.
  ///
  /// \param elements of a piece that precede the warp's first column there
  [[nodiscard]] __device__ __forceinline__ int begin(int piece, std::int64_t elements) const {
    return static_cast<int>(-elements & (piece - 1));
  }
};

/// Scans lines of which each thread has one.
///
/// \tparam N elements of a chunk
template <int N, class P>
__global__ void __launch_bounds__(threads_of_many_columns)
    scan_columns_in_order(const __grid_constant__ P p, const __grid_constant__ Windows windows) {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const WindowOfWarp window(windows, p.batch, number / lanes);
  if (lane >= window.columns) return;
  const Coordinates place = p.batch.coordinates(window.first + lane);
  const auto input = p.input.line(place);
  const auto output = p.output.line(place);
  const bool is_exclusive = p.form == Form::exclusive;
  const std::int64_t n = p.n;
  const Ends<P> ends{p};
  // Elements of its piece that precede the warp's first column in row 0.
  const std::int64_t before =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&output(0)) / sizeof(Value)) -
      lane;

  ChunkInOrder<A, N, T::is_masked> next;
  next.load(input, 0, n);
  RunningFold<P> fold(p.start.at(place));
  ends.store_begin(place, fold.result(p));
  for (std::int64_t k = 0; k < n; k += N) {
    ChunkInOrder<A, N, T::is_masked> chunk = next;
    if (k + N < n) next.load(input, k + N, n);
    const int length = n - k < N ? static_cast<int>(n - k) : N;
    fold.template scan<T::is_masked>(p, chunk.x, length, chunk.counts, is_exclusive);
    if (windows.shared > 0) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const int begin = window.begin(windows.shared, before + (k + i) * output.stride);
        if (i < length && (window.is_first || lane >= begin) &&
            (window.is_last || lane < begin + window.stored)) {
          output(k + i) = static_cast<Value>(chunk.x[i]);
        }
      }
    } else if (length == N) {
#pragma unroll
      for (int i = 0; i < N; ++i) output(k + i) = static_cast<Value>(chunk.x[i]);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i < length) output(k + i) = static_cast<Value>(chunk.x[i]);
      }
    }
  }
  ends.store_end(place, fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
