// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recurrence.hpp"

namespace kokkos_scan_python {

void recurrence_gradient(const RecurrenceGradientRequest& request) {
  with_type(request.gradient.dtype,
            [&](auto dtype) { recurrence_gradient_of<dtype.value>(request); });
}

}  // namespace kokkos_scan_python
