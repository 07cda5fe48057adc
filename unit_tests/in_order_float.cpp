// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans in order of float have the bits of the plain loop.

#include "in_order.hpp"

namespace test {
namespace in_order {

TEST(in_order, floats_have_the_bits_of_the_plain_loop) {
  for (std::size_t const n : {1, 2, 3, 31, 256, 257, 5000}) {
    check<float, 1, ks::Sum<>>({n}, 0);
  }
  for (int const axis : {0, 1}) check<float, 2, ks::Sum<>>({70, 300}, axis);
  for (int const axis : {0, 1, 2}) check<float, 3, ks::Sum<>>({6, 40, 3}, axis);
}
TEST(in_order, floats_of_other_layouts_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<float, 2, ks::Sum<>, Kokkos::LayoutLeft>({37, 41}, axis);
}
TEST(in_order, maxima_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1, 2}) check<float, 3, ks::Max<>>({5, 13, 40}, axis);
}

}  // namespace in_order
}  // namespace test
