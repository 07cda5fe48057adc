// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Declares the names of CUDA C++ that kernel headers use, so that a host compiler can parse these
/// headers. It compiles the planning of launches, but no kernel.

#include <cstddef>
#include <cstdint>

#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __align__(n) __attribute__((aligned(n)))

struct Dim3 {
  unsigned x;
};
extern const Dim3 threadIdx, blockIdx, blockDim, gridDim;

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
template <class T>
T __ldcg(const T* from);
template <class T>
void __stcg(T* to, const T& value);
void __syncthreads();
int __syncthreads_and(int value);
void __threadfence();
void __syncwarp();
unsigned __shfl_sync(unsigned lanes, unsigned value, int source);
unsigned __shfl_up_sync(unsigned lanes, unsigned value, int distance);
bool __all_sync(unsigned lanes, bool value);
unsigned __ballot_sync(unsigned lanes, bool value);
void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0);
void __pipeline_commit();
void __pipeline_wait_prior(int groups);

namespace KokkosScan::impl::cuda {

std::byte* shared_memory();
void pause();
std::uint64_t look_at_word(const std::uint64_t* at);
bool has_bulk_copies();
void begin_bulk_store(std::byte* to, const std::byte* from, int bytes);
void wait_for_bulk_stores();

class Barrier {
 public:
  void initialize(int arrivals);
  void arrive();
  void arrive_after_copies();
  void wait(int parity) const;
  void begin_bulk_load(std::byte* to, const std::byte* from, int bytes);

 private:
  unsigned long long m_state;  // the same size as on a GPU
};

}  // namespace KokkosScan::impl::cuda
