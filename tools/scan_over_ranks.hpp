// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls the library for a ScanProblem whose lines are shared by ranks. See scan_kernels.hpp.

#include <KokkosScan/mpi.hpp>

#include "scan_kernels.hpp"

namespace scan_tool {

struct OverRanks {
  static constexpr bool has_whole_lines = false;

  template <class Exec, class... Arguments>
  static void inclusive_scan(const Exec& exec, const Arguments&... arguments) {
    KokkosScan::mpi::inclusive_scan(exec, MPI_COMM_WORLD, arguments...);
  }
  template <class Exec, class... Arguments>
  static void exclusive_scan(const Exec& exec, const Arguments&... arguments) {
    KokkosScan::mpi::exclusive_scan(exec, MPI_COMM_WORLD, arguments...);
  }
};

template <class A>
void scan_over_ranks(const ScanProblem<A>& problem, std::string_view space) {
  scan_by<OverRanks>(problem, space);
}

}  // namespace scan_tool
