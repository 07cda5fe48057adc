// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a launch consists of, and how it is enqueued on an instance of Kokkos::Cuda.

#include <KokkosScan/impl/operands.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace KokkosScan::impl::cuda {

/// A kernel's name and launch configuration.
struct Launch {
  Function function;
  const char* path;  ///< follows the function in labels
  std::int64_t blocks;
  int threads;
  int shared_bytes;

  /// The name in Kokkos Tools and errors; made only when one of them asks.
  [[nodiscard]] std::string label() const { return name(function) + " [" + path + "]"; }
};

/// An execution space instance that only plans: would_launch() is called instead of each launch,
/// with the arguments that the kernel would receive besides the problem.
template <class Exec>
concept OnlyPlans = requires {
  requires Exec::only_plans;
};

}  // namespace KokkosScan::impl::cuda

#if defined(KOKKOS_ENABLE_CUDA)

#include <cuda_runtime_api.h>

#include <KokkosScan/impl/cuda/device.hpp>
#include <KokkosScan/impl/raise.hpp>

namespace KokkosScan::impl::cuda {

/// Throws if a call of the runtime has failed.
inline void check(cudaError_t result, const Launch& launch, std::int64_t n, std::int64_t lines) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // cleared, so that later calls do not report it again
  raise<std::runtime_error>(launch.label() + ": the launch for " + std::to_string(lines) +
                            " lines of " + std::to_string(n) +
                            " elements failed: " + cudaGetErrorString(result) + ".");
}

/// Enqueues a kernel on the instance's stream and device, and throws if the launch fails.
template <class Kernel, class... Arguments>
void enqueue(const Kokkos::Cuda& exec, const Launch& launch, Kernel kernel, std::int64_t n,
             std::int64_t lines, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = exec.cuda_stream();
  std::uint64_t id = 0;
  const bool has_tools = Kokkos::Tools::profileLibraryLoaded();
  if (has_tools) {
    Kokkos::Tools::beginParallelFor(launch.label(), Kokkos::Tools::Experimental::device_id(exec),
                                    &id);
  }
  const cudaError_t result = on_device(exec.cuda_device(), [&] {
    // 48 KB need no opt-in. Static shared memory is included, less than 1 KB in all kernels.
    constexpr int without_asking = 47 * 1024;
    if (launch.shared_bytes > without_asking) {
      const cudaError_t granted = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes);
      if (granted != cudaSuccess) return granted;
    }
    // Not cudaGetLastError(), which would also report earlier errors.
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  });
  if (has_tools) Kokkos::Tools::endParallelFor(id);
  check(result, launch, n, lines);
}

/// Enqueues clearing the memory, for the launch that follows.
inline void clear(const Kokkos::Cuda& exec, const Launch& launch, std::byte* memory,
                  std::size_t bytes, std::int64_t n, std::int64_t lines) {
  check(on_device(exec.cuda_device(),
                  [&] { return cudaMemsetAsync(memory, 0, bytes, exec.cuda_stream()); }),
        launch, n, lines);
}

/// The most bytes of shared memory of a block.
inline int shared_bytes_of_block(const Kokkos::Cuda& exec) {
  return static_cast<int>(exec.cuda_device_prop().sharedMemPerBlockOptin);
}

inline int multiprocessors(const Kokkos::Cuda& exec) {
  return exec.cuda_device_prop().multiProcessorCount;
}

}  // namespace KokkosScan::impl::cuda

#endif
