// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The memory passed to MPI: that of the execution space if MPI accepts it, else pinned memory.

#include <gtest/gtest.h>

#include <KokkosScan/mpi.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

#include "ranks.hpp"
#include "support/types.hpp"

namespace {
/// The addresses of messages passed to MPI, while recording is on.
std::vector<void const*>* handed = nullptr;

void note(void const* data, int count) {
  if (handed != nullptr && count > 0) handed->push_back(data);
}
}  // namespace

// MPI's profiling interface: programs may replace its functions.
int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(data, count);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(data, count);
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  note(data, count);
  return PMPI_Bcast(data, count, type, root, comm);
}

namespace test {
namespace {

namespace ks = KokkosScan;
namespace mpi = KokkosScan::impl::mpi;
namespace ranks = KokkosScan::impl::ranks;

template <class Space>
bool holds(ranks::Memory<Space> const& memory, void const* at) {
  std::less<> const before;
  return !before(at, memory.data()) && before(at, memory.data() + memory.bytes());
}

/// Scans with totals, and expects all messages in one of a plan's two buffers.
template <class Lines>
void expect_messages(ranks::Staging staging, bool are_staged, Lines const& lines) {
  MPI_Comm const comm = first_ranks(6);
  if (comm == MPI_COMM_NULL) return;
  Exec const exec;
  Kokkos::View<double**, Kokkos::LayoutRight, Device> const x("x", 3, 1000), y("y", 3, 1000);
  Kokkos::View<double*, Device> const totals("totals", 1000);
  Kokkos::deep_copy(x, 1);
  mpi::Communicator const duplicate(comm);
  ranks::Shared<Exec, mpi::Exchange<Exec>> shared(duplicate, exec, {staging, 2000, 10});
  std::vector<void const*> of_messages;
  handed = &of_messages;
  ranks::scan(shared, ks::impl::Function::inclusive_scan, x, y, lines.totals(totals), ks::Sum<>{});
  exec.fence();
  handed = nullptr;
  EXPECT_FALSE(of_messages.empty());
  for (void const* const at : of_messages) {
    EXPECT_EQ(holds(shared.exchange.staging(), at), are_staged);
    EXPECT_EQ(holds(shared.memory, at), !are_staged);
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 1000; ++j) {
      ASSERT_EQ(host(i, j), 3 * rank_in(comm) + static_cast<int>(i) + 1);
    }
  }
}

}  // namespace

TEST(mpi_memory, of_messages_is_what_mpi_takes) {
  bool const takes = mpi::takes_memory_of<Exec>();
  if (rank_in(MPI_COMM_WORLD) == 0) {
    std::printf("MPI %s memory of %s.\n", takes ? "takes" : "does not take", Exec::name());
  }
  auto const by_tree = ks::along(0);
  expect_messages(ranks::Staging::automatic, !takes, by_tree);
  expect_messages(ranks::Staging::automatic, !takes, by_tree.in_order());
  expect_messages(ranks::Staging::always, true, by_tree);
  expect_messages(ranks::Staging::always, true, by_tree.in_order());
}

}  // namespace test
