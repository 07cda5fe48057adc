// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Detects MPI launchers.

#include <algorithm>
#include <array>
#include <cstdlib>

namespace scan_tool {

/// Whether an MPI launcher started this process, according to environment variables of Open MPI and
/// other PMIx users, and of MPICH and its derivatives.
inline bool has_launcher() {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace scan_tool
