// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the elements of a pack combine: by halves in the accumulator, or in the carried type for
/// operators that use it throughout.

#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The fold of a pack, by halves, in type T.
template <class T, int First, int Count, class A, class Op, int E>
__device__ __forceinline__ T fold_pack(const Op& op, const A (&x)[E]) {
  if constexpr (Count == 1) {
    return static_cast<T>(x[First]);
  } else {
    return op(fold_pack<T, First, (Count + 1) / 2>(op, x),
              fold_pack<T, First + (Count + 1) / 2, Count / 2>(op, x));
  }
}

/// The type in which the elements of a pack combine.
template <class Op, class A>
using packed_t = std::conditional_t<is_carried_throughout<Op, A>, carried_t<Op, A>, A>;

/// The operator that combines them.
template <class A, class Op>
__device__ __forceinline__ decltype(auto) packing(const Op& op) {
  if constexpr (is_carried_throughout<Op, A>) {
    return carrying(op);
  } else {
    return (op);
  }
}

/// Inclusive sums of a pack's exponentials, in float, with a common scale.
template <int E>
struct ExponentialsOfPack {
  float scale;
  float sums[E];

  __device__ __forceinline__ explicit ExponentialsOfPack(const float (&x)[E]) {
    float largest = x[0];
#pragma unroll
    for (int i = 1; i < E; ++i) largest = Kokkos::fmax(largest, x[i]);
    scale = ScaledSum::scale_of(largest);
#pragma unroll
    for (int i = 0; i < E; ++i) {
      const float exponential = Kokkos::exp(x[i] - 64 * scale);
      sums[i] = i == 0 ? exponential : add(sums[i - 1], exponential);
    }
  }
  [[nodiscard]] __device__ __forceinline__ ScaledSum fold() const { return {scale, sums[E - 1]}; }
  /// Replaces the elements by the logarithms of these sums plus the sum before the pack.
  __device__ __forceinline__ void take_logarithms(const ScaledSum& before, float (&x)[E]) const {
    // With the scale of a larger element, earlier ones would lose digits or vanish.
    if (before.scale < scale && !(x[0] - 64 * scale >= -32)) {
      ScaledSum sum = before;
#pragma unroll
      for (int i = 0; i < E; ++i) {
        sum = AddScaled{}(sum, ScaledSum(x[i]));
        x[i] = static_cast<float>(sum);
      }
      return;
    }
    const float highest = Kokkos::fmax(before.scale, scale);
    const auto factor = [&](float from) {
      return static_cast<float>(ScaledSum::factor(highest - from));
    };
    const float of_before = multiply(factor(before.scale), static_cast<float>(before.sum));
    const float of_pack = factor(scale);
#pragma unroll
    for (int i = 0; i < E; ++i) {
      x[i] = 64 * highest + Kokkos::log(multiply_add(of_pack, sums[i], of_before));
    }
  }
};

/// The fold of a pack, in the carried type.
template <class Op, class A, int E>
__device__ __forceinline__ carried_t<Op, A> carried_pack(const Op& op, const A (&x)[E]) {
  if constexpr (sums_exponentials<Op, A>) {
    return ExponentialsOfPack<E>(x).fold();
  } else {
    return static_cast<carried_t<Op, A>>(fold_pack<packed_t<Op, A>, 0, E>(packing<A>(op), x));
  }
}

/// Replaces the elements of a pack by B after each of them. `run`, the fold of everything before,
/// is extended by the pack if it is full.
///
/// \param valid   number of elements that exist
/// \param is_full whether to treat the pack as full: results past the last element are discarded
template <class Op, class Carrying, class R, class A, int E>
__device__ __forceinline__ void scan_pack(const Op& op, const Carrying& carrying_op,
                                          Fold<Carrying, R>& run, A (&x)[E], int valid,
                                          bool is_full) {
  if constexpr (sums_exponentials<Op, A>) {
    // Elements that do not exist could be too large for the common scale.
#pragma unroll
    for (int i = 0; i < E; ++i) x[i] = i < valid ? x[i] : neutral<A>(op);
    const ExponentialsOfPack<E> pack(x);
    pack.take_logarithms(run.value(), x);
    if (is_full) run = Fold<Carrying, R>(carrying_op, run.then(carrying_op, pack.fold()));
  } else {
    Fold<Op, A> in_pack =
        run.exists() ? Fold<Op, A>(op, static_cast<A>(run.value())) : Fold<Op, A>(op);
    if (is_full) run = Fold<Carrying, R>(carrying_op, run.then(carrying_op, carried_pack(op, x)));
#pragma unroll
    for (int i = 0; i < E - 1; ++i) {
      if (!is_full && i >= valid) continue;
      x[i] = in_pack.then(op, x[i]);
      in_pack = Fold<Op, A>(op, x[i]);
    }
  }
  if (is_full) x[E - 1] = static_cast<A>(run.value());
}

}  // namespace KokkosScan::impl::cuda
