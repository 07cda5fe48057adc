// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recurrence.hpp"

namespace kokkos_scan_python {

void recurrence(const RecurrenceRequest& request) {
  with_type(request.output.dtype, [&](auto dtype) { recurrence_of<dtype.value>(request); });
}

}  // namespace kokkos_scan_python
