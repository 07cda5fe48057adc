// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>

#include <cub/device/device_scan.cuh>
#if __has_include(<cub/device/device_segmented_scan.cuh>)
#include <cub/device/device_segmented_scan.cuh>
#define PERF_HAS_SEGMENTED_SCAN
#endif

#include <stdexcept>

#include "device.hpp"
#include "peers.hpp"

namespace perf {

namespace {

/// Runs a function of CUB with its temporary memory.
template <class Function>
void with_temporary_memory(const Function& function) {
  static Buffer buffer;
  std::size_t bytes = 0;
  check(function(nullptr, bytes));
  check(function(buffer.reserve(bytes), bytes));
}

struct LineOf {
  std::uint32_t n;
  __host__ __device__ std::uint32_t operator()(std::uint32_t i) const { return i / n; }
};
struct BeginOf {
  std::int64_t n;
  __host__ __device__ std::int64_t operator()(std::int64_t line) const { return line * n; }
};

/// The line of element i.
auto keys(std::int64_t n) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0),
                                         LineOf{static_cast<std::uint32_t>(n)});
}

}  // namespace

void cub_flat(cudaStream_t stream, std::int64_t, std::int64_t n, const float* in, float* out) {
  with_temporary_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n, stream);
  });
}

void cub_by_key(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                float* out) {
  with_temporary_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSumByKey(memory, bytes, keys(n), in, out,
                                              static_cast<std::uint32_t>(lines * n),
                                              ::cuda::std::equal_to<>{}, stream);
  });
}

void thrust_by_key(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                   float* out) {
  thrust::inclusive_scan_by_key(thrust::cuda::par_nosync.on(stream), keys(n), keys(n) + lines * n,
                                in, out);
}

#if defined(PERF_HAS_SEGMENTED_SCAN)
bool has_cub_segmented() { return true; }
void cub_segmented(cudaStream_t stream, std::int64_t lines, std::int64_t n, const float* in,
                   float* out) {
  const auto begins =
      thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), BeginOf{n});
  with_temporary_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceSegmentedScan::InclusiveSegmentedSum(memory, bytes, in, out, begins,
                                                           begins + 1, lines, stream);
  });
}
#else
bool has_cub_segmented() { return false; }
void cub_segmented(cudaStream_t, std::int64_t, std::int64_t, const float*, float*) {
  throw std::logic_error("this CUB has no DeviceSegmentedScan");
}
#endif

void cub_offsets(cudaStream_t stream, std::int64_t n, const std::int32_t* in, std::int64_t* out) {
  check(cudaMemsetAsync(out, 0, sizeof *out, stream));
  with_temporary_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(memory, bytes, in, out + 1,
                                          ::cuda::std::plus<std::int64_t>{}, n, stream);
  });
}

}  // namespace perf
