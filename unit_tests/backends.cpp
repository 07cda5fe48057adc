// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The generic backend in every regime and with many team sizes: equal to the oracle for exact
// types, and bitwise equal to each other for floats. On hosts Kokkos recommends teams of one
// thread, which tests little, so team sizes are forced (backends.cmake requests more threads than
// cores). Regression classes: A missing barriers (AcceleratedKernels.jl #41), C limits of the grid
// (Paddle #43722, ginkgo #2074), G uninitialised operands (cccl #458, cudf #8705), K operand order.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "backends.hpp"
#include "support/flat.hpp"
#include "support/oracle.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace backends {

using ks::impl::team::choose;
using ks::impl::team::chunk_length;
using ks::impl::team::Parallelism;
using ks::impl::team::tile_length;

// ---- which team sizes there are -----------------------------------------------------------------

struct Nothing {
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const&) const {}
};

/// Team sizes that Kokkos can launch, up to the number of chunks in a tile.
std::vector<int> team_sizes() {
  Kokkos::TeamPolicy<Exec> const policy(Exec(), 1, 1);
  int const most = std::min(policy.team_size_max(Nothing{}, Kokkos::ParallelForTag{}), 256);
  std::vector<int> sizes{0};  // as Kokkos recommends
  for (int const size : {1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 33, 64, 100, 127, 128, 129, 256}) {
    if (size < most) sizes.push_back(size);
  }
  sizes.push_back(most);
  return sizes;
}

