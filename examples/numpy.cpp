// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// NumPy's cumulative functions, as in the table of README.md.
//
// Replaces, for x = numpy.array([[1, 2, 3], [4, 5, 6]]) and m = [[1, 0, 1], [0, 1, 1]]:
//   numpy.cumsum(x, axis=-1), numpy.cumsum(x, axis=0), numpy.cumprod(x, axis=0), and that table.
//
// Prints:
//   cumsum, axis=-1: 1 3 6, 4 9 15
//   cumsum, axis=0: 1 2 3, 5 7 9
//   cumprod, axis=0: 1 2 3, 4 10 18
//   flip, cumsum, flip: 6 5 3, 15 11 6
//   cumsum, where: 1 1 4, 0 5 11
//   maximum.accumulate: 1 2 3, 4 5 6
//   include_initial: 0 1 3 6, 0 4 9 15

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<float**>;

void print(const char* what, const Matrix& y) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::printf("%s:", what);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    if (i > 0) std::printf(",");
    for (std::size_t k = 0; k < host.extent(1); ++k) std::printf(" %g", host(i, k));
  }
  std::printf("\n");
}

void include_initial(const Exec& exec, const Matrix& x) {
  const Matrix y("y", 2, 4);
  ks::exclusive_scan(exec, x, y, 1);  // y has one element more
  print("include_initial", y);
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Exec exec;
  const Matrix x("x", 2, 3), y("y", 2, 3);
  const Kokkos::View<bool**> m("m", 2, 3);
  const auto x_host = Kokkos::create_mirror_view(x);
  const auto m_host = Kokkos::create_mirror_view(m);
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 3; ++k) {
      x_host(i, k) = static_cast<float>(3 * i + k + 1);
      m_host(i, k) = k == 2 || i == k;
    }
  }
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(m, m_host);

  //! [inclusive]
  ks::inclusive_scan(exec, x, y);
  print("cumsum, axis=-1", y);
  ks::inclusive_scan(exec, x, y, 0);
  print("cumsum, axis=0", y);
  ks::inclusive_scan(exec, x, y, 0, ks::Prod{});
  print("cumprod, axis=0", y);
  ks::inclusive_scan(exec, x, y, ks::along(1).backward());
  print("flip, cumsum, flip", y);
  ks::inclusive_scan(exec, ks::masked(x, m), y, 1);
  print("cumsum, where", y);
  ks::inclusive_scan(exec, x, y, 1, ks::Max{});
  print("maximum.accumulate", y);
  //! [inclusive]
  include_initial(exec, x);
}
