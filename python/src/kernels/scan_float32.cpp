// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_kernels.hpp"

namespace kokkos_scan_python {
template bool scan_sums<DType::float32>(const Request&);
}  // namespace kokkos_scan_python
