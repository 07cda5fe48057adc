// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recurrence.hpp"

#include <string>

namespace kokkos_scan_python {

void recurrence(const RecurrenceRequest& request) {
  switch (request.output.dtype) {
    case DType::float16:
      return recurrence_of<DType::float16>(request);
    case DType::bfloat16:
      return recurrence_of<DType::bfloat16>(request);
    case DType::float32:
      return recurrence_of<DType::float32>(request);
    case DType::float64:
      return recurrence_of<DType::float64>(request);
    default:
      throw TypeError("kokkos_scan: a linear recurrence needs a real floating type, not " +
                      std::string(info(request.output.dtype).name) + ".");
  }
}

}  // namespace kokkos_scan_python
