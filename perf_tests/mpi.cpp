// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// mpirun -n RANKS perf_mpi [MIB [BLOCK_BYTES [never|always]]]
// Times in milliseconds of inclusive sums of doubles with lines distributed over ranks, MIB (64)
// per rank, compared with a copy and a scan of the rank's own part, and with the usual chain, in
// which a rank waits for the totals of the previous one. Medians of 9 runs, of the slowest rank.
//
// The number of messages per call is that of the rank that sends most. First come the local parts,
// as fractions of a copy: without messages, and on two ranks with messages, where the second rank
// has no elements. With never or always, which say whether messages are staged in host memory, the
// scans over ranks come alone.

#include <KokkosScan/mpi.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Array = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using Totals = Kokkos::View<double*, Exec>;

/// The messages sent by this rank.
std::int64_t messages = 0;
std::int64_t bytes = 0;

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

/// The median time, in milliseconds.
///
/// \param of_all combines the times of the ranks
template <class F, class Join>
double median(const Exec& exec, const F& f, const Join& of_all) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) {
    exec.fence();
    of_all(0);
    const double begin = MPI_Wtime();
    f();
    exec.fence();
    const double time = of_all(MPI_Wtime() - begin);
    if (i > 0) times.push_back(time * 1e3);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}
/// The time of the slowest rank; all begin together.
template <class F>
double measure(const Exec& exec, const F& f) {
  return median(exec, f, [](double time) {
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
  });
}

struct Fill {
  Array x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) = 1;
  }
};

/// The maximum number of messages, and of bytes, that a rank sends in a call.
template <class F>
void count(const F& f, std::int64_t (&most)[2]) {
  messages = bytes = 0;
  f();
  most[0] = messages;
  most[1] = bytes;
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
}

/// A part of an array on each rank.
struct Part {
  Array x, y;
  Totals before, totals;
  int axis;
  std::int64_t n, lines;

  Part(const Exec& exec, std::int64_t rows, std::int64_t columns, int along)
      : x("x", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)),
        y("y", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)),
        before("before", static_cast<std::size_t>(along == 0 ? columns : rows)),
        totals("totals", static_cast<std::size_t>(along == 0 ? columns : rows)),
        axis(along),
        n(along == 0 ? rows : columns),
        lines(along == 0 ? columns : rows) {
    Kokkos::parallel_for(Kokkos::RangePolicy<Exec>(exec, 0, rows), Fill{x});
  }
};

struct Shape {
  std::int64_t rows, columns;
  int axis;
};

/// Sums of ones are positions.
void check(const Part& part, std::int64_t before) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, part.y);
  if (host.size() == 0) return;
  const auto expected = static_cast<double>(before + part.n);
  const double found = host(host.extent(0) - 1, host.extent(1) - 1);
  if (found != expected) std::printf("found %g, expected %g\n", found, expected);
}

