// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans that allocate nothing: a workspace is allocated once and lent to each of them.
//
// Replaces, for each step:
//   for (int i = 1; i < n; ++i) y(i) += y(i - 1);
//
// Prints:
//   ones: 1 1 1 1 1
//   after 1 step: 1 2 3 4 5
//   after 2 steps: 1 3 6 10 15

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>

namespace ks = KokkosScan;

void print(const char* what, const Kokkos::View<double*>& y) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::printf("%s:", what);
  for (std::size_t i = 0; i < host.extent(0); ++i) std::printf(" %g", host(i));
  std::printf("\n");
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const Kokkos::View<double*> y("y", 5);
  Kokkos::deep_copy(y, 1);
  print("ones", y);

  //! [workspace]
  const std::size_t bytes = ks::workspace_bytes(exec, y, y, ks::along(0));
  const Kokkos::View<std::byte*> workspace("workspace", bytes);
  const auto lines = ks::along(0).workspace(workspace);
  //! [workspace]

  ks::inclusive_scan(exec, y, y, lines);
  print("after 1 step", y);
  ks::inclusive_scan(exec, y, y, lines);
  print("after 2 steps", y);
}
