// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recurrence.hpp"

#include <string>
#include <type_traits>

namespace kokkos_scan_python {
namespace {

/// Calls f(dtype, as a constant) for the types of a recurrence.
template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float16:
      return f(std::integral_constant<DType, DType::float16>{});
    case DType::bfloat16:
      return f(std::integral_constant<DType, DType::bfloat16>{});
    case DType::float32:
      return f(std::integral_constant<DType, DType::float32>{});
    case DType::float64:
      return f(std::integral_constant<DType, DType::float64>{});
    default:
      throw TypeError("kokkos_scan: a linear recurrence needs a real floating type, not " +
                      std::string(info(dtype).name) + ".");
  }
}

}  // namespace

void recurrence(const RecurrenceRequest& request) {
  with_type(request.output.dtype, [&](auto dtype) { recurrence_of<dtype.value>(request); });
}

void recurrence_gradient(const RecurrenceGradientRequest& request) {
  with_type(request.gradient.dtype,
            [&](auto dtype) { recurrence_gradient_of<dtype.value>(request); });
}

}  // namespace kokkos_scan_python
