// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls of the CUDA runtime on the device of an execution space instance.

#include <cuda_runtime_api.h>

namespace KokkosScan::impl::cuda {

/// Calls `call` with `device` as the current device, which may be another one in this host thread.
///
/// \return the result of the call, or the error of changing the device
template <class Call>
cudaError_t on_device(int device, const Call& call) {
  int current = 0;
  cudaError_t result = cudaGetDevice(&current);
  if (result != cudaSuccess) return result;
  if (current == device) return call();
  result = cudaSetDevice(device);
  if (result != cudaSuccess) return result;
  result = call();
  const cudaError_t restored = cudaSetDevice(current);
  return result != cudaSuccess ? result : restored;
}

}  // namespace KokkosScan::impl::cuda
