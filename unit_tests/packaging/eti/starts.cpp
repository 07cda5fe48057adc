// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A call that is not in the library, because each line has a starting value. It uses its kernels.
#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

void continue_sums(Kokkos::View<float**> x, Kokkos::View<float*> sums) {
  KokkosScan::inclusive_scan(Kokkos::DefaultExecutionSpace{}, x, x,
                             KokkosScan::along(1).starting_at(sums));
}
