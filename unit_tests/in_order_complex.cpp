// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans in order of complex numbers and of half have the bits of the plain loop.

#include "in_order.hpp"

namespace test {
namespace in_order {

TEST(in_order, complex_numbers_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) {
    check<Kokkos::complex<float>, 2, ks::Sum<>>({19, 77}, axis);
    check<Kokkos::complex<double>, 2, ks::Prod<>>({19, 23}, axis);
  }
}
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
TEST(in_order, halves_have_the_bits_of_the_plain_loop) {
  for (int const axis : {0, 1}) check<Half, 2, ks::Sum<>>({21, 300}, axis);
}
#endif

}  // namespace in_order
}  // namespace test
