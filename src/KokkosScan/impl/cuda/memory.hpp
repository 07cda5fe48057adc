// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stream-ordered memory for Kokkos::Cuda: neither taking nor freeing it fences.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace KokkosScan::impl {

template <>
class Temporary<Kokkos::Cuda> {
 public:
  Temporary(const Kokkos::Cuda& exec, std::size_t bytes) : m_stream(exec.cuda_stream()) {
    // Kokkos tracks the device of an instance; a host thread may be on another one.
    int current = 0;
    check(cudaGetDevice(&current), bytes);
    check(cudaSetDevice(exec.cuda_device()), bytes);
    void* data = nullptr;
    const cudaError_t result = cudaMallocAsync(&data, bytes, m_stream);
    check(cudaSetDevice(current), bytes);
    check(result, bytes);
    m_data = static_cast<std::byte*>(data);
  }
  ~Temporary() { static_cast<void>(cudaFreeAsync(m_data, m_stream)); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] std::byte* data() const { return m_data; }

 private:
  static void check(cudaError_t result, std::size_t bytes) {
    if (result == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // the exception reports it; later calls must not
    throw std::runtime_error("KokkosScan: a workspace of " + std::to_string(bytes) +
                             " bytes could not be allocated: " + cudaGetErrorString(result) + ".");
  }

  cudaStream_t m_stream;
  std::byte* m_data;
};

}  // namespace KokkosScan::impl

#endif
