// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "select.hpp"

#include <stdexcept>

using namespace test;             // NOLINT: a test file
using namespace test::selection;  // NOLINT

namespace {

struct Bytes12 {
  std::uint32_t words[3];
};

std::vector<std::int64_t> const lengths{0,   1,    2,    3,    63,   64,   65,   127,   128,
                                        129, 1000, 1024, 1025, 4095, 4096, 4097, 40'000};

struct IsPositive {
  KOKKOS_FUNCTION bool operator()(int x) const { return x > 0; }
};
struct IndexIsEven {
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return i % 2 == 0; }
};
struct OwnIndex {
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i) const { return i; }
};
/// Counts its evaluations for each value, which is the element's index.
struct CountsQuestions {
  Kokkos::View<int*, Exec> asked;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const {
    Kokkos::atomic_inc(&asked(i));
    return i % 3 == 0;
  }
};

struct Both {
  KOKKOS_FUNCTION bool operator()(int a, int b) const { return a > 0 && b > 0; }
};

template <class Function>
std::string message_of(Function const& function) {
  try {
    function();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST(select, equals_copy_if) {
  check_all<std::int32_t>(ks::impl::SelectByDefault{}, lengths, {1, 3, 40});
  check_all<std::int32_t>(ks::impl::SelectByDefault{}, {200'000, 1'000'001}, {1, 2});
}
TEST(select, equals_copy_if_for_other_sizes) {
  check_all<std::uint8_t>(ks::impl::SelectByDefault{}, {1, 100, 5000}, {1, 7});
  check_all<double>(ks::impl::SelectByDefault{}, {1, 100, 5000}, {1, 7});
  check_all<Bytes12>(ks::impl::SelectByDefault{}, {1, 100, 5000}, {1, 7});
}
TEST(select, many_short_lines) {
  for (std::int64_t const n : {1, 4, 5, 31}) {
    check<std::int32_t>(ks::impl::SelectByDefault{}, 3000, n, Layout::rows, Kept::half, false);
    check<std::int32_t>(ks::impl::SelectByDefault{}, 3000, n, Layout::columns, Kept::half, true);
  }
}
TEST(select, in_three_steps_equals_copy_if) {
  check_all<std::int32_t>(ks::impl::ThreeSteps{}, lengths, {1, 3, 40});
}

TEST(select, several_arrays_at_once) {
  check_all_zipped(ks::impl::SelectByDefault{}, {1, 5, 64, 1000, 1025, 5000, 40'000}, true);
}
TEST(select, several_arrays_at_once_in_three_steps) {
  check_all_zipped(ks::impl::ThreeSteps{}, {1, 5, 64, 1000, 5000}, false);
}

/// One array in place and into rooms of every size, again and again where threads share the line.
TEST(select, in_place) {
  Exec const exec;
  std::int64_t const n = 700'001;
  auto const size = static_cast<std::size_t>(n);
  Kokkos::View<int*, Device> const x("x", size);
  Kokkos::View<std::int64_t, Device> const count("count");
  for (int turn = 0; turn < 10; ++turn) {
    auto const x_host = Kokkos::create_mirror_view(x);
    std::vector<int> expected;
    Random random(static_cast<std::uint64_t>(turn));
    for (std::size_t k = 0; k < size; ++k) {
      x_host(k) = static_cast<int>(random.below(1000)) - (turn % 2 == 0 ? 500 : 50);
      if (x_host(k) > 0) expected.push_back(x_host(k));
    }
    Kokkos::deep_copy(x, x_host);
    ks::select(exec, x, IsPositive{}, x, count);
    Kokkos::deep_copy(x_host, x);
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count)();
    ASSERT_EQ(found, static_cast<std::int64_t>(expected.size()));
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(x_host(k), expected[k]) << k;
    // Into exactly as much, and into less, of itself.
    auto const room = std::make_pair(std::size_t(0), expected.size());
    ks::select(exec, x, IsPositive{}, Kokkos::subview(x, room), count);
    Kokkos::deep_copy(x_host, x);
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(x_host(k), expected[k]) << k;
  }
}

// One line of rank 1, with a count of rank 0; indices, and predicates of indices.
TEST(select, one_line) {
  Exec const exec;
  Kokkos::View<int*, Exec> const x("x", 6), y("y", 6);
  Kokkos::View<int, Exec> const count("count");
  auto const x_host = Kokkos::create_mirror_view(x);
  int const values[] = {3, -1, 4, -1, 5, 9};
  std::copy_n(values, 6, x_host.data());
  Kokkos::deep_copy(x, x_host);
  auto const expect = [&](auto const& view, std::vector<std::int64_t> const& expected) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
    auto const n = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count)();
    ASSERT_EQ(n, static_cast<int>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(host(i), expected[i]) << i;
  };
  ks::select(exec, x, IsPositive{}, y, count);
  expect(y, {3, 4, 5, 9});
  ks::select(exec, x, ks::elementwise({6}, IndexIsEven{}), y, count);
  expect(y, {3, 4, 5});
  // Indices, in another type.
  Kokkos::View<std::int16_t*, Exec> const indices("indices", 6);
  Kokkos::View<bool*, Exec> const mask("mask", 6);
  auto const mask_host = Kokkos::create_mirror_view(mask);
  mask_host(1) = mask_host(5) = true;
  Kokkos::deep_copy(mask, mask_host);
  ks::select(exec, ks::elementwise({6}, OwnIndex{}), mask, indices, count);
  expect(indices, {1, 5});
  // With a workspace.
  std::size_t const bytes = ks::select_workspace_bytes(exec, x, IsPositive{}, y, count);
  Kokkos::View<std::byte*, Exec> const workspace("workspace", bytes + 1);
  ks::select(exec, x, IsPositive{}, y, count, workspace);
  expect(y, {3, 4, 5, 9});
}

TEST(select, asks_once_for_each_element) {
  Exec const exec;
  std::int64_t const n = 300'000;
  CountsQuestions const predicate{Kokkos::View<int*, Exec>("asked", static_cast<std::size_t>(n))};
  Kokkos::View<std::int64_t*, Exec> const out("out", static_cast<std::size_t>(n));
  Kokkos::View<std::int64_t, Exec> const count("count");
  ks::select(exec, ks::elementwise({n}, OwnIndex{}), predicate, out, count);
  auto const asked = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, predicate.asked);
  EXPECT_TRUE(std::all_of(asked.data(), asked.data() + n, [](int times) { return times == 1; }));
}

TEST(select, bad_arguments) {
  Exec const exec;
  Kokkos::View<int**, Kokkos::LayoutRight, Exec> const x("x", 3, 300), y("y", 3, 300),
      narrow("narrow", 3, 299);
  Kokkos::View<int*, Exec> const count("count", 3), longer("longer", 4);
  Kokkos::View<std::int8_t*, Exec> const small("small", 3);
  Kokkos::View<bool**, Exec> const mask("mask", 2, 300);
  Kokkos::View<int**, Kokkos::LayoutRight, Exec> const wide("wide", 3, 301);
  EXPECT_EQ(message_of([&] { ks::select(exec, x, IsPositive{}, wide, count); }),
            "KokkosScan::select: extent 1 of output \"wide\" is 301, but extent 1 of input \"x\" "
            "is 300.");
  Kokkos::View<int**, Kokkos::LayoutRight, Exec> const x2("x2", 3, 300);
  EXPECT_EQ(
      message_of([&] { ks::select(exec, ks::zip(x, x2), Both{}, ks::zip(y, narrow), count); }),
      "KokkosScan::select: extent 1 of output \"narrow\" is 299, but extent 1 of output \"y\" is "
      "300.");
  EXPECT_EQ(message_of([&] { ks::select(exec, ks::zip(x, x2), Both{}, ks::zip(y, y), count); }),
            "KokkosScan::select: output \"y\" and output \"y\" overlap.");
  EXPECT_EQ(
      message_of([&] { ks::select(exec, x, IsPositive{}, y, longer); }),
      "KokkosScan::select: extent 0 of counts \"longer\" is 4, but extent 0 of input \"x\" is "
      "3.");
  EXPECT_EQ(
      message_of([&] { ks::select(exec, x, mask, y, count); }),
      "KokkosScan::select: extent 0 of mask \"mask\" is 2, but extent 0 of input \"x\" is 3.");
  EXPECT_EQ(message_of([&] { ks::select(exec, x, IsPositive{}, y, small); }),
            "KokkosScan::select: counts \"small\" hold at most 127, but a line has 300 elements.");
  auto const left = Kokkos::subview(x, Kokkos::ALL, std::make_pair(0, 299));
  auto const right = Kokkos::subview(x, Kokkos::ALL, std::make_pair(1, 300));
  EXPECT_EQ(message_of([&] { ks::select(exec, right, IsPositive{}, left, count); }),
            "KokkosScan::select: output \"x\" and input \"x\" overlap.");
  EXPECT_EQ(message_of([&] {
              ks::impl::select(exec, x, IsPositive{}, x, count, ks::None{}, ks::impl::ThreeSteps{});
            }),
            "KokkosScan::select: output \"x\" is the input, which the kernels for values of this "
            "size and this execution space do not allow.");
  Kokkos::View<std::byte*, Exec> const workspace("workspace", 48);
  Kokkos::View<std::byte*, Exec> const odd(workspace, std::make_pair(1, 48));
  EXPECT_EQ(
      message_of([&] { ks::select(exec, x, IsPositive{}, y, count, odd); }),
      "KokkosScan::select: workspace \"workspace\" begins at an address that is not a multiple "
      "of 16.");
  Kokkos::View<int**, Kokkos::LayoutRight, Exec> const null(nullptr, 3, 300);
  EXPECT_EQ(message_of([&] { ks::select(exec, null, IsPositive{}, y, count); }),
            "KokkosScan::select: input \"\" has elements, but its data is null.");
}
