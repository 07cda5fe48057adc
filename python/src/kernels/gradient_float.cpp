// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gradient.hpp"

namespace kokkos_scan_python {
template void gradient_of<DType::float16>(const GradientRequest&);
template void gradient_of<DType::bfloat16>(const GradientRequest&);
template void gradient_of<DType::float32>(const GradientRequest&);
}  // namespace kokkos_scan_python
