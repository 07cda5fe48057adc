// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where lines are cut into blocks: a pure function.

#include <gtest/gtest.h>

#include <KokkosScan/mpi.hpp>

#include <cstdint>

namespace test {

namespace mpi = KokkosScan::impl::mpi;

TEST(mpi_blocks, cover_all_lines_in_whole_units) {
  for (std::int64_t const units : {1, 2, 7, 64, 1000, 100000}) {
    for (std::int64_t const unit : {1, 3, 4096}) {
      for (std::int64_t const bytes : {0, 8, 800, 1 << 20}) {
        for (std::int64_t const least : {1, 16, 4096}) {
          auto const lines = units * unit;
          auto const blocks = mpi::cut_into_blocks(lines, unit, bytes, 1 << 20, least);
          ASSERT_GT(blocks.count, 0);
          ASSERT_LE(blocks.count, 257);
          ASSERT_EQ(blocks.lines_of_block % unit, 0);
          std::int64_t next = 0;
          for (std::int64_t b = 0; b < blocks.count; ++b) {
            ASSERT_EQ(blocks.begin(b), next);
            ASSERT_GT(blocks.size(b), 0);
            next += blocks.size(b);
          }
          ASSERT_EQ(next, lines);
        }
      }
    }
  }
}

TEST(mpi_blocks, fit_the_cache_where_they_can) {
  auto const rows = mpi::cut_into_blocks(100000, 1, 1000, 1 << 20, 16);
  EXPECT_EQ(rows.lines_of_block, (1 << 20) / 1000);
  // Lines that fit no cache: a few blocks.
  EXPECT_EQ(mpi::cut_into_blocks(100000, 1, 1 << 20, 1 << 20, 16).count, 8);
  EXPECT_EQ(mpi::cut_into_blocks(20, 1, 1 << 20, 1 << 20, 16).count, 2);
}

}  // namespace test
