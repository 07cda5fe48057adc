// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Every public form of a scan inside a kernel.

#include "forms.hpp"

#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace forms {

/// Not commutative, and without an identity.
struct KeepSecond {
  KOKKOS_FUNCTION int operator()(int, int b) const { return b; }
};

/// Counts results that differ from a loop's, in row i.
template <class Exec>
struct ScanInside {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;

  Array<Exec, double> x, y, longer;
  Values<Exec, int> wrong;

  KOKKOS_FUNCTION void expect(bool is_right) const {
    if (!is_right) Kokkos::atomic_inc(&wrong(0));
  }
  KOKKOS_FUNCTION static double sum(int i, int n) {
    double result = 0;
    for (int k = 0; k < n; ++k) result += number(i, k);
    return result;
  }

  template <class Range>
  KOKKOS_FUNCTION void scan(const Range& range, int i) const {
    const auto in = Kokkos::subview(x, i, Kokkos::ALL), out = Kokkos::subview(y, i, Kokkos::ALL);
    const int n = columns;
    const double total = sum(i, n);
    expect(ks::team::inclusive_scan(range, in, out) == total);
    expect(out(n - 1) == total);
    expect(ks::team::exclusive_scan(range, in, Kokkos::subview(longer, i, Kokkos::ALL),
                                    ks::team::with_total().starting_at(2)) == total + 2);
    expect(longer(i, n) == total + 2);
    const auto kept = ks::masked(in, [](int k) { return k < 3; });
    expect(ks::team::inclusive_scan(range, kept, out, ks::team::backward().in_order()) ==
           sum(i, 3));
    expect(ks::team::inclusive_scan(
               range, [=](int k) { return number(i, k); }, [](int, int) {}, KeepSecond{}) ==
           number(i, n - 1));
    ks::team::for_each_step(
        range, in, [&](int k, double before, double after) { expect(after - before == in(k)); },
        ks::team::scratch_level(0));
    expect(ks::team::linear_recurrence(range, 1, in, out) == total);
    expect(ks::team::inclusive_scan(range, in, out, ks::Max{}) == 7);
  }
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int i = member.league_rank(), n = columns;
    scan(Kokkos::TeamThreadRange(member, n), i);
    scan(Kokkos::TeamVectorRange(member, 0, n), i);
    if (member.team_rank() == 0) scan(Kokkos::ThreadVectorRange(member, n), i);
    member.team_barrier();
    const auto in = Kokkos::subview(x, i, Kokkos::ALL);
    expect(ks::team::exclusive_scan(member, in, Kokkos::subview(longer, i, Kokkos::ALL)) ==
           sum(i, n));
    member.team_barrier();
    expect(longer(i, n) == sum(i, n));
  }
};

template <class Exec>
void teams() {
  const Exec exec;
  const ScanInside<Exec> kernel{
      numbers<Exec, double>(), Array<Exec, double>("y", rows, columns),
      Array<Exec, double>("longer", rows, static_cast<std::size_t>(columns + 1)),
      Values<Exec, int>("wrong", 1)};
  Kokkos::TeamPolicy<Exec> policy(exec, rows, Kokkos::AUTO);
  const std::size_t bytes = ks::team::scratch_bytes<ks::AffineMap<double>>(policy);
  policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
  Kokkos::parallel_for(policy, kernel);
  exec.fence();
  const auto wrong = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.wrong);
  check(wrong(0) == 0, "scans inside a kernel", 0, wrong(0));
}

}  // namespace forms
