// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of files that no memory has to hold: by ranks that each have a part, and in pieces.

#include <cstdint>

#include "ranks.hpp"
#include "scan_plan.hpp"

namespace scan_tool {

/// Bytes for the pieces of a rank where --memory does not say how many, and the fewest it may say.
inline constexpr std::int64_t default_memory = std::int64_t{1} << 30;
inline constexpr std::int64_t least_memory = 4096;

/// Reads, scans and writes pieces of at most `memory` bytes on each rank; collective.
///
/// Lines that are too long for that, and lines that ranks share, are cut. Then floating-point sums
/// and products that are not in order are combined in float64 (complex128) and rounded once, so
/// that cuts cost no accuracy. In order, results have the bits of a scan of whole lines.
///
/// \throws AgreedError on all ranks
void scan_in_pieces(const ScanPlan& plan, std::int64_t memory, Ranks& ranks);

}  // namespace scan_tool
