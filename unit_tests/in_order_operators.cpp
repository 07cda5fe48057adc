// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans in order with non-associative operators have the bits of the plain loop.

#include "in_order.hpp"

namespace test {
namespace in_order {

TEST(in_order, a_struct_has_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<Hash, 2, MixHashes>({21, 90}, axis);
}
// Strips of maximum width with values of an odd size.
TEST(in_order, wide_rows_of_structs_have_the_bits_of_the_plain_loop) {
  check<Hash, 2, MixHashes>({2, 38'000}, 0);
}
TEST(in_order, smoothed_values_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<double, 2, Smooth>({17, 129}, axis);
}

}  // namespace in_order
}  // namespace test
