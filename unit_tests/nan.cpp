// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One NaN or infinity among finite values: results before it in its line and in all other lines do
// not change; results after it are those of NumPy. Masked-out values contribute nothing.
// Regression class: J NaN handling (pytorch #52213).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace nan {

using ks::impl::team::chunk_length;
using ks::impl::team::tile_length;

template <class T>
constexpr T quiet_nan() {
  return std::numeric_limits<T>::quiet_NaN();
}
template <class T>
constexpr T infinity() {
  return std::numeric_limits<T>::infinity();
}

template <class T>
Job<T> job(std::int64_t lines, std::int64_t n) {
  Random random(3);
  Job<T> all{std::vector<T>(static_cast<std::size_t>(lines * n)), lines, n};
  for (T& value : all.values) value = random_value<T>(random, Data::near_one);
  return all;
}

/// The positions of the value: the ends, the middle, and both sides of each tile boundary.
std::vector<std::int64_t> positions(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t const p : {std::int64_t(0), std::int64_t(1), chunk_length - 1, chunk_length,
                               n / 2, tile_length - 1, tile_length, tile_length + 1, n - 1}) {
    if (p < n) all.push_back(p);
  }
  return all;
}

template <class T, class Op, class Backend>
void spreads_forward_only(Job<T> all, T bad, Op const& op, Backend const& backend) {
  auto const [lines, n] = std::pair(all.lines, all.n);
  auto const clean = run(all, op, backend);
  std::int64_t const extent = clean.extent;
  std::int64_t const dirty_line = lines / 2;
  bool const forward = all.direction == Direction::forward;
  for (std::int64_t const p : positions(n)) {
    auto& place = all.values[static_cast<std::size_t>(dirty_line * n + (forward ? p : n - 1 - p))];
    T const kept = place;
    place = bad;
    auto const dirty = run(all, op, backend);
    place = kept;
    SCOPED_TRACE(::testing::Message() << "n " << n << ", position " << p << " in scan order, "
                                      << to_text(all.form) << " " << to_text(all.direction));
    for (std::int64_t l = 0; l < lines; ++l) {
      if (l == dirty_line) continue;
      ASSERT_EQ(first_difference(dirty.line(l), clean.line(l), static_cast<std::size_t>(extent)),
                -1)
          << "line " << l << ", but the NaN is in line " << dirty_line;
      ASSERT_EQ(first_difference(&dirty.totals[l], &clean.totals[l], 1), -1);
    }
    // B(k) includes the bad value if k > p. No assertion per element, as there are millions.
    T const* const expected = clean.line(dirty_line);
    T const* const results = dirty.line(dirty_line);
    for (std::int64_t j = 0; j < extent; ++j) {
      std::int64_t const i = forward ? j : extent - 1 - j;
      std::int64_t const k = all.form == Form::inclusive ? j + 1 : j;
      bool const good = k <= p            ? first_difference(results + i, expected + i, 1) < 0
                        : std::isnan(bad) ? std::isnan(results[i])
                                          : std::isinf(results[i]);
      if (!good) FAIL() << "element " << j << " in scan order is " << results[i];
    }
    T const total = dirty.totals[dirty_line];
    ASSERT_TRUE(std::isnan(bad) ? std::isnan(total) : std::isinf(total)) << total;
  }
}

