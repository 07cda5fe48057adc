// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan info`: what this program was built with and where it runs.

namespace scan_tool {

/// Prints it.
void run_info();

}  // namespace scan_tool
