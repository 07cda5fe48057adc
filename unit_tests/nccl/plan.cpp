// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What differs from scans over MPI ranks: a plan agrees once on a call, and then enqueues alone.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ranks.hpp"
#include "support/types.hpp"

namespace test {
namespace {

namespace ks = KokkosScan;
namespace ranks = KokkosScan::impl::ranks;
using Values = Kokkos::View<double**, Kokkos::LayoutRight, Device>;

/// Sums of ones are positions: exact in double.
void expect_positions(Values const& y, std::int64_t before) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) {
      ASSERT_EQ(host(i, j), static_cast<double>(before) + static_cast<double>(i) + 1);
    }
  }
}
Values ones(std::size_t rows, std::size_t columns) {
  Values const x("x", rows, columns);
  Kokkos::deep_copy(x, 1);
  return x;
}

/// The words of the error that a call throws.
template <class Call>
std::string error_of(Call const& call) {
  try {
    call();
  } catch (std::exception const& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST(nccl_plan, agrees_once_on_a_call) {
  on_ranks([] {
    Comm const comm = first_ranks(most_ranks);
    Exec const exec;
    int const me = rank_in(comm);
    Values const x = ones(3, 100);
    Values const y("y", 3, 100);
    ranks::Shared<Exec, ks::impl::nccl::Exchange<Exec>> shared(comm, exec, {});
    auto const scan = [&](Values const& out) {
      ranks::scan(shared, ks::impl::Function::inclusive_scan, x, out, ks::along(0), ks::Sum<>{});
      exec.fence();
      expect_positions(out, 3 * me);
    };
    scan(y);
    std::byte const* const memory = shared.memory.data();
    for (int i = 0; i < 3; ++i) scan(y);
    EXPECT_EQ(shared.agreements.size(), 1u);
    EXPECT_EQ(shared.memory.data(), memory);
    // Other arrays of the same shape are the same call.
    scan(Values("z", 3, 100));
    EXPECT_EQ(shared.agreements.size(), 1u);
    ranks::scan(shared, ks::impl::Function::exclusive_scan, x, y, ks::along(0), ks::Sum<>{});
    exec.fence();
    EXPECT_EQ(shared.agreements.size(), 2u);
  });
}

TEST(nccl_plan, works_between_begin_and_finish) {
  on_ranks([] {
    Comm const comm = first_ranks(most_ranks);
    Exec const exec;
    Values const x = ones(10, 70);
    Values const y("y", 10, 70);
    ks::nccl::Plan plan(exec, comm);
    plan.inclusive_scan(x, y, 0);
    for (int step = 0; step < 3; ++step) {
      auto pending = plan.begin_inclusive_scan(x, y, 0);
      EXPECT_EQ(error_of([&] { plan.inclusive_scan(x, y, 0); }).substr(0, 46),
                "KokkosScan::nccl::inclusive_scan: the plan's l");
      pending.finish();
      { auto const in_order = plan.begin_inclusive_scan(x, y, ks::along(0).in_order()); }
    }
    exec.fence();
    expect_positions(y, 10 * rank_in(comm));
  });
}

TEST(nccl_plan, without_one_ranks_agree_in_each_call) {
  on_ranks([] {
    Comm const comm = first_ranks(most_ranks);
    int const me = rank_in(comm);
    std::int64_t before = 0;
    for (std::size_t call = 0; call < 3; ++call) {
      // The length of a part changes on some ranks alone.
      Values const x = ones(me % 2 == 0 ? 4 : 4 + call, 33);
      Values const y("y", x.extent(0), 33);
      ks::nccl::inclusive_scan(Exec(), comm, x, y, 0);
      before = 4 * me + static_cast<std::int64_t>(call) * (me / 2);
      expect_positions(y, before);
    }
  });
}

TEST(nccl_plan, throws_an_error_of_one_rank_on_all) {
  if (most_ranks < 2) GTEST_SKIP() << "needs two ranks";
  on_ranks([] {
    Comm const comm = first_ranks(most_ranks);
    bool const is_odd = rank_in(comm) == 1;
    Values const x = ones(3, is_odd ? 5 : 4);
    std::string const words = ": extent 1 is 5 on rank 1, but 4 on rank 0.";
    EXPECT_EQ(error_of([&] { ks::nccl::inclusive_scan(Exec(), comm, x, x, 0); }),
              "KokkosScan::nccl::inclusive_scan" + words);
    ks::nccl::Plan plan(Exec(), comm);
    EXPECT_EQ(error_of([&] { plan.exclusive_scan(x, x, 0); }),
              "KokkosScan::nccl::exclusive_scan" + words);
    Values const y("y", 3, 4);
    Values const z("z", is_odd ? 2 : 3, 4);
    EXPECT_EQ(error_of([&] { plan.inclusive_scan(y, z, 0); }).substr(0, 42),
              "rank 1: KokkosScan::inclusive_scan: extent");
    // The plan goes on; of what it knows, a rank's error is its own.
    plan.inclusive_scan(ones(3, 4), y, 0);
    Exec().fence();
    expect_positions(y, 3 * rank_in(comm));
    EXPECT_EQ(error_of([&] { plan.inclusive_scan(y, Values("z", 2, 4), 0); }).substr(0, 34),
              "KokkosScan::inclusive_scan: extent");
  });
}

#if defined(KOKKOS_ENABLE_CUDA)
namespace {
template <class Lines>
void capture_and_replay(Lines const& lines) {
  Comm const comm = first_ranks(most_ranks);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  {
    Exec const exec(stream);
    Values const x = ones(500, 3000);
    Values const y("y", 500, 3000);
    Kokkos::View<double*, Device> const totals("totals", 3000);
    Kokkos::fence();
    auto const with_totals = lines.totals(totals);
    ks::nccl::Plan plan(exec, comm, {ranks::Staging::automatic, 1 << 20, 64});
    auto const capture = [&](cudaGraph_t& graph) {
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
      std::string const error = error_of([&] { plan.inclusive_scan(x, y, with_totals); });
      cudaStreamEndCapture(stream, &graph);
      return error;
    };
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(capture(graph).substr(0, 49), "KokkosScan::nccl: a call that the plan has not se");
    cudaGetLastError();
    plan.inclusive_scan(x, y, with_totals);
    exec.fence();
    EXPECT_EQ(capture(graph), "nothing");
    cudaGraphExec_t ready = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int replay = 1; replay <= 3; ++replay) {
      Kokkos::deep_copy(exec, x, replay);
      Kokkos::deep_copy(exec, y, 0);
      ASSERT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
      exec.fence();
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
      auto const all = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, totals);
      for (std::size_t i = 0; i < 500; ++i) {
        for (std::size_t j = 0; j < 3000; ++j) {
          ASSERT_EQ(host(i, j), replay * (500. * rank_in(comm) + static_cast<double>(i) + 1));
        }
      }
      EXPECT_EQ(all(2999), replay * 500. * most_ranks);
    }
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
  }
  cudaStreamDestroy(stream);
}
}  // namespace

TEST(nccl_plan, is_captured_in_a_graph) {
  capture_and_replay(ks::along(0));
  capture_and_replay(ks::along(0).in_order());
}
#endif

}  // namespace test
