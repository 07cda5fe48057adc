// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A stand-in for NCCL between the threads of a process, for tests without a GPU: each thread is a
// rank. A call outside of a group returns when its messages have arrived, as if the host waited for
// the stream after each: so an order of messages that could block a stream blocks the test, which
// then ends. Messages of different sizes than expected end it too.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#define NCCL_MAJOR 2
#define NCCL_MINOR 7
#define NCCL_PATCH 8

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>
#else
using cudaStream_t = void*;
#endif
enum ncclResult_t { ncclSuccess = 0, ncclInvalidArgument = 4, ncclInProgress = 7 };
enum ncclDataType_t { ncclChar = 0, ncclInt64 = 4 };
enum ncclRedOp_t { ncclMax = 2 };

namespace stand_in {

/// What the ranks of a communicator share.
struct World {
  struct Message {
    const void* data;
    std::size_t bytes;
    bool has_arrived = false;
  };
  /// Whether of a collective call, from, to.
  using Way = std::tuple<bool, int, int>;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Way, std::deque<std::shared_ptr<Message>>> posted;

  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const char* what, const Condition& condition) {
    if (changed.wait_for(lock, std::chrono::seconds(60), condition)) return;
    std::fprintf(stderr, "The stand-in for NCCL has waited for %s for a minute.\n", what);
    std::abort();
  }
  std::shared_ptr<Message> post(const Way& way, const void* data, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto message = std::make_shared<Message>(Message{data, bytes});
    posted[way].push_back(message);
    changed.notify_all();
    return message;
  }
  void take(const Way& way, void* data, std::size_t bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    auto& queue = posted[way];
    wait(lock, "a message", [&] { return !queue.empty(); });
    if (queue.front()->bytes != bytes) {
      std::fprintf(stderr, "%zu bytes are expected, but %zu were sent.\n", bytes,
                   queue.front()->bytes);
      std::abort();
    }
    if (bytes > 0) std::memcpy(data, queue.front()->data, bytes);
    queue.front()->has_arrived = true;
    queue.pop_front();
    changed.notify_all();
  }
  void finish(const std::shared_ptr<Message>& message) {
    std::unique_lock<std::mutex> lock(mutex);
    wait(lock, "a receiver", [&] { return message->has_arrived; });
  }
};

struct Call {
  World* world;
  World::Way way;
  const void* sent;
  void* received;
  std::size_t bytes;
};
/// The calls of the group that this thread has begun.
struct Group {
  int depth = 0;
  std::vector<Call> calls;

  void run() {
    std::vector<std::pair<World*, std::shared_ptr<World::Message>>> sent;
    for (const Call& call : calls) {
      if (call.received == nullptr) {
        sent.emplace_back(call.world, call.world->post(call.way, call.sent, call.bytes));
      }
    }
    for (const Call& call : calls) {
      if (call.received != nullptr) call.world->take(call.way, call.received, call.bytes);
    }
    for (const auto& [world, message] : sent) world->finish(message);
    calls.clear();
  }
  void add(const Call& call) {
    calls.push_back(call);
    if (depth == 0) run();
  }
};
inline thread_local Group group;

/// What this thread has sent.
inline thread_local std::int64_t messages = 0;
inline thread_local std::int64_t bytes_sent = 0;

}  // namespace stand_in

struct ncclComm {
  stand_in::World* world;
  int rank;
  int size;
};
using ncclComm_t = ncclComm*;

inline const char* ncclGetErrorString(ncclResult_t) { return "an error of the stand-in"; }
inline ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (comm == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}
inline ncclResult_t ncclCommCount(const ncclComm_t comm, int* size) {
  *size = comm->size;
  return ncclSuccess;
}
inline ncclResult_t ncclCommCuDevice(const ncclComm_t, int* device) {
  *device = 0;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupStart() {
  ++stand_in::group.depth;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  if (--stand_in::group.depth == 0) stand_in::group.run();
  return ncclSuccess;
}
inline ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t, int to,
                             ncclComm_t comm, cudaStream_t) {
  ++stand_in::messages;
  stand_in::bytes_sent += static_cast<std::int64_t>(count);
  stand_in::group.add({comm->world, {false, comm->rank, to}, data, nullptr, count});
  return ncclSuccess;
}
inline ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t, int from,
                             ncclComm_t comm, cudaStream_t) {
  stand_in::group.add({comm->world, {false, from, comm->rank}, nullptr, data, count});
  return ncclSuccess;
}
inline ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t,
                                  int root, ncclComm_t comm, cudaStream_t) {
  if (comm->rank != root) {
    comm->world->take({true, root, comm->rank}, to, count);
    return ncclSuccess;
  }
  for (int rank = 0; rank < comm->size; ++rank) {
    if (rank == root) continue;
    comm->world->finish(comm->world->post({true, root, rank}, from, count));
  }
  return ncclSuccess;
}
inline ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t,
                                  ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * sizeof(std::int64_t);
  if (comm->rank == 0) {
    auto* const most = static_cast<std::int64_t*>(to);
    std::vector<std::int64_t> others(count);
    for (int rank = 1; rank < comm->size; ++rank) {
      comm->world->take({true, rank, 0}, others.data(), bytes);
      for (std::size_t i = 0; i < count; ++i) most[i] = most[i] > others[i] ? most[i] : others[i];
    }
  } else {
    comm->world->finish(comm->world->post({true, comm->rank, 0}, from, bytes));
  }
  return ncclBroadcast(to, to, bytes, ncclChar, 0, comm, stream);
}
