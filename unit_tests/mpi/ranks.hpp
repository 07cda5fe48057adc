// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The ranks of a test, and the distribution of lines.

#include <KokkosScan/mpi.hpp>

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/values.hpp"

namespace test {

/// The first `ranks` of all ranks; MPI_COMM_NULL on the others.
MPI_Comm first_ranks(int ranks);
inline constexpr int most_ranks = 8;

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// The number of elements per line on each rank.
struct Partition {
  std::vector<std::int64_t> length;

  std::int64_t begin(int rank) const {
    return std::accumulate(length.begin(), length.begin() + rank, std::int64_t{0});
  }
  std::int64_t all() const { return begin(static_cast<int>(length.size())); }
};

/// Uneven parts, some of them empty.
inline Partition random_partition(Random& random, int ranks, std::int64_t most) {
  Partition p;
  for (int r = 0; r < ranks; ++r) {
    p.length.push_back(random.below(4) == 0 ? 0 : random.below(most + 1));
  }
  return p;
}

}  // namespace test
