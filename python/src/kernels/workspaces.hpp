// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The memory that scans on CUDA devices need for their own.

#include <cstddef>

#include "request.hpp"

namespace kokkos_scan_python {

/// Lets workspaces on CUDA devices come from another allocator: `allocate` is called with the
/// device current and may throw, and memory that is given back may be used by what is enqueued on
/// that stream later. By default they come from a pool of this package that keeps its memory, where
/// CUDA's default pool gives it back to the system at each synchronisation. While a stream is
/// captured, CUDA makes them a part of the graph.
KOKKOS_SCAN_PYTHON_API void take_workspaces_from(void* (*allocate)(std::size_t bytes, void* stream),
                                                 void (*deallocate)(void* data));

}  // namespace kokkos_scan_python
