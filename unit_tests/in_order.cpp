// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// In-order scans: guarantees other than bitwise results, which in_order_*.cpp test.

#include "in_order.hpp"

namespace test {
namespace in_order {

/// Adds the value at an index, and its square: the two roundings must not be contracted.
struct Squares {
  Kokkos::View<float**, Kokkos::LayoutRight, Device> x;
  KOKKOS_FUNCTION float operator()(std::int64_t i, std::int64_t j) const {
    return x(i, j) * x(i, j);
  }
};
TEST(in_order, sums_of_computed_products_are_not_fused) {
  Random random(3);
  ViewOf<float, 2, Kokkos::LayoutRight> const x("x", 40, 50), y("y", 40, 50);
  fill(x, random);
  for (int const axis : {0, 1}) {
    ks::inclusive_scan(Exec(), ks::elementwise(x, Squares{x}), y, ks::along(axis).in_order());
    auto const hx = host_copy(x);
    auto const hy = host_copy(y);
    for (std::size_t i = 0; i < 40; ++i) {
      for (std::size_t j = 0; j < 50; ++j) {
        float const square = hx(i, j) * hx(i, j);
        bool const is_first = (axis == 0 ? i : j) == 0;
        float const before = is_first ? 0 : axis == 0 ? hy(i - 1, j) : hy(i, j - 1);
        ASSERT_TRUE(same_bits(hy(i, j), is_first ? square : before + square)) << i << " " << j;
      }
    }
  }
}

TEST(in_order, a_line_in_pieces_has_the_same_bits) {
  Random random(5);
  constexpr std::size_t lines = 30, n = 700;
  ViewOf<float, 2, Kokkos::LayoutRight> const x("x", lines, n), at_once("y", lines, n),
      pieces("z", lines, n);
  ViewOf<float, 1, Kokkos::LayoutRight> const carry("carry", lines);
  fill(x, random);
  ks::inclusive_scan(Exec(), x, at_once, ks::along(1).in_order());
  for (auto const& [begin, end] : {std::pair{0, 1}, {1, 258}, {258, 259}, {259, 700}}) {
    auto const part = [&](auto const& view) {
      return Kokkos::subview(view, Kokkos::ALL, std::pair{begin, end});
    };
    auto const lines_of_part = ks::along(1).in_order().totals(carry);
    if (begin == 0) {
      ks::inclusive_scan(Exec(), part(x), part(pieces), lines_of_part);
    } else {
      ks::inclusive_scan(Exec(), part(x), part(pieces), lines_of_part.starting_at(carry));
    }
  }
  Kokkos::fence();
  auto const a = host_copy(at_once), b = host_copy(pieces);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), lines * n * sizeof(float)), 0);
}

TEST(in_order, sums_of_terms_that_are_not_negative_never_decrease) {
  Random random(11);
  constexpr std::size_t n = 12, columns = 1'000'000;
  ViewOf<float, 2, Kokkos::LayoutRight> const x("x", n, columns), y("y", n, columns);
  auto const terms = Kokkos::create_mirror(x);
  for (std::size_t i = 0; i < terms.span(); ++i) {
    terms.data()[i] = static_cast<float>(std::exp2(random.below(60) - 40) * random.unit());
  }
  Kokkos::deep_copy(x, terms);
  ks::inclusive_scan(Exec(), x, y, ks::along(0).in_order());
  Kokkos::fence();
  auto const sums = host_copy(y);
  std::size_t decreases = 0;
  for (std::size_t k = 1; k < n; ++k) {
    for (std::size_t c = 0; c < columns; ++c) decreases += sums(k, c) < sums(k - 1, c) ? 1 : 0;
  }
  EXPECT_EQ(decreases, 0U);
}

TEST(in_order, needs_no_workspace) {
  ViewOf<float, 1, Kokkos::LayoutRight> const x("x", 1 << 20);
  EXPECT_EQ(ks::workspace_bytes(Exec(), x, x, ks::along(0).in_order()), 0U);
}

// Operators that associate exactly have no in-order kernels, and default calls do not use them.
template <class T, class Op, class Lines>
using OperatorOf = decltype(ks::impl::ProblemOf<Kokkos::View<T*>, Kokkos::View<T*>,
                                                ks::impl::LinesTraits<Lines>, Op>::type::op);
using InOrderLines = decltype(ks::along(0).in_order());
static_assert(std::is_same_v<OperatorOf<float, ks::Sum<>, ks::Along<>>, ks::Sum<float>>);
static_assert(
    std::is_same_v<OperatorOf<float, ks::Sum<>, InOrderLines>, ks::impl::InOrder<ks::Sum<float>>>);
static_assert(
    std::is_same_v<OperatorOf<std::int32_t, ks::Sum<>, InOrderLines>, ks::Sum<std::int32_t>>);
static_assert(std::is_same_v<OperatorOf<float, ks::Min<>, InOrderLines>, ks::Min<float>>);

}  // namespace in_order
}  // namespace test
