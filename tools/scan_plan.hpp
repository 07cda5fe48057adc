// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What `kokkos-scan scan` is asked for, checked, and what both ways of doing it need.

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

/// Where the axis cuts a shape, in the order in which the elements lie.
struct Geometry {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

/// All that is known once the command line and the headers are.
struct ScanPlan {
  const ScanOptions& options;
  const NpyInput& input;
  const NpyInput* mask;
  std::optional<NpyOutput>& output;
  std::optional<NpyOutput>& totals;  ///< absent where none are wanted
  Operation operation;
  std::size_t axis;
  DType dtype;
  Geometry geometry;
};

/// The headers of the files to write.
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
    return {};  // refused before
  }
}
/// The identity of an operation among the values of `dtype`. For min and max the operator's own is
/// that of the accumulator, which is no value of a smaller type.
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
  return {};  // there is no other
}

}  // namespace scan_tool
