// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The ranks of a test.

#include <KokkosScan/mpi.hpp>

namespace test {

namespace library = KokkosScan::mpi;
using Comm = MPI_Comm;
inline Comm const no_comm = MPI_COMM_NULL;

/// The first `ranks` of all ranks; no_comm on the others.
MPI_Comm first_ranks(int ranks);
inline constexpr int most_ranks = 8;

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

}  // namespace test

#include "partition.hpp"
