// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The stream of messages, and the events that order it and the stream of an instance.

#include <nccl.h>
#include <Kokkos_Core.hpp>
#include <stdexcept>
#include <string>
#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>

#include <KokkosScan/impl/cuda/device.hpp>
#endif

namespace KokkosScan::impl::nccl {

/// How many arrivals can be waited for at a time.
inline constexpr int marks_of_arrival = 4;

/// On hosts whatever is enqueued has finished: for tests, where NCCL has a stand-in.
template <class Exec>
class Stream {
 public:
  explicit Stream(const Exec&) {}
  [[nodiscard]] cudaStream_t get() const { return nullptr; }
  [[nodiscard]] bool is_on(int) const { return true; }
  [[nodiscard]] bool is_captured() const { return false; }
  /// A point in the order of the instance, and: messages that follow come after it.
  void mark(int) {}
  void wait_for_mark(int) {}
  /// A point in the order of messages, and: what the instance gets next comes after it.
  void arrive(int) {}
  void wait_for_arrival(int) {}
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
class Stream<Kokkos::Cuda> {
 public:
  explicit Stream(const Kokkos::Cuda& exec) : m_exec(exec) {
    check(cuda::on_device(exec.cuda_device(), [&] {
      int least = 0;
      int greatest = 0;
      cudaError_t result = cudaDeviceGetStreamPriorityRange(&least, &greatest);
      // Messages must find room beside kernels that fill the device.
      if (result == cudaSuccess) {
        result = cudaStreamCreateWithPriority(&m_stream, cudaStreamNonBlocking, greatest);
      }
      for (cudaEvent_t& event : m_events) {
        if (result != cudaSuccess) break;
        result = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      }
      return result;
    }));
  }
  ~Stream() {
    for (cudaEvent_t event : m_events) static_cast<void>(cudaEventDestroy(event));
    static_cast<void>(cudaStreamDestroy(m_stream));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return m_stream; }
  [[nodiscard]] bool is_on(int device) const { return device == m_exec.cuda_device(); }
  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(m_exec.cuda_stream(), &status));
    return status != cudaStreamCaptureStatusNone;
  }
  void mark(int i) { record(m_events[i], m_exec.cuda_stream()); }
  void wait_for_mark(int i) { wait(m_stream, m_events[i]); }
  void arrive(int i) { record(m_events[2 + i], m_stream); }
  void wait_for_arrival(int i) { wait(m_exec.cuda_stream(), m_events[2 + i]); }

 private:
  static void check(cudaError_t result) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string("KokkosScan::nccl: ") + cudaGetErrorString(result));
  }
  void record(cudaEvent_t event, cudaStream_t stream) const {
    check(cuda::on_device(m_exec.cuda_device(), [&] { return cudaEventRecord(event, stream); }));
  }
  void wait(cudaStream_t stream, cudaEvent_t event) const {
    check(cuda::on_device(m_exec.cuda_device(),
                          [&] { return cudaStreamWaitEvent(stream, event, 0); }));
  }

  Kokkos::Cuda m_exec;
  cudaStream_t m_stream = nullptr;
  cudaEvent_t m_events[2 + marks_of_arrival] = {};
};
#endif

}  // namespace KokkosScan::impl::nccl
