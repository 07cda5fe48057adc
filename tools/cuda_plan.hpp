// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan info --plan SHAPE`: how the CUDA backend would scan an array of this shape, and
/// why. The plan is computed by the backend itself; no GPU is needed.

#include <cstdint>
#include <string>

namespace scan_tool {

/// The inputs of a plan.
struct PlanOptions {
  std::string shape;  ///< such as 64x1024x3
  std::int64_t axis = -1;
  std::string operation = "sum";
  std::string dtype = "float32";
  bool mask = false;
  bool exclusive = false;
  bool include_total = false;
  bool reverse = false;
  std::string device = "h200";  ///< a name, or MULTIPROCESSORS,BYTES of shared memory
};

/// Prints the plan.
void run_plan(const PlanOptions& options);

}  // namespace scan_tool
