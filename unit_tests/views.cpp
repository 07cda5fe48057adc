// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Strides, offsets, aliases, and the kinds of Views.
// Classes E (strides; size-1 axes with any stride), H (alignment), D (aliasing), F (empty).

#include "views.hpp"

#include <algorithm>
#include <numeric>

namespace test::views {

/// Dimensions in the given order in memory (the first varies fastest), with gaps.
Shape permuted(std::vector<std::int64_t> const& extents, std::vector<int> const& order,
               std::int64_t gap) {
  Shape s = right(extents);
  std::int64_t stride = 1 + gap;
  for (int const r : order) {
    s.stride[static_cast<std::size_t>(r)] = stride;
    stride = stride * s.extent[static_cast<std::size_t>(r)] + gap;
  }
  return s;
}

/// Every order of the dimensions of the input, against another order of the output's.
template <int rank>
void check_permutations(std::vector<std::int64_t> const& extents) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  do {
    for (std::int64_t const gap : {0, 3}) {
      std::vector<int> const reversed(order.rbegin(), order.rend());
      Array<float> const in(permuted(extents, order, gap));
      Array<float> const same(permuted(extents, order, 1));
      Array<float> const other(permuted(extents, reversed, gap));
      check_every_axis("permuted", view<rank>(in), in, view<rank>(same), same);
      check_every_axis("permuted", view<rank>(in), in, view<rank>(other), other);
      check_every_axis("permuted, in place", view<rank>(in), in, view<rank>(in), in);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

/// MLX #4139: the stride of a size-1 dimension has no meaning, whether it is the axis or not.
void check_garbage_strides() {
  std::int64_t const garbage[] = {0, 1, 2, 1000003, std::int64_t{1} << 40};
  Random random(22);
  for (int ones = 0; ones < 16; ++ones) {
    for (int trial = 0; trial < 8; ++trial) {
      std::vector<std::int64_t> extents{3, 130, 2, 4};
      for (int r = 0; r < 4; ++r) {
        if ((ones >> r & 1) != 0) extents[static_cast<std::size_t>(r)] = 1;
      }
      auto const with_garbage = [&](Shape s) {
        for (int r = 0; r < 4; ++r) {
          if (s.extent[r] == 1) s.stride[r] = garbage[random.below(5)];
        }
        return s;
      };
      Array<float> const in(with_garbage(strided(extents, random)));
      Array<float> const out(with_garbage(strided(extents, random)));
      check_every_axis("garbage strides", view<4>(in), in, view<4>(out), out);
      // In place, too, strides of size-1 dimensions may differ.
      Array<float> const again(in.memory(), in.first_byte(), with_garbage(in.shape()));
      check_every_axis("garbage strides, in place", view<4>(in), in, view<4>(again), again);
    }
  }
}

/// If an extent is zero, nothing is written, whatever the strides.
void check_empty() {
  for (int zero = 0; zero < 4; ++zero) {
    std::vector<std::int64_t> extents{3, 5, 2, 4};
    extents[static_cast<std::size_t>(zero)] = 0;
    Shape shape = right({3, 5, 2, 4});  // memory to detect writes
    Array<float> const memory(shape);
    shape.extent[zero] = 0;
    Array<float> const out(memory.memory(), memory.first_byte(), shape);
    Array<float> const in(right(extents));
    check_every_axis("empty", view<4>(in), in, view<4>(out), out);
    check_every_axis("empty, in place", view<4>(out), out, view<4>(out), out);
  }
}

/// An input may repeat the same element (stride 0).
void check_broadcast() {
  for (int fixed = 1; fixed < 8; ++fixed) {
    Shape shape = right({4, 150, 3});
    for (int r = 0; r < 3; ++r) {
      if ((fixed >> r & 1) != 0) shape.stride[r] = 0;
    }
    Array<float> const in(shape);
    Array<float> const out(right({4, 150, 3}));
    check_every_axis("stride 0", view<3>(in), in, view<3>(out), out);
  }
}

/// Equal strides, no element in common: real and imaginary parts, halves of a matrix, even and odd
/// columns, every other row.
void check_interleaved() {
  auto const check = [](std::string const& what, Shape const& whole, Shape const& part,
                        std::int64_t second) {
    for (bool const swapped : {false, true}) {
      Array<double> const memory(whole);
      Array<double> const a(memory.memory(), memory.first_byte(), part);
      Array<double> const b(memory.memory(), memory.first_byte() + 8 * second, part);
      Array<double> const& in = swapped ? b : a;
      Array<double> const& out = swapped ? a : b;
      check_every_axis(what, view<2>(in), in, view<2>(out), out);
    }
  };
  auto const part = [](std::int64_t e0, std::int64_t e1, std::int64_t s0, std::int64_t s1) {
    Shape s = right({e0, e1});
    s.stride[0] = s0;
    s.stride[1] = s1;
    return s;
  };
  check("real and imaginary", right({20, 300}), part(20, 150, 300, 2), 1);
  check("halves", right({20, 300}), part(20, 150, 300, 1), 150);
  check("halves of a tall matrix", right({300, 4}), part(300, 2, 4, 1), 2);
  check("upper and lower", right({40, 150}), part(20, 150, 150, 1), 20 * 150);
  check("every other row", right({40, 150}), part(20, 150, 300, 1), 150);
}

/// Unmanaged data at every element offset from an aligned address, for input and output.
template <class T, class Op>
void check_offsets() {
  for (std::int64_t in_shift = 0; in_shift <= 16; ++in_shift) {
    for (std::int64_t out_shift = 0; out_shift <= 16; ++out_shift) {
      std::int64_t const n = 1 + (in_shift * 17 + out_shift * 5) % 150;
      Array<T> const in(right({3, n}), in_shift);
      Array<T> const out(right({3, n}), out_shift);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(in.memory()->device()) % 16, 0u);
      check_every_axis<Op>("offset", view<2, Kokkos::LayoutRight>(in), in,
                           view<2, Kokkos::LayoutRight>(out), out);
    }
  }
}

}  // namespace test::views

using namespace test;  // NOLINT: a test file

TEST(views, permuted_strides) {
  views::check_permutations<3>({5, 140, 3});
  views::check_permutations<4>({3, 7, 1, 5});
}
TEST(views, garbage_strides_of_size_one) { views::check_garbage_strides(); }
TEST(views, empty) { views::check_empty(); }
TEST(views, broadcast_input) { views::check_broadcast(); }
TEST(views, interleaved) { views::check_interleaved(); }
TEST(views, offsets_uint8) { views::check_offsets<std::uint8_t, ks::Sum<>>(); }
TEST(views, offsets_float) { views::check_offsets<float, ks::Sum<>>(); }
TEST(views, offsets_double) { views::check_offsets<double, ks::Max<>>(); }
TEST(views, offsets_struct12) {
  views::check_offsets<Struct12, MultiplyHeisenberg<std::uint32_t>>();
}
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
TEST(views, offsets_half) { views::check_offsets<Half, ks::Sum<>>(); }
#endif
