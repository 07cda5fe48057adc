// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The checked arguments of `kokkos-scan scan`, for both implementations.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "dtype.hpp"
#include "npy_input.hpp"
#include "npy_output.hpp"
#include "scan_command.hpp"
#include "scan_problem.hpp"

namespace scan_tool {

/// The shape as (outer, length, inner) around the axis, in memory order.
struct Geometry {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

/// Everything that follows from the command line and the headers.
struct ScanPlan {
  const ScanOptions& options;
  const NpyInput& input;
  const NpyInput* mask;
  std::optional<NpyOutput>& output;
  std::optional<NpyOutput>& totals;  ///< absent if none are wanted
  Operation operation;
  std::size_t axis;
  DType dtype;
  Geometry geometry;
};

/// The headers of the output files.
inline NpyHeader output_header(const ScanPlan& plan) {
  NpyHeader header{plan.dtype, plan.input.header().order, plan.input.header().shape};
  header.shape[plan.axis] += plan.options.include_total ? 1 : 0;
  return header;
}
inline NpyHeader totals_header(const ScanPlan& plan) {
  NpyHeader header{plan.dtype, plan.input.header().order, plan.input.header().shape};
  header.shape.erase(header.shape.begin() + static_cast<std::ptrdiff_t>(plan.axis));
  return header;
}

inline bool is_ordering(Operation operation) {
  return operation == Operation::min || operation == Operation::max;
}

enum class Extreme { least, greatest };
/// The least or the greatest value of `dtype`.
template <class A>
A extreme_of(DType dtype, Extreme extreme) {
  const bool is_greatest = extreme == Extreme::greatest;
  if constexpr (std::is_floating_point_v<A>) {
    constexpr A infinity = std::numeric_limits<A>::infinity();
    return is_greatest ? infinity : -infinity;
  } else if constexpr (std::is_integral_v<A>) {
    if (dtype == DType::boolean) return is_greatest ? 1 : 0;
    const auto excess = static_cast<int>(8 * (sizeof(A) - size_of(dtype)));
    return is_greatest ? std::numeric_limits<A>::max() >> excess
                       : std::numeric_limits<A>::min() >> excess;
  } else {
    return {};  // unreachable
  }
}
/// The identity of an operation as a value of `dtype`. For min and max, the operator's identity is
/// that of the accumulator, which a smaller type may not represent.
template <class A>
A identity(Operation operation, DType dtype) {
  switch (operation) {
    case Operation::sum:
      return A(0);
    case Operation::prod:
      return A(1);
    case Operation::min:
      return extreme_of<A>(dtype, Extreme::greatest);
    case Operation::max:
    case Operation::logsumexp:
      return extreme_of<A>(dtype, Extreme::least);
  }
  return {};  // unreachable
}

}  // namespace scan_tool
