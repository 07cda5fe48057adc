// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernel scans which problem in order: written for any execution space with enqueue(),
/// multiprocessors() and shared_bytes_of_block(), as launch.hpp has them for Kokkos::Cuda.

#include <KokkosScan/impl/cuda/in_order.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/zipped.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The CUDA backend for scans in order. It needs no workspace.
struct InOrderBackend {
  /// Whether the kernels exist for a type of problem: values that can be kept in arrays.
  template <class P>
  static constexpr bool supports = std::is_default_constructible_v<typename P::A> &&
                                   sizeof(typename P::A) <= largest_value;

  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    if (OperandAccess<decltype(P::output)>::is_contiguous(p.output, p.n) &&
        OperandAccess<decltype(P::input)>::is_contiguous(p.input, p.n) && p.n > 1) {
      return scan_rows(exec, p);
    }
    const std::int64_t columns = p.batch.count / std::max(1, multiprocessors(exec));
    if constexpr (InOrderTypes<P>::is_copied && !InOrderTypes<P>::is_masked) {
      if (columns < few_columns_in_order) return scan_few_columns(exec, p);
    }
    if (p.n * static_cast<std::int64_t>(sizeof(typename P::A)) <= bytes_of_short_chunk_in_order) {
      scan_columns<bytes_of_short_chunk_in_order>(exec, p, threads_of_columns_in_order);
    } else if (columns >= many_columns_in_order || !has_aligned_rows(p.output)) {
      scan_columns<bytes_of_chunk_in_order>(exec, p, threads_of_columns_in_order);
    } else {
      scan_columns<bytes_of_long_chunk_in_order>(exec, p, threads_of_few_columns_in_order);
    }
  }

 private:
  /// Whether neighbouring columns begin at multiples of the 32 bytes that memory is read by.
  template <class T>
  static bool has_aligned_rows(const Array<T>& array) {
    return array.strides.along * static_cast<std::int64_t>(sizeof(T)) % 32 == 0;
  }
  /// Whether all pieces of so many bytes of an array's lines are at multiples of that.
  template <class T>
  static bool has_pieces(int bytes, const Array<T>& array, const Batch& batch, std::int64_t n) {
    const int E = bytes / static_cast<int>(sizeof(T));
    const T* const lowest = array.strides.along < 0 ? array.data - (n - 1) : array.data;
    bool aligned =
        n % E == 0 && reinterpret_cast<std::uintptr_t>(lowest) % static_cast<unsigned>(bytes) == 0;
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
      using A = typename P::A;
      RowsInOrder& shape = plan.shape;
      shape.has_packs = has_pieces(quad, values_of<A>(p.input), p.batch, p.n);
      shape.stores_packs = has_pieces(quad, p.output, p.batch, p.n);
      if constexpr (T::is_masked) {
        const auto fits = [&](int bytes) {
          return shape.length % bytes == 0 && has_pieces(bytes, p.input.mask, p.batch, p.n);
        };
        shape.mask_bytes = fits(16) ? 16 : fits(4) ? 4 : 1;
      }
    }
    const Launch launch{p.function, "cuda/in_order_rows", plan.blocks, plan.threads,
                        plan.shared_bytes};
    enqueue(exec, launch, scan_rows_in_order<P>, p.n, p.batch.count, p, plan.shape);
  }
};

}  // namespace KokkosScan::impl::cuda
