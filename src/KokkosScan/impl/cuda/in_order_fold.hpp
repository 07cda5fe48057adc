// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels for scans in order share. A thread scans a whole line, since each combination
/// needs the one before. What remains is to keep many elements in flight while threads wait.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The types of a problem as these kernels see them.
template <class P>
struct InOrderTypes {
  using A = typename P::A;
  using In = std::remove_cv_t<decltype(P::input)>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  static constexpr bool is_masked = is_selected<In>;
  /// Whether elements are copied to shared memory unconverted, and results back.
  static constexpr bool is_copied =
      (std::is_same_v<In, Array<const A>> ||
       std::is_same_v<
           In, Selected<A, Array<const A>, Array<const StoredBool>>>)&&std::is_same_v<Value, A> &&
      is_copied_apart<A>;
  /// Elements that one instruction moves from or to shared memory.
  static constexpr int pack = is_one_move<sizeof(A)> ? quad / static_cast<int>(sizeof(A)) : 1;
};

/// A compile-time bool. (Members of std::bool_constant are not device functions.)
template <bool value>
struct Known {
  __device__ __forceinline__ constexpr operator bool() const { return value; }
};

/// B(k) of a line, which does not exist before the first element that counts.
template <class P>
struct RunningFold {
  using A = typename P::A;
  /// Whether the operator may combine elements that do not count; that result is discarded.
  static constexpr bool combines_all = is_eager<std::remove_cvref_t<decltype(P::op.op)>>;

  A value;
  bool exists;

  __device__ __forceinline__ explicit RunningFold(const Maybe<A>& start)
      : value(start.exists ? start.value : A{}), exists(start.exists) {}
  [[nodiscard]] __device__ __forceinline__ A result(const P& p) const {
    return exists ? value : p.identity.value;
  }
  /// Replaces elements by results.
  ///
  /// \param length number of elements, if fewer than N
  /// \param counts a bit for each element that counts, if there is a mask
  /// \param is_exclusive a bool or, if one warp combines for all, a compile-time constant
  template <bool masked, int N, class IsExclusive>
  __device__ __forceinline__ void scan(const P& p, A (&x)[N], int length, unsigned counts,
                                       IsExclusive is_exclusive) {
    if constexpr (!masked) {
      if (length >= N && exists) return scan_all(p, x, is_exclusive);
      counts = ~0U;
    }
    if (length < N) counts &= (1U << length) - 1;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A next = x[i];
      const A before = result(p);
      add(p, next, (counts >> i & 1) != 0);
      x[i] = is_exclusive ? before : result(p);
    }
  }
  /// The same if the fold exists and all elements count.
  template <int N, class IsExclusive>
  __device__ __forceinline__ void scan_all(const P& p, A (&x)[N], IsExclusive is_exclusive) {
    // Two loops: a branch for each element would take as long as its combination.
    if (is_exclusive) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const A next = static_cast<A>(p.op(value, x[i]));
        x[i] = value;
        value = next;
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = value = static_cast<A>(p.op(value, x[i]));
    }
  }

 private:
  __device__ __forceinline__ void add(const P& p, const A& x, bool counts) {
    if constexpr (combines_all) {
      const A with = static_cast<A>(p.op(value, x));
      if (counts) value = exists ? with : x;
      exists = exists || counts;
    } else if (counts) {
      value = exists ? static_cast<A>(p.op(value, x)) : x;
      exists = true;
    }
  }
};

}  // namespace KokkosScan::impl::cuda