void measure_shape(const Exec& exec, const Shape& shape, std::int64_t block_bytes,
                   ks::impl::ranks::Staging staging) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const Part p(exec, shape.rows, shape.columns, shape.axis);
  const auto tree = ks::along(p.axis);
  ks::mpi::Plan plan(exec, MPI_COMM_WORLD, {staging, block_bytes, 0});
  const double copy = measure(exec, [&] { Kokkos::deep_copy(exec, p.y, p.x); });
  const double local = measure(exec, [&] { ks::inclusive_scan(exec, p.x, p.y, p.axis); });
  // Values are copied through the host, as in codes that do not require GPU-aware MPI.
  const auto host = Kokkos::create_mirror_view(p.totals);
  const double chain = measure(exec, [&] {
    if (rank > 0) {
      MPI_Recv(host.data(), static_cast<int>(p.lines), MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      Kokkos::deep_copy(exec, p.before, host);
    }
    ks::inclusive_scan(exec, p.x, p.y, tree.starting_at(p.before).totals(p.totals));
    Kokkos::deep_copy(exec, host, p.totals);
    exec.fence();
    if (rank + 1 < ranks) {
      MPI_Send(host.data(), static_cast<int>(p.lines), MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
  });
  const auto by_tree = [&] { plan.inclusive_scan(p.x, p.y, tree); };
  const auto in_order = [&] { plan.inclusive_scan(p.x, p.y, tree.in_order()); };
  const double time_by_tree = measure(exec, by_tree);
  check(p, p.n * rank);
  Kokkos::deep_copy(exec, p.y, 0);
  const double time_in_order = measure(exec, in_order);
  check(p, p.n * rank);
  std::int64_t of_tree[2];
  std::int64_t of_pipeline[2];
  count(by_tree, of_tree);
  count(in_order, of_pipeline);
  if (rank != 0) return;
  std::printf(
      "| %d | %lld lines of %lld, axis %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f, %.2f | %lld, "
      "%.6g | "
      "%lld, %.6g |\n",
      ranks, static_cast<long long>(p.lines), static_cast<long long>(p.n), p.axis, copy, local,
      time_by_tree, time_in_order, chain, copy / time_by_tree, copy / time_in_order,
      static_cast<long long>(of_tree[0]), static_cast<double>(of_tree[1]) * 1e-6,
      static_cast<long long>(of_pipeline[0]), static_cast<double>(of_pipeline[1]) * 1e-6);
}

/// Sizes of blocks in bytes; the last one holds everything.
constexpr std::int64_t sizes_of_blocks[] = {std::int64_t{8} << 20,   std::int64_t{32} << 20,
                                            std::int64_t{64} << 20,  std::int64_t{128} << 20,
                                            std::int64_t{256} << 20, std::int64_t{1} << 40};

/// The local work of a rank, block by block, without messages, as fractions of a copy. Duplicate
/// block sizes are omitted.
void measure_blocks(const Exec& exec, const Shape& shape) {
  namespace impl = ks::impl;
  if (rank_of(MPI_COMM_WORLD) != 0) return;
  const Part p(exec, shape.rows, shape.columns, shape.axis);
  const auto lines = ks::along(p.axis).totals(p.totals);
  using P = typename impl::ProblemOf<Array, Array, impl::LinesTraits<std::decay_t<decltype(lines)>>,
                                     ks::Sum<>>::type;
  std::optional<P> problem;
  impl::scan(impl::Function::inclusive_scan, exec, p.x, p.y, lines, ks::Sum<>{},
             impl::ranks::Keep<P>{&problem});
  const std::size_t of_fold = impl::fold_workspace_bytes<P>(exec, p.n, p.lines);
  const std::size_t of_scan = impl::ranks::scan_workspace_bytes<P>(exec, p.n, p.lines);
  const Kokkos::View<std::byte*, Exec> for_fold("for_fold", of_fold);
  const Kokkos::View<std::byte*, Exec> for_scan("for_scan", of_scan);
  const auto alone = [&](const auto& f) {
    return median(exec, f, [](double time) { return time; });
  };
  const double copy = alone([&] { Kokkos::deep_copy(exec, p.y, p.x); });
  const double scan = alone([&] { ks::inclusive_scan(exec, p.x, p.y, p.axis); });
  const double fold = alone([&] { impl::fold_by_default(exec, *problem, for_fold.data()); });
  std::printf("| %lld lines of %lld, axis %d | %.3f | %.2f | %.2f |",
              static_cast<long long>(p.lines), static_cast<long long>(p.n), p.axis, copy,
              copy / scan, copy / fold);
  for (const std::int64_t of_block : sizes_of_blocks) {
    const auto blocks = impl::ranks::cut_into_blocks(p.lines, 1, p.n * 8, of_block, 1, 256);
    const double both = alone([&] {
      for (std::int64_t b = 0; b < blocks.count; ++b) {
        P block = impl::ranks::block_of(*problem, blocks.begin(b), blocks.size(b));
        impl::fold_by_default(exec, block, for_fold.data());
        block.totals.data = nullptr;
        impl::scan_by_default(exec, block, for_scan.data());
      }
    });
    std::printf(" %lld: %.2f |", static_cast<long long>(blocks.count), copy / both);
  }
  std::printf("\n");
  check(p, 0);
}

/// The time of the first of two ranks, in milliseconds. The second rank has no elements, and
/// receives on the host, so that it does not share a device.
void measure_local_part(const Exec& exec, const Shape& shape) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using HostArray = Kokkos::View<double**, Kokkos::LayoutRight, Host>;
  const bool is_first = rank_of(MPI_COMM_WORLD) == 0;
  const auto first_or_none = [&](std::int64_t extent, int axis) {
    return is_first || axis != shape.axis ? extent : 0;
  };
  const std::int64_t rows = first_or_none(shape.rows, 0);
  const std::int64_t columns = first_or_none(shape.columns, 1);
  const Part p(exec, is_first ? rows : 0, is_first ? columns : 0, shape.axis);
  const HostArray none("none", is_first ? 0 : static_cast<std::size_t>(rows),
                       is_first ? 0 : static_cast<std::size_t>(columns));
  const auto tree = ks::along(p.axis);
  const auto over_ranks = [&](const auto& lines, std::int64_t block_bytes,
                              std::int64_t least_lines) {
    const ks::impl::ranks::Settings settings{ks::impl::ranks::Staging::automatic, block_bytes,
                                             least_lines};
    if (is_first) {
      ks::mpi::Plan plan(exec, MPI_COMM_WORLD, settings);
      return measure(exec, [&] { plan.inclusive_scan(p.x, p.y, lines); });
    }
    ks::mpi::Plan plan(Host(), MPI_COMM_WORLD, settings);
    return measure(exec, [&] { plan.inclusive_scan(none, none, lines); });
  };
  const double copy = measure(exec, [&] { Kokkos::deep_copy(exec, p.y, p.x); });
  const double alone_in_order =
      measure(exec, [&] { ks::inclusive_scan(exec, p.x, p.y, tree.in_order()); });
  constexpr bool on_host = ks::impl::launches_block<Exec>;
  using ByTree = ks::impl::ranks::BlockSizes<false, on_host>;
  using InOrder = ks::impl::ranks::BlockSizes<true, on_host>;
  std::vector<double> by_tree;
  for (const std::int64_t of_block : sizes_of_blocks) {
    by_tree.push_back(over_ranks(tree, of_block, ByTree::least_lines(p.axis == 1, 8)));
  }
  check(p, 0);
  const double pipeline =
      over_ranks(tree.in_order(), InOrder::bytes, InOrder::least_lines(p.axis == 1, 8));
  check(p, 0);
  if (!is_first) return;
  std::printf("| %lld lines of %lld, axis %d | %.3f |", static_cast<long long>(p.lines),
              static_cast<long long>(p.n), p.axis, copy);
  for (const double time : by_tree) std::printf(" %.2f |", copy / time);
  std::printf(" %.2f | %.2f |\n", copy / alone_in_order, copy / pipeline);
}

}  // namespace

