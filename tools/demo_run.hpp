// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The measurements of the demo.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "demo.hpp"
#include "demo_check.hpp"

namespace scan_tool {

/// One line of the demo's table.
struct DemoResult {
  DemoScan scan = DemoScan::running_sum;
  /// The bracketed part of the kernels' labels.
  std::string path;
  /// Median of the repetitions.
  double milliseconds = 0;
  double gigabytes_per_second = 0;
  /// The scan's bandwidth divided by that of the fastest copy, measured alternately with it.
  double fraction_of_copy = 0;
  WorstError worst;
};

/// Runs all scans on the named space. Kokkos must be initialised.
std::vector<DemoResult> measure_demo(std::string_view space, std::int64_t rows,
                                     std::int64_t columns);

/// Default size of the input in bytes: about 1 GiB on a device, 256 MiB on a host, and less if the
/// host lacks the memory for it.
std::int64_t default_demo_bytes(std::string_view space);

}  // namespace scan_tool
