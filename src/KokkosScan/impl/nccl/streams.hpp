// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The stream of messages, a second one of kernels, and the events that order them and the stream
/// of an instance.

#include <nccl.h>
#include <Kokkos_Core.hpp>
#include <optional>
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
class Streams {
 public:
  explicit Streams(const Exec& exec) : m_exec(exec) {}
  [[nodiscard]] const Exec& exec() const { return m_exec; }
  [[nodiscard]] int index() const { return 0; }
  void fork() {}
  void use(int) {}
  void join() {}
  [[nodiscard]] cudaStream_t of_messages() const { return nullptr; }
  [[nodiscard]] bool is_on(int) const { return true; }
  [[nodiscard]] bool is_captured() const { return false; }
  /// A point in the order of the instance, and: messages that follow come after it.
  void mark(int) {}
  void wait_for_mark(int) {}
  /// A point in the order of messages, and: what the instance gets next comes after it.
  void arrive(int) {}
  void wait_for_arrival(int) {}

 private:
  Exec m_exec;
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
class Streams<Kokkos::Cuda> {
 public:
  explicit Streams(const Kokkos::Cuda& exec) : m_exec(exec) {
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
      if (result != cudaSuccess) return result;
      result = cudaEventCreateWithFlags(&m_of_second, cudaEventDisableTiming);
      return result;
    }));
  }
  ~Streams() {
    m_second.reset();
    if (m_second_stream != nullptr) static_cast<void>(cudaStreamDestroy(m_second_stream));
    static_cast<void>(cudaEventDestroy(m_of_second));
    for (cudaEvent_t event : m_events) static_cast<void>(cudaEventDestroy(event));
    static_cast<void>(cudaStreamDestroy(m_stream));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  [[nodiscard]] cudaStream_t of_messages() const { return m_stream; }
  [[nodiscard]] bool is_on(int device) const { return device == m_exec.cuda_device(); }
  [[nodiscard]] bool is_captured() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(m_exec.cuda_stream(), &status));
    return status != cudaStreamCaptureStatusNone;
  }
  void mark(int i) { record(m_events[i], exec().cuda_stream()); }
  void wait_for_mark(int i) { wait(m_stream, m_events[i]); }
  void arrive(int i) { record(m_events[2 + i], m_stream); }
  void wait_for_arrival(int i) { wait(exec().cuda_stream(), m_events[2 + i]); }

  /// The instance that gets kernels: that of the caller, or between fork() and join() a second one.
  [[nodiscard]] const Kokkos::Cuda& exec() const { return m_current == 0 ? m_exec : *m_second; }
  [[nodiscard]] int index() const { return m_current; }
  void fork() {
    if (!m_second) {
      check(cuda::on_device(m_exec.cuda_device(), [&] {
        return cudaStreamCreateWithFlags(&m_second_stream, cudaStreamNonBlocking);
      }));
      m_second.emplace(m_second_stream);
    }
    record(m_of_second, m_exec.cuda_stream());
    wait(m_second_stream, m_of_second);
    m_is_forked = true;
  }
  void use(int i) { m_current = m_is_forked ? i : 0; }
  void join() {
    if (!m_is_forked) return;
    record(m_of_second, m_second_stream);
    wait(m_exec.cuda_stream(), m_of_second);
    m_is_forked = false;
    m_current = 0;
  }

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
  cudaStream_t m_second_stream = nullptr;
  std::optional<Kokkos::Cuda> m_second;
  cudaEvent_t m_of_second = nullptr;
  bool m_is_forked = false;
  int m_current = 0;
};
#endif

}  // namespace KokkosScan::impl::nccl
