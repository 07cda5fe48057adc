// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// When Kokkos lives, and the execution space instances on which scans run.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <shared_mutex>

#include "request.hpp"

namespace kokkos_scan_python {

/// The space that scans the arrays of the host.
using HostSpace = Kokkos::DefaultHostExecutionSpace;

/// Kokkos is usable while this lives: started by the first one, and not ended meanwhile.
class Session {
 public:
  /// \throws std::runtime_error after finalize()
  explicit Session(const Place& place);

 private:
  std::shared_lock<std::shared_mutex> m_lock;
};

/// An instance of the host's space that no other thread uses meanwhile, so that Python's threads
/// scan side by side.
class HostInstance {
 public:
  /// \param elements what will be scanned; where they are few, the instance has one thread
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
/// An instance of Kokkos::Cuda whose work is part of a stream. One is kept for each stream. A
/// stream that is being captured and has none must not get one, as that allocates: then a spare
/// instance works between two events, which become edges of the graph.
class CudaInstance {
 public:
  explicit CudaInstance(const Place& place);
  ~CudaInstance();
  CudaInstance(const CudaInstance&) = delete;
  CudaInstance& operator=(const CudaInstance&) = delete;

  [[nodiscard]] const Kokkos::Cuda& space() const { return *m_space; }
  /// Makes the stream wait for the spare instance, if one was taken. Call it when all is enqueued,
  /// also after a failure: a capture ends only when all its streams have come back.
  void join();

 private:
  struct Spare;

  Place m_place;
  const Kokkos::Cuda* m_space = nullptr;
  Spare* m_spare = nullptr;
};
#endif

/// Calls `visitor` with an instance of the space where the arrays are.
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
