// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Columns in order, in registers: neighbouring threads scan neighbouring lines, of any layout. A
/// thread prefetches elements while it combines earlier ones.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// Threads of a block that scans columns in order: by default; for so few columns that they must be
/// spread evenly over the multiprocessors; where warps share columns; and where rows are unaligned
/// and warps share none.
inline constexpr int threads_of_columns_in_order = 128;
inline constexpr int threads_of_few_columns_in_order = 64;
inline constexpr int threads_of_shared_columns_in_order = 64;
inline constexpr int threads_of_many_columns = 256;
/// Bytes of each of two chunks in registers: for columns that fit into the first; if there are
/// enough threads to hide the memory latency; and if there are not.
inline constexpr int bytes_of_short_chunk_in_order = 16;
inline constexpr int bytes_of_chunk_in_order = 32;
inline constexpr int bytes_of_long_chunk_in_order = 128;
/// At least this many columns for each multiprocessor are many.
inline constexpr int many_columns_in_order = 1024;
/// Fewest neighbouring columns for which warps share columns if rows are unaligned.
inline constexpr int least_columns_of_windows = 128;

/// Elements of a chunk of this many bytes.
template <class A>
constexpr int length_of_chunk_in_order(int bytes) {
  return std::max(1, bytes / static_cast<int>(sizeof(A)));
}

/// Neighbours in a line, in registers.
template <class A, int N, bool masked>
struct ChunkInOrder {
  A x[N];
  BitOfEach<N> counts = 0;

  /// Loads elements from k on. Past the end of the line the last is loaded again, since with a
  /// condition the loads would wait for each other.
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

/// Which columns a warp scans and which of their results it stores, if rows are unaligned:
/// neighbouring warps share some columns, and each warp stores whole sectors, namely those that
/// begin among its columns and not among the next warp's. L2 would have to fetch sectors that are
/// partially written. Shared columns are read twice, so the input must not be the output.
struct Windows {
  int shared;                  ///< columns that a warp shares with the next: a sector of them, or 0
  std::int64_t warps_of_slab;  ///< for the columns of a slab
};

/// Bytes of a sector.
inline constexpr int bytes_of_piece = 32;

/// The column of a thread, and what its warp stores.
template <class P>
struct ColumnOfThread {
  std::int64_t number;
  bool exists;
  bool is_first, is_last;  ///< whether the warp is the first or last of those that share columns
  unsigned before;         ///< elements in the sector before the warp's first column, in row 0

  __device__ __forceinline__ explicit ColumnOfThread(const P& p)
      : number(std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x),
        exists(number < p.batch.count),
        is_first(true),
        is_last(true),
        before(0) {}
  /// For warps that share columns.
  __device__ __forceinline__ ColumnOfThread(const P& p, const Windows& windows)
      : ColumnOfThread(p) {
    find(p, windows);
  }
  /// Whether the warp stores the result of this thread in row k.
  __device__ __forceinline__ bool stores(const Windows& windows, unsigned k, unsigned row) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    // Only the lowest bits matter, so sums and products may wrap.
    const auto first =
        static_cast<int>(-(before + k * row) & static_cast<unsigned>(windows.shared - 1));
    return (is_first || lane >= first) && (is_last || lane < first + lanes - windows.shared);
  }

 private:
  __device__ __forceinline__ void find(const P& p, const Windows& windows) {
    using Value = std::remove_pointer_t<decltype(p.output.data)>;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const std::int64_t inner = p.batch.extent[p.batch.rank - 1];
    const Division warp(number / lanes, windows.warps_of_slab);
    const std::int64_t column = warp.remainder * (lanes - windows.shared) + lane;
    number = warp.quotient * inner + column;
    exists = number < p.batch.count && column < inner;
    is_first = warp.remainder == 0;
    is_last = warp.remainder == windows.warps_of_slab - 1;
    if (!exists) return;
    const auto* const result = &p.output.line(p.batch.coordinates(number))(0);
    before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(result) / sizeof(Value)) -
             static_cast<unsigned>(lane);
  }
};

/// Scans lines, one per thread.
///
/// \tparam N      elements of a chunk
/// \tparam shares whether warps share columns
template <int N, bool shares, class P>
__global__ void __launch_bounds__(threads_of_many_columns)
    scan_columns_in_order(const __grid_constant__ P p, const __grid_constant__ Windows windows) {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  const auto column = [&] {
    if constexpr (shares) {
      return ColumnOfThread<P>(p, windows);
    } else {
      return ColumnOfThread<P>(p);
    }
  }();
  if (!column.exists) return;
  const Coordinates place = p.batch.coordinates(column.number);
  const auto input = p.input.line(place);
  const auto output = p.output.line(place);
  const bool is_exclusive = p.form == Form::exclusive;
  const std::int64_t n = p.n;
  const Ends<P> ends{p};
  [[maybe_unused]] const auto row = static_cast<unsigned>(output.stride);

  ChunkInOrder<A, N, T::is_masked> next;
  next.load(input, 0, n);
  RunningFold<P> fold(p.start.at(place));
  ends.store_begin(place, fold.result(p));
  for (std::int64_t k = 0; k < n; k += N) {
    ChunkInOrder<A, N, T::is_masked> chunk = next;
    if (k + N < n) next.load(input, k + N, n);
    const int length = n - k < N ? static_cast<int>(n - k) : N;
    fold.template scan<T::is_masked>(p, chunk.x, length, chunk.counts, is_exclusive);
    const auto store = [&](const auto& stores) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (stores(i)) output(k + i) = static_cast<Value>(chunk.x[i]);
      }
    };
    if constexpr (shares) {
      store([&](int i) {
        return i < length && column.stores(windows, static_cast<unsigned>(k + i), row);
      });
    } else if (length == N) {
      store([](int) { return true; });
    } else {
      store([&](int i) { return i < length; });
    }
  }
  ends.store_end(place, fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
