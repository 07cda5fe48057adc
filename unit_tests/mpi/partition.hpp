// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The distribution of lines over ranks.

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/values.hpp"

namespace test {

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
