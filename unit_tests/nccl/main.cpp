// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// On a host the ranks are threads. With CUDA they are processes, which find each other by a file:
// KOKKOS_SCAN_RANK=0 KOKKOS_SCAN_RANKS=2 KOKKOS_SCAN_NCCL_ID=/tmp/new unit_test_nccl &
// KOKKOS_SCAN_RANK=1 KOKKOS_SCAN_RANKS=2 KOKKOS_SCAN_NCCL_ID=/tmp/new unit_test_nccl

#include <gtest/gtest.h>

#include "ranks.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#if defined(KOKKOS_ENABLE_CUDA)
#include "processes.hpp"
#else
#include <thread>
#endif

namespace test {

#if defined(KOKKOS_ENABLE_CUDA)
namespace {
std::vector<ncclComm_t> comms;
}
Comm first_ranks(int ranks) { return comms[static_cast<std::size_t>(ranks)]; }
void on_ranks(std::function<void()> const& call) { call(); }
#else
namespace {
thread_local std::vector<ncclComm> comms;
}
Comm first_ranks(int ranks) {
  ncclComm& comm = comms[static_cast<std::size_t>(ranks)];
  return comm.world == nullptr ? no_comm : &comm;
}
void on_ranks(std::function<void()> const& call) {
  std::vector<stand_in::World> worlds(static_cast<std::size_t>(most_ranks) + 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < most_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      comms.clear();
      for (int ranks = 0; ranks <= most_ranks; ++ranks) {
        comms.push_back(
            {rank < ranks ? &worlds[static_cast<std::size_t>(ranks)] : nullptr, rank, ranks});
      }
      call();
    });
  }
  for (std::thread& thread : threads) thread.join();
}
#endif

}  // namespace test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
#if defined(KOKKOS_ENABLE_CUDA)
  int const rank = test::process_rank();
  test::most_ranks = test::processes();
  Kokkos::InitializationSettings settings;
  settings.set_device_id(rank);
  Kokkos::ScopeGuard const guard(settings);
  test::comms = test::communicators(rank, test::most_ranks);
  int const result = RUN_ALL_TESTS();
  for (ncclComm_t comm : test::comms) {
    if (comm != nullptr) ncclCommDestroy(comm);
  }
  return result;
#else
  Kokkos::ScopeGuard const guard(argc, argv);
  return RUN_ALL_TESTS();
#endif
}
