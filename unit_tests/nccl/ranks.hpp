// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The ranks of a test: threads with a stand-in for NCCL, or processes with NCCL, one for each GPU.

#include <KokkosScan/nccl.hpp>

#include <functional>

namespace test {

namespace library = KokkosScan::nccl;
using Comm = ncclComm_t;
inline constexpr Comm no_comm = nullptr;

/// The number of ranks of this run.
inline int most_ranks = 8;

/// The first `ranks` of all ranks; no_comm on the others.
Comm first_ranks(int ranks);
inline int rank_in(Comm comm) {
  int rank = 0;
  ncclCommUserRank(comm, &rank);
  return rank;
}
/// Calls a function on all ranks.
void on_ranks(std::function<void()> const& call);

}  // namespace test

#include "mpi/partition.hpp"
