// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The running product of a DualView: filled on the host, scanned on the device, read on the host.
//
// Replaces:
//   for (int i = 1; i < n; ++i) growth(i) *= growth(i - 1);
//
// Prints:
//   growth: 2 3 12 18 9

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <cstdio>

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const double rates[] = {2, 1.5, 4, 1.5, 0.5};
  Kokkos::DualView<double*> growth("growth", 5);
  for (int i = 0; i < 5; ++i) growth.view_host()(i) = rates[i];
  growth.modify_host();

  growth.sync_device();
  ks::inclusive_scan(exec, growth.view_device(), growth.view_device(), 0, ks::Prod{});
  growth.modify_device();

  exec.fence();  // where host and device share memory, sync_host() does not wait
  growth.sync_host();
  std::printf("growth:");
  for (int i = 0; i < 5; ++i) std::printf(" %g", growth.view_host()(i));
  std::printf("\n");
}
