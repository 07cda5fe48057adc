// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The running sum of each row of a batch, forward and backward, and in place.
//
// Replaces, for each row b:
//   float sum = 0;
//   for (int i = 0; i < n; ++i) y(b, i) = sum += x(b, i);
// and, in NumPy, y = numpy.cumulative_sum(x, axis=-1).
//
// Prints:
//   forward, row 0: 1 3 6 10 15
//   forward, row 1: 2 4 6 8 10
//   backward, row 0: 15 14 12 9 5
//   backward, row 1: 10 8 6 4 2
//   column sums in place, row 0: 1 2 3 4 5
//   column sums in place, row 1: 3 4 5 6 7

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Batch = Kokkos::View<float**, Kokkos::LayoutRight>;

void scan(const Exec& exec, const Batch& x, const Batch& y, const Batch& z) {
  ks::inclusive_scan(exec, x, y);  // along the last axis
  ks::inclusive_scan(exec, x, z, ks::along(-1).backward());
  ks::inclusive_scan(exec, x, x, 0);  // along axis 0, onto itself
}

void print(const char* what, const Batch& y) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t b = 0; b < host.extent(0); ++b) {
    std::printf("%s, row %zu:", what, b);
    for (std::size_t i = 0; i < host.extent(1); ++i) std::printf(" %g", host(b, i));
    std::printf("\n");
  }
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Exec exec;
  const Batch x("x", 2, 5), y("y", 2, 5), z("z", 2, 5);
  const auto x_host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < 5; ++i) {
    x_host(0, i) = static_cast<float>(i + 1);
    x_host(1, i) = 2;
  }
  Kokkos::deep_copy(x, x_host);

  scan(exec, x, y, z);
  print("forward", y);
  print("backward", z);
  print("column sums in place", x);
}
