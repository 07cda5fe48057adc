// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The exchange of a scan over ranks by MPI (ranks/exchange.hpp says what that is). The host waits
/// for messages.

#include <mpi.h>
#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/mpi/communicator.hpp>
#include <KokkosScan/impl/ranks/exchange.hpp>
#include <KokkosScan/impl/ranks/memory.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#include <cuda_runtime_api.h>

#include <KokkosScan/impl/cuda/device.hpp>
#include <stdexcept>
#include <string>
#endif

namespace KokkosScan::impl::mpi {

/// Whether MPI accepts pointers to memory of the execution space.
template <class Exec>
bool takes_memory_of() {
  using Space = typename Exec::memory_space;
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible) return true;
#if defined(KOKKOS_ENABLE_CUDA) && defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return MPIX_Query_cuda_support() == 1;
#endif
  return false;
}

/// A point in the order of an instance, up to which the host can wait.
template <class Exec>
class Marker {
 public:
  void record(const Exec& exec) { m_exec.emplace(exec); }
  /// Without an event, this waits for everything that is enqueued.
  void wait() const {
    if constexpr (!launches_block<Exec>) m_exec->fence("KokkosScan::mpi: before values are sent");
  }

 private:
  std::optional<Exec> m_exec;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
class Marker<Kokkos::Cuda> {
 public:
  Marker() = default;
  ~Marker() {
    if (m_event != nullptr) static_cast<void>(cudaEventDestroy(m_event));
  }
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  void record(const Kokkos::Cuda& exec) {
    check(cuda::on_device(exec.cuda_device(), [&] {
      if (m_event == nullptr) {
        const cudaError_t made = cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming);
        if (made != cudaSuccess) return made;
      }
      return cudaEventRecord(m_event, exec.cuda_stream());
    }));
  }
  void wait() const { check(cudaEventSynchronize(m_event)); }

 private:
  static void check(cudaError_t result) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string("KokkosScan::mpi: ") + cudaGetErrorString(result));
  }

  cudaEvent_t m_event = nullptr;
};
#endif

/// Messages of a plan.
template <class Exec>
class Exchange {
  using Space = typename Exec::memory_space;
  using Place = ranks::Place;

 public:
  static constexpr const char* name = "mpi";
  static constexpr bool is_enqueued = false;
  static constexpr std::size_t most_bytes = std::numeric_limits<int>::max();

  Exchange(const Communicator& comm, const Exec& exec, const ranks::Settings& settings)
      : m_comm(comm),
        m_exec(exec),
        m_is_staged(settings.staging == ranks::Staging::automatic
                        ? !takes_memory_of<Exec>()
                        : settings.staging == ranks::Staging::always) {}

  [[nodiscard]] int rank() const { return m_comm.rank(); }
  [[nodiscard]] int size() const { return m_comm.size(); }
  void reserve_staging(std::size_t bytes) {
    if (m_is_staged) m_staging.reserve(m_exec, bytes);
  }
  [[nodiscard]] const ranks::Memory<ranks::PinnedSpace>& staging() const { return m_staging; }

  void reduce_to_largest(std::int64_t* values, int count) {
    check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, m_comm.get()),
          "MPI_Allreduce");
  }
  void broadcast(void* data, std::size_t bytes, int root) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t at = 0; at < bytes; at += most) {
      check(MPI_Bcast(static_cast<std::byte*>(data) + at,
                      static_cast<int>(std::min(most, bytes - at)), MPI_BYTE, root, m_comm.get()),
            "MPI_Bcast");
    }
  }

  void open(std::int64_t blocks, const std::vector<std::int64_t>&) {
    m_messages.assign(static_cast<std::size_t>(blocks), {{MPI_REQUEST_NULL, MPI_REQUEST_NULL}});
  }
  void mark(int i) { m_markers[static_cast<std::size_t>(i)].record(m_exec); }
  void wait_for_mark(int i) { m_markers[static_cast<std::size_t>(i)].wait(); }

  /// If MPI does not take memory of the execution space, messages are copied to host memory before
  /// they are sent (stage) and from it after they are received (unstage).
  void stage(const Place& place, std::size_t bytes) {
    if (!m_is_staged) return;
    ranks::copy<Exec, ranks::PinnedSpace, Space>(m_exec, handed(place), place.data, bytes);
  }
  void unstage(const Place& place, std::size_t bytes) {
    if (!m_is_staged) return;
    ranks::copy<Exec, Space, ranks::PinnedSpace>(m_exec, place.data, handed(place), bytes);
  }

  void begin_group() {}
  void end_group() {}
  void send(std::int64_t b, const Place& place, std::size_t bytes, int to) {
    check(MPI_Isend(handed(place), static_cast<int>(bytes), MPI_BYTE, to, tag(b), m_comm.get(),
                    &requests(b)[0]),
          "MPI_Isend");
  }
  void receive(std::int64_t b, const Place& place, std::size_t bytes, int from, int) {
    check(MPI_Irecv(handed(place), static_cast<int>(bytes), MPI_BYTE, from, tag(b), m_comm.get(),
                    &requests(b)[1]),
          "MPI_Irecv");
  }
  bool is_here(std::int64_t b) {
    int has_arrived = 0;
    check(MPI_Request_get_status(requests(b)[1], &has_arrived, MPI_STATUS_IGNORE),
          "MPI_Request_get_status");
    return has_arrived != 0;
  }
  bool finish_receive(std::int64_t b) {
    MPI_Status status;
    const bool is_posted = requests(b)[1] != MPI_REQUEST_NULL;
    check(MPI_Wait(&requests(b)[1], &status), "MPI_Wait");
    int count = 0;
    if (is_posted) check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    return count > 0;
  }
  void finish_send(std::int64_t b) {
    check(MPI_Wait(&requests(b)[0], MPI_STATUS_IGNORE), "MPI_Wait");
  }
  void share(const Place& place, std::size_t bytes, int root) {
    const bool is_root = rank() == root;
    if (is_root) stage(place, bytes);
    mark(0);
    wait_for_mark(0);
    broadcast(handed(place), bytes, root);
    if (!is_root) unstage(place, bytes);
  }
  void close() {}

 private:
  static int tag(std::int64_t b) { return static_cast<int>(b % 16384); }
  std::array<MPI_Request, 2>& requests(std::int64_t b) {
    return m_messages[static_cast<std::size_t>(b)];
  }
  /// The address that MPI gets.
  [[nodiscard]] std::byte* handed(const Place& place) const {
    return m_is_staged ? m_staging.data() + place.offset : place.data;
  }

  const Communicator& m_comm;
  Exec m_exec;
  bool m_is_staged;
  ranks::Memory<ranks::PinnedSpace> m_staging;
  std::array<Marker<Exec>, 2> m_markers;
  /// Of each block, the message that is sent and the one that is received.
  std::vector<std::array<MPI_Request, 2>> m_messages;
};

}  // namespace KokkosScan::impl::mpi
