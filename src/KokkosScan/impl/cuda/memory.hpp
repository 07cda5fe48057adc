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
  Temporary(const Kokkos::Cuda& exec, std::size_t bytes)
      : m_stream(exec.cuda_stream()), m_device(exec.cuda_device()) {
    void* data = nullptr;
    const cudaError_t result = on_device([&] { return cudaMallocAsync(&data, bytes, m_stream); });
    if (result != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // the exception reports it; later calls must not
      throw std::runtime_error("KokkosScan: a workspace of " + std::to_string(bytes) +
                               " bytes could not be allocated: " + cudaGetErrorString(result) +
                               ".");
    }
    m_data = static_cast<std::byte*>(data);
  }
  ~Temporary() {
    static_cast<void>(on_device([&] { return cudaFreeAsync(m_data, m_stream); }));
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] std::byte* data() const { return m_data; }

 private:
  /// Calls with the instance's device as the current one; a host thread may be on another.
  template <class Call>
  cudaError_t on_device(const Call& call) const {
    int current = 0;
    cudaError_t result = cudaGetDevice(&current);
    if (result != cudaSuccess) return result;
    if (current == m_device) return call();
    result = cudaSetDevice(m_device);
    if (result != cudaSuccess) return result;
    result = call();
    const cudaError_t restored = cudaSetDevice(current);
    return result != cudaSuccess ? result : restored;
  }

  cudaStream_t m_stream;
  int m_device;
  std::byte* m_data;
};

}  // namespace KokkosScan::impl

#endif
