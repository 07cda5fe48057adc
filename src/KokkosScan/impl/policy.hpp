// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels that are written against Kokkos are launched.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>

namespace KokkosScan::impl {

/// A policy whose functor travels as an argument of the kernel. A larger one, as Kokkos sees it,
/// would wait on the host until the constant memory it goes through is free. On hosts it is the
/// policy itself: another type would be compiled once more.
template <class Policy>
auto light(const Policy& policy) {
  if constexpr (launches_block<typename Policy::execution_space>) {
    return policy;
  } else {
    return Kokkos::Experimental::require(policy,
                                         Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  }
}

}  // namespace KokkosScan::impl
