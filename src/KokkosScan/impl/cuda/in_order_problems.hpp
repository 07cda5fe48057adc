// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Chooses the kernel that scans a problem in order, for any execution space with enqueue(),
/// multiprocessors() and shared_bytes_of_block(), as launch.hpp has them for Kokkos::Cuda.

#include <KokkosScan/impl/cuda/in_order_columns.hpp>
#include <KokkosScan/impl/cuda/in_order_rows.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The CUDA backend for scans in order. It needs no workspace.
struct InOrderBackend {
  /// Whether the kernels exist for a type of problem: its values must be storable in arrays.
  template <class P>
  static constexpr bool supports =
      !is_called<decltype(P::output)> && std::is_default_constructible_v<typename P::A> &&
      sizeof(typename P::A) <= largest_value;

  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    if (has_contiguous_lines(p) && p.n > 1) {
      if constexpr (takes_short_rows<P>) {
        if (p.n <= longest_short_column && follow_each_other(p, p.input) &&
            follow_each_other(p, p.output)) {
          return Backend::scan_short_columns(exec, as_columns(p));
        }
      }
      return scan_rows(exec, p);
    }
    const bool are_many =
        p.batch.count >= std::int64_t{many_columns_in_order} * multiprocessors(exec);
    are_many ? scan_columns<bytes_of_chunk_in_order>(exec, p)
             : scan_columns<bytes_of_long_chunk_in_order>(exec, p);
  }

 private:
  /// Whether a kernel of Backend scans short rows that follow each other, of which it moves many at
  /// once: not masked ones, as it would combine an identity for each unselected element.
  template <class P>
  static constexpr bool takes_short_rows =
      Backend::supports<P>&& InOrderTypes<P>::is_copied && !InOrderTypes<P>::is_masked;
  template <class P, class T>
  static bool follow_each_other(const P& p, const Array<T>& array) {
    return p.batch.rank == 1 && array.strides.batch[0] == p.n;
  }
  /// Rows as columns without neighbours.
  template <class P>
  static P as_columns(P p) {
    p.batch.extent[p.batch.rank] = 1;
    p.input.strides.batch[p.batch.rank] = 1;
    p.output.strides.batch[p.batch.rank] = 1;
    ++p.batch.rank;
    return p;
  }

  /// \tparam bytes of a chunk
  template <int bytes, class Exec, class P>
  static void scan_columns(const Exec& exec, const P& p) {
    constexpr int N = length_of_chunk_in_order<typename P::A>(bytes);
    constexpr int threads = threads_of_columns_in_order;
    const Launch launch{p.function, "cuda/in_order_columns", divide_up(p.batch.count, threads),
                        threads, 0};
    enqueue(exec, launch, scan_columns_in_order<N, P>, p.n, p.batch.count, p);
  }

  template <class Exec, class P>
  static void scan_rows(const Exec& exec, const P& p) {
    using T = InOrderTypes<P>;
    bool loads_packs = false, loads_packs_of_mask = !T::is_masked, stores_packs = false;
    if constexpr (T::is_copied) {
      loads_packs = has_packs<T::pack>(p, values_of(p));
      stores_packs = has_packs<T::pack>(p, p.output);
      if constexpr (T::is_masked) loads_packs_of_mask = has_packs<quad>(p, p.input.mask);
    }
    RowsInOrder shape = plan_rows_in_order(
        p.n, p.batch.count, sizeof(typename P::A), T::pack, T::is_masked,
        loads_packs && loads_packs_of_mask && stores_packs, multiprocessors(exec));
    shape.loads_packs = loads_packs;
    shape.loads_packs_of_mask = loads_packs_of_mask;
    shape.stores_packs = stores_packs;
    const Launch launch{p.function, "cuda/in_order_rows",
                        shape.blocks(p.batch.count, multiprocessors(exec)), shape.threads(),
                        shape.shared_bytes()};
    enqueue(exec, launch, scan_rows_in_order<P>, p.n, p.batch.count, p, shape);
  }
  /// Whether the lines of an array consist of aligned packs.
  template <int E, class P, class T>
  static bool has_packs(const P& p, const Array<T>& array) {
    return p.n % E == 0 && OperandAccess<Array<T>>::template has_aligned_packs<E>(array, p.batch);
  }
};

}  // namespace KokkosScan::impl::cuda
