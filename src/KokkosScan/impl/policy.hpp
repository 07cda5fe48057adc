// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels that are written against Kokkos are launched.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

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

/// A functor behind a pointer: what launches it is compiled once for all functors.
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
