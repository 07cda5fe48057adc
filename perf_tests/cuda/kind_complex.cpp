// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "kinds.hpp"

perf::Kind perf::sum_complex() {
  using Complex = Kokkos::complex<double>;
  return make_kind<Complex, Complex, ks::Sum<>, Sums<Complex, 48>>("complex<double>");
}
