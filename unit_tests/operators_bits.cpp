// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bitwise and logical operators, in each form, with and without a mask: as loops over bits.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/types.hpp"
#include "support/values.hpp"

namespace test::bits {

namespace ks = KokkosScan;

template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Device>;

/// \tparam A in which the loop combines, from its identity
template <class T, class Out, class Op, class A, class F>
void check(Op const& op, A const& identity, F const& combine) {
  std::size_t const rows = 5, columns = 700;
  Random random(17);
  Matrix<T> const x("x", rows, columns);
  Matrix<bool> const mask("mask", rows, columns);
  auto const x_host = Kokkos::create_mirror_view(x);
  auto const mask_host = Kokkos::create_mirror_view(mask);
  for (std::size_t i = 0; i < x_host.size(); ++i) {
    // Few zeros, and few bits that are not set: all else is soon the same.
    x_host.data()[i] = random.below(200) == 0 ? T(0) : static_cast<T>(random_value<T>(random) | 1);
    mask_host.data()[i] = random.below(3) != 0;
  }
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(mask, mask_host);
  Matrix<Out> const y("y", rows, columns);
  for (bool const is_masked : {false, true}) {
    for (bool const is_exclusive : {false, true}) {
      for (int const axis : {0, 1}) {
        auto const scan = [&](auto const& in) {
          is_exclusive ? ks::exclusive_scan(Exec(), in, y, axis, op)
                       : ks::inclusive_scan(Exec(), in, y, axis, op);
        };
        is_masked ? scan(ks::masked(x, mask)) : scan(x);
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
        std::size_t const lines = axis == 0 ? columns : rows, n = axis == 0 ? rows : columns;
        for (std::size_t l = 0; l < lines; ++l) {
          A fold = identity;
          for (std::size_t k = 0; k < n; ++k) {
            std::size_t const i = axis == 0 ? k : l, j = axis == 0 ? l : k;
            A const before = fold;
            if (!is_masked || mask_host(i, j)) fold = combine(fold, static_cast<A>(x_host(i, j)));
            ASSERT_EQ(found(i, j), static_cast<Out>(is_exclusive ? before : fold))
                << "axis " << axis << ", line " << l << ", element " << k << ", masked "
                << is_masked << ", exclusive " << is_exclusive;
          }
        }
      }
    }
  }
}

template <class T>
void check_bits() {
  auto const bitwise_and = [](T a, T b) { return static_cast<T>(a & b); };
  auto const bitwise_or = [](T a, T b) { return static_cast<T>(a | b); };
  auto const bitwise_xor = [](T a, T b) { return static_cast<T>(a ^ b); };
  check<T, T>(ks::BitAnd{}, static_cast<T>(~T(0)), bitwise_and);
  check<T, T>(ks::BitOr{}, T(0), bitwise_or);
  check<T, T>(ks::BitXor{}, T(0), bitwise_xor);
  check<T, std::uint64_t>(ks::BitXor<T>{}, T(0), bitwise_xor);
}

TEST(operators, bitwise) {
  check_bits<std::uint8_t>();
  check_bits<std::int32_t>();
  check_bits<std::uint64_t>();
}
TEST(operators, logical) {
  auto const both = [](bool a, bool b) { return a && b; };
  auto const one = [](bool a, bool b) { return a || b; };
  check<std::int32_t, bool>(ks::LogicalAnd{}, true, both);
  check<std::int32_t, bool>(ks::LogicalOr{}, false, one);
  check<std::int32_t, int>(ks::LogicalAnd{}, true, both);
}
TEST(operators, bits_in_order_need_no_kernels_of_their_own) {
  using ks::impl::associates_exactly;
  static_assert(associates_exactly<ks::BitAnd<int>, int> &&
                associates_exactly<ks::BitXor<int>, int>);
  static_assert(associates_exactly<ks::LogicalOr, bool>);
  static_assert(!ks::OperatorOn<ks::BitOr<float>, float>);
}

}  // namespace test::bits
