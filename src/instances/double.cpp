// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosScan/KokkosScan.hpp>
#include <cstdint>

namespace KokkosScan::impl {
KOKKOSSCAN_IMPL_INSTANCES(template, double)
KOKKOSSCAN_IMPL_KERNELS(template, double, Prod)
}  // namespace KokkosScan::impl
