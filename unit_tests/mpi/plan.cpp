// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// State that is kept between calls: a plan's memory, the duplicate of the communicator. Also which
// values are combined.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "ranks.hpp"
#include "support/array.hpp"
#include "support/types.hpp"

namespace {
/// Allocations that are larger than those of labels.
std::atomic<int> large_allocations = 0;

// nvcc treats operator new as device code, in which exceptions are not allowed.
void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > 1024) ++large_allocations;
  void* const data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return std::malloc(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace test {
namespace {

namespace ks = KokkosScan;
using Values = Kokkos::View<double**, Kokkos::LayoutRight, Device>;

std::atomic<int> kokkos_allocations = 0;
void on_allocation(Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t bytes) {
  if (bytes > 0) ++kokkos_allocations;
}

/// Sums of ones are positions: exact in double.
void expect_positions(Values const& y, std::int64_t before) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) {
      ASSERT_EQ(host(i, j), static_cast<double>(before) + static_cast<double>(i) + 1);
    }
  }
}

}  // namespace

TEST(mpi_plan, repeated_calls_allocate_nothing) {
  int const ranks = 6;
  MPI_Comm const comm = first_ranks(ranks);
  if (comm == MPI_COMM_NULL) return;
  Exec const exec;
  // Few long lines, which threads share, and many short ones.
  for (auto const [rows, columns] : {std::pair<std::size_t, std::size_t>{50000, 1}, {40, 2000}}) {
    std::size_t const more = static_cast<std::size_t>(rank_in(comm));
    Values const x("x", rows + more, columns);
    Values const y("y", rows + more, columns);
    Kokkos::View<double*, Device> const totals("totals", columns);
    Kokkos::deep_copy(x, 1);
    for (auto const staging :
         {ks::impl::ranks::Staging::automatic, ks::impl::ranks::Staging::always}) {
      ks::mpi::Plan plan(exec, comm, {staging, 1 << 14, 64});
      auto const scan = [&] {
        plan.inclusive_scan(x, y, ks::along(0).totals(totals));
        plan.inclusive_scan(x, y, ks::along(0).in_order().totals(totals));
      };
      scan();
      exec.fence();
      large_allocations = 0;
      kokkos_allocations = 0;
      Kokkos::Tools::Experimental::set_allocate_data_callback(on_allocation);
      for (int i = 0; i < 3; ++i) scan();
      exec.fence();
      Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
      EXPECT_EQ(kokkos_allocations, 0);
      EXPECT_EQ(large_allocations, 0);
      std::int64_t before = 0;
      for (std::size_t r = 0; r < more; ++r) before += static_cast<std::int64_t>(rows + r);
      expect_positions(y, before);
    }
  }
}

