// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// In-order scans over ranks have the bits of one process, for any number of ranks and any parts.

#include <algorithm>

#include "ranks.hpp"

#include "case.hpp"

namespace test {

/// An operator that is neither associative nor commutative. Its "identity" changes values, so that
/// combining a value with it would show.
struct Hash {
  std::uint32_t a, b, c;
};
struct MixHashes {
  KOKKOS_FUNCTION Hash operator()(Hash const& x, Hash const& y) const {
    return {x.a * 31 + (y.a ^ 5), x.b * 7 + y.c, (x.c ^ y.b) + (x.a >> 3)};
  }
  KOKKOS_FUNCTION static Hash identity() { return {1, 2, 3}; }
};
struct MixHashesWithoutIdentity {
  KOKKOS_FUNCTION Hash operator()(Hash const& x, Hash const& y) const { return MixHashes{}(x, y); }
};
/// A smoothed value, in double for any element type. Its product is exact.
struct Smooth {
  using accumulator_type = double;
  KOKKOS_FUNCTION double operator()(double const& x, double const& y) const { return 0.5 * x + y; }
  KOKKOS_FUNCTION static double identity() { return 3; }
};
template <>
inline Hash random_value<Hash>(Random& random, Data) {
  auto const word = [&] { return static_cast<std::uint32_t>(random.next() >> 20); };
  auto const a = word();
  auto const b = word();
  return {a, b, word()};
}

namespace {

constexpr int cases = 50;

template <class T, int rank, class Layout, class Read, class Start, class Op>
void check_in_order(std::uint64_t seed, Op const& op) {
  Random random(seed);
  for (int i = 0; i < cases; ++i) {
    check_case<T, rank, Layout, Read, Start, InOrder>(random_case<rank>(random), op);
  }
}

}  // namespace

TEST(mpi_in_order, sums_of_floats) {
  check_in_order<float, 2, Kokkos::LayoutRight, ReadView, StartNowhere>(21, ks::Sum<>{});
  check_in_order<double, 2, Kokkos::LayoutStride, ReadMasked, StartAtView>(22, ks::Sum<>{});
  check_in_order<float, 3, Kokkos::LayoutLeft, ReadMasked, StartNowhere>(23, ks::Sum<>{});
}

TEST(mpi_in_order, products_of_complex_numbers) {
  check_in_order<Kokkos::complex<double>, 2, Kokkos::LayoutRight, ReadView, StartNowhere>(
      24, ks::Prod<>{});
}

TEST(mpi_in_order, operators_that_do_not_associate) {
  check_in_order<Hash, 2, Kokkos::LayoutRight, ReadMasked, StartNowhere>(25, MixHashes{});
  check_in_order<Hash, 3, Kokkos::LayoutStride, ReadMasked, StartAtView>(26, MixHashes{});
  check_in_order<Hash, 1, Kokkos::LayoutRight, ReadView, StartNowhere>(27, MixHashes{});
  check_in_order<Hash, 2, Kokkos::LayoutLeft, ReadView, StartAtView>(28,
                                                                     MixHashesWithoutIdentity{});
}

TEST(mpi_in_order, accumulators_that_are_wider_than_the_elements) {
  check_in_order<float, 3, Kokkos::LayoutRight, ReadComputed, StartAtValue<float>>(29, Smooth{});
}

TEST(mpi_in_order, what_associates_exactly) {
  check_in_order<float, 2, Kokkos::LayoutRight, ReadMasked, StartNowhere>(30, ks::Max<>{});
  check_in_order<std::int32_t, 2, Kokkos::LayoutRight, ReadView, StartAtView>(31, ks::Prod<>{});
}

/// Lines whose first unmasked element is on any rank, and lines without one: a sum must not begin
/// with the identity, because 0 + -0 is not -0.
TEST(mpi_in_order, masked_lines_begin_on_the_rank_of_their_first_element) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    MPI_Comm const comm = first_ranks(ranks);
    if (comm == MPI_COMM_NULL) continue;
    int const me = rank_in(comm);
    auto const lines = static_cast<std::size_t>(ranks + 1);
    using Values = Kokkos::View<float**, Kokkos::LayoutRight, Device>;
    using Mask = Kokkos::View<bool**, Kokkos::LayoutRight, Device>;
    Values const x("x", 3, lines);
    Values const y("y", 3, lines);
    Kokkos::View<float*, Device> const totals("totals", lines);
    auto const zeros = Kokkos::create_mirror_view(x);
    std::fill_n(zeros.data(), zeros.size(), -0.0F);  // deep_copy(x, -0.0F) may write zeros
    Kokkos::deep_copy(x, zeros);
    Kokkos::deep_copy(y, 7);
    Mask const mask("mask", 3, lines);
    auto const host = Kokkos::create_mirror_view(mask);
    // Line l has its first element in the middle of rank l, and all after it.
    for (std::size_t l = 0; l < lines; ++l) {
      for (std::size_t k = 0; k < 3; ++k) host(k, l) = 3 * static_cast<std::size_t>(me) + k > 3 * l;
    }
    Kokkos::deep_copy(mask, host);
    ks::mpi::inclusive_scan(Exec(), comm, ks::masked(x, mask), y,
                            ks::along(0).in_order().totals(totals));
    Exec().fence();
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
    auto const all = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, totals);
    for (std::size_t l = 0; l < lines; ++l) {
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(found(k, l), 0);
        EXPECT_EQ(std::signbit(found(k, l)), 3 * static_cast<std::size_t>(me) + k > 3 * l)
            << ranks << " ranks, rank " << me << ", line " << l << ", element " << k;
      }
      EXPECT_EQ(all(l), 0);
      EXPECT_EQ(std::signbit(all(l)), l < static_cast<std::size_t>(ranks));
    }
  }
}

}  // namespace test
