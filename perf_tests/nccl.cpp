// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// perf_nccl [MIB [BLOCK_MIB [LEAST_LINES]]], once for each GPU, with the variables of
// unit_tests/nccl/main.cpp Times in milliseconds of inclusive sums of doubles with lines
// distributed over GPUs, MIB (256) per GPU, compared with a copy and a scan of the rank's own part:
// enqueued by the host, and replayed from a CUDA graph. Medians of 9 runs, of the slowest rank.

#include <KokkosScan/nccl.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../unit_tests/nccl/processes.hpp"

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::Cuda;
using Array = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;

/// All ranks.
struct Team {
  ncclComm_t comm;
  Exec exec;
  int rank, size;
  Kokkos::View<double, Exec> value{"value"};

  /// The maximum over all ranks, which also waits for all.
  double most(double mine) const {
    Kokkos::deep_copy(exec, value, mine);
    ncclAllReduce(value.data(), value.data(), 1, ncclDouble, ncclMax, comm, exec.cuda_stream());
    double result = 0;
    Kokkos::deep_copy(exec, Kokkos::View<double, Kokkos::HostSpace>(&result), value);
    exec.fence();
    return result;
  }
  /// The median time of the slowest rank, in milliseconds; all begin together.
  template <class F>
  double measure(const F& f) const {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      exec.fence();
      most(0);
      const auto begin = Clock::now();
      f();
      exec.fence();
      const double time = most(std::chrono::duration<double>(Clock::now() - begin).count());
      if (i > 2) times.push_back(time * 1e3);
    }
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times[4];
  }
  /// The time of a replay of what f enqueues.
  template <class F>
  double replayed(const F& f) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal);
    f();
    if (cudaStreamEndCapture(exec.cuda_stream(), &graph) != cudaSuccess) return 0;
    if (cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) return 0;
    const double time = measure([&] { cudaGraphLaunch(ready, exec.cuda_stream()); });
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    return time;
  }
};

struct Fill {
  Array x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { x.data()[i] = 1; }
};

/// Sums of ones are positions.
void check(const Array& y, int axis, int rank) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  const auto n = static_cast<double>(y.extent(static_cast<std::size_t>(axis)));
  const double found = host(host.extent(0) - 1, host.extent(1) - 1);
  if (found != n * (rank + 1)) std::printf("found %g, expected %g\n", found, n * (rank + 1));
  Kokkos::deep_copy(y, 0);
}

void measure_shape(const Team& team, std::int64_t rows, std::int64_t columns, int axis,
                   std::int64_t block_bytes, std::int64_t least_lines) {
  const Array x(Kokkos::view_alloc(Kokkos::WithoutInitializing, "x"),
                static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Array y("y", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  Kokkos::parallel_for(Kokkos::RangePolicy<Exec>(team.exec, 0, rows * columns), Fill{x});
  const auto lines = ks::along(axis);
  ks::nccl::Plan plan(team.exec, team.comm,
                      {ks::impl::ranks::Staging::automatic, block_bytes, least_lines});
  const auto by_tree = [&] { plan.inclusive_scan(x, y, lines); };
  const auto in_order = [&] { plan.inclusive_scan(x, y, lines.in_order()); };
  const double copy = team.measure([&] { Kokkos::deep_copy(team.exec, y, x); });
  const double own = team.measure([&] { ks::inclusive_scan(team.exec, x, y, lines); });
  const double tree = team.measure(by_tree);
  check(y, axis, team.rank);
  const double tree_replayed = team.replayed(by_tree);
  check(y, axis, team.rank);
  const double own_in_order =
      team.measure([&] { ks::inclusive_scan(team.exec, x, y, lines.in_order()); });
  const double ordered = team.measure(in_order);
  check(y, axis, team.rank);
  const double ordered_replayed = team.replayed(in_order);
  check(y, axis, team.rank);
  if (team.rank != 0) return;
  const auto fraction = [&](double time) { return time > 0 ? copy / time : 0; };
  std::printf("| %lld lines of %lld, axis %d | %.3f | %.2f | %.2f; %.2f | %.2f | %.2f; %.2f |\n",
              static_cast<long long>(axis == 0 ? columns : rows),
              static_cast<long long>(axis == 0 ? rows : columns), axis, copy, fraction(own),
              fraction(tree), fraction(tree_replayed), fraction(own_in_order), fraction(ordered),
              fraction(ordered_replayed));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = test::process_rank();
  const int ranks = test::processes();
  Kokkos::InitializationSettings settings;
  settings.set_device_id(rank);
  const Kokkos::ScopeGuard guard(settings);
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 256;
  const std::int64_t block_bytes = argc > 2 ? std::atoll(argv[2]) << 20 : 0;
  const std::int64_t least_lines = argc > 3 ? std::atoll(argv[3]) : 0;
  ncclComm_t const comm = test::communicator(rank, ranks);
  cudaStream_t stream = nullptr;  // the default stream cannot be captured
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  {
    const Team team{comm, Exec(stream), rank, ranks};
    if (rank == 0) {
      std::printf(
          "%d GPUs, %lld MiB of doubles each, blocks of %lld bytes (0: default)\n\n"
          "| part of a rank | copy, ms | own part | by tree: enqueued; replayed | own part in "
          "order "
          "| in order: enqueued; replayed |\n|---|---|---|---|---|---|\n",
          ranks, static_cast<long long>(mib), static_cast<long long>(block_bytes));
    }
    const std::int64_t size = mib << 17;
    for (const std::int64_t lines : {size / 64, size / 512, std::int64_t{2048}}) {
      measure_shape(team, size / lines, lines, 0, block_bytes, least_lines);
      measure_shape(team, lines, size / lines, 1, block_bytes, least_lines);
    }
  }
  ncclCommDestroy(comm);
  cudaStreamDestroy(stream);
}
