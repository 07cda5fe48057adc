// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Built-in operators on numbers: integers bitwise, floating-point numbers within a bound.

#include "ranks.hpp"

#include "case.hpp"

namespace test {
namespace {
constexpr int cases = 40;
}

TEST(mpi_numbers, integers) {
  Random random(11);
  for (int i = 0; i < cases; ++i) {
    check_case<std::int64_t, 2, Kokkos::LayoutRight, ReadView, StartAtView>(random_case<2>(random),
                                                                            ks::Sum<>{});
  }
  for (int i = 0; i < cases; ++i) {
    check_case<std::int64_t, 3, Kokkos::LayoutLeft, ReadView, StartAtView>(random_case<3>(random),
                                                                           ks::Sum<>{});
  }
}

TEST(mpi_numbers, floats) {
  Random random(12);
  for (int i = 0; i < cases; ++i) {
    check_case<float, 2, Kokkos::LayoutRight, ReadView, StartNowhere>(random_case<2>(random),
                                                                      ks::Sum<>{}, Data::one_sign);
  }
}

}  // namespace test
