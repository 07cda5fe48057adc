// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans over GPUs, by a tree and in order, with NCCL's own header or unit_tests/nccl/stand_in.

#include <KokkosScan/nccl.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Exec>;

void scan(const Exec& exec, ncclComm_t comm, const Matrix& x,
          const Kokkos::View<bool**, Exec>& mask, const Kokkos::View<double*, Exec>& totals) {
  KokkosScan::nccl::exclusive_scan(exec, comm, x, x, 0);
  KokkosScan::nccl::Plan plan(exec, comm);
  plan.inclusive_scan(x, x, KokkosScan::along(1).totals(totals));
  plan.exclusive_scan(KokkosScan::masked(x, mask), x, KokkosScan::along(1).in_order());
  auto pending = plan.begin_inclusive_scan(x, x, 0);
  pending.finish();
}
