// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds of ranges that may be empty.

#include <KokkosScan/impl/operator_traits.hpp>
#include <Kokkos_Core.hpp>

namespace KokkosScan::impl {

/// An optional value: a fold of no elements has none if the operator has no identity.
template <class T>
struct Maybe {
  union {
    char none;
    T value;
  };
  bool exists;

  KOKKOS_FUNCTION Maybe() : none(), exists(false) {}
  KOKKOS_FUNCTION Maybe(const T& v) : value(v), exists(true) {}
};

/// The fold of `a`, which may be absent, followed by `b`.
template <class Op, class T>
KOKKOS_FORCEINLINE_FUNCTION T combine(const Op& op, const Maybe<T>& a, const T& b) {
  return a.exists ? T(op(a.value, b)) : b;
}

}  // namespace KokkosScan::impl
