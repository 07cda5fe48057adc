// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How much light reaches each level of an atmosphere: the exponential of minus the optical depth
// above it, stored by a projected output.
//
// Replaces, for each column i:
//   double tau = 0;
//   for (int k = 0; k < layers; ++k) {
//     tau += depth(i, k);
//     transmission(i, k) = std::exp(-tau);
//   }
//
// Prints:
//   column 0: 0.500 0.250 0.125 0.062
//   column 1: 0.250 0.062 0.016 0.004

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>

namespace ks = KokkosScan;

//! [function]
struct Transmission {
  KOKKOS_FUNCTION double operator()(double tau) const { return Kokkos::exp(-tau); }
};
//! [function]

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int columns = 2, layers = 4;
  const Kokkos::View<double**> depth("optical depth of layers", columns, layers);
  const Kokkos::View<double**> transmission("transmission", columns, layers);

  const auto depth_host = Kokkos::create_mirror_view(depth);
  for (int i = 0; i < columns; ++i) {
    for (int k = 0; k < layers; ++k) depth_host(i, k) = (i + 1) * std::log(2.0);
  }
  Kokkos::deep_copy(depth, depth_host);

  //! [projected]
  ks::inclusive_scan(exec, depth, ks::projected(transmission, Transmission{}), 1);
  //! [projected]

  const auto out = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, transmission);
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d:", i);
    for (int k = 0; k < layers; ++k) std::printf(" %.3f", out(i, k));
    std::printf("\n");
  }
}
