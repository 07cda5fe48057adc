// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan scan`: scans a .npy file into another.

#include <optional>
#include <string>

#include "ranks.hpp"

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
  std::optional<std::string> memory;
  std::string space;
};

/// Runs the command; collective.
/// \throws UserError on all ranks; files are unchanged then
void run_scan(const ScanOptions& options, Ranks& ranks);

}  // namespace scan_tool