/// Calls f(backend) for every regime and, in regimes with teams, for every team size.
template <class F>
void for_each_backend(F const& f) {
  for (Regime const regime : forced_regimes) {
    for (int const size : team_sizes()) {
      if (regime == Regime::thread_per_line && size > 0) continue;
      SCOPED_TRACE(::testing::Message() << to_text(regime) << ", team size " << size);
      f(forced(regime, size));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(backends, team_sizes_beyond_one_are_tested) {
  auto const sizes = team_sizes();
  if (Exec().concurrency() > 1) {
    EXPECT_GT(sizes.back(), 1);
  }
  ::testing::Test::RecordProperty("largest_team", sizes.back());
}

// ---- the choice of the regime -------------------------------------------------------------------

TEST(backends, choice_of_the_regime) {
  // A device: 100 teams of 128 threads.
  constexpr Parallelism device{12800, 100};
  static_assert(choose(1000, 12800, device) == Regime::thread_per_line);
  static_assert(choose(tile_length * 100, 12800, device) == Regime::thread_per_line);
  static_assert(choose(1000, 12799, device) == Regime::team_per_line);
  static_assert(choose(tile_length * 100, 12799, device) == Regime::team_per_line);
  static_assert(choose(tile_length * 100, 100, device) == Regime::team_per_line);
  static_assert(choose(tile_length + 1, 99, device) == Regime::split_lines);
  static_assert(choose(tile_length, 99, device) == Regime::team_per_line);
  static_assert(choose(chunk_length + 1, 1, device) == Regime::team_per_line);
  static_assert(choose(chunk_length, 1, device) == Regime::thread_per_line);
  static_assert(choose(1, 1, device) == Regime::thread_per_line);
  static_assert(choose(std::int64_t(1) << 40, 1, device) == Regime::split_lines);
  static_assert(choose(3, std::int64_t(1) << 40, device) == Regime::thread_per_line);
  // A host: teams of one thread, so a team per line is useless.
  constexpr Parallelism host{16, 16};
  static_assert(choose(tile_length * 100, 16, host) == Regime::thread_per_line);
  static_assert(choose(tile_length + 1, 15, host) == Regime::split_lines);
  static_assert(choose(tile_length, 15, host) == Regime::thread_per_line);
  static_assert(choose(1000, 1, host) == Regime::thread_per_line);
  // A single thread never splits lines: that would only read elements twice.
  constexpr Parallelism serial{1, 1};
  static_assert(choose(tile_length * 100, 1, serial) == Regime::thread_per_line);
  // The concurrency is that of the instance.
  auto const real = ks::impl::team::parallelism(Exec());
  EXPECT_EQ(real.threads, Exec().concurrency());
  EXPECT_GE(real.teams, 1);
  EXPECT_LE(real.teams, real.threads);
}

// ---- against the oracle -------------------------------------------------------------------------

/// Lengths around chunks, teams' shares of chunks, and tiles.
std::vector<std::int64_t> lengths() {
  return {1,
          2,
          chunk_length - 1,
          chunk_length,
          chunk_length + 1,
          3 * chunk_length - 1,
          8 * chunk_length,
          8 * chunk_length + 1,
          33 * chunk_length + 5,
          tile_length - 1,
          tile_length,
          tile_length + 1,
          2 * tile_length + 3 * chunk_length + 7};
}

template <class T, class Op>
void equals_oracle(Op const& op) {
  Sample sample(3, sizeof(T));
  for_each_backend([&](TeamBackend const& backend) {
    for (std::int64_t const n : lengths()) {
      // Each length with another mode, cycling through all of them.
      static int turn = 0;
      for (int i = 0; i < 2; ++i) {
        turn = (turn + 1) % 7;
        if (!sample.takes()) continue;
        Job<T> job{random_values<T>(3 * n), 3, n};
        constexpr Form forms[] = {Form::inclusive,
                                  Form::exclusive,
                                  Form::exclusive_with_total,
                                  Form::inclusive,
                                  Form::exclusive_with_total,
                                  Form::exclusive,
                                  Form::exclusive_with_total};
        constexpr Placement placements[] = {
            Placement::rows, Placement::in_place,        Placement::in_place, Placement::columns,
            Placement::gaps, Placement::rows_to_columns, Placement::shifted};
        job.form = forms[turn];
        job.placement = placements[turn];
        job.direction = i == 0 ? Direction::forward : Direction::backward;
        expect_oracle<Op>(job, run(job, op, backend));
        if (::testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(backends, every_regime_and_team_size_equals_the_oracle) {
  equals_oracle<std::int64_t>(ks::Sum{});
  equals_oracle<Affine>(ComposeAffine{});
}
TEST(backends, every_regime_and_team_size_equals_the_oracle_for_24_bytes) {
  equals_oracle<Struct24>(MultiplyHeisenberg<std::uint64_t>{});
}
TEST(backends, every_regime_and_team_size_equals_the_oracle_for_minima) {
  equals_oracle<std::int8_t>(ks::Min{});
}

/// Those that are not the std::intN_t of their width.
TEST(backends, every_regime_and_team_size_equals_the_oracle_for_other_integers) {
  static_assert(!std::is_same_v<long long, std::int64_t> || !std::is_same_v<long, std::int64_t>);
  equals_oracle<std::conditional_t<std::is_same_v<long long, std::int64_t>, long, long long>>(
      ks::Sum{});
  equals_oracle<char32_t>(ks::Max{});
}

// ---- intervals: every combine is watched --------------------------------------------------------

// G: uninitialised operands reach the operator (cccl #458, cudf #8705).
template <class Op>
void joins_only_neighbours(Form form) {
  for_each_backend([&](TeamBackend const& backend) {
    for (std::int64_t const n : lengths()) {
      Flat<std::uint32_t> const count("count", 1);
      std::int64_t const lines = 3;
      Job<Interval> job{{}, lines, n};
      for (std::int64_t l = 0; l < lines; ++l) {
        for (std::int64_t k = 0; k < n; ++k) {
          // Lines are far apart, so that values of different lines never join.
          auto const begin = static_cast<std::uint32_t>(l * 100'000'000 + 7 + 3 * k);
          job.values.emplace_back(begin, begin + 3);
        }
      }
      job.form = form;
      auto const scanned = run(job, Op{count.data()}, backend);
      ASSERT_EQ(to_host(count)[0], 0u) << "faulty combines, n " << n;
      expect_oracle<Op>(job, scanned);
      if (::testing::Test::HasFailure()) return;
    }
  });
}

TEST(backends, only_neighbours_are_combined) {
  joins_only_neighbours<JoinIntervals>(Form::inclusive);
}
TEST(backends, only_ascending_intervals_are_combined) {
  joins_only_neighbours<JoinAscending>(Form::exclusive_with_total);
}

// ---- starting values, totals and masks in every regime ------------------------------------------

void totals_replace_starting_values() {
  for_each_backend([&](TeamBackend const& backend) {
    for (std::int64_t const n : {1L, 300L, long(tile_length) + 200L}) {
      starts_and_totals_in_one_view<Affine, ComposeAffine>(n, 1, backend);
      starts_and_totals_in_one_view<std::uint64_t, ks::Sum<>>(n, 1, backend);
    }
  });
}

TEST(backends, totals_may_replace_starting_values_under_a_mask) {
  totals_replace_starting_values();
}

// ---- the same bits ------------------------------------------------------------------------------

template <class T, class Op>
void same_bits_everywhere(std::int64_t lines, std::int64_t n, Op const& op) {
  Sample sample(2, static_cast<std::uint64_t>(n));
  for (auto const form : {Form::inclusive, Form::exclusive}) {
    Job<T> job{random_values<T>(lines * n), lines, n};
    job.form = form;
    auto const reference = run(job, op, TeamBackend{});
    for_each_backend([&](TeamBackend const& backend) {
      if (!sample.takes()) return;
      ASSERT_TRUE(run(job, op, backend) == reference) << lines << " lines of " << n;
    });
  }
}

TEST(backends, every_regime_and_team_size_gives_the_same_bits) {
  for (std::int64_t const n : lengths()) same_bits_everywhere<float>(2, n, ks::Sum{});
  // double is carried in double, so that any difference between trees shows.
  for (std::int64_t const n : lengths()) same_bits_everywhere<double>(2, n, ks::Sum{});
  same_bits_everywhere<float>(1, 300'007, ks::Sum{});
  same_bits_everywhere<float>(500, 200, ks::Sum{});
}
TEST(backends, every_regime_and_team_size_gives_the_same_bits_for_complex_products) {
  same_bits_everywhere<Kokkos::complex<float>>(2, 5000, ks::Prod{});
}

// ---- more lines than teams ----------------------------------------------------------------------

// C: limits of the grid (Paddle #43722, ginkgo #2074).
void more_lines_than_a_grid_has_teams(std::int64_t lines, std::int64_t n) {
  Job<std::int64_t> const job{random_values<std::int64_t>(lines * n), lines, n};
  for (Regime const regime : forced_regimes) {
    SCOPED_TRACE(to_text(regime));
    expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, forced(regime)));
  }
}

TEST(backends, more_lines_than_a_grid_has_teams) {
  for (std::int64_t const lines : {65535, 65536, 65537}) more_lines_than_a_grid_has_teams(lines, 3);
  more_lines_than_a_grid_has_teams(140'000, 2);
  more_lines_than_a_grid_has_teams(66'000, 130);
}

/// Lines without elements, and no lines, in every regime.
void empty() {
  for_each_backend([&](TeamBackend const& backend) {
    for (auto const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
      Job<std::int64_t> job{{}, 3, 0};
      job.form = form;
      auto const scanned = run(job, ks::Sum{}, backend);
      ASSERT_EQ(scanned.totals, std::vector<std::int64_t>(3, 0));
      ASSERT_EQ(scanned.out.size(), form == Form::exclusive_with_total ? 3u : 0u);
      for (auto const value : scanned.out) ASSERT_EQ(value, 0);
      job.lines = 0;
      job.n = 5;
      ASSERT_EQ(run(job, ks::Sum{}, backend).out.size(), 0u);
    }
  });
}

TEST(backends, empty_lines_in_every_regime) { empty(); }

}  // namespace backends
}  // namespace test