TEST(mpi_plan, two_plans_and_plain_calls_do_not_meet) {
  int const ranks = 3;
  MPI_Comm const comm = first_ranks(ranks);
  if (comm == MPI_COMM_NULL) return;
  Exec const exec;
  int const me = rank_in(comm);
  Values const x("x", 10, 70);
  Kokkos::deep_copy(x, 1);
  Values const y("y", 10, 70);
  Values const z("z", 10, 70);
  Values const w("w", 10, 70);
  ks::mpi::Plan first(exec, comm);
  ks::mpi::Plan second(exec, comm);
  // The caller's messages on the caller's communicator are not disturbed.
  int sent = 100 + me;
  int received = 0;
  MPI_Request request;
  MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
  auto pending = first.begin_inclusive_scan(x, y, 0);
  second.inclusive_scan(x, z, 0);
  ks::mpi::inclusive_scan(exec, comm, x, w, 0);
  pending.finish();
  MPI_Send(&sent, 1, MPI_INT, (me + 1) % ranks, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(received, 100 + (me + ranks - 1) % ranks);
  exec.fence();
  for (auto const& result : {y, z, w}) expect_positions(result, 10 * me);
}

TEST(mpi_plan, other_work_goes_on_meanwhile) {
  MPI_Comm const comm = first_ranks(7);
  if (comm == MPI_COMM_NULL) return;
  Exec const exec;
  Values const x("x", 10, 70);
  Values const y("y", 10, 70);
  Kokkos::deep_copy(x, 1);
  int work = 0;
  auto const do_other_work = [&] { ++work; };
  ks::mpi::Plan plan(exec, comm);
  for (int step = 0; step < 3; ++step) {
    auto pending = plan.begin_inclusive_scan(x, y, 0);
    do_other_work();
    pending.finish();
  }
  for (int step = 0; step < 3; ++step) {
    auto pending = plan.begin_inclusive_scan(x, y, ks::along(0).in_order());
    do_other_work();
    pending.finish();
  }
  exec.fence();
  EXPECT_EQ(work, 6);
  expect_positions(y, 10 * rank_in(comm));
}

TEST(mpi_plan, a_pending_scan_is_finished_by_its_end) {
  int const ranks = 5;
  MPI_Comm const comm = first_ranks(ranks);
  if (comm == MPI_COMM_NULL) return;
  Exec const exec;
  Values const x("x", 10, 70);
  Values const y("y", 10, 70);
  Kokkos::deep_copy(x, 1);
  ks::mpi::Plan plan(exec, comm);
  { auto const pending = plan.begin_inclusive_scan(x, y, 0); }
  exec.fence();
  expect_positions(y, 10 * rank_in(comm));
}

TEST(mpi_plan, the_duplicate_ends_with_its_communicator) {
  MPI_Comm const comm = first_ranks(4);
  if (comm == MPI_COMM_NULL) return;
  Values const x("x", 2, 3);
  Values const y("y", 2, 3);
  Kokkos::deep_copy(x, 1);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  ks::mpi::inclusive_scan(Exec(), copy, x, y, 0);
  MPI_Comm const duplicate = ks::impl::mpi::duplicate_of(copy).get();
  ks::mpi::inclusive_scan(Exec(), copy, x, y, 0);
  EXPECT_EQ(ks::impl::mpi::duplicate_of(copy).get(), duplicate);
  EXPECT_NE(duplicate, copy);
  // A copy of the communicator has its own duplicate.
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(copy, &other);
  EXPECT_NE(ks::impl::mpi::duplicate_of(other).get(), duplicate);
  MPI_Comm_free(&other);
  // MPI calls this when it is freed.
  int freed = 0;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(
      MPI_COMM_NULL_COPY_FN,
      [](MPI_Comm, int, void* counter, void*) {
        ++*static_cast<int*>(counter);
        return MPI_SUCCESS;
      },
      &key, nullptr);
  MPI_Comm_set_attr(duplicate, key, &freed);
  EXPECT_EQ(freed, 0);
  MPI_Comm_free(&copy);
  EXPECT_EQ(freed, 1);
  MPI_Comm_free_keyval(&key);
  Exec().fence();
  expect_positions(y, 2 * rank_in(comm));
}

TEST(mpi_plan, only_neighbours_combine) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    MPI_Comm const comm = first_ranks(ranks);
    if (comm == MPI_COMM_NULL) continue;
    Random random(static_cast<std::uint64_t>(ranks));
    for (int i = 0; i < 10; ++i) {
      auto const partition = random_partition(random, ranks, 300);
      auto const me = static_cast<std::size_t>(rank_in(comm));
      std::int64_t const begin = partition.begin(static_cast<int>(me));
      Array<Interval> x(right({partition.length[me], 70}));
      Array<Interval> y(x.shape());
      for_each_index(x.shape(), [&](Index const& index) {
        auto const at = static_cast<std::uint32_t>(begin + index[0]);
        x.set(index, Interval(at, at + 1));
      });
      x.upload();
      y.upload();
      Kokkos::View<std::uint32_t, Device> const faults("faults");
      ks::mpi::Plan plan(Exec(), comm, {ks::impl::ranks::Staging::automatic, 2000, 10});
      plan.inclusive_scan(view<2>(x), view<2>(y), 0, JoinIntervals{faults.data()});
      Exec().fence();
      y.download();
      std::uint32_t count = 0;
      Kokkos::deep_copy(count, faults);
      EXPECT_EQ(count, 0u);
      int wrong = 0;
      for_each_index(y.shape(), [&](Index const& index) {
        auto const value = y.after(index);
        wrong += value.begin != 0 ||
                 value.end != static_cast<std::uint32_t>(begin + index[0] + 1) || value.faults != 0;
      });
      EXPECT_EQ(wrong, 0);
    }
  }
}

}  // namespace test
