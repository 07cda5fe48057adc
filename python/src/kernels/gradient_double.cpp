// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gradient.hpp"

namespace kokkos_scan_python {
template void gradient_of<DType::float64>(const GradientRequest&);
template void gradient_of<DType::complex64>(const GradientRequest&);
template void gradient_of<DType::complex128>(const GradientRequest&);
}  // namespace kokkos_scan_python
