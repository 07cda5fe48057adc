// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Processes as the ranks of NCCL communicators.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace test {

inline int number_of(char const* variable, int otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}
inline int process_rank() { return number_of("KOKKOS_SCAN_RANK", 0); }
inline int processes() { return number_of("KOKKOS_SCAN_RANKS", 1); }

inline void expect_success(ncclResult_t result) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(result));
  std::exit(2);
}

/// A communicator of all processes. The first one writes NCCL's identifier to a file, which the
/// others wait for.
inline ncclComm_t communicator(int rank, int ranks) {
  char const* const name = std::getenv("KOKKOS_SCAN_NCCL_ID");
  std::string const file = name == nullptr ? "nccl_id" : name;
  ncclUniqueId id;
  if (rank == 0) {
    expect_success(ncclGetUniqueId(&id));
    std::ofstream(file + ".part", std::ios::binary).write(id.internal, sizeof id.internal);
    std::rename((file + ".part").c_str(), file.c_str());
  } else {
    while (!std::ifstream(file, std::ios::binary).read(id.internal, sizeof id.internal)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  ncclComm_t comm = nullptr;
  cudaSetDevice(rank);
  expect_success(ncclCommInitRank(&comm, ranks, id, rank));
  return comm;
}

/// Communicators of the first 0, 1, 2, ... ranks.
inline std::vector<ncclComm_t> communicators(int rank, int ranks) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks) + 1, nullptr);
  ncclComm_t const all = communicator(rank, ranks);
  for (int first = 1; first < ranks; ++first) {
    expect_success(ncclCommSplit(all, rank < first ? 0 : NCCL_SPLIT_NOCOLOR, rank,
                                 &comms[static_cast<std::size_t>(first)], nullptr));
  }
  comms[static_cast<std::size_t>(ranks)] = all;
  return comms;
}

}  // namespace test
