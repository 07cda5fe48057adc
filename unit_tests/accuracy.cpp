// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Error bounds of floating-point sums. Exact sums are computed by a serial double-double loop.
// Regression classes: I wrong accumulator (thrust #1896), L accuracy (pytorch #75240, #180150).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/flat.hpp"
#include "support/oracle.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {

/// A user-defined storage type: the upper half of a float.
struct Brain {
  std::uint16_t bits;

  Brain() = default;
  KOKKOS_FUNCTION explicit Brain(float value) {
    auto const word = Kokkos::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((word + 0x7FFFu + ((word >> 16) & 1u)) >> 16);
  }
  KOKKOS_FUNCTION explicit operator float() const {
    return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

}  // namespace test

template <>
struct KokkosScan::accumulator<test::Brain> {
  using type = float;
};

namespace test {
namespace accuracy {

using oracle::DoubleDouble;

enum class Values { uniform, constant, alternating, log_normal };

std::string to_text(Values values) {
  return values == Values::uniform       ? "uniform"
         : values == Values::constant    ? "constant"
         : values == Values::alternating ? "alternating"
                                         : "log-normal";
}

std::vector<float> make(Values kind, std::int64_t n) {
  Random random(2024);
  std::vector<float> pool(1 << 16);
  for (float& value : pool) {
    // Box-Muller; a standard deviation of 3 spans about ten powers of ten.
    double const radius = std::sqrt(-2 * std::log(1 - random.unit()));
    value = static_cast<float>(std::exp(3 * radius * std::cos(6.283185307179586 * random.unit())));
  }
  std::vector<float> values(static_cast<std::size_t>(n));
  float sign = 1;
  for (float& value : values) {
    switch (kind) {
      case Values::uniform:
        value = static_cast<float>(random.unit());
        break;
      case Values::constant:
        value = 0.1f;  // its sums are not exact
        break;
      case Values::alternating:
        value = sign * static_cast<float>(1 + random.unit());
        sign = -sign;
        break;
      case Values::log_normal:
        value = pool[static_cast<std::size_t>(random.below(1 << 16))];
        break;
    }
  }
  return values;
}

/// The distance between the floats around x.
double ulp(double x) {
  return std::ldexp(1.0, std::max(std::ilogb(std::abs(x) + 1e-300), -126) - 23);
}

double error_of(DoubleDouble const& exact, double value) {
  return std::abs((value - exact.high) - exact.low);
}

enum class Bound {
  magnitudes,  ///< 8 u times the sum of magnitudes, and 1e-6 of the value for data of one sign
  one_ulp      ///< one float ulp, for data of one sign
};

/// One line of float values; `out` has n or n+1 elements.
void expect_sums(std::vector<float> const& values, std::vector<float> const& out, float total,
                 bool exclusive, Bound bound, bool one_sign) {
  DoubleDouble exact;
  double magnitudes = 0;
  double worst = 0;
  std::size_t const n = values.size();
  auto const check = [&](std::size_t k, float actual) {
    double const error = error_of(exact, actual);
    double const allowed = bound == Bound::one_ulp ? ulp(exact.high) : 8 * 0x1p-24 * magnitudes;
    worst = std::max(worst, allowed > 0 ? error / allowed : (error > 0 ? 1e9 : 0));
    bool const close = error <= allowed && (!one_sign || error <= 1e-6 * std::abs(exact.high));
    if (!close) {
      ADD_FAILURE() << "after " << k << " elements: " << actual << ", exact " << exact.high
                    << ", error " << error << ", allowed " << allowed;
    }
    return close;
  };
  if (exclusive && !check(0, out[0])) return;
  for (std::size_t k = 0; k < n; ++k) {
    exact = exact + DoubleDouble{values[k], 0};
    magnitudes += std::abs(static_cast<double>(values[k]));
    if (!check(k + 1, out[exclusive ? k + 1 : k])) return;
  }
  check(n, total);
  ::testing::Test::RecordProperty("worst", std::to_string(worst));
}

template <class Op, class Backend>
void sums_are_accurate(Values kind, std::int64_t n, Form form, Op const& op, Bound bound,
                       Backend const& backend) {
  SCOPED_TRACE(::testing::Message() << to_text(kind) << ", n " << n);
  bool const one_sign = kind != Values::alternating;
  Job<float> all{make(kind, n), 1, n};
  all.form = form;
  auto const scanned = run(all, op, backend);
  expect_sums(all.values, scanned.out, scanned.totals[0], form != Form::inclusive, bound, one_sign);
}

template <class Op>
void sums_are_accurate_everywhere(Op const& op, Bound bound) {
  for (auto const kind :
       {Values::uniform, Values::constant, Values::alternating, Values::log_normal}) {
    // There is no relative bound for mixed signs.
    Bound const of_kind = kind == Values::alternating ? Bound::magnitudes : bound;
    for (Regime const regime : forced_regimes) {
      sums_are_accurate(kind, 1 << 20, Form::inclusive, op, of_kind, forced(regime));
      sums_are_accurate(kind, 1 << 20, Form::exclusive_with_total, op, of_kind, forced(regime));
    }
    sums_are_accurate(kind, 1 << 25, Form::inclusive, op, of_kind, Automatic{});
  }
}

// L: the error of float32 sums must not grow with the length (pytorch #75240).
TEST(accuracy, sum_of_float) { sums_are_accurate_everywhere(ks::Sum{}, Bound::magnitudes); }

TEST(accuracy, sum_in_double_of_float_is_within_one_ulp) {
  sums_are_accurate_everywhere(ks::Sum<double>{}, Bound::one_ulp);
}

/// Sums of double: the error is at most (256 + n / 256) u times the sum of magnitudes so far.
template <class Backend>
void sums_of_double_are_accurate(Values kind, std::int64_t n, std::int64_t lines,
                                 Backend const& backend) {
  SCOPED_TRACE(::testing::Message() << to_text(kind) << ", " << lines << " lines of " << n);
  Random random(2025);
  Job<double> all{{}, lines, n};
  for (float const value : make(kind, n * lines)) {
    all.values.push_back(value * (1 + 0x1p-20 * random.unit()));  // all bits of a double
  }
  auto const scanned = run(all, ks::Sum{}, backend);
  for (std::int64_t l = 0; l < lines; ++l) {
    DoubleDouble exact;
    double magnitudes = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      double const value = all.values[static_cast<std::size_t>(l * n + k)];
      exact = exact + DoubleDouble{value, 0};
      magnitudes += std::abs(value);
      double const length = static_cast<double>(k + 1);
      double const allowed = (256 + length / 256) * 0x1p-53 * magnitudes;
      double const error = error_of(exact, scanned.line(l)[k]);
      ASSERT_LE(error, allowed) << "after " << k + 1 << " elements";
    }
  }
}

TEST(accuracy, sum_of_double) {
  for (auto const kind :
       {Values::uniform, Values::constant, Values::alternating, Values::log_normal}) {
    sums_of_double_are_accurate(kind, 1 << 20, 1, Automatic{});
    sums_of_double_are_accurate(kind, 777, 50, Automatic{});
    for (Regime const regime : forced_regimes) {
      sums_of_double_are_accurate(kind, 1 << 20, 1, forced(regime));
    }
  }
}

/// The generic backend has a smaller bound: even chunks of float are combined in double.
TEST(accuracy, sum_of_float_of_one_sign_is_within_one_ulp) {
  for (auto const kind : {Values::uniform, Values::constant, Values::log_normal}) {
    for (Regime const regime : forced_regimes) {
      sums_are_accurate(kind, 1 << 20, Form::inclusive, ks::Sum{}, Bound::one_ulp, forced(regime));
    }
  }
}

/// Many lines: each must be as accurate as a single line.
void short_lines_are_accurate() {
  std::int64_t const lines = 1000;
  std::int64_t const n = 1 << 12;
  Job<float> all{make(Values::log_normal, lines * n), lines, n};
  auto const scanned = run(all, ks::Sum{});
  for (std::int64_t l = 0; l < lines; ++l) {
    expect_sums({all.values.begin() + l * n, all.values.begin() + (l + 1) * n},
                {scanned.line(l), scanned.line(l) + n}, scanned.totals[static_cast<std::size_t>(l)],
                false, Bound::magnitudes, true);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(accuracy, sum_of_many_lines_of_float) { short_lines_are_accurate(); }

template <class Op>
void complex_sums(Op const& op, Bound bound) {
  using Complex = Kokkos::complex<float>;
  std::int64_t const n = 1 << 20;
  for (auto const kind : {Values::uniform, Values::alternating, Values::log_normal}) {
    if (kind == Values::alternating && bound == Bound::one_ulp) continue;
    SCOPED_TRACE(to_text(kind));
    auto const re = make(kind, n);
    auto im = make(Values::uniform, n);
    if (bound != Bound::one_ulp) {
      for (std::size_t k = 0; k < im.size(); k += 3) im[k] = -im[k];
    }
    Job<Complex> all{std::vector<Complex>(re.size()), 1, n};
    for (std::size_t k = 0; k < re.size(); ++k) all.values[k] = Complex(re[k], im[k]);
    for (Regime const regime : forced_regimes) {
      auto const scanned = run(all, op, forced(regime));
      std::vector<float> out_re(re.size());
      std::vector<float> out_im(re.size());
      for (std::size_t k = 0; k < re.size(); ++k) {
        out_re[k] = scanned.out[k].real();
        out_im[k] = scanned.out[k].imag();
      }
      expect_sums(re, out_re, scanned.totals[0].real(), false, bound, kind != Values::alternating);
      expect_sums(im, out_im, scanned.totals[0].imag(), false, bound, bound == Bound::one_ulp);
    }
  }
}

TEST(accuracy, sum_of_complex_float) {
  complex_sums(ks::Sum{}, Bound::magnitudes);
  complex_sums(ks::Sum{}, Bound::one_ulp);
}

// ---- products -----------------------------------------------------------------------------------

enum class Factors {
  near_one,    ///< within 0.0005 of 1: a serial float product has an error of about 1,000 u at 2^20
  constant,    ///< each multiplication in float rounds the same way
  reciprocal,  ///< 3 and its rounded reciprocal, alternating
  wide         ///< products of neighbours exceed the range of float, but prefixes do not
};

std::vector<float> make(Factors kind, std::int64_t n) {
  Random random(77);
  std::vector<float> values;
  double product = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    float x = 1;
    switch (kind) {
      case Factors::near_one:
        x = static_cast<float>(1 + 0.001 * (random.unit() - 0.5));
        break;
      case Factors::constant:
        x = 1.0000073f;
        break;
      case Factors::reciprocal:
        x = k % 2 == 0 ? 3.0f : 1 / 3.0f;
        break;
      case Factors::wide:
        // 1e-28, then repeatedly two factors 1e26 and two factors 1e-26.
        x = k == 0 ? 1e-28f
                   : static_cast<float>((1 + random.unit() / 8) *
                                        (k % 4 < 3 && k % 4 > 0 ? 1e26 : 1e-26));
        if (product * x > 1e30 || product * x < 1e-30) x = static_cast<float>(1e-28 / product);
        break;
    }
    product *= x;
    values.push_back(x);
  }
  return values;
}

/// Every result of a line, of real or complex factors, within 8 u of the exact product.
template <class T>
void expect_products(std::vector<T> const& values, std::vector<T> const& out, T total) {
  using Ref = oracle::Reference<ks::Prod<T>, T>;
  auto exact = Ref::state(values[0]);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k > 0) exact = Ref::combine(exact, Ref::state(values[k]));
    ASSERT_TRUE(Ref::matches(exact, out[k]))
        << "after " << k + 1 << " factors: " << oracle::to_text(out[k]) << ", exact "
        << Ref::print(exact);
  }
  ASSERT_TRUE(Ref::matches(exact, total)) << "total";
}

template <class T, class Backend>
void products_are_accurate(std::vector<T> const& values, Backend const& backend) {
  auto const n = static_cast<std::int64_t>(values.size());
  auto const scanned = run(Job<T>{values, 1, n}, ks::Prod{}, backend);
  expect_products(values, scanned.out, scanned.totals[0]);
}

// L: products of float are as accurate as sums, whatever the length.
TEST(accuracy, product_of_float) {
  for (auto const kind :
       {Factors::near_one, Factors::constant, Factors::reciprocal, Factors::wide}) {
    SCOPED_TRACE(::testing::Message() << "factors " << static_cast<int>(kind));
    for (Regime const regime : forced_regimes) {
      products_are_accurate(make(kind, 1 << 20), forced(regime));
    }
    products_are_accurate(make(kind, 1 << 20), Automatic{});
    // Columns, and lines shorter than a chunk.
    for (std::int64_t const n : {5, 13, 3000}) {
      std::int64_t const lines = 70;
      Job<float> all{{}, lines, n};
      auto const line = make(kind, n);
      for (std::int64_t l = 0; l < lines; ++l) {
        all.values.insert(all.values.end(), line.begin(), line.end());
      }
      for (Placement const placement : {Placement::rows, Placement::columns}) {
        all.placement = placement;
        auto const scanned = run(all, ks::Prod{});
        for (std::int64_t l = 0; l < lines; ++l) {
          expect_products<float>(line, {scanned.line(l), scanned.line(l) + n},
                                 scanned.totals[static_cast<std::size_t>(l)]);
        }
      }
    }
  }
}

TEST(accuracy, product_of_complex_float) {
  using Complex = Kokkos::complex<float>;
  std::int64_t const n = 1 << 18;
  std::vector<Complex> values;
  Random random(78);
  for (std::int64_t k = 0; k < n; ++k) {
    double const angle = 6.283185307179586 * random.unit();
    double const size = 1 + 0.001 * (random.unit() - 0.5);
    values.emplace_back(static_cast<float>(size * std::cos(angle)),
                        static_cast<float>(size * std::sin(angle)));
  }
  for (Regime const regime : forced_regimes) products_are_accurate(values, forced(regime));
}

/// double has no wider carried type; the promised bound, with its own u, holds for every length.
void double_sums() {
  std::int64_t const n = 1 << 20;
  auto const floats = make(Values::log_normal, n);
  Random random(5);
  Job<double> all{std::vector<double>(floats.size()), 1, n};
  for (std::size_t k = 0; k < floats.size(); ++k) {
    all.values[k] = floats[k] * (1 + random.unit()) * (random.next() % 2 == 0 ? 1 : -1);
  }
  auto const scanned = run(all, ks::Sum{});
  DoubleDouble exact;
  double magnitudes = 0;
  for (std::size_t k = 0; k < floats.size(); ++k) {
    exact = exact + DoubleDouble{all.values[k], 0};
    magnitudes += std::abs(all.values[k]);
    // The tree combines at most 128 elements, 128 chunks and n / 16384 tiles sequentially.
    ASSERT_LE(error_of(exact, scanned.out[k]), 320 * 0x1p-53 * magnitudes) << k;
  }
}

TEST(accuracy, sum_of_double_follows_the_tree) { double_sums(); }

/// docs/accuracy.md, overflow of partial sums: in order there is none where running sums are in
/// range; out of order there is none where the sum of magnitudes is.
template <class T>
void sums_near_the_largest() {
  T const m = std::numeric_limits<T>::max() / 10 * 9;
  std::vector<T> const steps{0, m, -m, -m, m, 1};
  for (std::int64_t const n : {6, 700, 9000}) {
    Flat<T> const x("x", static_cast<std::size_t>(n)), y("y", static_cast<std::size_t>(n));
    auto const x_host = Kokkos::create_mirror_view(x);
    std::vector<T> expected;
    for (std::size_t k = 0; k < x_host.extent(0); ++k) {
      x_host(k) = steps[k % steps.size()];
      expected.push_back(k == 0 ? x_host(k) : expected.back() + x_host(k));
    }
    Kokkos::deep_copy(x, x_host);
    ks::inclusive_scan(Exec(), x, y, ks::along(0).in_order());
    auto const in_order = to_host(y);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(std::isfinite(expected[k]) && in_order[k] == expected[k]) << n << ", " << k;
      x_host(k) = x_host(k) / static_cast<T>(n);
    }
    Kokkos::deep_copy(x, x_host);
    ks::inclusive_scan(Exec(), x, y, 0);
    for (T const sum : to_host(y)) ASSERT_TRUE(std::isfinite(sum)) << n;
  }
}
TEST(accuracy, sums_near_the_largest_float) { sums_near_the_largest<float>(); }
TEST(accuracy, sums_near_the_largest_double) { sums_near_the_largest<double>(); }

