// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The execution spaces of this Kokkos build, by their names for --space.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "error.hpp"

namespace scan_tool {

/// An execution space and its name.
template <class Exec>
struct NamedSpace {
  using type = Exec;
  std::string_view name;
};

/// All enabled spaces.
inline constexpr auto spaces = std::tuple_cat(
#if defined(KOKKOS_ENABLE_CUDA)
    std::tuple(NamedSpace<Kokkos::Cuda>{"cuda"}),
#endif
#if defined(KOKKOS_ENABLE_HIP)
    std::tuple(NamedSpace<Kokkos::HIP>{"hip"}),
#endif
#if defined(KOKKOS_ENABLE_SYCL)
    std::tuple(NamedSpace<Kokkos::SYCL>{"sycl"}),
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    std::tuple(NamedSpace<Kokkos::OpenMP>{"openmp"}),
#endif
#if defined(KOKKOS_ENABLE_THREADS)
    std::tuple(NamedSpace<Kokkos::Threads>{"threads"}),
#endif
#if defined(KOKKOS_ENABLE_HPX)
    std::tuple(NamedSpace<Kokkos::Experimental::HPX>{"hpx"}),
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
    std::tuple(NamedSpace<Kokkos::Serial>{"serial"}),
#endif
    std::tuple<>());

static_assert(std::tuple_size_v<decltype(spaces)> > 0, "kokkos-scan: no known execution space.");

/// Whether a space executes on the host, in host memory.
template <class Exec>
inline constexpr bool runs_on_host = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// The names of all spaces.
inline std::vector<std::string_view> space_names() {
  return std::apply(
      [](const auto&... space) { return std::vector<std::string_view>{space.name...}; }, spaces);
}

/// The name of Kokkos' default execution space, or of the first enabled one if that is not listed.
inline std::string default_space() {
  std::string result(std::get<0>(spaces).name);
  std::apply(
      [&](const auto&... space) {
        const auto check = [&]<class Exec>(const NamedSpace<Exec>& candidate) {
          if (std::is_same_v<Exec, Kokkos::DefaultExecutionSpace>) result = candidate.name;
        };
        (check(space), ...);
      },
      spaces);
  return result;
}

/// \throws UserError if there is no such space
inline void check_space(std::string_view name) {
  const std::vector<std::string_view> names = space_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    refuse("--space", quoted(name), one_of(names) + ", the spaces of this build");
  }
}

/// Calls `visitor` with an instance of the execution space of that name.
template <class Visitor>
void visit_space(std::string_view name, const Visitor& visitor) {
  std::apply(
      [&](const auto&... space) {
        const auto check = [&]<class Exec>(const NamedSpace<Exec>& candidate) {
          if (candidate.name == name) visitor(Exec{});
        };
        (check(space), ...);
      },
      spaces);
}

}  // namespace scan_tool
