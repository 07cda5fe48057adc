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
       std::is_same_v<In, Selected<A, Array<const A>, Array<const bool>>>)&&std::is_same_v<Value,
                                                                                           A> &&
      is_copied_apart<A>;
  /// Elements that one instruction moves within shared memory.
  static constexpr int pack = is_copied ? quad / static_cast<int>(sizeof(A)) : 1;
};

/// The first `count` bits of a number, up to 32.
__device__ __forceinline__ unsigned low_bits(int count) {
  return count >= 32 ? ~0U : (1U << count) - 1;
}

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
  template <bool masked, int N>
  __device__ __forceinline__ void scan(const P& p, A (&x)[N], int length, unsigned counts,
                                       bool is_exclusive) {
    static_assert(N <= 32);
    if constexpr (!masked) {
      if (length >= N && exists) return scan_all(p, x, is_exclusive);
      counts = ~0U;
    }
    counts &= low_bits(length);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A next = x[i];
      const A before = result(p);
      add(p, next, (counts >> i & 1) != 0);
      x[i] = is_exclusive ? before : result(p);
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
  template <int N>
  __device__ __forceinline__ void scan_all(const P& p, A (&x)[N], bool is_exclusive) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A next = static_cast<A>(p.op(value, x[i]));
      x[i] = is_exclusive ? value : next;
      value = next;
    }
  }
};

/// The most tiles that are there at once.
inline constexpr int most_stages_in_order = 8;

/// Waits until at most so many groups of copies are on their way, fewer than most_stages_in_order.
__device__ __forceinline__ void wait_for_copies(int groups) {
  switch (groups) {
    case 0:
      return __pipeline_wait_prior(0);
    case 1:
      return __pipeline_wait_prior(1);
    case 2:
      return __pipeline_wait_prior(2);
    case 3:
      return __pipeline_wait_prior(3);
    case 4:
      return __pipeline_wait_prior(4);
    case 5:
      return __pipeline_wait_prior(5);
    case 6:
      return __pipeline_wait_prior(6);
    default:
      return __pipeline_wait_prior(7);
  }
}

/// Bytes of shared memory that blocks on a multiprocessor may have together.
inline constexpr int shared_bytes_in_order = 200 * 1024;

/// Tiles of a block that are there at once.
///
/// \param tiles    that a block scans one after another
/// \param resident blocks on a multiprocessor
/// \param bytes    of a tile
/// \param others   that a block has
constexpr int stages_in_order(std::int64_t tiles, std::int64_t resident, int bytes, int others,
                              int shared_bytes_of_block) {
  const auto room = static_cast<int>(
      std::min<std::int64_t>(shared_bytes_in_order / resident, shared_bytes_of_block));
  return static_cast<int>(
      std::min<std::int64_t>(tiles, std::clamp((room - others) / bytes, 2, most_stages_in_order)));
}

}  // namespace KokkosScan::impl::cuda
