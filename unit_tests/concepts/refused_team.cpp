// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans inside a kernel that must not compile; see refused.cpp.

#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>

#include <vector>

namespace ks = KokkosScan;

using Exec = Kokkos::DefaultExecutionSpace;
using Member = Kokkos::TeamPolicy<Exec>::member_type;
using Line = Kokkos::View<float*, Exec>;

struct WithoutIdentity {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};
struct Unary {
  KOKKOS_FUNCTION float operator()(float a) const { return a; }
};

KOKKOS_FUNCTION void scan(Member const& member, Line const& x, Line const& y,
                          Kokkos::View<bool*, Exec> const& mask) {
  auto const range = Kokkos::TeamThreadRange(member, 3);
#if defined(REFUSED_team_range_policy)
  ks::team::inclusive_scan(Kokkos::RangePolicy<Exec>(0, 3), x, y);
#elif defined(REFUSED_team_input_of_rank_2)
  ks::team::inclusive_scan(range, Kokkos::View<float**, Exec>(), y);
#elif defined(REFUSED_team_const_output)
  ks::team::inclusive_scan(range, x, Kokkos::View<float const*, Exec>(y));
#elif defined(REFUSED_team_output_of_one_argument)
  ks::team::inclusive_scan(range, x, [](int) {});
#elif defined(REFUSED_team_float_mask)
  ks::team::inclusive_scan(range, ks::masked(mask, x), y);
#elif defined(REFUSED_team_mask_without_identity)
  ks::team::inclusive_scan(range, ks::masked(x, mask), y, WithoutIdentity{});
#elif defined(REFUSED_team_exclusive_without_identity)
  ks::team::exclusive_scan(range, x, y, ks::team::backward(), WithoutIdentity{});
#elif defined(REFUSED_team_member_of_callable)
  ks::team::inclusive_scan(
      member, [](int) { return 1.0f; }, y);
#elif defined(REFUSED_team_number_as_options)
  ks::team::inclusive_scan(range, x, y, 1, ks::Max{});
#elif defined(REFUSED_team_operator)
  ks::team::inclusive_scan(range, x, y, Unary{});
#elif defined(REFUSED_team_start)
  ks::team::inclusive_scan(range, x, y, ks::team::starting_at(nullptr));
#elif defined(REFUSED_team_recurrence_of_masked)
  ks::team::linear_recurrence(range, 0.5f, ks::masked(x, mask), y);
#else
  ks::team::inclusive_scan(range, x, y, WithoutIdentity{});
  ks::team::exclusive_scan(range, x, y, ks::team::starting_at(1), WithoutIdentity{});
  ks::team::linear_recurrence(range, 0.5f, x, y);
  (void)mask;
#endif
}
