// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace kokkos_scan_python {
namespace {

using Kernels = bool (*)(const Request&);

/// Sums and products, by the type of the output.
constexpr std::array<Kernels, dtype_table.size()> sums{
    nullptr,  // logical operations
    scan_sums<DType::int8>,
    scan_sums<DType::int16>,
    scan_sums<DType::int32>,
    scan_sums<DType::int64>,
    scan_sums<DType::int8>,
    scan_sums<DType::int16>,
    scan_sums<DType::int32>,
    scan_sums<DType::int64>,
    scan_sums<DType::float16>,
    scan_sums<DType::bfloat16>,
    scan_sums<DType::float32>,
    scan_sums<DType::float64>,
    scan_sums<DType::complex64>,
    scan_sums<DType::complex128>,
};

/// Logarithms of sums, by the type of the output.
Kernels logarithms(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return scan_logarithms<DType::float16>;
    case DType::bfloat16:
      return scan_logarithms<DType::bfloat16>;
    case DType::float32:
      return scan_logarithms<DType::float32>;
    case DType::float64:
      return scan_logarithms<DType::float64>;
    default:
      throw TypeError(
          "kokkos_scan: logarithms of sums need a real floating type, but the result has " +
          std::string(info(dtype).name) + ".");
  }
}

/// Minima and maxima, by the type of the output.
constexpr std::array<Kernels, dtype_table.size()> orders{
    scan_orders<DType::boolean>,
    scan_orders<DType::int8>,
    scan_orders<DType::int16>,
    scan_orders<DType::int32>,
    scan_orders<DType::int64>,
    scan_orders<DType::uint8>,
    scan_orders<DType::uint16>,
    scan_orders<DType::uint32>,
    scan_orders<DType::uint64>,
    scan_orders<DType::float16>,
    scan_orders<DType::bfloat16>,
    scan_orders<DType::float32>,
    scan_orders<DType::float64>,
    nullptr,  // complex numbers have no order
    nullptr,
};

/// The kernels of an operation on a type; null if there are none.
Kernels kernels_of(Operation operation, DType dtype) {
  switch (operation) {
    case Operation::sum:
    case Operation::prod:
      return sums[static_cast<std::size_t>(dtype)];
    case Operation::min:
    case Operation::max:
      return orders[static_cast<std::size_t>(dtype)];
    case Operation::logsumexp:
      return logarithms(dtype);
  }
  return nullptr;  // unreachable
}

}  // namespace

void scan(const Request& given) {
  Request request = given;
  const DType dtype = request.output.dtype;
  if (dtype == DType::boolean) {
    // As in NumPy, the sum of bools is their or, the product their and.
    if (request.operation == Operation::sum) request.operation = Operation::max;
    if (request.operation == Operation::prod) request.operation = Operation::min;
    // The identity of min and max on bytes is no bool.
    if (!request.start.exists && !request.starts.exists &&
        (request.form == Form::exclusive || request.totals.exists)) {
      request.start = {true, true, request.operation == Operation::min ? 1U : 0U, 0};
    }
  }
  const Kernels kernels = kernels_of(request.operation, dtype);
  if (kernels == nullptr) {
    throw TypeError(
        "kokkos_scan: complex values have no order, so minima and maxima cannot combine them.");
  }
  if (info(request.input.dtype).kind == Kind::complex && info(dtype).kind != Kind::complex) {
    throw TypeError("kokkos_scan: complex values do not convert to " +
                    std::string(info(dtype).name) + ".");
  }
  if (!kernels(request)) kernels(prepared(request));
}

void gradient(const GradientRequest& request) {
  switch (request.gradient_of_input.dtype) {
    case DType::float16:
      return gradient_of<DType::float16>(request);
    case DType::bfloat16:
      return gradient_of<DType::bfloat16>(request);
    case DType::float32:
      return gradient_of<DType::float32>(request);
    case DType::float64:
      return gradient_of<DType::float64>(request);
    case DType::complex64:
      return gradient_of<DType::complex64>(request);
    case DType::complex128:
      return gradient_of<DType::complex128>(request);
    default:
      throw TypeError("kokkos_scan: " + std::string(info(request.gradient_of_input.dtype).name) +
                      " values have no gradient.");
  }
}

}  // namespace kokkos_scan_python
