// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Who has started the program.

#include <algorithm>
#include <array>
#include <cstdlib>

namespace scan_tool {

/// Whether a launcher of ranks says which one this is: Open MPI and all that use PMIx, MPICH and
/// its kin.
inline bool has_launcher() {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace scan_tool
