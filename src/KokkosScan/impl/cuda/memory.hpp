// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stream-ordered memory for Kokkos::Cuda: neither allocation nor deallocation fences.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <cuda_runtime_api.h>

#include <KokkosScan/impl/cuda/device.hpp>
#include <KokkosScan/impl/raise.hpp>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace KokkosScan::impl {

namespace cuda {

/// Where workspaces come from, on the current device: CUDA's default pool, unless a program that
/// embeds the library assigns another before its first scan (the Python package does).
struct Pool {
  cudaError_t (*allocate)(void** data, std::size_t bytes, cudaStream_t stream) = cudaMallocAsync;
  cudaError_t (*deallocate)(void* data, cudaStream_t stream) = cudaFreeAsync;
};
inline Pool pool;

}  // namespace cuda

template <>
class Temporary<Kokkos::Cuda> {
 public:
  Temporary(const Kokkos::Cuda& exec, std::size_t bytes)
      : m_stream(exec.cuda_stream()), m_device(exec.cuda_device()) {
    void* data = nullptr;
    const cudaError_t result =
        cuda::on_device(m_device, [&] { return cuda::pool.allocate(&data, bytes, m_stream); });
    if (result != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // cleared, so that later calls do not report it again
      raise<std::runtime_error>("KokkosScan: a workspace of " + std::to_string(bytes) +
                                " bytes could not be allocated: " + cudaGetErrorString(result) +
                                ".");
    }
    m_data = static_cast<std::byte*>(data);
  }
  ~Temporary() {
    static_cast<void>(
        cuda::on_device(m_device, [&] { return cuda::pool.deallocate(m_data, m_stream); }));
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] std::byte* data() const { return m_data; }

 private:
  cudaStream_t m_stream;
  int m_device;
  std::byte* m_data;
};

}  // namespace KokkosScan::impl

#endif
