// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pressure at the interfaces of the layers of an atmosphere, from the thickness of each layer
// and the pressure at the top of each column: n layers, n + 1 interfaces.
//
// Replaces, for each column i:
//   p(i, 0) = p_top(i);
//   for (int k = 0; k < layers; ++k) p(i, k + 1) = p(i, k) + dp(i, k);
//
// Prints:
//   column 0: 2 102 302 602 1002
//   column 1: 4 104 304 604 1004
//   column 2: 8 108 308 608 1008

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int columns = 3, layers = 4;
  const Kokkos::View<double**> dp("layer thickness", columns, layers);
  const Kokkos::View<double*> p_top("pressure at the top", columns);
  const Kokkos::View<double**> p("pressure at interfaces", columns, layers + 1);

  const auto dp_host = Kokkos::create_mirror_view(dp);
  const auto p_top_host = Kokkos::create_mirror_view(p_top);
  for (int i = 0; i < columns; ++i) {
    p_top_host(i) = 2 << i;
    for (int k = 0; k < layers; ++k) dp_host(i, k) = 100 * (k + 1);
  }
  Kokkos::deep_copy(dp, dp_host);
  Kokkos::deep_copy(p_top, p_top_host);

  //! [exclusive]
  ks::exclusive_scan(exec, dp, p, ks::along(1).starting_at(p_top));
  //! [exclusive]

  const auto p_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, p);
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d:", i);
    for (int k = 0; k <= layers; ++k) std::printf(" %g", p_host(i, k));
    std::printf("\n");
  }
}
