// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views that Kokkos creates: subviews of every kind, padded allocations, static extents, traits.

#include "views.hpp"

#include <utility>

namespace test::views {

using Range = std::pair<int, int>;

/// The same subview of two matrices with equal layouts.
template <class Layout, class... Args>
void check_subview(std::string const& what, Args... args) {
  auto const shape =
      std::is_same_v<Layout, Kokkos::LayoutLeft> ? left({6, 7, 150}) : right({6, 7, 150});
  Array<float> const in_whole(shape);
  Array<float> const out_whole(shape);
  auto const in = Kokkos::subview(view<3, Layout>(in_whole), args...);
  auto const out = Kokkos::subview(view<3, Layout>(out_whole), args...);
  auto const in_array = array_of_subview(in, in_whole);
  auto const out_array = array_of_subview(out, out_whole);
  check_every_axis(what, in, in_array, out, out_array);
  check_every_axis(what + ", in place", out, out_array, out, out_array);
}

/// All, a range, or one index in each of three dimensions.
template <class Layout, class First, class Second>
void check_third(std::string const& what, First first, Second second) {
  check_subview<Layout>(what + " all", first, second, Kokkos::ALL);
  check_subview<Layout>(what + " range", first, second, Range(1, 140));
  if constexpr (!(std::is_same_v<First, int> && std::is_same_v<Second, int>)) {
    check_subview<Layout>(what + " index", first, second, 3);
  }
}
template <class Layout, class First>
void check_second(std::string const& what, First first) {
  check_third<Layout>(what + " all", first, Kokkos::ALL);
  check_third<Layout>(what + " range", first, Range(2, 5));
  check_third<Layout>(what + " index", first, 4);
}
template <class Layout>
void check_subviews() {
  check_second<Layout>("subview all", Kokkos::ALL);
  check_second<Layout>("subview range", Range(0, 3));
  check_second<Layout>("subview index", 5);
}

/// Managed Views whose leading dimension Kokkos pads.
template <class Layout>
void check_padded(int e0, int e1, int e2) {
  using View = Kokkos::View<float***, Layout, Device>;
  View const in(Kokkos::view_alloc("in", Kokkos::AllowPadding, Kokkos::WithoutInitializing), e0, e1,
                e2);
  View const out(Kokkos::view_alloc("out", Kokkos::AllowPadding, Kokkos::WithoutInitializing), e0,
                 e1, e2);
  EXPECT_GT(in.span(), in.size()) << "nothing was padded";
  auto const in_array = array_of_view(in);
  auto const out_array = array_of_view(out);
  check_every_axis("padded", in, in_array, out, out_array);
  check_every_axis("padded, in place", out, out_array, out, out_array);
}

template <class In, class Out>
void check_pair(std::string const& what, In const& in, Out const& out) {
  auto const in_array = array_of_view(in);
  check_every_axis(what, in, in_array, out,
                   in.data() == out.data() ? in_array : array_of_view(out));
}

/// Static extents, const values, other memory traits, a reference-counted and an unmanaged View.
void check_kinds() {
  Kokkos::View<float* [4], Device> const a("a", 5);
  Kokkos::View<float* [4], Device> const b("b", 5);
  check_pair("static extent", a, b);
  check_pair("in place", a, a);
  Kokkos::View<float[3][150], Kokkos::LayoutRight, Device> const c("c");
  Kokkos::View<float**, Kokkos::LayoutLeft, Device> const d("d", 3, 150);
  check_pair("static extents to another layout", c, d);
  Kokkos::View<float const**, Device, Kokkos::MemoryTraits<Kokkos::RandomAccess>> const e = a;
  check_every_axis("random access", e, array_of_view(a), b, array_of_view(b));
  Kokkos::View<float**, Device, Kokkos::MemoryTraits<Kokkos::Restrict>> const f = a;
  check_every_axis("restrict", f, array_of_view(a), b, array_of_view(b));
}

/// Typical user code: host mirrors, default axis and operator.
void check_mirrors() {
  Kokkos::View<float**, Device> const x("x", 3, 5);
  Kokkos::View<float**, Device> const y("y", 3, 5);
  auto const x_host = Kokkos::create_mirror_view(x);
  auto const y_host = Kokkos::create_mirror_view(y);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) x_host(i, j) = static_cast<float>(10 * i + j);
  }
  Kokkos::deep_copy(x, x_host);
  ks::inclusive_scan(Exec{}, x, y);
  Kokkos::deep_copy(y_host, y);
  for (int i = 0; i < 3; ++i) {
    float sum = 0;
    for (int j = 0; j < 5; ++j) {
      sum += x_host(i, j);
      EXPECT_EQ(y_host(i, j), sum) << i << ", " << j;
    }
  }
  ks::exclusive_scan(Exec{}, x, y, 0);
  Kokkos::deep_copy(y_host, y);
  for (int j = 0; j < 5; ++j) {
    float sum = 0;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(y_host(i, j), sum) << i << ", " << j;
      sum += x_host(i, j);
    }
  }
}

}  // namespace test::views

TEST(views, subviews_left) { test::views::check_subviews<Kokkos::LayoutLeft>(); }
TEST(views, subviews_right) { test::views::check_subviews<Kokkos::LayoutRight>(); }
TEST(views, padded_left) { test::views::check_padded<Kokkos::LayoutLeft>(517, 3, 2); }
TEST(views, padded_right) { test::views::check_padded<Kokkos::LayoutRight>(2, 3, 517); }
TEST(views, kinds) { test::views::check_kinds(); }
TEST(views, mirrors) { test::views::check_mirrors(); }
