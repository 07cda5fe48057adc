// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Kernels that scan intervals at every level of a team, and check each result where it arrives.

#include <KokkosScan/team.hpp>

#include <cstdint>

#include "support/types.hpp"

namespace test {

namespace ks = KokkosScan;

enum class Form { inclusive, exclusive, both };
enum class Order { tree, in_order };

/// The first argument of a scan.
struct TeamThread {
  static constexpr bool is_of_thread = false;
  template <class Member>
  KOKKOS_FUNCTION static auto range(Member const& member, int begin, int end) {
    return Kokkos::TeamThreadRange(member, begin, end);
  }
};
struct TeamVector {
  static constexpr bool is_of_thread = false;
  template <class Member>
  KOKKOS_FUNCTION static auto range(Member const& member, int begin, int end) {
    return Kokkos::TeamVectorRange(member, begin, end);
  }
};
struct ThreadVector {
  static constexpr bool is_of_thread = true;
  template <class Member>
  KOKKOS_FUNCTION static auto range(Member const& member, int begin, int end) {
    return Kokkos::ThreadVectorRange(member, begin, end);
  }
};

/// What is scanned.
struct IntervalLine {
  int begin, n;
  bool is_backward, has_start, has_mask;
  std::uint32_t base;

  KOKKOS_FUNCTION int place(int k) const { return is_backward ? begin + n - 1 - k : k - begin; }
  /// Element k.
  KOKKOS_FUNCTION Interval operator()(int k) const {
    std::uint32_t const p = base + static_cast<std::uint32_t>(place(k));
    return {p, p + 1};
  }
  KOKKOS_FUNCTION bool keeps(int i) const { return !has_mask || i % 3 != 1; }
  KOKKOS_FUNCTION Interval start() const { return {base - 3, base}; }
  /// The fold of the first i elements.
  KOKKOS_FUNCTION Interval fold(int i) const {
    if (i > 0 && !keeps(i - 1)) --i;
    if (i == 0) return has_start ? start() : JoinAscending::identity();
    return {has_start ? base - 3 : base, base + static_cast<std::uint32_t>(i)};
  }
};
struct KeptPlaces {
  IntervalLine line;
  KOKKOS_FUNCTION bool operator()(int k) const { return line.keeps(line.place(k)); }
};

/// Counts wrong results and calls.
struct Checks {
  std::uint32_t* faults;
  std::uint32_t* calls;

  KOKKOS_FUNCTION void expect(Interval const& actual, Interval const& expected) const {
    if (actual.begin != expected.begin || actual.end != expected.end || actual.faults != 0) {
      Kokkos::atomic_inc(faults);
    }
  }
};

/// Receives the results of a line. `calls` counts those of each element.
template <Form form>
struct CheckResults {
  IntervalLine line;
  Checks checks;
  int calls_of_line;

  KOKKOS_FUNCTION void operator()(int k, Interval const& result) const {
    called(k);
    int const more = form == Form::exclusive && line.is_backward ? -1 : 0;
    if (form == Form::inclusive) checks.expect(result, line.fold(line.place(k) + 1));
    if (form == Form::exclusive) {  // with the total
      checks.expect(result, line.fold(line.place(k + more)));
    }
  }
  KOKKOS_FUNCTION void operator()(int k, Interval const& before, Interval const& after) const {
    called(k);
    checks.expect(before, line.fold(line.place(k)));
    checks.expect(after, line.fold(line.place(k) + 1));
  }
  KOKKOS_FUNCTION void called(int k) const {
    Kokkos::atomic_inc(checks.calls + calls_of_line + (k - line.begin));
  }
};

template <class Level, Form form, bool has_start, bool has_mask, Order order>
struct ScanIntervals {
  int n, begin;
  bool is_backward;
  Checks checks;
  std::uint32_t* operator_faults;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const line_number = Level::is_of_thread
                                ? member.league_rank() * member.team_size() + member.team_rank()
                                : member.league_rank();
    IntervalLine const line{begin,       n,
                            is_backward, has_start,
                            has_mask,    17u + 10007u * static_cast<std::uint32_t>(line_number)};
    CheckResults<form> const y{line, checks, line_number * (n + 1)};
    if constexpr (has_start) {
      scan(member, line, y, ks::team::starting_at(line.start()));
    } else {
      scan(member, line, y, ks::team::Options<>{});
    }
  }

 private:
  template <class Member, class Y, class Options>
  KOKKOS_FUNCTION void scan(Member const& member, IntervalLine const& line, Y const& y,
                            Options options) const {
    if (is_backward) options = options.backward();
    if (form == Form::exclusive) options = options.with_total();
    if constexpr (order == Order::in_order) {
      scan_masked(member, line, y, options.in_order());
    } else {
      scan_masked(member, line, y, options);
    }
  }
  template <class Member, class Y, class Options>
  KOKKOS_FUNCTION void scan_masked(Member const& member, IntervalLine const& line, Y const& y,
                                   Options const& options) const {
    // Without a start, exclusive scans need an identity.
    if constexpr (has_mask) {
      scan_with(member, line, ks::masked(line, KeptPlaces{line}), y, options,
                JoinAscending{operator_faults});
    } else if constexpr (has_start || form == Form::inclusive) {
      scan_with(member, line, line, y, options, JoinIntervals{operator_faults});
    } else {
      scan_with(member, line, line, y, options, JoinAscending{operator_faults});
    }
  }
  template <class Member, class X, class Y, class Options, class Op>
  KOKKOS_FUNCTION void scan_with(Member const& member, IntervalLine const& line, X const& x,
                                 Y const& y, Options const& options, Op const& op) const {
    auto const range = Level::range(member, begin, begin + n);
    auto const total = [&] {
      if constexpr (form == Form::inclusive) {
        return ks::team::inclusive_scan(range, x, y, options, op);
      } else if constexpr (form == Form::exclusive) {
        return ks::team::exclusive_scan(range, x, y, options, op);
      } else {
        return ks::team::for_each_step(range, x, y, options, op);
      }
    }();
    constexpr bool has_identity = has_mask || (!has_start && form != Form::inclusive);
    if (n > 0 || has_start || has_identity) checks.expect(total, line.fold(n));
  }
};

}  // namespace test
