// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The partition of lines into blocks: a pure function.

#include <gtest/gtest.h>

#include <KokkosScan/mpi.hpp>

#include <cstdint>

namespace test {

namespace ranks = KokkosScan::impl::ranks;

TEST(mpi_blocks, cover_all_lines_in_whole_units) {
  for (std::int64_t const units : {1, 2, 7, 64, 1000, 100000}) {
    for (std::int64_t const unit : {1, 3, 4096}) {
      for (std::int64_t const bytes : {0, 8, 800, 1 << 20}) {
        for (std::int64_t const least : {1, 16, 4096}) {
          auto const lines = units * unit;
          for (std::int64_t const few : {std::int64_t{8}, ranks::most_blocks - 1}) {
            auto const blocks = ranks::cut_into_blocks(lines, unit, bytes, 1 << 20, least, few);
            ASSERT_GT(blocks.count, 0);
            ASSERT_LE(blocks.count, ranks::most_blocks);
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
}

TEST(mpi_blocks, fit_the_cache_where_they_can) {
  auto const rows = ranks::cut_into_blocks(100000, 1, 1000, 1 << 20, 16, 8);
  EXPECT_EQ(rows.lines_of_block, (1 << 20) / 1000);
  // Lines that do not fit the cache: a few blocks.
  EXPECT_EQ(ranks::cut_into_blocks(100000, 1, 1 << 20, 1 << 20, 16, 8).count, 8);
  EXPECT_EQ(ranks::cut_into_blocks(20, 1, 1 << 20, 1 << 20, 16, 8).count, 2);
}

TEST(mpi_blocks, of_a_pipeline_are_many) {
  EXPECT_EQ(ranks::cut_into_blocks(100000, 1, 1 << 20, 1 << 20, 16, 256).count, 256);
}

/// Messages of neighbouring blocks do not overlap, and stay within the buffer.
TEST(mpi_blocks, of_messages_with_flags_stand_apart) {
  using Messages = ranks::Messages<double, true>;
  for (std::int64_t const lines : {1, 7, 1000, 12345}) {
    for (std::int64_t const of_block : {1, 5, 64, 12345}) {
      if ((lines + of_block - 1) / of_block > ranks::most_blocks) continue;
      ranks::Blocks const blocks{lines, of_block, (lines + of_block - 1) / of_block};
      std::size_t end = 0;
      for (std::int64_t b = 0; b < blocks.count; ++b) {
        ASSERT_GE(Messages::offset(blocks, b), end);
        ASSERT_EQ(Messages::offset(blocks, b) % Messages::alignment, 0);
        end = Messages::offset(blocks, b) + Messages::bytes(blocks, b);
      }
      ASSERT_LE(end, Messages::bytes_of_all(lines));
    }
  }
}

}  // namespace test
