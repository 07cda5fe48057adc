// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An error on one rank is thrown on all, with the same message, before anything is written.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ranks.hpp"
#include "support/types.hpp"

namespace test {
namespace {

namespace ks = KokkosScan;
using Values = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Device>;

constexpr int ranks = 4;

/// Scans on four ranks, and expects this message on each, and unchanged outputs.
template <class Outputs, class Call>
void expect_refused(std::string const& words, Outputs const& y, Call const& call) {
  MPI_Comm const comm = first_ranks(ranks);
  Kokkos::deep_copy(y, -1);
  std::string found = "nothing";
  try {
    call(comm);
  } catch (std::invalid_argument const& e) {
    found = e.what();
  }
  Exec().fence();
  EXPECT_EQ(found, words);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) EXPECT_EQ(host(i, j), -1);
  }
}

}  // namespace

TEST(mpi_errors, extents_differ) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  std::size_t const columns = rank_in(first_ranks(ranks)) == 2 ? 5 : 4;
  Values const x("x", 3, columns);
  Values const y("y", 3, columns);
  expect_refused("KokkosScan::mpi::inclusive_scan: extent 1 is 5 on rank 2, but 4 on rank 0.", y,
                 [&](MPI_Comm comm) { ks::mpi::inclusive_scan(Exec(), comm, x, y, 0); });
}

/// For every kind of call: by a tree, and as a pipeline (in-order sums of floats).
template <class Lines>
void expect_extents_refused(Lines const& lines) {
  using Doubles = Kokkos::View<double**, Kokkos::LayoutRight, Device>;
  std::size_t const columns = rank_in(first_ranks(ranks)) == 2 ? 5 : 4;
  Doubles const x("x", 3, columns);
  Doubles const y("y", 3, columns);
  std::string const words = ": extent 1 is 5 on rank 2, but 4 on rank 0.";
  std::string const inclusive = "KokkosScan::mpi::inclusive_scan" + words;
  std::string const exclusive = "KokkosScan::mpi::exclusive_scan" + words;
  expect_refused(inclusive, y,
                 [&](MPI_Comm comm) { ks::mpi::inclusive_scan(Exec(), comm, x, y, lines); });
  expect_refused(exclusive, y,
                 [&](MPI_Comm comm) { ks::mpi::exclusive_scan(Exec(), comm, x, y, lines); });
  // After a refused call, the plan accepts the next one.
  ks::mpi::Plan plan(Exec(), first_ranks(ranks));
  expect_refused(inclusive, y, [&](MPI_Comm) { plan.inclusive_scan(x, y, lines); });
  expect_refused(exclusive, y, [&](MPI_Comm) { plan.exclusive_scan(x, y, lines); });
  expect_refused(inclusive, y,
                 [&](MPI_Comm) { auto const pending = plan.begin_inclusive_scan(x, y, lines); });
  expect_refused(exclusive, y,
                 [&](MPI_Comm) { auto const pending = plan.begin_exclusive_scan(x, y, lines); });
  Doubles const z("z", 3, 4);
  Kokkos::deep_copy(z, 1);
  plan.inclusive_scan(z, z, lines);
  Exec().fence();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, z);
  EXPECT_EQ(host(2, 3), 3 * rank_in(first_ranks(ranks)) + 3);
}

TEST(mpi_errors, extents_differ_in_any_call) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  expect_extents_refused(ks::along(0));
  expect_extents_refused(ks::along(0).in_order());
}

TEST(mpi_errors, one_rank_is_wrong_by_itself) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  std::size_t const rows = rank_in(first_ranks(ranks)) == 1 ? 4 : 3;
  Values const x("x", 3, 4);
  Values const y("y", rows, 4);
  expect_refused(
      "rank 1: KokkosScan::inclusive_scan: extent 0 of output \"y\" is 4, but extent 0 of input "
      "\"x\" is 3.",
      y, [&](MPI_Comm comm) { ks::mpi::inclusive_scan(Exec(), comm, x, y, 0); });
}