template <class T, class Op>
void spreads_forward_only_everywhere(T bad, Op const& op) {
  for (std::int64_t const n : {std::int64_t(1), std::int64_t(100), tile_length + 333}) {
    auto all = job<T>(3, n);
    for (auto const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
      for (auto const direction : {Direction::forward, Direction::backward}) {
        all.form = form;
        all.direction = direction;
        for (Regime const regime : forced_regimes) {
          SCOPED_TRACE(to_text(regime));
          spreads_forward_only(all, bad, op, forced(regime));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(nan, spreads_from_where_it_stands_in_a_sum) {
  spreads_forward_only_everywhere(quiet_nan<float>(), ks::Sum{});
  spreads_forward_only_everywhere(infinity<float>(), ks::Sum{});
}
TEST(nan, spreads_from_where_it_stands_in_a_product) {
  spreads_forward_only_everywhere(quiet_nan<float>(), ks::Prod{});
  spreads_forward_only_everywhere(-infinity<float>(), ks::Prod{});
}
TEST(nan, spreads_from_where_it_stands_in_a_minimum) {
  spreads_forward_only_everywhere(quiet_nan<float>(), ks::Min{});
  spreads_forward_only_everywhere(-infinity<float>(), ks::Min{});
}
TEST(nan, spreads_from_where_it_stands_in_a_maximum) {
  spreads_forward_only_everywhere(quiet_nan<double>(), ks::Max{});
  spreads_forward_only_everywhere(infinity<double>(), ks::Max{});
}

/// Lines with several NaN and infinities against a serial loop that treats them as NumPy does.
template <class T, class Op, class Combine>
void as_numpy(Op const& op, Combine const& combine) {
  T const special[] = {quiet_nan<T>(), infinity<T>(), -infinity<T>(), T(0), -T(0)};
  std::int64_t const lines = 64;
  std::int64_t const n = 700;
  Random random(5);
  auto all = job<T>(lines, n);
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t count = l % 8; count > 0; --count) {
      // NaN is rare, so that other values are tested before it spreads.
      auto const which = random.below(25);
      all.values[static_cast<std::size_t>(l * n + random.below(n))] =
          which == 0 ? special[0] : special[1 + which % 4];
    }
  }
  auto const scanned = run(all, op);
  for (std::int64_t l = 0; l < lines; ++l) {
    T prefix = all.values[static_cast<std::size_t>(l * n)];
    for (std::int64_t k = 0; k < n; ++k) {
      if (k > 0) prefix = combine(prefix, all.values[static_cast<std::size_t>(l * n + k)]);
      T const actual = scanned.line(l)[k];
      ASSERT_TRUE(std::isnan(prefix) ? std::isnan(actual) : actual == prefix)
          << "line " << l << ", element " << k << " is " << actual << ", expected " << prefix;
    }
  }
}

struct SmallerOrNaN {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) || (!std::isnan(b) && a <= b) ? a : b;
  }
};
struct LargerOrNaN {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) || (!std::isnan(b) && a >= b) ? a : b;
  }
};

TEST(nan, minimum_and_maximum_propagate_nan_as_numpy_does) {
  as_numpy<float>(ks::Min{}, SmallerOrNaN{});
  as_numpy<double>(ks::Max{}, LargerOrNaN{});
}

/// Combinations of infinities: results are NaN from +inf - inf or 0 * inf on, not before.
void infinities_cancel() {
  float const inf = infinity<float>();
  Job<float> all{{1, inf, 2, -inf, 5, inf}, 1, 6};
  auto const sums = run(all, ks::Sum{});
  EXPECT_EQ(sums.out[0], 1);
  EXPECT_EQ(sums.out[1], inf);
  EXPECT_EQ(sums.out[2], inf);
  for (std::size_t k : {3, 4, 5}) EXPECT_TRUE(std::isnan(sums.out[k])) << k;
  EXPECT_TRUE(std::isnan(sums.totals[0]));
  all.values = {2, -inf, 2, 0, 5, inf};
  auto const products = run(all, ks::Prod{});
  EXPECT_EQ(products.out[0], 2);
  EXPECT_EQ(products.out[1], -inf);
  EXPECT_EQ(products.out[2], -inf);
  for (std::size_t k : {3, 4, 5}) EXPECT_TRUE(std::isnan(products.out[k])) << k;
}

TEST(nan, infinities_cancel) { infinities_cancel(); }

// ---- masks: select, not multiply ----------------------------------------------------------------

