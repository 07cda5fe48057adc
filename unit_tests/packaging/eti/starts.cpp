// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A call that the library does not hold, as each line has a starting value. Its kernels are there.
#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

void continue_sums(Kokkos::View<float**> x, Kokkos::View<float*> sums) {
  KokkosScan::inclusive_scan(Kokkos::DefaultExecutionSpace{}, x, x,
                             KokkosScan::along(1).starting_at(sums));
}
