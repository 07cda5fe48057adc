// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_over_ranks.hpp"

template void scan_tool::scan_over_ranks(const ScanProblem<std::uint64_t>&, std::string_view);
