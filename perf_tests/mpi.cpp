// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// mpirun -n RANKS perf_mpi [MIB [BLOCK_BYTES]]
// Inclusive sums of doubles whose lines are distributed over ranks, MIB (64) each, in milliseconds:
// beside a copy and a scan of the rank's own part, and beside the chain that codes have today, in
// which a rank waits for the totals of the one before it. Medians of 9, of the slowest rank.

#include <KokkosScan/mpi.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Array = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using Totals = Kokkos::View<double*, Exec>;

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// The median time of the slowest rank, in milliseconds.
template <class F>
double measure(const Exec& exec, const F& f) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) {
    exec.fence();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    f();
    exec.fence();
    double time = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i > 0) times.push_back(time * 1e3);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

struct Fill {
  Array x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) = 1;
  }
};

void measure_case(const Exec& exec, std::int64_t rows, std::int64_t columns, int axis,
                  std::int64_t block_bytes) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const std::int64_t n = axis == 0 ? rows : columns;
  const std::int64_t lines = axis == 0 ? columns : rows;
  const Array x("x", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Array y("y", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  const Totals before("before", static_cast<std::size_t>(lines));
  const Totals totals("totals", static_cast<std::size_t>(lines));
  Kokkos::parallel_for(Kokkos::RangePolicy<Exec>(exec, 0, rows), Fill{x});

  ks::mpi::Plan plan(exec, MPI_COMM_WORLD, {ks::impl::mpi::Staging::automatic, block_bytes, 0});
  const double copy = measure(exec, [&] { Kokkos::deep_copy(exec, y, x); });
  const double local = measure(exec, [&] { ks::inclusive_scan(exec, x, y, axis); });
  // Only for memory that MPI takes.
  const double chain = measure(exec, [&] {
    if (rank > 0) {
      MPI_Recv(before.data(), static_cast<int>(lines), MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    ks::inclusive_scan(exec, x, y, ks::along(axis).starting_at(before).totals(totals));
    exec.fence();
    if (rank + 1 < ranks) {
      MPI_Send(totals.data(), static_cast<int>(lines), MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
  });
  const double over_ranks = measure(exec, [&] { plan.inclusive_scan(x, y, axis); });

  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  const double expected = static_cast<double>(n) * (rank + 1);
  const double found =
      host(static_cast<std::size_t>(rows - 1), static_cast<std::size_t>(columns - 1));
  if (found != expected) std::printf("rank %d has %g, expected %g\n", rank, found, expected);
  if (rank == 0) {
    std::printf("| %d | %lld lines of %lld, axis %d | %.1f | %.1f | %.1f | %.1f | %.2f |\n", ranks,
                static_cast<long long>(lines), static_cast<long long>(n), axis, copy, local,
                over_ranks, chain, copy / over_ranks);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const Kokkos::ScopeGuard kokkos;
    const Exec exec;
    const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 64;
    const std::int64_t block_bytes = argc > 2 ? std::atoll(argv[2]) : 0;
    const std::int64_t size = mib << 17;
    if (rank_of(MPI_COMM_WORLD) == 0) {
      std::printf(
          "| ranks | part of a rank | copy | own part | over ranks | chain | of a copy |\n");
      std::printf("|---|---|---|---|---|---|---|\n");
    }
    measure_case(exec, 64, size / 64, 0, block_bytes);
    measure_case(exec, size / 2048, 2048, 0, block_bytes);
    measure_case(exec, size / 64, 64, 1, block_bytes);
    measure_case(exec, 2048, size / 2048, 1, block_bytes);
    measure_case(exec, 1, size, 1, block_bytes);
  }
  MPI_Finalize();
}