TEST(mpi_errors, one_rank_scans_in_order) {
  MPI_Comm const comm = first_ranks(ranks);
  if (comm == MPI_COMM_NULL) return;
  Kokkos::View<double**, Kokkos::LayoutRight, Device> const x("x", 3, 4);
  Kokkos::View<double**, Kokkos::LayoutRight, Device> const y("y", 3, 4);
  Kokkos::deep_copy(y, -1);
  std::string found = "nothing";
  try {
    if (rank_in(comm) == 3) {
      ks::mpi::inclusive_scan(Exec(), comm, x, y, ks::along(0).in_order());
    } else {
      ks::mpi::inclusive_scan(Exec(), comm, x, y, ks::along(0));
    }
  } catch (std::invalid_argument const& e) {
    found = e.what();
  }
  EXPECT_EQ(
      found,
      "KokkosScan::mpi::inclusive_scan: the order of combination (0: by a tree, 1: in order, "
      "2: in order with a mask and without starting values) is 1 on rank 3, but 0 on rank 0.");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(host.data()[i], -1);
}

TEST(mpi_errors, the_total_is_not_on_the_last_rank) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  std::size_t const rows = rank_in(first_ranks(ranks)) == 1 ? 4 : 3;
  Values const x("x", 3, 4);
  Values const y("y", rows, 4);
  expect_refused(
      "KokkosScan::mpi::exclusive_scan: the output holds one element more than the input on rank "
      "1, but the scan ends on rank 3.",
      y, [&](MPI_Comm comm) { ks::mpi::exclusive_scan(Exec(), comm, x, y, 0); });
  expect_refused(
      "KokkosScan::mpi::exclusive_scan: the output holds one element more than the input on rank "
      "1, but the scan ends on rank 0.",
      y,
      [&](MPI_Comm comm) { ks::mpi::exclusive_scan(Exec(), comm, x, y, ks::along(0).backward()); });
}

TEST(mpi_errors, ranks_do_different_things) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  bool const other = rank_in(first_ranks(ranks)) == 3;
  Values const x("x", 3, 3);
  Values const y("y", 3, 3);
  expect_refused(
      "KokkosScan::mpi::inclusive_scan: the direction (0: forward, 1: backward) is 1 on rank 3, "
      "but 0 on rank 0.",
      y, [&](MPI_Comm comm) {
        auto const lines = ks::along(0);
        ks::mpi::inclusive_scan(Exec(), comm, x, y, other ? lines.backward() : lines);
      });
  expect_refused(
      "KokkosScan::mpi::inclusive_scan: the axis is 1 on rank 3, but 0 on rank 0.", y,
      [&](MPI_Comm comm) { ks::mpi::inclusive_scan(Exec(), comm, x, y, other ? 1 : 0); });
}

TEST(mpi_errors, totals_of_nothing) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  Kokkos::View<Affine*, Device> const none("none", 0);
  Kokkos::View<Affine, Device> const total("total");
  EXPECT_THROW(ks::mpi::inclusive_scan(Exec(), first_ranks(ranks), none, none,
                                       ks::along(0).totals(total), ComposeAffineWithoutIdentity{}),
               std::invalid_argument);
}

TEST(mpi_errors, a_plan_does_one_scan_at_a_time) {
  if (first_ranks(ranks) == MPI_COMM_NULL) return;
  Values const x("x", 3, 4);
  Values const y("y", 3, 4);
  ks::mpi::Plan plan(Exec(), first_ranks(ranks));
  auto pending = plan.begin_inclusive_scan(x, y, 0);
  EXPECT_THROW(plan.inclusive_scan(x, y, 0), std::invalid_argument);
  pending.finish();
  plan.inclusive_scan(x, y, 0);
}

TEST(mpi_errors, an_error_of_mpi_becomes_an_exception) {
  try {
    ks::impl::mpi::Communicator const comm(MPI_COMM_SELF);
    int value = 0;
    ks::impl::mpi::check(MPI_Send(&value, 1, MPI_INT, 7, 0, comm.get()), "MPI_Send");
    ADD_FAILURE() << "nothing was thrown";
  } catch (std::runtime_error const& e) {
    EXPECT_EQ(std::string(e.what()).find("KokkosScan::mpi: MPI_Send: "), 0u) << e.what();
  }
}

}  // namespace test
