// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The CUDA backend, compiled if Kokkos is configured for CUDA and for GPUs with the instructions
/// that the kernels use. Older GPUs use the generic backend.

#include <Kokkos_Core.hpp>

// The kernels need compute capability 8.0. Kokkos is configured for one GPU architecture.
#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_KEPLER) &&   \
    !defined(KOKKOS_ARCH_MAXWELL) && !defined(KOKKOS_ARCH_PASCAL) && \
    !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
#define KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS
#include <KokkosScan/impl/cuda/fold.hpp>
#include <KokkosScan/impl/cuda/in_order_problems.hpp>
#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#endif
