// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// `kokkos-scan info`: build configuration and execution spaces.

namespace scan_tool {

/// Prints the information.
void run_info();

}  // namespace scan_tool
