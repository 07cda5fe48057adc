// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kokkos, started as late as possible: mistakes on the command line need no device.

#include <Kokkos_Core.hpp>

namespace scan_tool {

/// Kokkos is usable while this lives.
class KokkosSession {
 private:
  // Kokkos' advice on OMP_PROC_BIND would be a second line on stderr.
  Kokkos::ScopeGuard m_guard{Kokkos::InitializationSettings().set_disable_warnings(true)};
};

}  // namespace scan_tool
