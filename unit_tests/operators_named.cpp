// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ArgMin, ArgMax and LogSumExp against serial loops that know nothing of them: indices among equal
// values and NaNs, logarithms in long double.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "operators.hpp"
#include "support/logarithm.hpp"

namespace test::operators {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Best {
  float value;
  std::int64_t index;
};

/// The best of values[0..k] with its place, looked for anew for each k: NaN is the best there is.
std::optional<Best> best_of(std::vector<float> const& values, std::vector<bool> const& keep,
                            std::size_t count, bool is_min, bool is_last) {
  std::optional<Best> best;
  auto const rank = [&](float x) {  // larger is better
    return std::isnan(x) ? std::numeric_limits<double>::max() : is_min ? -double{x} : double{x};
  };
  for (std::size_t k = 0; k < count; ++k) {
    if (!keep[k]) continue;
    bool const is_better = !best || rank(values[k]) > rank(best->value) ||
                           (is_last && rank(values[k]) == rank(best->value));
    if (is_better) best = Best{values[k], static_cast<std::int64_t>(k)};
  }
  return best;
}

template <class Index>
using Pairs = Kokkos::View<ks::Indexed<float, Index>**, Kokkos::LayoutRight, Exec>;

/// Scans rows of `n` with few different values, so that many are equal.
template <class Op, class Index, bool has_mask>
void check_arg(std::int64_t lines, std::int64_t n, bool is_min, bool is_last, bool has_nan,
               Form form, Direction direction) {
  Random random(static_cast<std::uint64_t>(n * 64 + lines * 4 + has_nan * 2 + has_mask));
  auto const size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const x("x", size(lines), size(n));
  Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", size(lines), size(n));
  auto const x_host = Kokkos::create_mirror_view(x);
  auto const mask_host = Kokkos::create_mirror_view(mask);
  for (std::size_t i = 0; i < size(lines); ++i) {
    for (std::size_t k = 0; k < size(n); ++k) {
      // Better ones become rare, or nothing would change behind the first few.
      double const spread = std::log1p(static_cast<double>(k));
      x_host(i, k) = static_cast<float>(std::floor((2 * random.unit() - 1) * (2 + spread)));
      if (random.unit() < 0.05) x_host(i, k) = is_min ? infinity : -infinity;
      if (has_nan && random.unit() < 2 / static_cast<double>(n)) x_host(i, k) = nan;
      mask_host(i, k) = random.unit() < 0.5;
    }
  }
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(mask, mask_host);
  std::int64_t const outputs = n + (form == Form::exclusive_with_total ? 1 : 0);
  Pairs<Index> const out("out", size(lines), size(outputs));
  Exec const exec;
  auto const scan = [&](auto const& in) {
    call(form, exec, in, out, lines_of({form, 1, direction}), Op{});
  };
  auto const input = ks::indexed<Index>(x, 1);
  if constexpr (has_mask) {
    scan(ks::masked(input, mask));
  } else {
    scan(input);
  }
  auto const out_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);

  bool const backward = direction == Direction::backward;
  for (std::size_t i = 0; i < size(lines); ++i) {
    std::vector<float> values(size(n));
    std::vector<bool> keep(size(n));
    for (std::size_t k = 0; k < size(n); ++k) {
      std::size_t const at = backward ? size(n) - 1 - k : k;
      values[k] = x_host(i, at);
      keep[k] = !has_mask || mask_host(i, at);
    }
    for (std::size_t j = 0; j < size(outputs); ++j) {
      auto const best = best_of(values, keep, form == Form::inclusive ? j + 1 : j, is_min, is_last);
      auto const actual = out_host(i, backward ? size(outputs) - 1 - j : j);
      if (!best) {
        ASSERT_EQ(actual.index, static_cast<Index>(-1)) << i << ", " << j;
        continue;
      }
      std::int64_t const index = backward ? n - 1 - best->index : best->index;
      ASSERT_EQ(static_cast<std::int64_t>(actual.index), index)
          << "line " << i << ", result " << j << " of " << n;
      ASSERT_TRUE(actual.value == best->value || std::isnan(best->value)) << i << ", " << j;
      ASSERT_EQ(std::isnan(actual.value), std::isnan(best->value)) << i << ", " << j;
    }
  }
}

