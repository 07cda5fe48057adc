// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of files that need not fit into memory: by several ranks, and in pieces.

#include <cstdint>

#include "ranks.hpp"
#include "scan_plan.hpp"

namespace scan_tool {

/// Default and minimum of --memory: bytes for the pieces of a rank.
inline constexpr std::int64_t default_memory = std::int64_t{1} << 30;
inline constexpr std::int64_t least_memory = 4096;

/// Reads, scans and writes pieces of at most `memory` bytes on each rank; collective.
///
/// Lines that are too long, and lines that ranks share, are cut. Floating-point sums and products
/// of cut lines are then combined in float64 (complex128) and rounded once, so that cuts cost no
/// accuracy. In order, results are bitwise those of whole lines.
///
/// \throws AgreedError on all ranks
void scan_in_pieces(const ScanPlan& plan, std::int64_t memory, Ranks& ranks);

}  // namespace scan_tool
