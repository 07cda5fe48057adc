// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Logarithms of sums of exponentials on every backend: lines of all magnitudes, with infinities and
// NaNs, compared within the promised bound with a serial loop in long double.

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#if !defined(KOKKOS_ENABLE_CUDA)
#include "support/emulated_cuda.hpp"
#endif

#include <KokkosScan/KokkosScan.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backends.hpp"
#include "support/logarithm.hpp"

namespace test {
namespace backends {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Case {
  std::int64_t lines, n;
  double scale;
  bool along_rows, is_masked, is_exclusive, has_start;
  Direction direction;
};

template <class Backend>
void check_case(Case const& c, Random& random, Backend const& backend) {
  std::vector<float> x_values(static_cast<std::size_t>(c.lines * c.n));
  std::vector<std::uint8_t> mask_values(x_values.size());
  bool const has_special = random.below(4) == 0;
  for (auto& x : x_values) {
    x = static_cast<float>(c.scale * (2 * random.unit() - 1));
    if (random.below(10) == 0) x = -infinity;
    if (has_special && random.below(200) == 0) x = random.below(3) == 0 ? std::nanf("") : infinity;
  }
  for (auto& m : mask_values) m = random.below(3) != 0;
  auto const x_flat = to_device("x", x_values);
  auto const mask_flat = to_device("mask", mask_values);
  auto const y_flat = uninitialized<float>("y", x_values.size());
  fill(y_flat, 77.0f);

  auto const number = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  std::int64_t const across = c.along_rows ? c.n : 1;
  std::int64_t const along = c.along_rows ? 1 : c.lines;
  auto const plane = [&](auto const& flat) {
    using T = typename std::remove_cvref_t<decltype(flat)>::value_type;
    return Plane<T>(flat.data(), Kokkos::LayoutStride(number(c.lines), number(across), number(c.n),
                                                      number(along)));
  };
  auto const function =
      c.is_exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan;
  auto const lines = c.direction == Direction::backward ? ks::along(1).backward() : ks::along(1);
  auto const start = static_cast<float>(c.scale / 3);
  auto const scan = [&](auto const& in) {
    auto const with = [&](auto const& lines_of_scan) {
      ks::impl::scan(function, Exec(), in, plane(y_flat), lines_of_scan, ks::LogSumExp<float>{},
                     backend);
    };
    c.has_start ? with(lines.starting_at(start)) : with(lines);
  };
  c.is_masked ? scan(ks::masked(plane(x_flat), plane(mask_flat))) : scan(plane(x_flat));
  Kokkos::fence();

  auto const y_values = to_host(y_flat);
  for (std::int64_t l = 0; l < c.lines; ++l) {
    Logarithm logarithm;
    if (c.has_start) logarithm.add(start);
    for (std::int64_t step = 0; step < c.n; ++step) {
      std::int64_t const k = c.direction == Direction::backward ? c.n - 1 - step : step;
      auto const place = number(l * across + k * along);
      auto const add = [&] {
        if (!c.is_masked || mask_values[place] != 0) logarithm.add(x_values[place]);
      };
      if (!c.is_exclusive) add();
      auto const actual = static_cast<long double>(y_values[place]);
      long double const exact = logarithm.value();
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(actual)) << l << ' ' << step;
      } else if (std::isinf(exact)) {
        ASSERT_EQ(actual, exact) << l << ' ' << step;
      } else {
        // The larger of the promised bounds: that of CUDA.
        ASSERT_LE(std::abs(actual - exact), 8 * 0x1p-24L * (logarithm.magnitude() + 1))
            << l << ' ' << step << ", actual " << actual << ", expected " << exact;
      }
      if (c.is_exclusive) add();
    }
  }
}

template <class Backend>
void check_logarithms(Backend const& backend) {
  Random random(31);
  auto const one_in = [&](std::int64_t n) { return random.below(n) == 0; };
  for (std::int64_t const n : {1, 2, 5, 17, 64, 129, 1000, 3001, 30'000}) {
    for (std::int64_t const lines : {1, 3, 33, 160}) {
      if (n * lines > 60'000) continue;
      for (double const scale : {1.0, 40.0, 1000.0, 3e38}) {
        Case const c{
            lines,     n,         scale,     one_in(2),
            one_in(3), one_in(3), one_in(3), one_in(2) ? Direction::forward : Direction::backward};
        SCOPED_TRACE(::testing::Message() << lines << " lines of " << n << ", scale " << scale
                                          << ", rows " << c.along_rows << ", masked " << c.is_masked
                                          << ", exclusive " << c.is_exclusive << ", start "
                                          << c.has_start << ", " << to_text(c.direction));
        check_case(c, random, backend);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(backends, logarithms_by_default) { check_logarithms(Automatic{}); }
TEST(backends, logarithms_in_each_regime) {
  for (Regime const regime : forced_regimes) check_logarithms(forced(regime));
}
#if !defined(KOKKOS_ENABLE_CUDA)
TEST(backends, logarithms_in_emulated_cuda) { check_logarithms(emulated::Backend{}); }
#endif

}  // namespace
}  // namespace backends
}  // namespace test
