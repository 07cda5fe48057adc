// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans in order of double and of int have the bits of the plain loop.

#include "in_order.hpp"

namespace test {
namespace in_order {

TEST(in_order, doubles_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<double, 2, ks::Sum<>>({300, 70}, axis);
  for (int const axis : {0, 1, 2, 3}) check<double, 4, ks::Sum<>>({3, 5, 34, 7}, axis);
}
TEST(in_order, products_have_the_bits_of_the_plain_loop) {
  check<double, 1, ks::Prod<>>({1000}, 0);
}
TEST(in_order, integers_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<std::int32_t, 2, ks::Sum<>>({33, 65}, axis);
}

}  // namespace in_order
}  // namespace test
