// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan scan`: scans a .npy file into another.

#include <optional>
#include <string>

namespace scan_tool {

/// The command line of `kokkos-scan scan`.
struct ScanOptions {
  std::string input;
  std::string output;
  int axis = -1;
  std::string operation = "sum";
  bool exclusive = false;
  bool include_total = false;
  bool reverse = false;
  bool in_order = false;
  std::optional<std::string> mask;
  std::optional<std::string> initial;
  std::optional<std::string> totals;
  std::optional<std::string> dtype;
  std::string space;
};

/// Does it.
/// \throws UserError, with all files as they were
void run_scan(const ScanOptions& options);

}  // namespace scan_tool
