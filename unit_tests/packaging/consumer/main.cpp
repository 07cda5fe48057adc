// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <string>

double total_of_ones(int n);  // other.cpp

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const Kokkos::View<double*> x("x", 3), y("y", 3);
  Kokkos::deep_copy(x, 1);
  ks::inclusive_scan(exec, x, y);
  const auto y_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);

  const std::string version = std::to_string(KOKKOSSCAN_VERSION_MAJOR) + "." +
                              std::to_string(KOKKOSSCAN_VERSION_MINOR) + "." +
                              std::to_string(KOKKOSSCAN_VERSION_PATCH);
  std::printf("%s %g %g\n", KOKKOSSCAN_VERSION, y_host(2), total_of_ones(1000));
  return version == KOKKOSSCAN_VERSION && y_host(2) == 3 && total_of_ones(1000) == 1000 ? 0 : 1;
}
