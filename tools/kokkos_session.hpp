// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Initialises Kokkos as late as possible, so that command line errors need no device.

#include <Kokkos_Core.hpp>

namespace scan_tool {

/// Kokkos is initialised during this object's lifetime.
class KokkosSession {
 private:
  // Suppress Kokkos' advice on OMP_PROC_BIND, which would add a line to stderr.
  Kokkos::ScopeGuard m_guard{Kokkos::InitializationSettings().set_disable_warnings(true)};
};

}  // namespace scan_tool
