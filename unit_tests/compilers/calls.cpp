// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The calls that most users begin with, optimised: many warnings come from the optimiser alone,
// after inlining, and no `-isystem` keeps those from a user.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

template <class T>
using Batch = Kokkos::View<T**, Kokkos::LayoutRight>;

void scan(const Kokkos::DefaultExecutionSpace& exec, const Batch<float>& x, const Batch<float>& y) {
  KokkosScan::inclusive_scan(exec, x, y);
}

void masked(const Kokkos::DefaultExecutionSpace& exec, const Batch<double>& x,
            const Batch<bool>& mask, const Batch<double>& y) {
  KokkosScan::exclusive_scan(exec, KokkosScan::masked(x, mask), y, 0);
}
