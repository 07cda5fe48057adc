// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel scans which problem in order: written for any execution space with enqueue(),
/// multiprocessors() and shared_bytes_of_block(), as launch.hpp has them for Kokkos::Cuda.

#include <KokkosScan/impl/cuda/in_order.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The CUDA backend for scans in order. It needs no workspace.
struct InOrderBackend {
  /// Whether the kernels exist for a type of problem: values that can be kept in arrays.
  template <class P>
  static constexpr bool supports = std::is_default_constructible_v<typename P::A> &&
                                   sizeof(typename P::A) <= 64;

  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    if (is_contiguous(p.output, p.n) && is_contiguous(p.input, p.n) && p.n > 1) {
      return scan_rows(exec, p);
    }
    // Long chunks where there are few columns.
    const std::int64_t few = std::int64_t{1024} * multiprocessors(exec);
    if (p.batch.count >= few) {
      scan_columns<bytes_of_chunk_in_order>(exec, p, threads_of_columns_in_order);
    } else if constexpr (InOrderTypes<P>::is_copied) {
      scan_few_columns(exec, p);
    } else {
      scan_columns<bytes_of_long_chunk_in_order>(exec, p, threads_of_few_columns_in_order);
    }
  }

 private:
  /// Whether the elements of a line are neighbours in memory, or computed.
  template <class T>
  static bool is_contiguous(const Array<T>& in, std::int64_t n) {
    return n == 1 || in.strides.along == 1 || in.strides.along == -1;
  }
  template <int Rank, class Function>
  static bool is_contiguous(const Computed<Rank, Function>&, std::int64_t) {
    return true;
  }
  template <class A, class Values, class Mask>
  static bool is_contiguous(const Selected<A, Values, Mask>& in, std::int64_t n) {
    return is_contiguous(in.values, n);
  }
  /// Whether all quads of an array are at multiples of 16 bytes.
  template <class T>
  static bool has_quads(const Array<T>& array, const Batch& batch, std::int64_t n) {
    constexpr int E = quad / static_cast<int>(sizeof(T));
    const T* const lowest = array.strides.along < 0 ? array.data - (n - 1) : array.data;
    bool aligned = n % E == 0 && reinterpret_cast<std::uintptr_t>(lowest) % quad == 0;
    for (int d = 0; d < batch.rank; ++d) aligned = aligned && array.strides.batch[d] % E == 0;
    return aligned;
  }

  template <int bytes, class Exec, class P>
  static void scan_columns(const Exec& exec, const P& p, int threads) {
    constexpr int N = length_of_chunk_in_order<typename P::A>(bytes);
    const Launch launch{p.function, "cuda/in_order_columns",
                        (p.batch.count + threads - 1) / threads, threads, 0};
    enqueue(exec, launch, scan_columns_in_order<N, P>, p.n, p.batch.count, p);
  }
  template <class Exec, class P>
  static void scan_few_columns(const Exec& exec, const P& p) {
    using A = typename P::A;
    constexpr int threads = threads_of_few_columns_in_order;
    constexpr int rows = rows_of_group_in_order<A>;
    constexpr int bytes = rows * threads * static_cast<int>(sizeof(A));
    const std::int64_t blocks = (p.batch.count + threads - 1) / threads;
    const int groups = stages_in_order((p.n + rows - 1) / rows, blocks, bytes, 0,
                                       multiprocessors(exec), shared_bytes_of_block(exec));
    const Launch launch{p.function, "cuda/in_order_few_columns", blocks, threads, groups * bytes};
    enqueue(exec, launch, scan_few_columns_in_order<P>, p.n, p.batch.count, p, groups);
  }
  template <class Exec, class P>
  static void scan_rows(const Exec& exec, const P& p) {
    using T = InOrderTypes<P>;
    RowsPlan plan =
        plan_rows_in_order(p.n, p.batch.count, sizeof(typename P::A), T::is_copied, T::is_masked,
                           p.batch.rank > 1, multiprocessors(exec), shared_bytes_of_block(exec));
    if constexpr (T::is_copied) {
      plan.shape.has_packs = has_quads(p.input, p.batch, p.n);
      plan.shape.stores_packs = has_quads(p.output, p.batch, p.n);
    }
    const Launch launch{p.function, "cuda/in_order_rows", plan.blocks, plan.threads,
                        plan.shared_bytes};
    enqueue(exec, launch, scan_rows_in_order<P>, p.n, p.batch.count, p, plan.shape);
  }
};

}  // namespace KokkosScan::impl::cuda
