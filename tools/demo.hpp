// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan demo`: five scans of generated data, checked and compared with a copy.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scan_tool {

/// The command line of `kokkos-scan demo`.
struct DemoOptions {
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> columns;
  std::string space;
  bool json = false;
};

/// Runs the demo.
/// \returns the exit status: 1 if a result exceeded its error bound
/// \throws UserError
int run_demo(const DemoOptions& options);

/// The five scans, all along axis 1 of (rows, columns) values of float32.
enum class DemoScan { running_sum, running_product, backward_sum, exclusive_sum, masked_sum };

/// The name of a scan in the table.
constexpr std::string_view name_of(DemoScan scan) {
  switch (scan) {
    case DemoScan::running_sum:
      return "running sum";
    case DemoScan::running_product:
      return "running product";
    case DemoScan::backward_sum:
      return "backward sum";
    case DemoScan::exclusive_sum:
      return "exclusive sum";
    case DemoScan::masked_sum:
      return "masked sum";
  }
  return {};
}

}  // namespace scan_tool
