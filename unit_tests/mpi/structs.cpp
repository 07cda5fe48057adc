// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Non-commutative operators on structs: bitwise the results of one process.

#include "ranks.hpp"

#include "case.hpp"

namespace test {
namespace {

constexpr int cases = 40;

template <int rank, class Layout, class Read, class Start>
void check_affine(std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < cases; ++i) {
    check_case<Affine, rank, Layout, Read, Start>(random_case<rank>(random), ComposeAffine{});
  }
}

}  // namespace

TEST(mpi_structs, views) {
  check_affine<2, Kokkos::LayoutStride, ReadView, StartNowhere>(1);
  check_affine<1, Kokkos::LayoutRight, ReadView, StartNowhere>(2);
  check_affine<3, Kokkos::LayoutLeft, ReadView, StartNowhere>(3);
}

TEST(mpi_structs, masked_inputs_and_starts) {
  check_affine<2, Kokkos::LayoutRight, ReadMasked, StartAtView>(4);
  check_affine<3, Kokkos::LayoutStride, ReadMasked, StartAtView>(5);
}

TEST(mpi_structs, computed_inputs) {
  check_affine<3, Kokkos::LayoutRight, ReadComputed, StartAtValue<Affine>>(6);
  check_affine<2, Kokkos::LayoutLeft, ReadComputed, StartAtValue<Affine>>(7);
}

TEST(mpi_structs, without_an_identity) {
  Random random(8);
  for (int i = 0; i < cases; ++i) {
    check_case<Affine, 2, Kokkos::LayoutRight, ReadView, StartAtView>(
        random_case<2>(random), ComposeAffineWithoutIdentity{});
  }
}

}  // namespace test
