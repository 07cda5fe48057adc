// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The same scan as in main.cpp, to test the one-definition rule, and another one.
#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

namespace ks = KokkosScan;

double total_of_ones(int n) {
  const Kokkos::DefaultExecutionSpace exec;
  const Kokkos::View<double*> x("x", n), y("y", n);
  const Kokkos::View<double> total("total");
  Kokkos::deep_copy(x, 1);
  ks::inclusive_scan(exec, x, y);
  ks::exclusive_scan(exec, x, y, ks::along(0).backward().totals(total), ks::Sum<double>{});
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, total)();
}
