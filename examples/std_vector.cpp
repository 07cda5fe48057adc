// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans the memory of a std::vector through an unmanaged View, on the host.
//
// Replaces:
//   std::inclusive_scan(data.begin(), data.end(), sums.begin());
//   std::inclusive_scan(data.begin(), data.end(), peaks.begin(),
//                       [](double a, double b) { return std::max(a, b); });
//
// Prints:
//   sums: 3 4 8 9 14 23
//   peaks: 3 3 4 4 5 9

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <vector>

namespace ks = KokkosScan;

template <class T>
using Unmanaged = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace exec;
  const std::vector<double> data = {3, 1, 4, 1, 5, 9};
  std::vector<double> sums(data.size()), peaks(data.size());

  const Unmanaged<const double> in(data.data(), data.size());
  ks::inclusive_scan(exec, in, Unmanaged<double>(sums.data(), sums.size()));
  ks::inclusive_scan(exec, in, Unmanaged<double>(peaks.data(), peaks.size()), 0, ks::Max{});
  exec.fence();  // scans are asynchronous, and the vectors do not know it

  std::printf("sums:");
  for (double sum : sums) std::printf(" %g", sum);
  std::printf("\npeaks:");
  for (double peak : peaks) std::printf(" %g", peak);
  std::printf("\n");
}
