// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// GPU utilities of the benchmarks, without Kokkos: memory, timers, copies, clocks.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace perf {

/// Throws if a call failed.
void check(cudaError_t result);

/// A device buffer that grows on demand and is kept, because allocation takes longer than most
/// measurements.
class Buffer {
 public:
  ~Buffer() { cudaFree(m_data); }
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// At least this many bytes, with arbitrary contents.
  void* reserve(std::size_t bytes);

 private:
  void* m_data = nullptr;
  std::size_t m_bytes = 0;
};

/// Times pieces of work on a stream. All are enqueued before the first time is read, so that the
/// device never waits for the host in between.
class Timer {
 public:
  explicit Timer(cudaStream_t stream) : m_stream(stream) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void time(const std::string& name, const std::function<void()>& work);
  /// The median time of a name in milliseconds; waits for the stream.
  double median(const std::string& name);

 private:
  cudaStream_t m_stream;
  std::map<std::string, std::vector<std::pair<cudaEvent_t, cudaEvent_t>>> m_events;
};

/// Ways to copy: cudaMemcpyAsync first, then kernels that move 16 bytes at a time.
struct Copy {
  std::string name;
  std::function<void(cudaStream_t, const void* from, void* to, std::size_t bytes)> run;
};
const std::vector<Copy>& copies();

/// The fastest copy kernel for about this many bytes; measured once.
const Copy& best_kernel(cudaStream_t stream, const void* from, void* to, std::size_t bytes);

/// Evicts the cache by reading memory that the next work does not use.
constexpr std::size_t evicting_bytes = std::size_t{256} << 20;
void evict(cudaStream_t stream, void* memory);

/// A kernel that does nothing.
void launch_empty(cudaStream_t stream);

/// The clock of a multiprocessor, from its cycles during 50 microseconds. It waits for the stream;
/// in that time the clock of a busy device does not change.
double sm_clock_mhz(cudaStream_t stream);

/// From the driver's management library (NVML) if it is installed; otherwise empty, and false.
std::map<std::string, std::string> describe_device();
bool is_power_capped();

}  // namespace perf
