// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches of kernels that are written against Kokkos.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace KokkosScan::impl {

/// A policy that passes the functor as a kernel argument. Kokkos would pass a functor that it
/// considers large through constant memory, for which the host has to wait until it is free. On
/// hosts the policy is returned unchanged, to avoid another instantiation.
template <class Policy>
auto light(const Policy& policy) {
  if constexpr (launches_block<typename Policy::execution_space>) {
    return policy;
  } else {
    return Kokkos::Experimental::require(policy,
                                         Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  }
}

/// A type-erased functor, so that the launch is compiled once for all functors.
struct AnyFunctor {
  const void* functor;
  void (*call)(const void* functor, std::int64_t index);

  void operator()(std::int64_t index) const { call(functor, index); }
};

template <class Exec>
[[gnu::noinline]] void for_each_index_on_host(const Exec& exec, const std::string& label,
                                              std::int64_t count, const AnyFunctor& functor) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(label, Policy(exec, 0, count), functor);
}

/// Launches functor(i) for 0 <= i < count.
///
/// \param label the kernel's name
template <class Exec, class Functor>
void for_each_index(const Exec& exec, const std::string& label, std::int64_t count,
                    const Functor& functor) {
  if constexpr (launches_block<Exec>) {
    const auto call = [](const void* any, std::int64_t index) {
      (*static_cast<const Functor*>(any))(index);
    };
    for_each_index_on_host(exec, label, count, {&functor, call});
  } else {
    using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, light(Policy(exec, 0, count)), functor);
  }
}

}  // namespace KokkosScan::impl