// ---- 16-bit types -------------------------------------------------------------------------------

/// Sums of a 16-bit type with `digits` digits in its significand are accumulated in float, so every
/// result is the exact sum, rounded once.
template <class T, class Op>
void sums_of_16_bits(int digits, Op const& op) {
  std::int64_t const n = 3 * ks::impl::team::tile_length + 5;
  Random random(9);
  std::vector<T> values(static_cast<std::size_t>(n));
  // Below 1, so that the sums stay below the largest half, 65504.
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.unit()));
  for (Regime const regime : forced_regimes) {
    for (auto const form : {Form::inclusive, Form::exclusive}) {
      SCOPED_TRACE(::testing::Message() << test::to_text(regime) << ", " << test::to_text(form));
      Job<T> all{values, 1, n};
      all.form = form;
      auto const scanned = run(all, op, forced(regime));
      DoubleDouble exact;
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (form == Form::inclusive) {
          exact = exact + DoubleDouble{static_cast<float>(values[k]), 0};
        }
        double const ulp_of_t =
            std::ldexp(1.0, std::ilogb(std::max(exact.high, 0x1p-14)) - (digits - 1));
        ASSERT_LE(error_of(exact, static_cast<float>(scanned.out[k])), 0.501 * ulp_of_t)
            << "element " << k << ", exact " << exact.high;
        if (form == Form::exclusive) {
          exact = exact + DoubleDouble{static_cast<float>(values[k]), 0};
        }
      }
      double const ulp_of_total = std::ldexp(1.0, std::ilogb(exact.high) - (digits - 1));
      EXPECT_LE(error_of(exact, static_cast<float>(scanned.totals[0])), 0.501 * ulp_of_total);
    }
  }
}

