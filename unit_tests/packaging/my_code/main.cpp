// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program of README.md.
//
// Prints:
//   2 4 6 8

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const Kokkos::View<float**> x("x", 2, 4), y("y", 2, 4);
  Kokkos::deep_copy(exec, x, 1);

  ks::inclusive_scan(exec, x, y);     // running sums along the last axis
  ks::inclusive_scan(exec, y, y, 0);  // of these along axis 0, in place

  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::printf("%g %g %g %g\n", host(1, 0), host(1, 1), host(1, 2), host(1, 3));  // 2 4 6 8
}
