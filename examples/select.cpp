// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compacts the particles that are inside a box, and their numbers; and for each cell of a grid the
// numbers of its neighbours, as a padded row.
//
// Replaces, for the particles:
//   int count = 0;
//   for (int i = 0; i < n; ++i) if (x(i) >= 0 && x(i) < 1) number(count++) = i;
//
// Prints:
//   inside: 0.25 0.5 0.75
//   numbers: 0 3 4
//   near 0: 1
//   near 1: 0 2
//   near 2: 1 3
//   compacted: 3 particles, of masses 1 4 5

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

//! [predicate]
struct IsInside {
  KOKKOS_FUNCTION bool operator()(double x) const { return x >= 0 && x < 1; }
};
//! [predicate]

//! [of all]
struct IsInsideOfAll {
  KOKKOS_FUNCTION bool operator()(double x, double, double, float, float, float, int) const {
    return x >= 0 && x < 1;
  }
};
//! [of all]

/// Element i is i.
struct OwnIndex {
  KOKKOS_FUNCTION int operator()(std::int64_t i) const { return static_cast<int>(i); }
};
/// Whether particle i is inside.
struct IsInsideAt {
  Kokkos::View<const double*> x;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return IsInside{}(x(i)); }
};
/// Row i has the numbers of all columns; those next to i are kept.
struct Column {
  KOKKOS_FUNCTION int operator()(std::int64_t, std::int64_t k) const { return static_cast<int>(k); }
};
struct IsNear {
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::int64_t k) const {
    return k - i == 1 || i - k == 1;
  }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int n = 6, rows = 3, columns = 4;
  const Kokkos::View<double*> x("x", n), inside("inside", n);
  const Kokkos::View<int*> numbers("numbers", n);
  const auto x_host = Kokkos::create_mirror_view(x);
  const double places[n] = {0.25, -1, 1.5, 0.5, 0.75, 2};
  for (int i = 0; i < n; ++i) x_host(i) = places[i];
  Kokkos::deep_copy(x, x_host);

  //! [select]
  const Kokkos::View<int> count("count");
  ks::select(exec, x, IsInside{}, inside, count);
  // The indices of the kept elements: select from the input whose element i is i.
  ks::select(exec, ks::elementwise({n}, OwnIndex{}), ks::elementwise({n}, IsInsideAt{x}), numbers,
             count);
  //! [select]
  const Kokkos::View<double*> y("y", n), z("z", n);
  const Kokkos::View<float*> u("u", n), v("v", n), mass("mass", n);
  const Kokkos::View<int*> kind("kind", n);
  const auto mass_host = Kokkos::create_mirror_view(mass);
  for (int i = 0; i < n; ++i) mass_host(i) = static_cast<float>(i + 1);
  Kokkos::deep_copy(mass, mass_host);

  //! [seven arrays]
  // Particles with seven properties, compacted where they are.
  const auto particles = ks::zip(x, y, z, u, v, mass, kind);
  ks::select(exec, particles, IsInsideOfAll{}, particles, count);
  //! [seven arrays]

  const auto kept_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, mass);
  const auto kept_count = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count)();

  const Kokkos::View<int**> near("near", rows, columns);
  const Kokkos::View<int*> near_count("near count", rows);
  ks::select(exec, ks::elementwise({rows, columns}, Column{}),
             ks::elementwise({rows, columns}, IsNear{}), near, near_count);

  const auto inside_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, inside);
  const auto numbers_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, numbers);
  const auto count_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count);
  std::printf("inside:");
  for (int i = 0; i < count_host(); ++i) std::printf(" %g", inside_host(i));
  std::printf("\nnumbers:");
  for (int i = 0; i < count_host(); ++i) std::printf(" %d", numbers_host(i));
  std::printf("\n");
  const auto near_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, near);
  const auto of_row = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, near_count);
  for (int i = 0; i < rows; ++i) {
    std::printf("near %d:", i);
    for (int k = 0; k < of_row(i); ++k) std::printf(" %d", near_host(i, k));
    std::printf("\n");
  }
  std::printf("compacted: %d particles, of masses", kept_count);
  for (int i = 0; i < kept_count; ++i) std::printf(" %g", kept_host(i));
  std::printf("\n");
}
