// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random cases over ranks, by tree and in order, against one process. unit_tests/mpi has more
// operators and inputs, which do not depend on what carries messages.

#include "ranks.hpp"

#include "mpi/case.hpp"

namespace test {
namespace {

/// All ranks make the same cases.
template <class T, int rank, class Layout, class Read, class Start, class Order, class Op>
void check_cases(int cases, std::uint64_t seed, Op const& op, Data data = Data::any) {
  on_ranks([&] {
    Random random(seed);
    for (int i = 0; i < cases; ++i) {
      check_case<T, rank, Layout, Read, Start, Order>(random_case<rank>(random), op, data);
    }
  });
}

}  // namespace

TEST(nccl_cases, integers) {
  check_cases<std::int64_t, 2, Kokkos::LayoutRight, ReadView, StartAtView, ByTree>(40, 11,
                                                                                   ks::Sum<>{});
}

TEST(nccl_cases, floats) {
  check_cases<float, 2, Kokkos::LayoutRight, ReadView, StartNowhere, ByTree>(40, 12, ks::Sum<>{},
                                                                             Data::one_sign);
}

TEST(nccl_cases, structs) {
  check_cases<Affine, 3, Kokkos::LayoutLeft, ReadMasked, StartAtView, ByTree>(40, 13,
                                                                              ComposeAffine{});
}

TEST(nccl_cases, without_an_identity) {
  check_cases<Affine, 2, Kokkos::LayoutRight, ReadView, StartAtView, ByTree>(
      40, 14, ComposeAffineWithoutIdentity{});
}

TEST(nccl_cases, in_order) {
  check_cases<float, 2, Kokkos::LayoutRight, ReadView, StartNowhere, InOrder>(40, 15, ks::Sum<>{});
}

TEST(nccl_cases, in_order_with_masks_and_without_starts) {
  check_cases<float, 3, Kokkos::LayoutStride, ReadMasked, StartNowhere, InOrder>(40, 16,
                                                                                 ks::Sum<>{});
}

}  // namespace test
