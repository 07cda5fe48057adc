// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a source may have included before the library: macros that are names in it. Compiled without
// exceptions and without run-time types as well, as Kokkos' own headers can be.

#include <Kokkos_Core.hpp>
#include <complex>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define None 0L
#define major(device) device
#define minor(device) device

#include <KokkosScan/KokkosScan.hpp>

static_assert(min(1, 2) == 1 && max(1, 2) == 2 && None == 0 && major(3) == minor(3));

void scan(const Kokkos::DefaultExecutionSpace& exec, const Kokkos::View<double**>& x,
          const Kokkos::View<bool**>& mask) {
  KokkosScan::exclusive_scan(exec, KokkosScan::masked(x, mask), x, 0, KokkosScan::Max{});
  KokkosScan::linear_recurrence(exec, 0.5, x, x);
}
