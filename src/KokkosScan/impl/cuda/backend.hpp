// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The CUDA backend, where Kokkos has CUDA for GPUs that have what the kernels use. Older ones take
/// the generic backend.

#include <Kokkos_Core.hpp>

// The kernels need compute capability 8.0. Kokkos is configured for one generation of GPUs.
#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_KEPLER) &&   \
    !defined(KOKKOS_ARCH_MAXWELL) && !defined(KOKKOS_ARCH_PASCAL) && \
    !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
#define KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS
#include <KokkosScan/impl/cuda/fold.hpp>
#include <KokkosScan/impl/cuda/in_order_problems.hpp>
#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#endif
