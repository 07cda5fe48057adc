// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The exchange of a scan over ranks by NCCL (ranks/exchange.hpp says what that is). Messages have
/// a stream of their own, which events tie to that of the instance, so that kernels run meanwhile.

#include <nccl.h>
#include <KokkosScan/impl/nccl/stream.hpp>
#include <KokkosScan/impl/ranks/exchange.hpp>
#include <KokkosScan/impl/ranks/memory.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace KokkosScan::impl::nccl {

/// Throws NCCL's error text if a call has failed.
inline void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw std::runtime_error(std::string("KokkosScan::nccl: ") + call + ": " +
                           ncclGetErrorString(result));
}

/// Messages of a plan.
template <class Exec>
class Exchange {
  using Space = typename Exec::memory_space;
  using Place = ranks::Place;

 public:
  static constexpr const char* name = "nccl";
  static constexpr bool is_enqueued = true;
  static constexpr std::size_t most_bytes = std::numeric_limits<std::int64_t>::max();

  Exchange(ncclComm_t comm, const Exec& exec, const ranks::Settings&)
      : m_comm(comm), m_exec(exec), m_stream(exec) {
    check(ncclCommUserRank(comm, &m_rank), "ncclCommUserRank");
    check(ncclCommCount(comm, &m_size), "ncclCommCount");
    int device = 0;
    check(ncclCommCuDevice(comm, &device), "ncclCommCuDevice");
    if (!m_stream.is_on(device)) {
      throw std::invalid_argument("KokkosScan::nccl: the communicator is of device " +
                                  std::to_string(device) +
                                  ", the execution space instance of another one.");
    }
  }

  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }
  void reserve_staging(std::size_t) {}

  /// \throws std::logic_error if the stream is being captured, because the host is about to wait
  void expect_no_capture() const {
    if (!m_stream.is_captured()) return;
    throw std::logic_error(
        "KokkosScan::nccl: a call that the plan has not seen before cannot be captured: make it "
        "once before the capture.");
  }

  void reduce_to_largest(std::int64_t* values, int count) {
    const auto size = static_cast<std::size_t>(count);
    through_device(values, size * sizeof(std::int64_t), [&](std::byte* data) {
      check(ncclAllReduce(data, data, size, ncclInt64, ncclMax, m_comm, m_stream.get()),
            "ncclAllReduce");
    });
  }
  void broadcast(void* data, std::size_t bytes, int root) {
    through_device(data, bytes, [&](std::byte* on_device) {
      check(ncclBroadcast(on_device, on_device, bytes, ncclChar, root, m_comm, m_stream.get()),
            "ncclBroadcast");
    });
  }

  void open(std::int64_t blocks, const std::vector<std::int64_t>& lengths) {
    m_messages.assign(static_cast<std::size_t>(blocks), {});
    m_lengths = lengths;
  }
  void mark(int i) { m_stream.mark(i); }
  void wait_for_mark(int i) { m_stream.wait_for_mark(i); }
  void stage(const Place&, std::size_t) {}
  void unstage(const Place&, std::size_t) {}

  void begin_group() {
    check(ncclGroupStart(), "ncclGroupStart");
    m_is_in_group = true;
  }
  void end_group() {
    check(ncclGroupEnd(), "ncclGroupEnd");
    m_is_in_group = false;
    arrive();
  }
  void send(std::int64_t, const Place& place, std::size_t bytes, int to) {
    if (bytes == 0) return;
    check(ncclSend(place.data, bytes, ncclChar, to, m_comm, m_stream.get()), "ncclSend");
  }
  void receive(std::int64_t b, const Place& place, std::size_t bytes, int from, int first) {
    const auto begin = m_lengths.begin() + std::min(from, first);
    const auto end = m_lengths.begin() + std::max(from, first) + 1;
    const bool has_values = std::any_of(begin, end, [](std::int64_t n) { return n > 0; });
    m_messages[static_cast<std::size_t>(b)] = {has_values, m_arrival};
    if (!has_values) return;
    check(ncclRecv(place.data, bytes, ncclChar, from, m_comm, m_stream.get()), "ncclRecv");
    if (!m_is_in_group) arrive();
  }
  /// Never known: so what waits to be sent is posted first.
  bool is_here(std::int64_t) const { return false; }
  bool finish_receive(std::int64_t b) {
    const Message& message = m_messages[static_cast<std::size_t>(b)];
    if (message.has_values) m_stream.wait_for_arrival(message.arrival);
    return message.has_values;
  }
  /// What is sent is not overwritten before a message of the same group is received, or before
  /// close().
  void finish_send(std::int64_t) {}
  void share(const Place& place, std::size_t bytes, int root) {
    m_stream.mark(0);
    m_stream.wait_for_mark(0);
    check(ncclBroadcast(place.data, place.data, bytes, ncclChar, root, m_comm, m_stream.get()),
          "ncclBroadcast");
    close();
  }
  void close() {
    const int last = m_arrival;
    arrive();
    m_stream.wait_for_arrival(last);
  }

 private:
  /// Whether a message has values, and the mark of its arrival.
  struct Message {
    bool has_values = false;
    int arrival = 0;
  };

  void arrive() {
    m_stream.arrive(m_arrival);
    m_arrival = (m_arrival + 1) % marks_of_arrival;
  }

  /// Calls NCCL for values in host memory, and waits.
  template <class Call>
  void through_device(void* values, std::size_t bytes, const Call& call) {
    expect_no_capture();
    m_on_host.reserve(m_exec, bytes);
    m_on_device.reserve(m_exec, bytes);
    std::memcpy(m_on_host.data(), values, bytes);
    ranks::copy<Exec, Space, ranks::PinnedSpace>(m_exec, m_on_device.data(), m_on_host.data(),
                                                 bytes);
    m_stream.mark(0);
    m_stream.wait_for_mark(0);
    call(m_on_device.data());
    close();
    ranks::copy<Exec, ranks::PinnedSpace, Space>(m_exec, m_on_host.data(), m_on_device.data(),
                                                 bytes);
    m_exec.fence("KokkosScan::nccl: before ranks have agreed");
    std::memcpy(values, m_on_host.data(), bytes);
  }

  ncclComm_t m_comm;
  Exec m_exec;
  Stream<Exec> m_stream;
  int m_rank = 0;
  int m_size = 0;
  std::vector<Message> m_messages;
  std::vector<std::int64_t> m_lengths;
  bool m_is_in_group = false;
  int m_arrival = 0;
  ranks::Memory<ranks::PinnedSpace> m_on_host;
  ranks::Memory<Space> m_on_device;
};

}  // namespace KokkosScan::impl::nccl
