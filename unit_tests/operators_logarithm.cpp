// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// LogSumExp against a serial loop in long double.

#include <cmath>
#include <limits>

#include "operators.hpp"
#include "support/logarithm.hpp"

namespace test::operators {

/// Compares with a loop in long double.
/// \param bound maximum error, relative to the largest magnitude or 1
template <class In, class Out, class Op>
void check_logarithms(std::int64_t lines, std::int64_t n, double scale, Direction direction,
                      double bound) {
  Random random(static_cast<std::uint64_t>(n + lines));
  auto const size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Kokkos::View<In**, Kokkos::LayoutRight, Exec> const x("x", size(lines), size(n));
  Kokkos::View<Out**, Kokkos::LayoutRight, Exec> const y("y", size(lines), size(n));
  auto const x_host = Kokkos::create_mirror_view(x);
  for (std::size_t i = 0; i < size(lines); ++i) {
    for (std::size_t k = 0; k < size(n); ++k) {
      x_host(i, k) = static_cast<In>(scale * (2 * random.unit() - 1));
      if (random.unit() < 0.1) x_host(i, k) = -std::numeric_limits<In>::infinity();
    }
  }
  Kokkos::deep_copy(x, x_host);
  call(Form::inclusive, Exec{}, x, y, lines_of({Form::inclusive, 1, direction}), Op{});
  auto const y_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < size(lines); ++i) {
    Logarithm logarithm;
    for (std::size_t j = 0; j < size(n); ++j) {
      std::size_t const k = direction == Direction::backward ? size(n) - 1 - j : j;
      logarithm.add(x_host(i, k));
      long double const exact = logarithm.value();
      Out const actual = y_host(i, k);
      if (!std::isfinite(exact)) {
        ASSERT_EQ(static_cast<long double>(actual), exact);
      } else {
        ASSERT_LE(std::abs(actual - exact), bound * (logarithm.magnitude() + 1))
            << "line " << i << ", result " << j << " of " << n;
      }
    }
  }
}

}  // namespace test::operators

using namespace test;  // NOLINT: a test file

TEST(operators, log_sum_exp_in_float) {
  using operators::check_logarithms;
  // u (|r| + 1) on hosts, 8 u (m + 1) if neighbours combine in float: the larger promised bound.
  double const bound = 8 * 0x1p-24;
  for (std::int64_t const n : {1, 2, 5, 129, 3000}) {
    for (double const scale : {1.0, 30.0, 1000.0}) {
      check_logarithms<float, float, ks::LogSumExp<>>(3, n, scale, Direction::forward, bound);
      check_logarithms<float, float, ks::LogSumExp<>>(2, n, scale, Direction::backward, bound);
    }
  }
  check_logarithms<float, float, ks::LogSumExp<>>(1, 300'000, 5, Direction::forward, bound);
}
TEST(operators, log_sum_exp_in_double) {
  using operators::check_logarithms;
  for (std::int64_t const n : {2, 129, 3000}) {
    auto const bound = 2 * static_cast<double>(n) * 0x1p-53;
    check_logarithms<double, double, ks::LogSumExp<>>(3, n, 700, Direction::forward, bound);
    check_logarithms<float, double, ks::LogSumExp<>>(3, n, 3, Direction::backward, bound);
    check_logarithms<double, float, ks::LogSumExp<double>>(3, n, 3, Direction::forward, 0x1p-24);
  }
}
TEST(operators, log_sum_exp_of_special_values) {
  auto const check = [](auto const op) {
    using T = decltype(op.identity());
    constexpr T infinity = std::numeric_limits<T>::infinity();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    for (T const x : {T(0), T(-3), infinity, -infinity, std::numeric_limits<T>::max()}) {
      EXPECT_EQ(op(op.identity(), x), x);
      EXPECT_EQ(op(x, op.identity()), x);
      EXPECT_EQ(op(infinity, x), infinity);
      EXPECT_TRUE(std::isnan(op(x, nan)));
      EXPECT_TRUE(std::isnan(op(nan, x)));
    }
    EXPECT_TRUE(std::signbit(op(op.identity(), T(-0.0))));
    EXPECT_EQ(op(std::numeric_limits<T>::max(), std::numeric_limits<T>::max()),
              std::numeric_limits<T>::max());
    EXPECT_EQ(op(-infinity, -infinity), -infinity);
  };
  check(ks::LogSumExp<float>{});
  check(ks::LogSumExp<double>{});
}