// MPI's profiling interface: programs may replace its functions.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++messages;
  bytes += count;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const Kokkos::ScopeGuard kokkos;
    const Exec exec;
    const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 64;
    const std::int64_t block_bytes = argc > 2 ? std::atoll(argv[2]) : 0;
    using Staging = ks::impl::ranks::Staging;
    const std::string_view staging = argc > 3 ? argv[3] : "";
    const std::int64_t size = mib << 17;
    std::vector<Shape> shapes{{64, size / 64, 0}, {512, size / 512, 0}, {size / 2048, 2048, 0},
                              {size / 64, 64, 1}, {size / 512, 512, 1}, {2048, size / 2048, 1}};
    // A single in-order line runs on a single device thread.
    if (ks::impl::launches_block<Exec>) shapes.push_back({1, size, 1});
    const bool is_first = rank_of(MPI_COMM_WORLD) == 0;
    if (staging.empty()) {
      if (is_first) {
        std::printf(
            "| part of a rank | copy, ms | scan | fold | fold and scan, in blocks of 8 MiB (how "
            "many: "
            "fraction of a copy) | 32 | 64 | 128 | 256 | all |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
      }
      for (const Shape& shape : shapes) measure_blocks(exec, shape);
      if (size_of(MPI_COMM_WORLD) == 2) {
        if (is_first) {
          std::printf(
              "\n| part of a rank | copy, ms | scan, messages sent: blocks of 8 MiB | 32 | "
              "64 "
              "| 128 | 256 | all | scan in order | the same, sent on |\n"
              "|---|---|---|---|---|---|---|---|---|---|\n");
        }
        for (const Shape& shape : shapes) measure_local_part(exec, shape);
      }
    }
    if (is_first) {
      std::printf(
          "\n| ranks | part of a rank | copy | own part | by tree | in order | chain | "
          "copy by tree, in order | by tree: messages, MB | in order: messages, MB |\n"
          "|---|---|---|---|---|---|---|---|---|---|\n");
    }
    for (const Shape& shape : shapes) {
      measure_shape(exec, shape, block_bytes,
                    staging == "never"    ? Staging::never
                    : staging == "always" ? Staging::always
                                          : Staging::automatic);
    }
  }
  MPI_Finalize();
}
