// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Suite `lengths`: lengths around powers of two, chunks and tiles, times numbers of lines around a
// warp and the grid limit. Lines are rows or columns, scanned forward or backward.
// Classes C (grid limits: 65535 lines and more), F (empty), G (uninitialised operands).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/intervals.hpp"

namespace test::lengths {

constexpr std::int64_t tile = ks::impl::team::tile_length;

std::vector<std::int64_t> const& all_lengths() {
  static std::vector<std::int64_t> const lengths{
      0,       1,       2,    3,        31,   32,       33,           63,       64,           65,
      127,     128,     129,  255,      256,  257,      511,          512,      513,          1023,
      1024,    1025,    4097, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1, 50257,
      1000000, 10000000};
  return lengths;
}
std::vector<std::int64_t> const& all_line_counts() {
  static std::vector<std::int64_t> const lines{0,  1,     2,     3,     31,     32,
                                               33, 65535, 65536, 65537, 1000000};
  return lines;
}

struct Size {
  std::int64_t n, lines;
};

/// Bounds time and memory: small sizes are in each test, each large size in one of three tests.
std::vector<Size> sizes_of_test(std::int64_t test) {
  std::vector<Size> sizes;
  std::int64_t large = 0;
  for (std::int64_t const n : all_lengths()) {
    for (std::int64_t const lines : all_line_counts()) {
      std::int64_t const elements = n * lines;
      if (elements > 11000000) continue;
      if (elements > 300000 && large++ % 3 != test) continue;
      sizes.push_back({n, lines});
    }
  }
  return sizes;
}

struct Run {
  Size size;
  bool rows;  // whether lines are rows, not columns
  Direction direction;

  int axis() const { return rows ? 1 : 0; }
  Shape shape(std::int64_t n) const {
    return rows ? right({size.lines, n}) : right({n, size.lines});
  }
};

/// Both orientations and directions for small sizes, random ones for large sizes.
template <class Check>
void for_each_run(std::int64_t test, Check&& check) {
  Random random(77 + static_cast<std::uint64_t>(test));
  for (Size const size : sizes_of_test(test)) {
    std::int64_t const only = size.n * size.lines > 20000 ? random.below(4) : -1;
    for (int i = 0; i < 4; ++i) {
      if (only >= 0 && i != only) continue;
      check(Run{size, (i & 1) != 0, (i & 2) != 0 ? Direction::backward : Direction::forward});
    }
  }
}

void check_intervals() {
  for_each_run(0, [](Run const& run) {
    Scan const scan{Form::inclusive, run.axis(), run.direction};
    Array<Interval> const in(run.shape(run.size.n));
    Array<Interval> const out(in.shape());
    FaultCounter const faults;
    fill_intervals(in, run.axis(), run.direction);
    in.upload();
    out.upload();
    call_inclusive(Exec{}, const_view<2, Kokkos::LayoutRight>(in),
                   view<2, Kokkos::LayoutRight>(out), lines_of(scan), faults.join_intervals());
    out.download();
    expect_scan<JoinIntervals>("intervals", scan, in.shape(), out, ValuesOf{in});
    expect_untouched_except("intervals", out.memory(), out);
    faults.expect_none("intervals " + scan.text() + ", " + in.shape().text());
  });
}

/// n+1 outputs if the number of lines is even, n if it is odd.
void check_widening_sums() {
  for_each_run(1, [](Run const& run) {
    bool const total = run.size.lines % 2 == 0;
    Scan const scan{total ? Form::exclusive_with_total : Form::exclusive, run.axis(),
                    run.direction};
    Random random(5);
    Array<std::int32_t> const in(run.shape(run.size.n));
    Array<std::int64_t> const out(run.shape(run.size.n + (total ? 1 : 0)));
    in.fill(random).upload();
    out.upload();
    call_exclusive(Exec{}, const_view<2, Kokkos::LayoutRight>(in),
                   view<2, Kokkos::LayoutRight>(out), lines_of(scan), ks::Sum{});
    out.download();
    expect_scan<ks::Sum<>>("int32 to int64", scan, in.shape(), out, ValuesOf{in});
    expect_untouched_except("int32 to int64", out.memory(), out);
  });
}

/// Large sizes are scanned in place.
void check_float_sums() {
  for_each_run(2, [](Run const& run) {
    Scan const scan{Form::inclusive, run.axis(), run.direction};
    Random random(6);
    Array<float> const in(run.shape(run.size.n));
    bool const in_place = run.size.n * run.size.lines > 300000;
    Array<float> const out = in_place ? in : Array<float>(in.shape());
    in.fill(random).upload();
    if (!in_place) out.upload();
    call_inclusive(Exec{}, const_view<2, Kokkos::LayoutRight>(in),
                   view<2, Kokkos::LayoutRight>(out), lines_of(scan), ks::Sum{});
    out.download();
    expect_scan<ks::Sum<>>("float", scan, in.shape(), out, ValuesOf{in});
    expect_untouched_except("float", out.memory(), out);
  });
}

}  // namespace test::lengths

TEST(lengths, intervals) { test::lengths::check_intervals(); }
TEST(lengths, widening_sums) { test::lengths::check_widening_sums(); }
TEST(lengths, float_sums) { test::lengths::check_float_sums(); }
