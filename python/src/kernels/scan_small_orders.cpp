// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_kernels.hpp"

namespace kokkos_scan_python {
template bool scan_orders<DType::int8>(const Request&);
template bool scan_orders<DType::int16>(const Request&);
}  // namespace kokkos_scan_python
