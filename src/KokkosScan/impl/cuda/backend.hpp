// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The CUDA backend, where Kokkos has CUDA.

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#endif
