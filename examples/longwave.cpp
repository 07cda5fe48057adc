// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Longwave radiation without scattering, down through the layers of an atmosphere and up again, as
// in RRTMGP: layers transmit what reaches them and add what they emit; the surface reflects and
// emits. n layers have n + 1 levels.
//
// Replaces, for each column i:
//   down(i, 0) = incident(i);
//   for (int k = 0; k < layers; ++k)
//     down(i, k + 1) = transmission(i, k) * down(i, k) + emitted_down(i, k);
//   up(i, layers) = albedo(i) * down(i, layers) + emitted_by_surface(i);
//   for (int k = layers - 1; k >= 0; --k)
//     up(i, k) = transmission(i, k) * up(i, k + 1) + emitted_up(i, k);
//
// Prints:
//   column 0: down 0 1 2.5 3.25, up 11.25 12.5 21 40
//   column 1: down 8 5 4.5 4.25, up 11.25 12.5 21 40
//   The loop stores the same.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

using Layers = Kokkos::View<double**>;
using Columns = Kokkos::View<double*>;

//! [surface]
struct AtSurface {
  Columns albedo, arriving, emitted;
  KOKKOS_FUNCTION double operator()(std::int64_t i) const {
    return albedo(i) * arriving(i) + emitted(i);
  }
};
//! [surface]

/// The loop.
struct TransportOfColumn {
  Layers transmission, emitted_down, emitted_up, down, up;
  Columns incident, albedo, emitted_by_surface;
  KOKKOS_FUNCTION void operator()(int i) const {
    const int layers = static_cast<int>(transmission.extent(1));
    down(i, 0) = incident(i);
    for (int k = 0; k < layers; ++k) {
      down(i, k + 1) = transmission(i, k) * down(i, k) + emitted_down(i, k);
    }
    up(i, layers) = albedo(i) * down(i, layers) + emitted_by_surface(i);
    for (int k = layers - 1; k >= 0; --k) {
      up(i, k) = transmission(i, k) * up(i, k + 1) + emitted_up(i, k);
    }
  }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int columns = 2, layers = 3;
  const Layers transmission("transmission", columns, layers);
  const Layers emitted_down("emitted down", columns, layers), emitted_up("up", columns, layers);
  const Layers down("down", columns, layers + 1), up("up", columns, layers + 1);
  const Columns incident("incident", columns), albedo("albedo", columns);
  const Columns emitted_by_surface("emitted by the surface", columns), arriving("at it", columns);

  const auto transmission_host = Kokkos::create_mirror_view(transmission);
  const auto emitted_down_host = Kokkos::create_mirror_view(emitted_down);
  const auto emitted_up_host = Kokkos::create_mirror_view(emitted_up);
  const auto incident_host = Kokkos::create_mirror_view(incident);
  const auto albedo_host = Kokkos::create_mirror_view(albedo);
  const auto emitted_by_surface_host = Kokkos::create_mirror_view(emitted_by_surface);
  for (int i = 0; i < columns; ++i) {
    incident_host(i) = 8 * i;
    albedo_host(i) = 0.5;
    emitted_by_surface_host(i) = 38.375 - 0.5 * i;
    for (int k = 0; k < layers; ++k) {
      transmission_host(i, k) = 0.5;
      emitted_down_host(i, k) = k < 2 ? k + 1 : 2;
      emitted_up_host(i, k) = k < 1 ? 5 : 3 - k;
    }
  }
  Kokkos::deep_copy(transmission, transmission_host);
  Kokkos::deep_copy(emitted_down, emitted_down_host);
  Kokkos::deep_copy(emitted_up, emitted_up_host);
  Kokkos::deep_copy(incident, incident_host);
  Kokkos::deep_copy(albedo, albedo_host);
  Kokkos::deep_copy(emitted_by_surface, emitted_by_surface_host);

  //! [transport]
  const ks::ComposeAffine<double> transport;
  ks::exclusive_scan(exec, ks::zip(transmission, emitted_down), down,
                     ks::along(1).starting_at(incident).totals(arriving), transport);
  const auto from_surface =
      ks::elementwise({columns}, AtSurface{albedo, arriving, emitted_by_surface});
  ks::exclusive_scan(exec, ks::zip(transmission, emitted_up), up,
                     ks::along(1).backward().starting_at(from_surface), transport);
  //! [transport]

  const Layers down_by_loop("down", columns, layers + 1), up_by_loop("up", columns, layers + 1);
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultExecutionSpace>(exec, 0, columns),
                       TransportOfColumn{transmission, emitted_down, emitted_up, down_by_loop,
                                         up_by_loop, incident, albedo, emitted_by_surface});

  const auto d = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, down);
  const auto u = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, up);
  const auto d_loop = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, down_by_loop);
  const auto u_loop = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, up_by_loop);
  bool same = true;
  for (int i = 0; i < columns; ++i) {
    std::printf("column %d: down", i);
    for (int k = 0; k <= layers; ++k) std::printf(" %g", d(i, k));
    std::printf(", up");
    for (int k = 0; k <= layers; ++k) std::printf(" %g", u(i, k));
    std::printf("\n");
    for (int k = 0; k <= layers; ++k) {
      same = same && d(i, k) == d_loop(i, k) && u(i, k) == u_loop(i, k);
    }
  }
  std::printf("The loop stores %s.\n", same ? "the same" : "something else");
}
