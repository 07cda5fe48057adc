// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <KokkosScan/nccl.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>

int main() {
  const Kokkos::ScopeGuard guard;
  const Kokkos::DefaultExecutionSpace exec;
  stand_in::World world;
  ncclComm comm{&world, 0, 1};
  const Kokkos::View<int*> x("x", 4);
  for (int k = 0; k < 4; ++k) x(static_cast<std::size_t>(k)) = k + 1;
  KokkosScan::nccl::inclusive_scan(exec, &comm, x, x);
  std::printf("%d %d %d %d\n", x(0), x(1), x(2), x(3));
}
