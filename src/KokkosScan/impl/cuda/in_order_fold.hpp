// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels for scans in order share. A thread has a line, as each line waits for its last
/// combination; what remains is to have many elements on their way while threads wait.

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

/// What the types of a problem are to these kernels.
template <class P>
struct InOrderTypes {
  using A = typename P::A;
  using In = std::remove_cv_t<decltype(P::input)>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  static constexpr bool is_masked = is_selected<In>;
  /// Whether elements can be copied to shared memory as they are, and results back.
  static constexpr bool is_copied =
      (std::is_same_v<In, Array<const A>> ||
       std::is_same_v<
           In, Selected<A, Array<const A>, Array<const StoredBool>>>)&&std::is_same_v<Value, A> &&
      is_copied_apart<A>;
  /// Elements that one instruction moves within shared memory.
  static constexpr int pack = is_copied ? quad / static_cast<int>(sizeof(A)) : 1;
};

/// A bit for each of N elements.
template <int N>
using BitOfEach = std::conditional_t<(N > 32), std::uint64_t, std::uint32_t>;

/// A bool that is known when kernels are compiled. (Members of std are not for devices.)
template <bool value>
struct Known {
  __device__ __forceinline__ constexpr operator bool() const { return value; }
};

/// B(k) of a line, of which nothing is known before an element counts.
template <class P>
struct RunningFold {
  using A = typename P::A;
  /// Whether an operator may be given what does not count, its result being thrown away.
  static constexpr bool combines_all = is_eager<std::remove_cvref_t<decltype(P::op.op)>>;

  A value;
  bool exists;

  __device__ __forceinline__ explicit RunningFold(const Maybe<A>& start)
      : value(start.exists ? start.value : A{}), exists(start.exists) {}
  [[nodiscard]] __device__ __forceinline__ A result(const P& p) const {
    return exists ? value : p.identity.value;
  }
  /// Combines elements, which become results.
  ///
  /// \param length how many there are, if they are fewer than N
  /// \param counts a bit for each that counts, where there is a mask
  /// \param is_exclusive a bool or, where one warp combines for all, a constant
  template <bool masked, int N, class IsExclusive>
  __device__ __forceinline__ void scan(const P& p, A (&x)[N], int length, BitOfEach<N> counts,
                                       IsExclusive is_exclusive) {
    if constexpr (!masked) {
      if (length >= N && exists) return scan_all(p, x, is_exclusive);
      counts = ~BitOfEach<N>{0};
    }
    if (length < N) counts &= (BitOfEach<N>{1} << length) - 1;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A next = x[i];
      const A before = result(p);
      add(p, next, (counts >> i & 1) != 0);
      x[i] = is_exclusive ? before : result(p);
    }
  }
  /// Combines elements of a line that has a fold, all of which count.
  template <int N, class IsExclusive>
  __device__ __forceinline__ void scan_all(const P& p, A (&x)[N], IsExclusive is_exclusive) {
    // Two loops: a choice for each element would take as long as its combination.
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
