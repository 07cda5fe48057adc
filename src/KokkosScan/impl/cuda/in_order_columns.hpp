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

/// Threads of a block that scans columns in order.
inline constexpr int threads_of_columns_in_order = 256;
/// Bytes of each of two chunks in registers: if there are enough threads to hide the memory
/// latency, as where columns are at least so many for each multiprocessor; and if there are not.
inline constexpr int bytes_of_chunk_in_order = 32;
inline constexpr int bytes_of_long_chunk_in_order = 128;
inline constexpr int many_columns_in_order = 1024;

/// Elements of a chunk of this many bytes: at most as many as a mask has bits.
template <class A>
constexpr int length_of_chunk_in_order(int bytes) {
  return std::clamp(bytes / static_cast<int>(sizeof(A)), 1, 32);
}

/// Neighbours in a line, in registers.
template <class A, int N, bool masked>
struct ChunkInOrder {
  static_assert(N <= 32);

  A x[N];
  unsigned counts = 0;

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
    if constexpr (masked) counts |= static_cast<unsigned>(impl::counts(line, k)) << i;
  }
};

/// Scans lines, one per thread.
///
/// \tparam N elements of a chunk
template <int N, class P>
__global__ void __launch_bounds__(threads_of_columns_in_order)
    scan_columns_in_order(const __grid_constant__ P p) {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (number >= p.batch.count) return;
  const Coordinates place = p.batch.coordinates(number);
  const auto input = p.input.line(place);
  const auto output = p.output.line(place);
  const bool is_exclusive = p.form == Form::exclusive;
  const std::int64_t n = p.n;
  const Ends<P> ends{p};

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
    if (length == N) {
      store([](int) { return true; });
    } else {
      store([&](int i) { return i < length; });
    }
  }
  ends.store_end(place, fold.result(p));
}

}  // namespace KokkosScan::impl::cuda