#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
TEST(accuracy, half_accumulates_in_float) { sums_of_16_bits<Half>(11, ks::Sum{}); }
static_assert(std::is_same_v<ks::accumulator_t<Half>, float>);
#endif

TEST(accuracy, storage_type_of_a_user_accumulates_in_float) {
  sums_of_16_bits<Brain>(8, ks::Sum{});
}

/// A user's operator on 16-bit data receives the accumulator type: no other conversion to float.
struct AddFloats {
  KOKKOS_FUNCTION float operator()(float const& a, float const& b) const { return a + b; }
  KOKKOS_FUNCTION static float identity() { return 0; }
};

void user_operator_on_16_bits() {
  std::int64_t const n = 5000;
  Job<Brain> all{std::vector<Brain>(static_cast<std::size_t>(n), Brain(1.0f)), 1, n};
  auto const scanned = run(all, AddFloats{});
  // With an 8-bit significand 1 + 1 + ... stops at 256.
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    Brain const expected(static_cast<float>(k + 1));
    ASSERT_EQ(scanned.out[k].bits, expected.bits) << k;
  }
}

TEST(accuracy, user_operator_sees_the_accumulator) { user_operator_on_16_bits(); }

/// I: the accumulator follows from the output or the operator, not from the input (thrust #1896).
void wide_outputs_of_narrow_inputs() {
  std::size_t const n = 100'000;
  Kokkos::View<std::int8_t*, Device> const x("x", n);
  fill(x, std::int8_t(100));
  Flat<std::int64_t> const wide("wide", n);
  ks::inclusive_scan(Exec(), x, wide, 0);
  auto const wide_host = to_host(wide);
  Flat<float> const tenths("tenths", n);
  fill(tenths, 0.1f);
  Flat<double> const sums("sums", n);
  ks::inclusive_scan(Exec(), tenths, sums, 0);
  auto const sums_host = to_host(sums);
  for (std::size_t k = 0; k < n; ++k) {
    ASSERT_EQ(wide_host[k], 100 * static_cast<std::int64_t>(k + 1));
    double const exact = static_cast<double>(0.1f) * static_cast<double>(k + 1);
    ASSERT_NEAR(sums_host[k], exact, 1e-12 * exact);
  }
}

TEST(accuracy, outputs_wider_than_inputs_accumulate_wide) { wide_outputs_of_narrow_inputs(); }

}  // namespace accuracy
}  // namespace test
