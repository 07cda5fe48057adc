// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Combining in registers: shuffles of any type, folds that may be empty, the scan of a warp.

#include <KokkosScan/affine.hpp>
#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/operators.hpp>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Lanes of a warp.
inline constexpr int lanes = 32;

/// A trivially copyable value as 32-bit words.
template <class T>
struct Words {
  static constexpr int count = (sizeof(T) + 3) / 4;
  unsigned word[count];

  Words() = default;
  __device__ __forceinline__ explicit Words(const T& value) {
    if constexpr (sizeof(T) % 4 != 0) word[count - 1] = 0;
    memcpy(word, &value, sizeof(T));
  }
  __device__ __forceinline__ void get(T& value) const {
    memcpy(static_cast<void*>(&value), word, sizeof(T));
  }
};

/// Moves a value between lanes, word by word.
template <class T, class Move>
__device__ __forceinline__ T move_words(const T& value, const Move& move) {
  Words<T> words(value);
#pragma unroll
  for (unsigned& word : words.word) word = move(word);
  T result = value;
  words.get(result);
  return result;
}
/// The value of the lane `distance` below, or the lane's own if there is none.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, int distance) {
  return move_words(value, [=](unsigned word) { return __shfl_up_sync(~0u, word, distance); });
}
/// The value of lane `source`.
template <class T>
__device__ __forceinline__ T shuffle(const T& value, int source) {
  return move_words(value, [=](unsigned word) { return __shfl_sync(~0u, word, source); });
}

/// Whether an operator is built in and combines plain numbers. It then accepts any bits if its
/// result is discarded, and has a neutral value. User operators only see what the contract
/// promises.
template <class Op>
inline constexpr bool is_eager = false;
template <class T>
inline constexpr bool is_eager<Sum<T>> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_eager<Sum<Kokkos::complex<T>>> = true;
template <class T>
inline constexpr bool is_eager<Prod<T>> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_eager<Min<T>> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_eager<Max<T>> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_eager<LogSumExp<T>> = true;
template <>
inline constexpr bool is_eager<AddScaled> = true;
template <class Op>
inline constexpr bool is_eager<InOrder<Op>> = is_eager<Op>;

/// Whether an operator accepts any bits if its result is discarded.
template <class Op>
inline constexpr bool is_harmless = is_eager<Op>;
template <class State>
inline constexpr bool is_harmless<ComposeAffine<State>> = true;
template <class State>
inline constexpr bool is_harmless<ComposeAffineOrReset<State>> = true;
template <Ties ties, class T, class Index>
inline constexpr bool is_harmless<ArgMin<ties, Indexed<T, Index>>> = std::is_arithmetic_v<T>;
template <Ties ties, class T, class Index>
inline constexpr bool is_harmless<ArgMax<ties, Indexed<T, Index>>> = std::is_arithmetic_v<T>;

/// The identity of a built-in operator as a constant, as device code cannot call identity().
template <class Op>
inline constexpr auto identity_of = Op::identity();

/// The value v with v * x = x for every x, bit for bit. The identity of a sum is not: 0 + -0 is 0.
template <class T, class Op>
__device__ __forceinline__ T neutral(const Op&) {
  return identity_of<Op>;
}
template <class T>
__device__ __forceinline__ T neutral(const Sum<T>&) {
  if constexpr (std::is_floating_point_v<T>) {
    return T(-0.0);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return T(0);
  } else {
    return T(-0.0, -0.0);
  }
}
template <class T, class Op>
__device__ __forceinline__ T neutral(const InOrder<Op>& op) {
  return neutral<T>(op.op);
}

/// A fold that may be empty, as an operator need not have an identity. With a neutral value there
/// is no need to test for that.
template <class Op, class T>
class Fold {
 public:
  Fold() = default;
  __device__ __forceinline__ explicit Fold(const Op& op) : m_exists(false) {
    if constexpr (is_eager<Op>) m_value = neutral<T>(op);
  }
  __device__ __forceinline__ Fold(const Op&, const T& value) : m_value(value), m_exists(true) {}

  [[nodiscard]] __device__ __forceinline__ bool exists() const { return is_eager<Op> || m_exists; }
  [[nodiscard]] __device__ __forceinline__ const T& value() const { return m_value; }
  /// This fold followed by `next`.
  [[nodiscard]] __device__ __forceinline__ T then(const Op& op, const T& next) const {
    return exists() ? static_cast<T>(op(m_value, next)) : next;
  }

 private:
  T m_value;
  bool m_exists;
};

/// One fold followed by another.
template <class Op, class T>
__device__ __forceinline__ Fold<Op, T> join(const Op& op, const Fold<Op, T>& a,
                                            const Fold<Op, T>& b) {
  return b.exists() ? Fold<Op, T>(op, a.then(op, b.value())) : a;
}

/// The inclusive scan of a lane's segment by the Kogge-Stone scheme (IEEE Trans. Comput. C-22,
/// 1973). Windows end at the lane and are clipped to the segment, so the combination order depends
/// only on the place in the segment.
///
/// \param place index of the lane in its segment
/// \param valid whether the lane has a value; then so have all earlier lanes of its segment
template <class Op, class T>
__device__ __forceinline__ T scan_lanes(const Op& op, T value, int place, bool valid) {
#pragma unroll
  for (int distance = 1; distance < lanes; distance *= 2) {
    const T before = shuffle_up(value, distance);
    if constexpr (is_harmless<Op>) {  // branch-free, so that scans overlap
      const T both = static_cast<T>(op(before, value));
      value = place >= distance ? both : value;
    } else {
      if (place >= distance && valid) value = static_cast<T>(op(before, value));
    }
  }
  return value;
}

}  // namespace KokkosScan::impl::cuda
