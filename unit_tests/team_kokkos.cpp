// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Why team.hpp does not stand on the nested scans of Kokkos: what those of Kokkos 5.2 give for an
// operator that does not commute, for a range that does not begin at 0, and for a maximum. Their
// results are printed, not checked: only those of the library must be right.

#include <KokkosScan/team.hpp>

#include <gtest/gtest.h>

#include <Kokkos_StdAlgorithms.hpp>
#include <algorithm>
#include <cstdio>

#include "support/types.hpp"

namespace test {
namespace {

using Policy = Kokkos::TeamPolicy<Exec>;
using Affines = Kokkos::View<Affine*, Device>;
using Doubles = Kokkos::View<double*, Device>;

/// ComposeAffine as a reducer of Kokkos: join(a, b) is a followed by b.
struct AffineReducer {
  using reducer = AffineReducer;
  using value_type = Affine;
  using result_view_type = Kokkos::View<Affine, Kokkos::MemoryUnmanaged>;

  Affine* result;

  KOKKOS_FUNCTION void join(Affine& a, Affine const& b) const { a = ComposeAffine{}(a, b); }
  KOKKOS_FUNCTION void init(Affine& a) const { a = ComposeAffine::identity(); }
  KOKKOS_FUNCTION Affine& reference() const { return *result; }
};

struct NestedScans {
  int begin, end;
  Affines kokkos, ours, totals;
  Doubles x, kokkos_maxima, our_maxima;

  KOKKOS_FUNCTION static Affine map(int k) {
    return {static_cast<std::uint32_t>(k + 2), static_cast<std::uint32_t>(3 * k)};
  }
  KOKKOS_FUNCTION void operator()(Policy::member_type const& member) const {
    if (member.team_rank() == 0) {
      Affine total{0, 0};
      Kokkos::parallel_scan(
          Kokkos::ThreadVectorRange(member, begin, end),
          [&](int k, Affine& fold, bool is_final) {
            fold = ComposeAffine{}(fold, map(k));
            if (is_final) kokkos(k) = fold;
          },
          AffineReducer{&total});
      totals(0) = total;
      totals(1) = ks_total(member);
    }
    member.team_barrier();
    Kokkos::Experimental::inclusive_scan(member, x, kokkos_maxima, KokkosScan::Max<double>{});
    member.team_barrier();
    KokkosScan::team::inclusive_scan(member, x, our_maxima, KokkosScan::Max<double>{});
  }
  KOKKOS_FUNCTION Affine ks_total(Policy::member_type const& member) const {
    return KokkosScan::team::inclusive_scan(
        Kokkos::ThreadVectorRange(member, begin, end), [](int k) { return map(k); }, ours,
        ComposeAffine{});
  }
};

bool operator==(Affine const& a, Affine const& b) {
  return a.slope == b.slope && a.offset == b.offset;
}

void run(int team_size, int vector_length) {
  int const n = 40;
  NestedScans scans{4,
                    n,
                    Affines("Kokkos", n),
                    Affines("ours", n),
                    Affines("totals", 2),
                    Doubles("x", n),
                    Doubles("maxima of Kokkos", n),
                    Doubles("our maxima", n)};
  auto const x = Kokkos::create_mirror_view(scans.x);
  for (int k = 0; k < n; ++k) x(k) = (k * 7) % 11 - 20;
  Kokkos::deep_copy(scans.x, x);
  Policy policy(1, team_size, vector_length);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(KokkosScan::team::scratch_bytes<Affine, Exec>(team_size, vector_length)));
  Kokkos::parallel_for(policy, scans);
  auto const host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  };
  auto const kokkos = host(scans.kokkos), ours = host(scans.ours), totals = host(scans.totals);
  auto const maxima = host(scans.kokkos_maxima), our_maxima = host(scans.our_maxima);
  int before_begin = 0, wrong_order = 0, wrong_maxima = 0;
  for (int k = 0; k < scans.begin; ++k) before_begin += kokkos(k) == Affine{0, 0} ? 0 : 1;
  Affine fold = ComposeAffine::identity();
  double maximum = x(0);
  for (int k = 0; k < n; ++k) {
    maximum = std::max(maximum, double(x(k)));
    ASSERT_EQ(our_maxima(k), maximum);
    wrong_maxima += maxima(k) == maximum ? 0 : 1;
    if (k < scans.begin) continue;
    fold = ComposeAffine{}(fold, NestedScans::map(k));
    ASSERT_TRUE(ours(k) == fold);
    wrong_order += kokkos(k) == fold ? 0 : 1;
  }
  ASSERT_TRUE(totals(1) == fold);
  std::printf(
      "[          ] Kokkos %d, %s, %d threads of %d lanes: ThreadVectorRange(4, %d) with a reducer "
      "stores %d results before its begin and %d wrong ones behind it; its total is %s. "
      "Experimental::inclusive_scan(team, x, y, max) stores %d wrong maxima of %d.\n",
      KOKKOS_VERSION, Exec::name(), team_size, vector_length, n, before_begin, wrong_order,
      totals(0) == fold ? "right" : "wrong", wrong_maxima, n);
}

TEST(team_kokkos, nested_scans) {
  int const most = std::min(8, Exec().concurrency());
  run(1, 1);
  run(most, std::min(8, Policy::vector_length_max()));
}

}  // namespace
}  // namespace test
