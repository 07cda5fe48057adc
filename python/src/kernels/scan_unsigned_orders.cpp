// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_kernels.hpp"

namespace kokkos_scan_python {
template bool scan_orders<DType::boolean>(const Request&);
template bool scan_orders<DType::uint8>(const Request&);
template bool scan_orders<DType::uint16>(const Request&);
}  // namespace kokkos_scan_python
