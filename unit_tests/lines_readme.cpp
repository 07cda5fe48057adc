// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The calls of README.md's table of computed inputs and outputs.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>

namespace ks = KokkosScan;

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Batch = Kokkos::View<float**>;

struct Sum {
  KOKKOS_FUNCTION float operator()(std::int64_t i, std::int64_t k) const {
    return static_cast<float>(i + k);
  }
};
struct Negative {
  KOKKOS_FUNCTION float operator()(float result) const { return -result; }
};
struct Use {
  Batch twice;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, float result) const {
    twice(i, k) = 2 * result;
  }
};

struct ScanInside {
  Batch of_x, of_y;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const range = Kokkos::TeamThreadRange(member, static_cast<int>(of_x.extent(1)));
    auto const x = Kokkos::subview(of_x, member.league_rank(), Kokkos::ALL);
    auto const y = Kokkos::subview(of_y, member.league_rank(), Kokkos::ALL);
    ks::team::inclusive_scan(range, x, y);
  }
};

float element(Batch const& y, int i, int k) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y)(i, k);
}

}  // namespace

TEST(lines, table_of_the_readme) {
  Exec const exec;
  Batch const a("a", 3, 4), b("b", 3, 4), h("h", 3, 4), x("x", 3, 4), y("y", 3, 4), z("z", 3, 4);
  Kokkos::deep_copy(a, 2.0F);
  Kokkos::deep_copy(b, 1.0F);
  Kokkos::deep_copy(x, 3.0F);
  Sum const f;
  Negative const g;
  Use const use{z};
  ks::ComposeAffine<float> const op;

  ks::inclusive_scan(exec, ks::elementwise(y, f), y);
  EXPECT_EQ(element(y, 2, 3), 14);
  ks::linear_recurrence(exec, a, b, h);
  EXPECT_EQ(element(h, 0, 3), 15);
  ks::inclusive_scan(exec, x, ks::projected(y, g));
  EXPECT_EQ(element(y, 1, 3), -12);
  ks::inclusive_scan(exec, x, ks::for_each_result(x, use));
  EXPECT_EQ(element(z, 1, 2), 18);
  ks::inclusive_scan(exec, ks::zip(a, b), y, 1, op);
  EXPECT_EQ(element(y, 0, 3), 15);
  Kokkos::parallel_for(Kokkos::TeamPolicy<Exec>(exec, 3, 1), ScanInside{x, y});
  EXPECT_EQ(element(y, 2, 3), 12);
}
