// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Alternatives to this library, called or written by hand.

#include <cuda_runtime.h>

#include <cstdint>

#include "problem.hpp"

namespace perf {

// ---- Written with Kokkos: any form, direction and strides ---------------------------------------

/// A team for each line, which scans it by a nested parallel_scan.
template <class T>
void team_per_line(const Exec& exec, const Problem& p, const Memory& memory);
/// A warp for each line, with a nested parallel_scan.
template <class T>
void vector_per_line(const Exec& exec, const Problem& p, const Memory& memory);
/// A thread for each line, which loops over it.
template <class T>
void thread_per_line(const Exec& exec, const Problem& p, const Memory& memory);

/// The same of products of two inputs, from a boundary value.
template <class T>
void team_per_column(const Exec& exec, const Problem& p, const Memory& memory);
template <class T>
void thread_per_column(const Exec& exec, const Problem& p, const Memory& memory);

/// int32 counts of one line to int64 offsets, by a flat parallel_scan.
void flat_offsets(const Exec& exec, const Problem& p, const Memory& memory);

/// This library's generic backend: sums of floats.
void generic_backend(const Exec& exec, const Problem& p, const Memory& memory);

// ---- From the toolkit: sums of contiguous lines of floats ---------------------------------------

/// Of a single line.
void cub_flat(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in, float* out);
void cub_by_key(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                float* out);
void thrust_by_key(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                   float* out);
/// Whether this CUB has DeviceSegmentedScan.
bool has_cub_segmented();
void cub_segmented(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                   float* out);
/// n counts to n + 1 offsets.
void cub_offsets(cudaStream_t stream, std::int64_t n, const std::int32_t* in, std::int64_t* out);

}  // namespace perf
