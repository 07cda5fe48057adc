// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which backend scans on which execution space: the only file that knows there are several.

#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/team/backend.hpp>

namespace KokkosScan::impl {

/// The backend for an execution space, chosen at compile time.
template <class Exec>
using DefaultBackend = team::Backend;

}  // namespace KokkosScan::impl
