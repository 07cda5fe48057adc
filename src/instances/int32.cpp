// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <KokkosScan/KokkosScan.hpp>
#include <cstdint>

namespace KokkosScan::impl {
KOKKOSSCAN_IMPL_INSTANCES(template, std::int32_t)
KOKKOSSCAN_IMPL_KERNELS(template, std::int32_t, Prod)
}  // namespace KokkosScan::impl
