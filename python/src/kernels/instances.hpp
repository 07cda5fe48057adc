// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The lifetime of Kokkos, and the execution space instances on which scans run.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <shared_mutex>

#include "request.hpp"

namespace kokkos_scan_python {

/// The execution space for arrays in host memory.
using HostSpace = Kokkos::DefaultHostExecutionSpace;

/// Keeps Kokkos initialised. The first object initialises it.
class Session {
 public:
  /// \throws std::runtime_error after finalize()
  explicit Session(const Place& place);

 private:
  std::shared_lock<std::shared_mutex> m_lock;
};

/// An instance of the host space for one thread at a time, so that Python threads can scan
/// concurrently.
class HostInstance {
 public:
  /// \param elements number of scanned elements; if it is small, the instance has one thread
  explicit HostInstance(std::int64_t elements);
  ~HostInstance();
  HostInstance(const HostInstance&) = delete;
  HostInstance& operator=(const HostInstance&) = delete;

  [[nodiscard]] const HostSpace& space() const { return *m_space; }

 private:
  bool m_is_single;
  HostSpace* m_space;
};

#if defined(KOKKOS_ENABLE_CUDA)
/// An instance of Kokkos::Cuda for a stream. Instances are cached by stream. If the stream is being
/// captured and has no instance yet, creating one would allocate, which is forbidden: then a spare
/// instance is used between two events, which become edges of the graph.
class CudaInstance {
 public:
  explicit CudaInstance(const Place& place);
  ~CudaInstance();
  CudaInstance(const CudaInstance&) = delete;
  CudaInstance& operator=(const CudaInstance&) = delete;

  [[nodiscard]] const Kokkos::Cuda& space() const { return *m_space; }
  /// Makes the stream wait for the spare instance, if one is used. Must be called when everything
  /// is enqueued, also after a failure: a capture can end only when all forked streams have joined.
  void join();

 private:
  struct Spare;

  Place m_place;
  const Kokkos::Cuda* m_space = nullptr;
  Spare* m_spare = nullptr;
};
#endif

/// Calls `visitor` with an instance of the space that the arrays are in.
template <class Visitor>
void on_instance(const Place& place, std::int64_t elements, const Visitor& visitor) {
  const Session session(place);
  if (!place.is_cuda) {
    const HostInstance instance(elements);
    visitor(instance.space());
    return;
  }
#if defined(KOKKOS_ENABLE_CUDA)
  CudaInstance instance(place);
  try {
    visitor(instance.space());
  } catch (...) {
    instance.join();
    throw;
  }
  instance.join();
#endif
}

}  // namespace kokkos_scan_python
