// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recurrence_kernels.hpp"

namespace kokkos_scan_python {
template void recurrence_of<DType::float16>(const RecurrenceRequest&);
template void recurrence_of<DType::bfloat16>(const RecurrenceRequest&);
}  // namespace kokkos_scan_python
