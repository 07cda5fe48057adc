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

/// A value of any trivially copyable type as 32-bit words.
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

/// The value of the lane `distance` below; that of the lane itself where there is none.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) {
    words.word[w] = __shfl_up_sync(~0u, words.word[w], distance);
  }
  T result = value;
  words.get(result);
  return result;
}

/// The value of lane `source`.
template <class T>
__device__ __forceinline__ T shuffle(const T& value, int source) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) {
    words.word[w] = __shfl_sync(~0u, words.word[w], source);
  }
  T result = value;
  words.get(result);
  return result;
}

/// Whether an operator is built in and combines plain numbers. Such an operator may be given any
/// bits, its result being thrown away, and has a neutral value; operators of users only see what
/// the contract promises.
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

/// Whether an operator may be given any bits, its result being thrown away.
template <class Op>
inline constexpr bool is_harmless = is_eager<Op>;
template <class State>
inline constexpr bool is_harmless<ComposeAffine<State>> = true;
template <Ties ties, class T, class Index>
inline constexpr bool is_harmless<ArgMin<ties, Indexed<T, Index>>> = std::is_arithmetic_v<T>;
template <Ties ties, class T, class Index>
inline constexpr bool is_harmless<ArgMax<ties, Indexed<T, Index>>> = std::is_arithmetic_v<T>;

/// The identity of a built-in operator, which device code cannot call for.
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

/// A fold that may be empty: one of no elements, for which an operator need not have a value.
template <class Op, class T, bool eager = is_eager<Op>>
class Fold {
 public:
  Fold() = default;
  __device__ __forceinline__ explicit Fold(const Op&) : m_exists(false) {}
  __device__ __forceinline__ Fold(const Op&, const T& value) : m_value(value), m_exists(true) {}

  [[nodiscard]] __device__ __forceinline__ bool exists() const { return m_exists; }
  [[nodiscard]] __device__ __forceinline__ const T& value() const { return m_value; }
  /// This fold followed by `next`.
  [[nodiscard]] __device__ __forceinline__ T then(const Op& op, const T& next) const {
    return m_exists ? static_cast<T>(op(m_value, next)) : next;
  }

 private:
  T m_value;
  bool m_exists;
};

/// With a neutral value there is nothing to ask.
template <class Op, class T>
class Fold<Op, T, true> {
 public:
  Fold() = default;
  __device__ __forceinline__ explicit Fold(const Op& op) : m_value(neutral<T>(op)) {}
  __device__ __forceinline__ Fold(const Op&, const T& value) : m_value(value) {}

  [[nodiscard]] __device__ __forceinline__ constexpr bool exists() const { return true; }
  [[nodiscard]] __device__ __forceinline__ const T& value() const { return m_value; }
  [[nodiscard]] __device__ __forceinline__ T then(const Op& op, const T& next) const {
    return op(m_value, next);
  }

 private:
  T m_value;
};

/// This fold followed by another.
template <class Op, class T>
__device__ __forceinline__ Fold<Op, T> join(const Op& op, const Fold<Op, T>& a,
                                            const Fold<Op, T>& b) {
  return b.exists() ? Fold<Op, T>(op, a.then(op, b.value())) : a;
}

/// The fold of the values of this lane's segment up to and with its own, by the scheme of Kogge and
/// Stone (IEEE Trans. Comput. C-22, 1973): windows that end at the own lane and are cut at the
/// segment's first lane, so that the order of combination depends on the place in the segment only.
///
/// \param place number of the lane in its segment
/// \param valid whether the lane has a value; all lanes before it in its segment have one then
template <class Op, class T>
__device__ __forceinline__ T scan_lanes(const Op& op, T value, int place, bool valid) {
#pragma unroll
  for (int distance = 1; distance < lanes; distance *= 2) {
    const T before = shuffle_up(value, distance);
    if constexpr (is_harmless<Op>) {  // without branches, which keep other scans of the lane
                                      // waiting
      const T both = static_cast<T>(op(before, value));
      value = place >= distance ? both : value;
    } else {
      if (place >= distance && valid) value = static_cast<T>(op(before, value));
    }
  }
  return value;
}

}  // namespace KokkosScan::impl::cuda
