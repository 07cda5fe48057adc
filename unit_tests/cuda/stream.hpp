// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The default stream of a GPU as an execution space for the CUDA backend, for programs that nvcc
// compiles without Kokkos.

#include <KokkosScan/impl/cuda/problems.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace test {

inline void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

inline int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

/// The default stream. A test may make the device appear smaller than it is.
struct Stream {
  using memory_space = Kokkos::HostSpace;
  int multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  int shared_bytes_of_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
};

inline int multiprocessors(Stream const& stream) { return stream.multiprocessors; }
inline int shared_bytes_of_block(Stream const& stream) { return stream.shared_bytes_of_block; }
inline void clear(Stream const&, KokkosScan::impl::cuda::Launch const&, std::byte* memory,
                  std::size_t bytes, std::int64_t, std::int64_t) {
  check(cudaMemsetAsync(memory, 0, bytes));
}
/// The path of the last kernel that was launched.
inline char const*& last_path() {
  static char const* path = "";
  return path;
}
template <class Kernel, class... Arguments>
void enqueue(Stream const&, KokkosScan::impl::cuda::Launch const& launch, Kernel kernel,
             std::int64_t, std::int64_t, Arguments const&... arguments) {
  last_path() = launch.path;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             launch.shared_bytes));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  check(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace test

template <>
class KokkosScan::impl::Temporary<test::Stream> {
 public:
  Temporary(test::Stream const&, std::size_t) { std::abort(); }  // all calls bring a workspace
  std::byte* data() const { return nullptr; }
};
