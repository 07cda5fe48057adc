// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The optical depth of clouds between each cell and the far end of its ray: a computed and masked
// input, scanned backward.
//
// Replaces, for each ray r:
//   double tau = 0;
//   for (int k = cells - 1; k >= 0; --k) {
//     if (cloudy(r, k)) tau += extinction(r, k) * length(k);
//     depth(r, k) = tau;
//   }
//
// Prints:
//   ray 0: 4.5 4 4 2.5 2.5
//   ray 1: 6 6 4 4 0

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

//! [function]
struct DepthOfCell {
  Kokkos::View<const double**> extinction;
  Kokkos::View<const double*> length;
  KOKKOS_FUNCTION double operator()(std::int64_t r, std::int64_t k) const {
    return extinction(r, k) * length(k);
  }
};
//! [function]

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int rays = 2, cells = 5;
  const Kokkos::View<double**> extinction("extinction", rays, cells), depth("depth", rays, cells);
  const Kokkos::View<double*> length("length", cells);
  const Kokkos::View<bool**> cloudy("cloudy", rays, cells);

  const auto extinction_host = Kokkos::create_mirror_view(extinction);
  const auto length_host = Kokkos::create_mirror_view(length);
  const auto cloudy_host = Kokkos::create_mirror_view(cloudy);
  for (int k = 0; k < cells; ++k) length_host(k) = 0.5 * (k + 1);
  for (int r = 0; r < rays; ++r) {
    for (int k = 0; k < cells; ++k) {
      extinction_host(r, k) = r + 1;
      cloudy_host(r, k) = (r + k) % 2 == 0;
    }
  }
  Kokkos::deep_copy(extinction, extinction_host);
  Kokkos::deep_copy(length, length_host);
  Kokkos::deep_copy(cloudy, cloudy_host);

  //! [inputs]
  const auto cloud = ks::masked(ks::elementwise(depth, DepthOfCell{extinction, length}), cloudy);
  ks::inclusive_scan(exec, cloud, depth, ks::along(1).backward());
  //! [inputs]

  const auto depth_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, depth);
  for (int r = 0; r < rays; ++r) {
    std::printf("ray %d:", r);
    for (int k = 0; k < cells; ++k) std::printf(" %g", depth_host(r, k));
    std::printf("\n");
  }
}
