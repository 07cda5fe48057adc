// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the CUDA backend lays lines over warps: a function of numbers, tested without a GPU.

#include <gtest/gtest.h>

#include <KokkosScan/impl/cuda/tuning.hpp>
#include <cstdint>

namespace test {
namespace {

namespace cuda = KokkosScan::impl::cuda;

constexpr int lanes = 32;

struct Types {
  int in, out, accumulator;  // bytes
};
constexpr Types all_types[] = {{4, 4, 4},    {8, 8, 8},    {2, 2, 4},  {1, 1, 1},
                               {1, 8, 8},    {1, 1, 8},    {4, 8, 8},  {16, 16, 16},
                               {12, 12, 12}, {24, 24, 24}, {8, 8, 64}, {64, 64, 64}};

int rows(cuda::Layout const& layout, int pack, int bytes) {
  return cuda::rows_of_warp(layout.size, pack, bytes);
}

TEST(backends, cuda_layouts_hold_their_lines) {
  for (auto const& types : all_types) {
    int const bytes = types.accumulator;
    int const pack = cuda::pack_length(types.in, types.out, bytes);
    int const row = lanes * pack;
    ASSERT_GE(pack, 1);
    bool fitted = true;
    for (std::int64_t n = 1; n < 70'000; n += n < 5000 ? 1 : 37) {
      auto const layout = cuda::choose_layout(n, pack, bytes);
      // Once a line is too long, longer ones are.
      EXPECT_TRUE(fitted || !layout.fits) << n;
      fitted = layout.fits;
      if (!fitted) continue;
      EXPECT_EQ(layout.short_lines, n <= row) << n;
      if (layout.short_lines) continue;
      std::int64_t const of_warp = std::int64_t(row) * rows(layout, pack, bytes);
      EXPECT_GE(of_warp * layout.warps_of_line, n) << n;
      EXPECT_LT(of_warp * (layout.warps_of_line - 1), n) << "an idle warp for " << n;
      EXPECT_LE(layout.warps_of_line * lanes, cuda::most_threads(layout.size)) << n;
    }
  }
}

TEST(backends, cuda_layouts_of_the_headline) {
  // 32768 floats and 16384 doubles are the longest lines that fit.
  EXPECT_EQ(cuda::pack_length(4, 4, 4), 4);
  EXPECT_TRUE(cuda::choose_layout(32768, 4, 4).fits);
  EXPECT_FALSE(cuda::choose_layout(32769, 4, 4).fits);
  EXPECT_EQ(cuda::pack_length(8, 8, 8), 2);
  EXPECT_TRUE(cuda::choose_layout(16384, 2, 8).fits);
  EXPECT_FALSE(cuda::choose_layout(16385, 2, 8).fits);
}

TEST(backends, cuda_blocks_exchange_rows_within_static_shared_memory) {
  int const most = 48 * 1024;
  for (auto const& types : all_types) {
    int const pack = cuda::pack_length(types.in, types.out, types.accumulator);
    int const widest = types.accumulator > types.out ? types.accumulator : types.out;
    for (auto const size : {cuda::Size::small, cuda::Size::medium, cuda::Size::large}) {
      int const warps = cuda::most_threads(size) / lanes;
      // A row and a total for each warp; the carried type is at most twice the accumulator.
      EXPECT_LE(warps * (lanes * pack * widest + 2 * widest), most);
    }
  }
}

}  // namespace
}  // namespace test
