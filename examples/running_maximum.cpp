// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The highest water level so far and the hour in which it was reached; and the logarithm of a
// running sum of likelihoods that are too small for a double.
//
// Replaces, for the levels:
//   for (int k = 0; k < n; ++k) {
//     if (k == 0 || level(k) > highest.value) highest = {level(k), k};
//     record(k) = highest;
//   }
//
// Prints:
//   highest: 2.5 (hour 0) 3 (hour 1) 3 (hour 1) 3 (hour 1) 4 (hour 4)
//   log of the sum: -1000.0 -999.3 -998.9 -998.6 -998.4

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int n = 5;
  const Kokkos::View<double*> level("level", n), logarithm("logarithm", n), sum("sum", n);
  const auto level_host = Kokkos::create_mirror_view(level);
  const double levels[n] = {2.5, 3, 1, 3, 4};
  for (int k = 0; k < n; ++k) level_host(k) = levels[k];
  Kokkos::deep_copy(level, level_host);
  Kokkos::deep_copy(logarithm, -1000.0);

  //! [indexed]
  const Kokkos::View<ks::Indexed<double>*> record("record", n);
  ks::inclusive_scan(exec, ks::indexed(level), record, 0, ks::ArgMax{});
  //! [indexed]
  ks::inclusive_scan(exec, logarithm, sum, 0, ks::LogSumExp{});

  const auto record_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, record);
  const auto sum_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, sum);
  std::printf("highest:");
  for (int k = 0; k < n; ++k) {
    std::printf(" %g (hour %d)", record_host(k).value, static_cast<int>(record_host(k).index));
  }
  std::printf("\nlog of the sum:");
  for (int k = 0; k < n; ++k) std::printf(" %.1f", sum_host(k));
  std::printf("\n");
}
