// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the CUDA backend partitions lines into tiles and chunks: pure functions, tested without a
// GPU.

#include <gtest/gtest.h>

#include <KokkosScan/impl/cuda/narrow_column_plan.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace test {
namespace {

namespace cuda = KokkosScan::impl::cuda;

constexpr int lanes = 32;
// Sizes of the widest operand and of all together: float, double, 16 bits, masked float, int8 to
// int64, complex of double, structs of 12, 24 and 64 bytes.
constexpr cuda::ElementSize all_sizes[] = {{4, 4},   {8, 8},   {2, 2},   {4, 5},   {1, 1},   {8, 9},
                                           {16, 16}, {12, 12}, {24, 24}, {64, 64}, {64, 128}};

template <class F>
void for_each_length(F const& f) {
  for (std::int64_t n = 1; n < 20'000; ++n) f(n);
  for (std::int64_t n = 20'000; n < std::int64_t{1} << 40; n += n / 7 + 1) f(n);
}

TEST(backends, cuda_cuts_cover_their_lines) {
  for (auto const& size : all_sizes) {
    for_each_length([&](std::int64_t n) {
      SCOPED_TRACE(::testing::Message() << n << " elements of " << size.all << " bytes");
      cuda::Cut const cut = cuda::cut_line(n, size);
      ASSERT_GE(cut.chunk, 1);
      ASSERT_GE(cut.threads_of_line, 1);
      ASSERT_LE(cut.threads_of_line, cuda::most_threads);
      // A warp has whole lines, or a line has whole warps.
      EXPECT_TRUE(cut.threads_of_line <= lanes || cut.threads_of_line % lanes == 0);
      std::int64_t const held = std::int64_t{cut.chunk} * cut.threads_of_line;
      if (cut.tiles_of_line == 1) {
        EXPECT_EQ(cut.tile_length, n);
        EXPECT_GE(held, n);
      } else {
        // All tiles but the last are full, so that each of their warps has a total.
        EXPECT_EQ(cut.tile_length, held);
        EXPECT_EQ(cut.threads_of_line % lanes, 0);
        EXPECT_GE(cut.tiles_of_line * held, n);
        EXPECT_LT((cut.tiles_of_line - 1) * held, n);
        EXPECT_EQ(cut.tile_length % lanes, 0);
      }
      if (cut.threads_of_line > 1) {
        // Packs of aligned lines do not cross chunks, and lanes meet different banks.
        int const pack =
            n % cuda::pack_length(size.widest) == 0 ? cuda::pack_length(size.widest) : 1;
        int const unit = cuda::unit_of_chunk(pack, size);
        EXPECT_EQ(cut.chunk % unit, 0);
        // Where lines share a warp, there may be any number of packs or of banks of small elements.
        if (cut.threads_of_line > lanes || unit == 1) {
          EXPECT_EQ(cut.chunk / unit % 2, 1);
        }
      }
    });
  }
}

TEST(backends, cuda_tiles_fit_shared_memory) {
  int const granted = 227 * 1024;
  for (auto const& size : all_sizes) {
    for_each_length([&](std::int64_t n) {
      cuda::Cut const cut = cuda::cut_line(n, size);
      cuda::Shape const shape = cuda::shape_launch(cut, size);
      int const elements = shape.lines_of_tile * cut.tile_length;
      // Padding adds an eighth; margins are below 1 KB.
      EXPECT_LE(elements * size.all * 9 / 8 + 1024, granted) << n;
      EXPECT_GE(shape.threads, lanes);
      EXPECT_LE(shape.threads, cuda::most_threads);
    });
  }
}

TEST(backends, cuda_threads_find_their_lines) {
  for (auto const& size : all_sizes) {
    for_each_length([&](std::int64_t n) {
      cuda::Shape const shape = cuda::shape_launch(cuda::cut_line(n, size), size);
      for (int thread = 0; thread < cuda::most_threads; thread += 7) {
        ASSERT_EQ(shape.by_threads_of_line.quotient(thread), thread / shape.cut.threads_of_line)
            << n;
      }
    });
  }
}

// Lanes whose chunks are an odd multiple of 16 bytes apart access different banks; 128 bytes apart
// they access the same one, unless chunks are padded.
TEST(backends, cuda_chunks_meet_banks) {
  EXPECT_EQ(cuda::passes_of_warp({36, 1, 36, 1}, 4, 4, 0), 1);
  EXPECT_EQ(cuda::passes_of_warp({32, 1, 32, 1}, 4, 4, 0), 8);
  EXPECT_EQ(cuda::passes_of_warp({32, 1, 32, 1}, 4, 4, cuda::bytes_of_padding), 1);
  EXPECT_EQ(cuda::passes_of_warp({32, 1, 32, 1}, 1, 4, 0), 32);
  EXPECT_EQ(cuda::passes_of_warp({33, 1, 33, 1}, 1, 4, 0), 1);
  EXPECT_EQ(cuda::passes_of_warp({33, 1, 33, 1}, 1, 8, 0), 2);
  auto const pads = [](std::int64_t n) {
    return cuda::pads_slots(cuda::shape_launch(cuda::cut_line(n, {4, 4}), {4, 4}), {4, 4});
  };
  for (std::int64_t const n : {40, 72, 100, 200, 700, 1024}) {
    cuda::Cut const cut = cuda::cut_line(n, {4, 4});
    EXPECT_EQ(cuda::passes_of_warp(cut, 4, 4, 0), 1);
    EXPECT_FALSE(pads(n)) << n;
  }
  for (std::int64_t const n : {2047, 8191, 32'767, 1'000'001}) {
    for (int const bytes : {1, 2}) {
      cuda::Cut cut = cuda::cut_line(n, {bytes, bytes});
      cut.threads_of_line = std::min(cut.threads_of_line, lanes);
      EXPECT_EQ(cuda::passes_of_warp(cut, 1, bytes, 0), 1) << n;
    }
  }
  EXPECT_TRUE(pads(8));
  EXPECT_FALSE(pads(28));
  EXPECT_TRUE(pads(32));
  EXPECT_TRUE(pads(64));
}

TEST(backends, cuda_cuts_of_the_headline) {
  cuda::ElementSize const of_float{4, 4};
  // A warp has a line of 1024 floats; one of 32768 fits in registers.
  EXPECT_EQ(cuda::shape_launch(cuda::cut_line(1024, of_float), of_float).threads, lanes);
  EXPECT_EQ(cuda::cut_line(9216, of_float).tiles_of_line, 1);
  EXPECT_GT(cuda::cut_line(9217, of_float).tiles_of_line, 1);
  for (std::int64_t const n : {9217, 18432, 24193, 32768, 34560}) {
    EXPECT_TRUE(cuda::fits_registers(n, cuda::cut_line(n, of_float))) << n;
  }
  for (std::int64_t const n : {9216, 18433, 24192, 34561}) {
    EXPECT_FALSE(cuda::fits_registers(n, cuda::cut_line(n, of_float))) << n;
  }
}

// Each thread takes one column if columns are short and many.
TEST(backends, cuda_threads_take_short_columns) {
  EXPECT_TRUE(cuda::takes_threads(448, 32, 67'584, 132));
  EXPECT_FALSE(cuda::takes_threads(449, 32, 67'584, 132));
  EXPECT_FALSE(cuda::takes_threads(448, 31, 67'584, 132));
  EXPECT_FALSE(cuda::takes_threads(448, 32, 67'583, 132));
}

/// Facts of narrow columns with random types and rows.
template <class Random, class LogUniform>
cuda::NarrowColumnFacts random_narrow_columns(Random& random, LogUniform const& log_uniform) {
  auto const one_of = [&](auto const& list) { return list[random() % std::size(list)]; };
  cuda::NarrowColumnFacts facts{};
  int const loaded = one_of(std::array{1, 2, 4, 8, 16, 64});
  int const stored = one_of(std::array{1, 2, 4, 8, 16, 64});
  bool const in_place = loaded == stored && (loaded < 4 || random() % 2 == 0);
  int const element = loaded + (in_place ? 0 : stored);
  facts.n = log_uniform(1, random() % 2 == 0 ? 1e3 : 1e9);
  bool const is_short = cuda::are_short_columns(facts.n, 32, element);
  facts.stride = log_uniform(1, is_short ? 1e8 : cuda::widest_narrow_row(facts.n) + 1);
  bool const are_rows = random() % 8 > 0;
  bool const is_run = are_rows && loaded <= 16 && stored <= 16;
  facts.neighbours = static_cast<int>(!are_rows           ? log_uniform(1, 1e4)
                                      : random() % 4 == 0 ? log_uniform(1, facts.stride + 1.0)
                                                          : facts.stride);
  facts.lines = facts.neighbours * log_uniform(1, 1e6);
  facts.element = element + (random() % 3 == 0 ? 1 : 0);
  auto const rows = [&]() -> cuda::RowsInMemory {
    std::int64_t const row = random() % 8 > 0 ? facts.neighbours : facts.stride;
    std::int64_t const slab = facts.n * row + (random() % 4 == 0 ? log_uniform(1, 100) : 0);
    return {is_run && random() % 4 > 0, row, random() % 8 > 0 ? slab : 0};
  };
  facts.input = rows();
  facts.output = random() % 2 == 0 ? facts.input : rows();
  facts.accumulator = one_of(std::array{1, 4, 8, 64});
  facts.element_and_result = element;
  facts.carried = std::max(facts.accumulator, 8);
  facts.multiprocessors = one_of(std::array{0, 4, 108, 132, 148});
  return facts;
}

// Every plan for narrow columns fits shared memory, has numbers that its fast divisions support,
// and puts each element of a tile into a slot of its own.
TEST(backends, cuda_narrow_columns_have_plans) {
  std::mt19937_64 random(7);
  auto const log_uniform = [&](double least, double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<>(std::log(least), std::log(most))(random)));
  };
  int shared = 0, whole = 0, strips = 0;
  for (int i = 0; i < 200'000; ++i) {
    cuda::NarrowColumnFacts const facts = random_narrow_columns(random, log_uniform);
    if (!cuda::are_short_columns(facts.n, facts.stride, facts.element_and_result) &&
        !cuda::are_narrow_columns(facts.n, facts.stride)) {
      continue;
    }
    SCOPED_TRACE(::testing::Message()
                 << facts.lines / facts.neighbours << " x " << facts.n << " x " << facts.neighbours
                 << " of " << facts.element << " bytes, stride " << facts.stride);
    cuda::NarrowColumnPlan const plan = cuda::plan_narrow_columns(facts);
    ++(plan.steps > 1 ? shared : plan.strips > 1 ? strips : whole);
    ASSERT_EQ(plan.slabs * facts.neighbours, facts.lines);
    ASSERT_GE(std::int64_t{plan.strips} * plan.columns, facts.neighbours);
    ASSERT_LT(std::int64_t{plan.strips - 1} * plan.columns, facts.neighbours);
    ASSERT_GE(std::int64_t{plan.rows} * plan.steps, plan.n);
    ASSERT_LT(std::int64_t{plan.rows} * (plan.steps - 1), plan.n);
    ASSERT_GE(plan.chunks * plan.chunk, plan.rows);
    ASSERT_LE(plan.shared_bytes, 101'376);  // of any GPU
    ASSERT_GE(plan.begin_of_folds, plan.slots() * facts.element);
    ASSERT_GE(plan.blocks, 1);
    ASSERT_LT(plan.items(), 1 << 15);
    ASSERT_GE(plan.blocks * plan.slabs_of_tile, plan.slabs * plan.strips * plan.steps);
    if (plan.steps > 1) {
      ASSERT_LE(plan.items(), cuda::chunks_of_narrow_tile);
      ASSERT_EQ(plan.slabs_of_tile, 1);
      ASSERT_EQ(plan.chunk % 2, 1);
      ASSERT_EQ(plan.rows, plan.chunks * plan.chunk);
      ASSERT_LE(plan.columns, cuda::widest_narrow_row(plan.n));
      ASSERT_EQ(plan.blocks, plan.slabs * plan.strips * plan.steps);
    } else {
      ASSERT_EQ(plan.chunk, cuda::rows_of_chunk(plan.n, facts.accumulator));
    }
    // All pieces have the same number of slabs; bytes of a piece are a multiple of a quad.
    ASSERT_EQ(plan.slabs_of_piece() << plan.log2_pieces, plan.slabs_of_tile);
    ASSERT_TRUE(plan.log2_pieces == 0 || plan.rows_of_run * plan.columns % 16 == 0);
    // Rows and slabs do not overlap in shared memory.
    ASSERT_GE(plan.pitch, plan.columns);
    // Runs lie alike in shared and in global memory and share no 16 bytes.
    auto const check_runs = [&](cuda::RowsInMemory const& rows) {
      ASSERT_TRUE(rows.exist);
      ASSERT_EQ(rows.row, facts.neighbours);
      ASSERT_TRUE(plan.slabs_of_tile == 1 || rows.slab == facts.n * rows.row);
    };
    if (plan.loads_runs) check_runs(facts.input);
    if (plan.stores_runs) check_runs(facts.output);
    if (plan.strips > 1 && (plan.loads_runs || plan.stores_runs)) {  // a row is a run
      ASSERT_EQ(plan.slabs_of_tile, 1);
      ASSERT_TRUE(!plan.loads_runs || (plan.pitch - facts.neighbours) % 16 == 0);
      ASSERT_GE(plan.pitch - plan.columns, 16);
    }
  }
  EXPECT_GT(shared, 20'000);
  EXPECT_GT(whole, 20'000);
  EXPECT_GT(strips, 2'000);
}

// Few lanes of a warp read other words of the same bank, whatever the bytes of a slab.
TEST(backends, cuda_narrow_columns_have_few_bank_conflicts) {
  for (int const bytes : {4, 8}) {
    for (int columns = 2; columns <= 31; ++columns) {
      for (int n = 2; n * columns * bytes <= 12'288; ++n) {
        cuda::RowsInMemory const rows{true, columns, std::int64_t{n} * columns};
        cuda::NarrowColumnPlan const plan = cuda::plan_narrow_columns(
            {n, columns, 1'000'000L * columns, columns, rows, rows, bytes, bytes, bytes, 8, 132});
        if (plan.steps > 1) continue;
        std::array<std::set<int>, 32> words_of_bank;
        for (int lane = 0; lane < std::min(128 / bytes, plan.items()); ++lane) {
          int const chunk = lane / columns % plan.chunks;
          int const slab = lane / columns / plan.chunks;
          int const piece = slab % (1 << plan.log2_pieces);
          int const in_order = piece * plan.slabs_of_piece() + (slab >> plan.log2_pieces);
          int const slot = (in_order * n + chunk * plan.chunk) * columns + lane % columns;
          int const word = (slot * bytes + piece * 16) / 4;
          for (int w = word; w < word + bytes / 4; ++w) words_of_bank[w % 32].insert(w);
        }
        for (auto const& words : words_of_bank) {
          ASSERT_LE(words.size(), 6) << n << " x " << columns << " of " << bytes << " bytes";
        }
      }
    }
  }
}

// Strips of wide columns cover each row once and have equal widths; the warps of a block cover a
// tile; several tiles have whole rows of chunks that divide a section.
TEST(backends, cuda_wide_columns_have_plans) {
  std::mt19937_64 random(11);
  auto const log_uniform = [&](double least, double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<>(std::log(least), std::log(most))(random)));
  };
  auto const one_of = [&](auto const& list) { return list[random() % std::size(list)]; };
  for (int i = 0; i < 100'000; ++i) {
    std::int64_t const n = log_uniform(1, 1e6);
    std::int64_t const inner = log_uniform(1, 1e8);
    std::int64_t const outer = log_uniform(1, 1e5);
    int const bytes = one_of(std::array{1, 2, 4, 8, 16, 64});
    bool const has_sectors = random() % 2 == 0;
    bool const has_packs = random() % 2 == 0;
    SCOPED_TRACE(::testing::Message()
                 << outer << " x " << n << " x " << inner << " of " << bytes << " bytes");
    cuda::WideColumnPlan const plan =
        cuda::plan_wide_columns(n, inner, outer, bytes, has_sectors, has_packs, 132);
    ASSERT_GE(plan.columns, 1);
    ASSERT_LE(plan.columns, plan.width);
    ASSERT_LE(plan.width,
              plan.tiles == 1 ? cuda::widest_whole_strip(bytes) : cuda::widest_strip(bytes));
    ASSERT_GE(std::int64_t{plan.strips_of_row} * plan.columns, inner);
    ASSERT_LT(std::int64_t{plan.strips_of_row - 1} * plan.columns, inner);
    ASSERT_EQ(plan.strips, plan.strips_of_row * outer);
    ASSERT_FALSE(plan.is_stacked && plan.are_packs);
    // Each thread has as many quarters as its registers hold.
    ASSERT_LE(plan.threads, cuda::threads_of_wide_columns);
    ASSERT_EQ(plan.quarters_of_tile * plan.width,
              plan.threads * cuda::quarters_of_wide_thread(bytes));
    int const rows = plan.quarters_of_tile * cuda::elements_of_quarter;
    ASSERT_GE(plan.tiles * rows, n);
    ASSERT_LT((plan.tiles - 1) * rows, n);
    if (plan.tiles > 1) {
      ASSERT_EQ(plan.threads, cuda::threads_of_wide_columns);
      ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(plan.width)));
      ASSERT_EQ(rows % cuda::elements_of_row, 0);
      ASSERT_EQ(cuda::elements_of_section % rows, 0);
    }
    // No more strips than there must be, which are at least half as wide as they may be.
    ASSERT_LE(plan.strips_of_row, cuda::divide_up(inner, plan.width));
    ASSERT_GE(2 * plan.columns, std::min<std::int64_t>(plan.width, inner));
  }
}

}  // namespace
}  // namespace test