/// A masked scan of (lines, n) with totals.
template <class T, class Op>
Scanned<T> run_masked(std::vector<T> const& values, std::vector<std::uint8_t> const& mask,
                      std::int64_t lines, std::int64_t n, Form form, Regime regime, Op const& op) {
  Exec const exec;
  auto const size = static_cast<std::size_t>(lines * n);
  auto const x = to_device("x", values);
  auto const m = to_device("m", mask);
  auto const y = uninitialized<T>("y", size);
  auto const totals = uninitialized<T>("totals", static_cast<std::size_t>(lines));
  ks::impl::scan(form == Form::inclusive ? ks::impl::Function::inclusive_scan
                                         : ks::impl::Function::exclusive_scan,
                 exec, ks::masked(rows(x, lines, n), rows(m, lines, n)), rows(y, lines, n),
                 ks::along(1).totals(totals), op, forced(regime));
  return {to_host(y), to_host(totals), n};
}

/// Masked-out values do not affect a single bit.
template <class T, class Op>
void masked_out_contributes_nothing(Op const& op) {
  T const bad[] = {quiet_nan<T>(), infinity<T>(), -infinity<T>(), T(0),
                   std::numeric_limits<T>::max()};
  std::int64_t const lines = 3;
  std::int64_t const n = tile_length + 999;
  Random random(17);
  auto const clean = job<T>(lines, n).values;
  for (int const kept_in_8 : {7, 4, 1, 0}) {
    std::vector<std::uint8_t> mask(clean.size());
    auto dirty = clean;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      // Any non-zero value is true.
      mask[i] = random.below(8) < kept_in_8 ? static_cast<std::uint8_t>(1 + random.below(255)) : 0;
      if (mask[i] == 0) dirty[i] = bad[random.below(5)];
    }
    for (auto const form : {Form::inclusive, Form::exclusive}) {
      for (Regime const regime : forced_regimes) {
        SCOPED_TRACE(::testing::Message()
                     << kept_in_8 << " of 8 kept, " << to_text(form) << ", " << to_text(regime));
        auto const a = run_masked(clean, mask, lines, n, form, regime, op);
        auto const b = run_masked(dirty, mask, lines, n, form, regime, op);
        ASSERT_EQ(first_difference(a.out, b.out), -1);
        ASSERT_EQ(first_difference(a.totals, b.totals), -1);
        for (std::size_t i = 0; i < b.out.size(); ++i) ASSERT_FALSE(std::isnan(b.out[i])) << i;
        if (kept_in_8 == 0) {
          // I: the identity of a minimum is infinity, not the largest number (cudf #11357).
          T const identity = static_cast<T>(op.identity());
          for (std::size_t i = 0; i < b.out.size(); ++i) ASSERT_EQ(b.out[i], identity) << i;
        }
      }
    }
  }
}

TEST(nan, masked_out_values_contribute_nothing_to_a_sum) {
  masked_out_contributes_nothing<float>(ks::Sum<float>{});
}
TEST(nan, masked_out_values_contribute_nothing_to_a_product) {
  masked_out_contributes_nothing<float>(ks::Prod<float>{});
}
TEST(nan, masked_out_values_contribute_nothing_to_a_minimum) {
  masked_out_contributes_nothing<float>(ks::Min<float>{});
}
TEST(nan, masked_out_values_contribute_nothing_to_a_maximum) {
  masked_out_contributes_nothing<double>(ks::Max<double>{});
}

/// The identities in the first results of exclusive scans.
template <class T>
void identities() {
  Job<T> all{{T(3), T(4)}, 1, 2};
  all.form = Form::exclusive;
  EXPECT_EQ(run(all, ks::Min{}).out[0], infinity<T>());
  EXPECT_EQ(run(all, ks::Max{}).out[0], -infinity<T>());
  EXPECT_EQ(run(all, ks::Sum{}).out[0], T(0));
  EXPECT_EQ(run(all, ks::Prod{}).out[0], T(1));
}

TEST(nan, identity_of_minimum_and_maximum_is_infinite) { identities<float>(); }

}  // namespace nan
}  // namespace test