template <class Op>
void check_all_args(bool is_min, bool is_last) {
  int turn = 0;
  for (std::int64_t const n : {1, 2, 33, 129, 300, 1500}) {
    for (auto const form : all_forms()) {
      for (int options = 0; options < 4; ++options, ++turn) {
        SCOPED_TRACE(::testing::Message() << to_text(form) << " of " << n << ", turn " << turn);
        auto const check = options / 2 == 1 ? check_arg<Op, std::int64_t, true>
                                            : check_arg<Op, std::int64_t, false>;
        check(3, n, is_min, is_last, options % 2 == 1, form,
              turn % 3 == 0 ? Direction::backward : Direction::forward);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  check_arg<Op, std::int32_t, true>(1, 9000, is_min, is_last, true, Form::inclusive,
                                    Direction::forward);
  check_arg<Op, std::uint16_t, true>(40, 70, is_min, is_last, true, Form::exclusive,
                                     Direction::backward);
}

template <class Function>
std::string message_of(Function const& function) {
  try {
    function();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// ---- LogSumExp ----------------------------------------------------------------------------------

/// Compares with a loop in long double.
/// \param bound what an error may be, relative to the largest magnitude and 1
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

TEST(operators, arg_max) {
  operators::check_all_args<ks::ArgMax<>>(false, false);
  operators::check_all_args<ks::ArgMax<ks::Ties::last>>(false, true);
}
TEST(operators, arg_min) {
  operators::check_all_args<ks::ArgMin<>>(true, false);
  operators::check_all_args<ks::ArgMin<ks::Ties::last>>(true, true);
}

// An element that equals the identity's value is one all the same.
TEST(operators, identity_of_arg_max_is_no_element) {
  using Pair = ks::Indexed<float>;
  auto const check = [](auto const op) {
    Pair const none = op.identity();
    for (float const value : {0.0f, operators::infinity, -operators::infinity, operators::nan}) {
      Pair const element{value, 7};
      EXPECT_EQ(op(none, element).index, 7) << value;
      EXPECT_EQ(op(element, none).index, 7) << value;
    }
    EXPECT_EQ(op(none, none).index, Pair::none);
  };
  check(ks::ArgMax<>{});
  check(ks::ArgMin<>{});
  check(ks::ArgMax<ks::Ties::last>{});
  check(ks::ArgMin<ks::Ties::last>{});
}

// The operator that names its accumulator stores an index alone.
TEST(operators, arg_max_into_indices) {
  Kokkos::View<double*, Exec> const x("x", 3);
  auto const x_host = Kokkos::create_mirror_view(x);
  x_host(0) = 1, x_host(1) = 5, x_host(2) = 5;
  Kokkos::deep_copy(x, x_host);
  Kokkos::View<int*, Exec> const y("y", 3);
  Exec const exec;
  using Pair = ks::Indexed<double, int>;
  ks::inclusive_scan(exec, ks::indexed<int>(x), y, 0, ks::ArgMax<ks::Ties::first, Pair>{});
  auto const first = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  EXPECT_EQ(std::vector<int>(first.data(), first.data() + 3), (std::vector<int>{0, 1, 1}));
  ks::inclusive_scan(exec, ks::indexed<int>(x), y, 0, ks::ArgMax<ks::Ties::last, Pair>{});
  auto const last = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  EXPECT_EQ(std::vector<int>(last.data(), last.data() + 3), (std::vector<int>{0, 1, 2}));
}

TEST(operators, index_that_is_too_small) {
  Kokkos::View<float**, Exec> const x("x", 300, 128);
  using operators::message_of;
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int8_t>(x, 0); }),
            "KokkosScan::indexed: extent 0 is 300, but the largest index of the type is 127.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::uint8_t>(x, 0); }),
            "KokkosScan::indexed: extent 0 is 300, but the largest index of the type is 254.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed(x, 2); }),
            "KokkosScan::indexed: axis 2 is out of range for an input of rank 2: allowed are -2 to "
            "1.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int8_t>(x, 1); }), "nothing was thrown");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int16_t>(x, -2); }), "nothing was thrown");
}

TEST(operators, indices_along_another_axis_than_the_scan) {
  Kokkos::View<float**, Exec> const x("x", 3, 4);
  Kokkos::View<bool**, Exec> const mask("mask", 3, 4);
  Kokkos::View<ks::Indexed<float>**, Exec> const y("y", 3, 4);
  using operators::message_of;
  EXPECT_EQ(message_of([&] { ks::inclusive_scan(Exec(), ks::indexed(x), y, 0, ks::ArgMax{}); }),
            "KokkosScan::inclusive_scan: the scan is along axis 0, but indexed(...) counts along "
            "axis 1.");
  EXPECT_EQ(message_of([&] {
              ks::inclusive_scan(Exec(), ks::masked(ks::indexed(x, 0), mask), y, -1, ks::ArgMax{});
            }),
            "KokkosScan::inclusive_scan: the scan is along axis 1, but indexed(...) counts along "
            "axis 0.");
  EXPECT_EQ(message_of([&] { ks::inclusive_scan(Exec(), ks::indexed(x, 0), y, 0, ks::ArgMax{}); }),
            "nothing was thrown");
  Exec().fence();
}

TEST(operators, log_sum_exp_in_float) {
  using operators::check_logarithms;
  // u (|r| + 1) on hosts, 8 u (m + 1) where neighbours combine in float: the contract's larger one.
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
  using operators::infinity, operators::nan;
  auto const check = [](auto const op) {
    using T = decltype(op.identity());
    for (T const x : {T(0), T(-3), T(infinity), T(-infinity), std::numeric_limits<T>::max()}) {
      EXPECT_EQ(op(op.identity(), x), x);
      EXPECT_EQ(op(x, op.identity()), x);
      EXPECT_EQ(op(T(infinity), x), T(infinity));
      EXPECT_TRUE(std::isnan(op(x, T(nan))));
      EXPECT_TRUE(std::isnan(op(T(nan), x)));
    }
    EXPECT_TRUE(std::signbit(op(op.identity(), T(-0.0))));
    EXPECT_EQ(op(std::numeric_limits<T>::max(), std::numeric_limits<T>::max()),
              std::numeric_limits<T>::max());
    EXPECT_EQ(op(T(-infinity), T(-infinity)), T(-infinity));
  };
  check(ks::LogSumExp<float>{});
  check(ks::LogSumExp<double>{});
}
