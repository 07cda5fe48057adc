// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ArgMin and ArgMax: identity, stored values, and refused calls.

#include <limits>
#include <vector>

#include "operators_arg.hpp"

namespace test::operators {

template <class Function>
std::string message_of(Function const& function) {
  try {
    function();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace test::operators

using namespace test;  // NOLINT: a test file

// An element that equals the identity's value still counts as an element.
TEST(operators, identity_of_arg_max_is_no_element) {
  using Pair = ks::Indexed<float>;
  auto const check = [](auto const op) {
    Pair const none = op.identity();
    for (float const value : {0.0f, operators::infinity, -operators::infinity, operators::nan}) {
      Pair const element{value, 7};
      EXPECT_EQ(op(none, element).index, 7) << value;
      EXPECT_EQ(op(element, none).index, 7) << value;
    }
    EXPECT_EQ(op(none, none).index, Pair::none);
  };
  check(ks::ArgMax<>{});
  check(ks::ArgMin<>{});
  check(ks::ArgMax<ks::Ties::last>{});
  check(ks::ArgMin<ks::Ties::last>{});
}

// The operator with an explicit accumulator stores only an index.
TEST(operators, arg_max_into_indices) {
  Kokkos::View<double*, Exec> const x("x", 3);
  auto const x_host = Kokkos::create_mirror_view(x);
  x_host(0) = 1, x_host(1) = 5, x_host(2) = 5;
  Kokkos::deep_copy(x, x_host);
  Kokkos::View<int*, Exec> const y("y", 3);
  Exec const exec;
  using Pair = ks::Indexed<double, int>;
  ks::inclusive_scan(exec, ks::indexed<int>(x), y, 0, ks::ArgMax<ks::Ties::first, Pair>{});
  auto const first = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  EXPECT_EQ(std::vector<int>(first.data(), first.data() + 3), (std::vector<int>{0, 1, 1}));
  ks::inclusive_scan(exec, ks::indexed<int>(x), y, 0, ks::ArgMax<ks::Ties::last, Pair>{});
  auto const last = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  EXPECT_EQ(std::vector<int>(last.data(), last.data() + 3), (std::vector<int>{0, 1, 2}));
}

TEST(operators, index_that_is_too_small) {
  Kokkos::View<float**, Exec> const x("x", 300, 128);
  using operators::message_of;
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int8_t>(x, 0); }),
            "KokkosScan::indexed: extent 0 is 300, but the largest index of the type is 127.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::uint8_t>(x, 0); }),
            "KokkosScan::indexed: extent 0 is 300, but the largest index of the type is 254.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed(x, 2); }),
            "KokkosScan::indexed: axis 2 is out of range for an input of rank 2: allowed are -2 to "
            "1.");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int8_t>(x, 1); }), "nothing was thrown");
  EXPECT_EQ(message_of([&] { (void)ks::indexed<std::int16_t>(x, -2); }), "nothing was thrown");
}

TEST(operators, indices_along_another_axis_than_the_scan) {
  Kokkos::View<float**, Exec> const x("x", 3, 4);
  Kokkos::View<bool**, Exec> const mask("mask", 3, 4);
  Kokkos::View<ks::Indexed<float>**, Exec> const y("y", 3, 4);
  using operators::message_of;
  EXPECT_EQ(message_of([&] { ks::inclusive_scan(Exec(), ks::indexed(x), y, 0, ks::ArgMax{}); }),
            "KokkosScan::inclusive_scan: the scan is along axis 0, but indexed(...) counts along "
            "axis 1.");
  EXPECT_EQ(message_of([&] {
              ks::inclusive_scan(Exec(), ks::masked(ks::indexed(x, 0), mask), y, -1, ks::ArgMax{});
            }),
            "KokkosScan::inclusive_scan: the scan is along axis 1, but indexed(...) counts along "
            "axis 0.");
  EXPECT_EQ(message_of([&] { ks::inclusive_scan(Exec(), ks::indexed(x, 0), y, 0, ks::ArgMax{}); }),
            "nothing was thrown");
  Exec().fence();
}
