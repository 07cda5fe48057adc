// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every message, word by word, with the View's label and the numbers; nothing is written where one
// is thrown; and what must not be refused. Regression classes: D aliasing (kokkos #6667, oneDPL
// #637), F empty arrays whose arguments nobody checked (pytorch #188361), H workspace size and
// alignment (cccl #9742), M swallowed errors.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "support/flat.hpp"
#include "support/types.hpp"

namespace test {
namespace errors {

// All Views of a kind have one type, so that each call is instantiated once.
template <class T>
using Field = Kokkos::View<T**, Kokkos::LayoutStride, Device>;
template <class T>
using LineField = Kokkos::View<T*, Kokkos::LayoutStride, Device>;
using Bytes = Kokkos::View<std::byte*, Device>;

constexpr float poison = 12345.0f;

template <class T>
Field<T> field(std::string const& label, std::size_t rows, std::size_t columns, T value) {
  Kokkos::View<T**, Kokkos::LayoutRight, Device> const f(label, rows, columns);
  fill(f, value);
  return f;
}
template <class T>
LineField<T> line_field(std::string const& label, std::size_t size, T value) {
  Flat<T> const f(label, size);
  fill(f, value);
  return f;
}

/// Whether every element is `value`; of contiguous Views.
template <class View>
bool is_all(View const& view, typename View::non_const_value_type value) {
  Flat<typename View::non_const_value_type> const flat(view.data(), view.size());
  for (auto const element : to_host(flat)) {
    if (element != value) return false;
  }
  return true;
}

// ---- the axis -----------------------------------------------------------------------------------

template <class Function>
void axis_out_of_range() {
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 4, poison);
  for (int const axis :
       {2, 3, -3, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, axis); }),
              std::string(Function::name) + ": axis " + std::to_string(axis) +
                  " is out of range for input \"x\" of rank 2: allowed are -2 to 1.");
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, ks::along(axis).backward()); }),
              std::string(Function::name) + ": axis " + std::to_string(axis) +
                  " is out of range for input \"x\" of rank 2: allowed are -2 to 1.");
  }
  // An axis that no int holds is not taken for another one.
  for (std::int64_t const axis : {std::int64_t(1) << 32, -(std::int64_t(1) << 32)}) {
    EXPECT_NE(refusal([&] { Function::scan(Exec(), x, y, axis); }), "nothing was thrown");
  }
  EXPECT_TRUE(is_all(y, poison));
  auto const x1 = line_field("x1", 3, 1.0f);
  auto const y1 = line_field("y1", 3, poison);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x1, y1, 1); }),
            std::string(Function::name) +
                ": axis 1 is out of range for input \"x1\" of rank 1: allowed are -1 to 0.");
  EXPECT_TRUE(is_all(y1, poison));
}

TEST(errors, axis_out_of_range) {
  axis_out_of_range<Inclusive>();
  axis_out_of_range<Exclusive>();
}

// M: a View of null that has elements is refused, whatever it is to the scan.
template <class Function>
void views_of_null() {
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 4, poison);
  Field<float> const null(nullptr, Kokkos::LayoutStride(3, 4, 4, 1));
  LineField<float> const null_line(nullptr, Kokkos::LayoutStride(3, 1));
  auto const message = [](std::string const& role) {
    return std::string(Function::name) + ": " + role + " \"\" has elements, but its data is null.";
  };
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, null, 1); }), message("output"));
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), null, y, 1); }), message("input"));
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, ks::along(1).totals(null_line)); }),
            message("totals"));
  EXPECT_EQ(refusal([&] {
              Function::scan(Exec(), x, y, ks::along(1).starting_at(null_line).totals(null_line));
            }),
            message("starting values"));
  EXPECT_TRUE(is_all(y, poison));
}

TEST(errors, views_of_null_that_have_elements) {
  views_of_null<Inclusive>();
  views_of_null<Exclusive>();
}

// F: nothing to do is nothing done, however many lines there are.
void empty_lines_cost_nothing() {
  std::int64_t const many = std::int64_t(1) << 40;
  Kokkos::View<float***, Kokkos::LayoutRight, Device> const x(nullptr, many, many >> 20, 0);
  ks::inclusive_scan(Exec(), x, x);
  ks::exclusive_scan(Exec(), x, x);
  Exec().fence();
}

TEST(errors, empty_lines_cost_nothing) { empty_lines_cost_nothing(); }

struct IndexSum {
  KOKKOS_FUNCTION float operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<float>(i + j);
  }
};

template <class Function>
void axis_out_of_range_of_computed_input() {
  auto const y = field("y", 3, 4, poison);
  std::array<std::int64_t, 2> const extents{3, 4};
  auto const x = ks::elementwise(extents, IndexSum{});
  auto const mask = field("m", 3, 4, true);
  std::string const message =
      std::string(Function::name) +
      ": axis -3 is out of range for input \"elementwise\" of rank 2: allowed are -2 to 1.";
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, -3); }), message);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, mask), y, -3); }), message);
  EXPECT_TRUE(is_all(y, poison));
}

TEST(errors, axis_out_of_range_of_a_computed_input) {
  axis_out_of_range_of_computed_input<Inclusive>();
  axis_out_of_range_of_computed_input<Exclusive>();
}

// ---- extents ------------------------------------------------------------------------------------

void output_extents_inclusive() {
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 5, poison);
  auto const z = field("z", 2, 4, poison);
  std::string const f = "KokkosScan::inclusive_scan: ";
  std::string const y1 = "extent 1 of output \"y\" is 5, but extent 1 of input \"x\" is 4.";
  std::string const z0 = "extent 0 of output \"z\" is 2, but extent 0 of input \"x\" is 3.";
  EXPECT_EQ(refusal([&] { ks::inclusive_scan(Exec(), x, y, 0); }), f + y1);
  EXPECT_EQ(refusal([&] { ks::inclusive_scan(Exec(), x, y, 1); }), f + y1);  // no n+1 form
  EXPECT_EQ(refusal([&] { ks::inclusive_scan(Exec(), x, z, 0); }), f + z0);
  EXPECT_EQ(refusal([&] { ks::inclusive_scan(Exec(), x, z, 1); }), f + z0);
  EXPECT_TRUE(is_all(y, poison));
  EXPECT_TRUE(is_all(z, poison));
}

void output_extents_exclusive() {
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 7, poison);
  auto const z = field("z", 3, 3, poison);
  auto const w = field("w", 4, 4, poison);
  std::string const f = "KokkosScan::exclusive_scan: ";
  EXPECT_EQ(
      refusal([&] { ks::exclusive_scan(Exec(), x, y, 1); }),
      f + "extent 1 of output \"y\" is 7, but extent 1 of input \"x\" is 4: expected 4, or 5 to "
          "hold the total.");
  EXPECT_EQ(
      refusal([&] { ks::exclusive_scan(Exec(), x, z, -1); }),
      f + "extent 1 of output \"z\" is 3, but extent 1 of input \"x\" is 4: expected 4, or 5 to "
          "hold the total.");
  // One element more, but across the axis.
  EXPECT_EQ(refusal([&] { ks::exclusive_scan(Exec(), x, w, 1); }),
            f + "extent 0 of output \"w\" is 4, but extent 0 of input \"x\" is 3.");
  EXPECT_EQ(refusal([&] { ks::exclusive_scan(Exec(), x, y, 0); }),
            f + "extent 1 of output \"y\" is 7, but extent 1 of input \"x\" is 4.");
  EXPECT_TRUE(is_all(y, poison));
  EXPECT_TRUE(is_all(z, poison));
  EXPECT_TRUE(is_all(w, poison));
}

TEST(errors, extents_of_the_output) {
  output_extents_inclusive();
  output_extents_exclusive();
}

// F: empty arrays are no excuse (pytorch #188361).
template <class Function>
void empty_arrays_are_checked() {
  std::string const f = std::string(Function::name) + ": ";
  auto const x = field("x", 0, 4, 1.0f);
  auto const y = field("y", 0, 6, poison);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, x, 2); }),
            f + "axis 2 is out of range for input \"x\" of rank 2: allowed are -2 to 1.");
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 0); }),
            f + "extent 1 of output \"y\" is 6, but extent 1 of input \"x\" is 4.");
  auto const empty_lines = field("x", 3, 0, 1.0f);
  auto const two = field("two", 3, 2, poison);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), empty_lines, two, 0); }),
            f + "extent 1 of output \"two\" is 2, but extent 1 of input \"x\" is 0.");
  auto const t = line_field("t", 4, poison);
  EXPECT_EQ(
      refusal([&] { Function::scan(Exec(), empty_lines, empty_lines, ks::along(1).totals(t)); }),
      f + "extent 0 of totals \"t\" is 4, but extent 0 of input \"x\" is 3.");
  EXPECT_TRUE(is_all(two, poison));
  EXPECT_TRUE(is_all(t, poison));
}

TEST(errors, arguments_of_empty_arrays_are_checked) {
  empty_arrays_are_checked<Inclusive>();
  empty_arrays_are_checked<Exclusive>();
}

template <class Function>
void mask_extents() {
  std::string const f = std::string(Function::name) + ": ";
  auto const x = field("x", 4, 5, 1.0f);
  auto const y = field("y", 4, 5, poison);
  auto const m = field("m", 3, 5, true);
  auto const m2 = field("m2", 4, 6, true);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, m), y, 1); }),
            f + "extent 0 of mask \"m\" is 3, but extent 0 of input \"x\" is 4.");
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, m2), y, 1); }),
            f + "extent 1 of mask \"m2\" is 6, but extent 1 of input \"x\" is 5.");
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, m2), y, 0); }),
            f + "extent 1 of mask \"m2\" is 6, but extent 1 of input \"x\" is 5.");
  std::array<std::int64_t, 2> const extents{4, 4};
  auto const computed = ks::elementwise(extents, IndexSum{});
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, computed), y, 1); }),
            f + "extent 1 of mask \"elementwise\" is 4, but extent 1 of input \"x\" is 5.");
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(computed, m), y, 1); }),
            f + "extent 0 of mask \"m\" is 3, but extent 0 of input \"elementwise\" is 4.");
  EXPECT_TRUE(is_all(y, poison));
}

TEST(errors, extents_of_a_mask) {
  mask_extents<Inclusive>();
  mask_extents<Exclusive>();
}

template <class Function>
void extents_of_views_of_the_lines() {
  std::string const f = std::string(Function::name) + ": ";
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 4, poison);
  auto const s = line_field("s", 3, 1.0f);
  auto const t = line_field("t", 4, poison);
  auto const both = [&](auto const& start, auto const& totals, int axis) {
    return refusal(
        [&] { Function::scan(Exec(), x, y, ks::along(axis).starting_at(start).totals(totals)); });
  };
  // Along axis 0 there are 4 lines, along axis 1 there are 3.
  EXPECT_EQ(both(s, t, 0),
            f + "extent 0 of starting values \"s\" is 3, but extent 1 of input \"x\" is 4.");
  EXPECT_EQ(both(s, t, 1), f + "extent 0 of totals \"t\" is 4, but extent 0 of input \"x\" is 3.");
  EXPECT_TRUE(is_all(y, poison));
  EXPECT_TRUE(is_all(t, poison));
  // The totals alone have another type of lines.
  auto const t2 = line_field("t2", 5, poison);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, ks::along(0).totals(t2)); }),
            f + "extent 0 of totals \"t2\" is 5, but extent 1 of input \"x\" is 4.");
  EXPECT_TRUE(is_all(y, poison));
  EXPECT_TRUE(is_all(t2, poison));
}

TEST(errors, extents_of_views_of_the_lines) {
  extents_of_views_of_the_lines<Inclusive>();
  extents_of_views_of_the_lines<Exclusive>();
}

struct Ones {
  KOKKOS_FUNCTION std::uint8_t operator()(std::int64_t) const { return 1; }
};

struct IndexSum3 {
  KOKKOS_FUNCTION float operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<float>(i + j + k);
  }
};

/// The axis is the middle one: dimension 1 of the lines is dimension 2 of the input.
void extents_of_lines_around_a_middle_axis() {
  std::array<std::int64_t, 3> const extents{2, 3, 4};
  Kokkos::View<float***, Device> const y("y", 2, 3, 4);
  auto const t = field("t", 2, 5, poison);
  EXPECT_EQ(refusal([&] {
              ks::inclusive_scan(Exec(), ks::elementwise(extents, IndexSum3{}), y,
                                 ks::along(1).totals(t));
            }),
            "KokkosScan::inclusive_scan: extent 1 of totals \"t\" is 5, but extent 2 of input "
            "\"elementwise\" is 4.");
  EXPECT_TRUE(is_all(t, poison));
}

TEST(errors, extents_of_totals_count_the_dimensions_of_the_input) {
  extents_of_lines_around_a_middle_axis();
}

template <class Function>
void negative_extent() {
  auto const y = field("y", 3, 4, poison);
  std::array<std::int64_t, 2> const extents{-3, 4};
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::elementwise(extents, IndexSum{}), y, 1); }),
            std::string(Function::name) +
                ": extent 0 of input \"elementwise\" is -3, but an extent must not be negative.");
  EXPECT_TRUE(is_all(y, poison));
}

TEST(errors, negative_extent_of_a_computed_input) {
  negative_extent<Inclusive>();
  negative_extent<Exclusive>();
}

/// workspace_bytes() refuses what it needs: the axis and the extents.
void workspace_bytes_checks() {
  auto const x = field("x", 3, 4, 1.0f);
  auto const y = field("y", 3, 6, poison);
  EXPECT_EQ(
      refusal([&] { (void)ks::workspace_bytes(Exec(), x, x, 5); }),
      "KokkosScan::workspace_bytes: axis 5 is out of range for input \"x\" of rank 2: allowed "
      "are -2 to 1.");
  EXPECT_EQ(
      refusal([&] { (void)ks::workspace_bytes(Exec(), x, y, 0); }),
      "KokkosScan::workspace_bytes: extent 1 of output \"y\" is 6, but extent 1 of input \"x\" "
      "is 4.");
}

TEST(errors, workspace_bytes_checks_axis_and_extents) { workspace_bytes_checks(); }

// ---- overlap ------------------------------------------------------------------------------------

std::string overlap(std::string const& function, std::string const& a, std::string const& b) {
  return function + ": " + a + " and " + b + " overlap in memory without being the same elements.";
}

/// rows x columns elements of `memory` from `offset`.
Field<float> part(Flat<float> const& memory, std::size_t offset, std::size_t rows,
                  std::size_t row_stride, std::size_t columns, std::size_t column_stride) {
  return Field<float>(memory.data() + offset,
                      Kokkos::LayoutStride(rows, row_stride, columns, column_stride));
}
LineField<float> line_part(Flat<float> const& memory, std::size_t offset, std::size_t size,
                           std::size_t stride) {
  return LineField<float>(memory.data() + offset, Kokkos::LayoutStride(size, stride));
}
Flat<float> ones(std::string const& label, std::size_t size) {
  Flat<float> const memory(label, size);
  fill(memory, 1.0f);
  return memory;
}

// D: in place and aliasing (kokkos #6667, oneDPL #637).
template <class Function>
void overlaps_are_refused() {
  std::string const same = overlap(Function::name, "output \"\"", "input \"\"");
  auto const m = ones("m", 200);
  auto const expect_refused = [&](Field<float> const& x, Field<float> const& y) {
    for (int const axis : {0, 1}) {
      EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, axis); }), same) << "axis " << axis;
      EXPECT_EQ(refusal([&] { Function::scan(Exec(), y, x, ks::along(axis).backward()); }), same)
          << "axis " << axis << ", swapped";
    }
  };
  auto const x = part(m, 0, 4, 5, 5, 1);
  {
    SCOPED_TRACE("shifted by one element");
    expect_refused(x, part(m, 1, 4, 5, 5, 1));
  }
  {
    SCOPED_TRACE("shifted by a row");
    expect_refused(x, part(m, 5, 4, 5, 5, 1));
  }
  {
    SCOPED_TRACE("only the corners meet");
    expect_refused(x, part(m, 19, 4, 5, 5, 1));
  }
  {
    SCOPED_TRACE("another pitch at the same address");
    expect_refused(x, part(m, 0, 4, 7, 5, 1));
  }
  {
    SCOPED_TRACE("blocks of one matrix that share a column");
    expect_refused(part(m, 0, 4, 12, 5, 1), part(m, 4, 4, 12, 5, 1));
  }
  {
    SCOPED_TRACE("transposed in place");
    expect_refused(part(m, 0, 5, 5, 5, 1), part(m, 0, 5, 1, 5, 5));
  }
  {
    SCOPED_TRACE("every second element against every third");
    expect_refused(part(m, 0, 1, 1, 20, 2), part(m, 0, 1, 1, 20, 3));
  }
  EXPECT_TRUE(is_all(m, 1.0f));
}

TEST(errors, overlap_of_output_and_input_is_refused) {
  overlaps_are_refused<Inclusive>();
  overlaps_are_refused<Exclusive>();
}

/// Subviews keep the label of what they are a part of.
template <class Function>
void overlap_of_labelled_views() {
  auto const memory = ones("density", 10);
  LineField<float> const x = Kokkos::subview(memory, std::pair(0, 8));
  LineField<float> const y = Kokkos::subview(memory, std::pair(1, 9));
  std::string const message = overlap(Function::name, "output \"density\"", "input \"density\"");
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y); }), message);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), y, x); }), message);
  EXPECT_TRUE(is_all(memory, 1.0f));
}

TEST(errors, overlap_names_the_labels) {
  overlap_of_labelled_views<Inclusive>();
  overlap_of_labelled_views<Exclusive>();
}

/// Results of values 1: the ordinal along the axis, from 1 (inclusive) or 0 (exclusive).
template <class Function>
void expect_counts(Flat<float> const& memory, Field<float> const& y, int axis) {
  auto const host = to_host(memory);
  float const first = std::is_same_v<Function, Inclusive> ? 1 : 0;
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) {
      auto const at = static_cast<std::size_t>(y.data() - memory.data()) +
                      i * static_cast<std::size_t>(y.stride(0)) +
                      j * static_cast<std::size_t>(y.stride(1));
      ASSERT_EQ(host[at], first + static_cast<float>(axis == 0 ? i : j)) << i << ", " << j;
    }
  }
}

struct Pair {
  char const* what;
  std::array<std::size_t, 5> x, y;  // offset, rows, row stride, columns, column stride
};

template <class Function>
void disjoint_pairs_are_accepted() {
  Pair const pairs[] = {
      {"in place", {3, 4, 5, 5, 1}, {3, 4, 5, 5, 1}},
      {"in place, padded", {0, 4, 9, 5, 1}, {0, 4, 9, 5, 1}},
      {"in place, columns", {0, 4, 1, 5, 4}, {0, 4, 1, 5, 4}},
      {"neighbours", {0, 4, 5, 5, 1}, {20, 4, 5, 5, 1}},
      {"even and odd elements", {0, 4, 10, 5, 2}, {1, 4, 10, 5, 2}},
      {"left and right block of a matrix", {0, 4, 10, 5, 1}, {5, 4, 10, 5, 1}},
      {"right and left block of a matrix", {5, 4, 10, 5, 1}, {0, 4, 10, 5, 1}},
      {"even and odd rows", {0, 4, 10, 5, 1}, {5, 4, 10, 5, 1}},
      {"even and odd rows, by columns", {0, 5, 1, 4, 10}, {5, 5, 1, 4, 10}},
      {"one row, garbage as its stride", {0, 1, 0, 9, 1}, {9, 1, 7, 9, 1}},
      {"in place, one row with other garbage", {0, 1, 0, 9, 1}, {0, 1, 7, 9, 1}},
      {"one element each", {0, 1, 0, 1, 0}, {1, 1, 0, 1, 0}},
      {"the same address, but empty", {0, 0, 5, 5, 1}, {2, 0, 5, 5, 1}},
  };
  for (Pair const& pair : pairs) {
    for (int const axis : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << pair.what << ", axis " << axis);
      auto const m = ones("m", 100);
      auto const x = part(m, pair.x[0], pair.x[1], pair.x[2], pair.x[3], pair.x[4]);
      auto const y = part(m, pair.y[0], pair.y[1], pair.y[2], pair.y[3], pair.y[4]);
      EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, axis); }), "nothing was thrown");
      expect_counts<Function>(m, y, axis);
    }
  }
}

TEST(errors, in_place_and_interleaved_views_are_accepted) {
  disjoint_pairs_are_accepted<Inclusive>();
  disjoint_pairs_are_accepted<Exclusive>();
}

/// In the n+1 form the input may be the first or the last n elements of the output, no others.
void overlap_in_the_form_with_the_total() {
  std::string const message = overlap("KokkosScan::exclusive_scan", "output \"\"", "input \"\"");
  for (bool const backward : {false, true}) {
    for (std::size_t const shift : {0, 1, 2}) {
      for (int const axis : {0, 1}) {
        SCOPED_TRACE(::testing::Message()
                     << "shift " << shift << ", axis " << axis << (backward ? ", backward" : ""));
        auto const m = ones("m", 100);
        // Pitch 8; the output has 6 elements along the axis, the input 5.
        auto const x = axis == 1 ? part(m, shift, 4, 8, 5, 1) : part(m, 8 * shift, 5, 8, 4, 1);
        auto const y = axis == 1 ? part(m, 0, 4, 8, 6, 1) : part(m, 0, 6, 8, 4, 1);
        auto const lines = backward ? ks::along(axis).backward() : ks::along(axis);
        auto const thrown = refusal([&] { ks::exclusive_scan(Exec(), x, y, lines); });
        EXPECT_EQ(thrown, shift == 2 ? message : "nothing was thrown");
        if (shift == 2) {
          EXPECT_TRUE(is_all(m, 1.0f));
        } else if (!backward) {
          expect_counts<Exclusive>(m, y, axis);
        }
      }
    }
  }
  // The n elements, but packed: another pitch.
  auto const m = ones("m", 100);
  EXPECT_EQ(refusal([&] {
              ks::exclusive_scan(Exec(), part(m, 0, 4, 5, 5, 1), part(m, 0, 4, 6, 6, 1), 1);
            }),
            message);
  // Shifted along the axis that is not scanned.
  EXPECT_EQ(refusal([&] {
              ks::exclusive_scan(Exec(), part(m, 8, 4, 8, 5, 1), part(m, 0, 4, 8, 6, 1), 1);
            }),
            message);
  EXPECT_TRUE(is_all(m, 1.0f));
}

TEST(errors, input_may_be_the_first_or_last_n_of_n_plus_one) {
  overlap_in_the_form_with_the_total();
}

/// The same bytes as another type are not the same elements.
template <class Function>
void overlap_of_other_types() {
  auto const memory = ones("m", 40);
  auto const y = part(memory, 0, 4, 5, 5, 1);
  Field<std::int32_t> const x(reinterpret_cast<std::int32_t*>(memory.data()),
                              Kokkos::LayoutStride(4, 5, 5, 1));
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 1); }),
            overlap(Function::name, "output \"\"", "input \"\""));
  EXPECT_TRUE(is_all(memory, 1.0f));
}

TEST(errors, the_same_address_with_another_type_is_refused) {
  overlap_of_other_types<Inclusive>();
  overlap_of_other_types<Exclusive>();
}

template <class Function>
void overlap_with_a_mask() {
  std::string const message = overlap(Function::name, "output \"\"", "mask \"\"");
  auto const m = ones("m", 100);
  auto const x = ones("x", 20);
  auto const plain = part(x, 0, 4, 5, 5, 1);
  auto const y = part(m, 0, 4, 5, 5, 1);
  // Any value that converts to bool is a mask.
  EXPECT_EQ(
      refusal([&] { Function::scan(Exec(), ks::masked(plain, part(m, 1, 4, 5, 5, 1)), y, 1); }),
      message);
  EXPECT_EQ(
      refusal([&] { Function::scan(Exec(), ks::masked(plain, part(m, 0, 4, 6, 5, 1)), y, 1); }),
      message);
  EXPECT_TRUE(is_all(m, 1.0f));
  // What is only read may be the same.
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(plain, plain), y, 1); }),
            "nothing was thrown");
  expect_counts<Function>(m, y, 1);
}

TEST(errors, overlap_of_output_and_mask_is_refused) {
  overlap_with_a_mask<Inclusive>();
  overlap_with_a_mask<Exclusive>();
}

template <class Function>
void overlaps_of_views_of_the_lines() {
  auto const m = ones("m", 100);
  auto const other = ones("other", 100);
  auto const x = part(m, 0, 4, 5, 5, 1);
  auto const y = part(m, 40, 4, 5, 5, 1);
  auto const free_line = line_part(other, 0, 4, 1);
  auto const both = [&](LineField<float> const& start, LineField<float> const& totals) {
    return refusal(
        [&] { Function::scan(Exec(), x, y, ks::along(1).starting_at(start).totals(totals)); });
  };
  EXPECT_EQ(both(free_line, line_part(m, 43, 4, 5)),
            overlap(Function::name, "totals \"\"", "output \"\""));
  EXPECT_EQ(both(free_line, line_part(m, 59, 4, 1)),
            overlap(Function::name, "totals \"\"", "output \"\""));
  EXPECT_EQ(both(free_line, line_part(m, 4, 4, 5)),
            overlap(Function::name, "totals \"\"", "input \"\""));
  EXPECT_EQ(both(line_part(m, 40, 4, 5), free_line),
            overlap(Function::name, "output \"\"", "starting values \"\""));
  EXPECT_EQ(both(free_line, line_part(other, 1, 4, 1)),
            overlap(Function::name, "totals \"\"", "starting values \"\""));
  EXPECT_TRUE(is_all(m, 1.0f));
  EXPECT_TRUE(is_all(other, 1.0f));

  // One and the same View of the lines; starting values inside the input, which is only read.
  EXPECT_EQ(both(free_line, free_line), "nothing was thrown");
  auto const totals = to_host(other);
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(totals[l], 6);
  EXPECT_EQ(both(line_part(m, 2, 4, 5), free_line), "nothing was thrown");
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(to_host(other)[l], 6);
}

TEST(errors, overlap_of_views_of_the_lines_is_refused) {
  overlaps_of_views_of_the_lines<Inclusive>();
  overlaps_of_views_of_the_lines<Exclusive>();
}

template <class Function>
void outputs_that_share_memory() {
  std::string const message =
      std::string(Function::name) + ": two elements of output \"y\" share memory.";
  auto const x = field("x", 4, 5, 1.0f);
  for (auto const& [row, column] : {std::pair<std::size_t, std::size_t>{0, 1},
                                    {5, 0},
                                    {0, 0},
                                    {1, 1},
                                    {1, 2},
                                    {3, 1},
                                    {2, 2}}) {
    Field<float> const y("y", Kokkos::LayoutStride(4, row, 5, column));
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 0); }), message)
        << "strides " << row << ", " << column;
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 1); }), message)
        << "strides " << row << ", " << column;
  }
  // Strides that look suspicious but keep every element apart: 5 i + 4 j for i < 4, j < 5.
  auto const m = ones("m", 200);
  for (auto const& [row, column] : {std::pair<std::size_t, std::size_t>{5, 4}, {1, 4}, {7, 20}}) {
    auto const y = part(m, 0, 4, row, 5, column);
    fill(m, 1.0f);
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 1); }), "nothing was thrown")
        << "strides " << row << ", " << column;
    expect_counts<Function>(m, y, 1);
  }
  // An input may repeat itself: one row for all lines.
  auto const y = part(m, 0, 4, 5, 5, 1);
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), part(ones("row", 5), 0, 4, 0, 5, 1), y, 1); }),
            "nothing was thrown");
  expect_counts<Function>(m, y, 1);
}

TEST(errors, two_elements_of_the_output_that_share_memory) {
  outputs_that_share_memory<Inclusive>();
  outputs_that_share_memory<Exclusive>();
}

template <class Function>
void totals_that_share_memory() {
  auto const x = field("x", 4, 5, 1.0f);
  auto const y = field("y", 4, 5, poison);
  LineField<float> const t("t", Kokkos::LayoutStride(4, 0));
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, ks::along(1).totals(t)); }),
            std::string(Function::name) + ": two elements of totals \"t\" share memory.");
  EXPECT_TRUE(is_all(y, poison));
}

TEST(errors, two_totals_that_share_memory) {
  totals_that_share_memory<Inclusive>();
  totals_that_share_memory<Exclusive>();
}

// ---- totals of empty lines ----------------------------------------------------------------------

void totals_of_empty_lines() {
  auto const x = line_field("x", 0, Affine{1, 2});
  Kokkos::View<Affine, Kokkos::LayoutStride, Device> const t("t", Kokkos::LayoutStride());
  EXPECT_EQ(
      refusal([&] {
        ks::inclusive_scan(Exec(), x, x, ks::along(0).totals(t), ComposeAffineWithoutIdentity{});
      }),
      "KokkosScan::inclusive_scan: totals \"t\" of empty lines need an identity of the operator "
      "or a starting value.");
  EXPECT_EQ(refusal([&] {
              ks::inclusive_scan(Exec(), x, x, ks::along(0).starting_at(Affine{3, 4}).totals(t),
                                 ComposeAffineWithoutIdentity{});
            }),
            "nothing was thrown");
  Affine total{};
  Kokkos::deep_copy(Kokkos::View<Affine, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&total),
                    Kokkos::View<Affine, Device, Kokkos::MemoryUnmanaged>(t.data()));
  EXPECT_EQ(total.slope, 3u);
  EXPECT_EQ(total.offset, 4u);
}

TEST(errors, totals_of_empty_lines_without_a_value) { totals_of_empty_lines(); }

// ---- workspace ----------------------------------------------------------------------------------

// H: workspace size and alignment (cccl #9742).
template <class Function>
void workspace_too_small_or_misaligned() {
  auto const backend = forced(Regime::split_lines);
  auto const function = std::is_same_v<Function, Inclusive> ? ks::impl::Function::inclusive_scan
                                                            : ks::impl::Function::exclusive_scan;
  std::string const f = std::string(Function::name) + ": ";
  std::size_t const n = 70'000;
  auto const x = line_field("x", n, 1.0f);
  auto const y = line_field("y", n, poison);
  auto const needed = ks::impl::workspace_bytes(Exec(), x, y, 0, ks::Sum{}, backend);
  ASSERT_GT(needed, 16u);
  Bytes const memory("memory", needed + 64);
  auto const thrown = [&](std::size_t first, std::size_t size) {
    Bytes const w = Kokkos::subview(memory, std::pair(first, first + size));
    return refusal([&] {
      ks::impl::scan(function, Exec(), x, y, ks::along(0).workspace(w), ks::Sum{}, backend);
    });
  };
  for (std::size_t const size : {std::size_t(0), std::size_t(1), std::size_t(16), needed - 1}) {
    EXPECT_EQ(thrown(0, size), f + "workspace \"memory\" has " + std::to_string(size) +
                                   " bytes, but " + std::to_string(needed) + " are needed.");
  }
  for (std::size_t const shift : {1, 4, 8, 15}) {
    EXPECT_EQ(thrown(shift, needed + 16),
              f + "workspace \"memory\" begins at an address that is not a multiple of 16.");
  }
  // Every byte between the first and the last would be used.
  using Strided = Kokkos::View<std::byte*, Kokkos::LayoutStride, Device>;
  Bytes const wide("wide", 2 * needed);
  Strided const every_other(wide.data(), Kokkos::LayoutStride(needed, 2));
  EXPECT_EQ(refusal([&] {
              ks::impl::scan(function, Exec(), x, y, ks::along(0).workspace(every_other), ks::Sum{},
                             backend);
            }),
            f + "workspace \"\" has stride 2, but must be contiguous.");
  EXPECT_TRUE(is_all(y, poison));
  EXPECT_EQ(thrown(0, needed), "nothing was thrown");
  EXPECT_EQ(to_host(Flat<float>(y.data(), n))[n - 1],
            static_cast<float>(std::is_same_v<Function, Inclusive> ? n : n - 1));
  fill(y, poison);
  EXPECT_EQ(thrown(16, needed + 1), "nothing was thrown");
  EXPECT_EQ(to_host(Flat<float>(y.data(), n))[1],
            static_cast<float>(std::is_same_v<Function, Inclusive> ? 2 : 1));
}

TEST(errors, workspace_that_is_too_small_or_misaligned) {
  workspace_too_small_or_misaligned<Inclusive>();
  workspace_too_small_or_misaligned<Exclusive>();
}

template <class Function>
void workspace_that_overlaps() {
  auto const memory = ones("memory", 64);
  auto const x = line_part(memory, 0, 16, 1);
  auto const y = line_part(memory, 16, 16, 1);
  auto const bytes = [&](std::size_t first, std::size_t size) {
    return Bytes(reinterpret_cast<std::byte*>(memory.data()) + first, size);
  };
  auto const thrown = [&](Bytes const& w) {
    return refusal([&] { Function::scan(Exec(), x, y, ks::along(0).workspace(w)); });
  };
  EXPECT_EQ(thrown(bytes(0, 64)), overlap(Function::name, "workspace \"\"", "input \"\""));
  EXPECT_EQ(thrown(bytes(112, 48)), overlap(Function::name, "workspace \"\"", "output \"\""));
  EXPECT_TRUE(is_all(memory, 1.0f));
  EXPECT_EQ(thrown(bytes(128, 128)), "nothing was thrown");
}

TEST(errors, workspace_that_overlaps_the_data) {
  workspace_that_overlaps<Inclusive>();
  workspace_that_overlaps<Exclusive>();
}

// M: an allocation that fails surfaces.
void workspace_that_cannot_be_had() {
  // Never touched: the workspace of so long a line comes first, and no machine has it.
  std::int64_t const n = std::int64_t(1) << 60;
  Flat<std::uint8_t> const little("little", 16);
  Flat<std::uint8_t> const y(little.data(), static_cast<std::size_t>(n));
  std::array<std::int64_t, 1> const extents{n};
  bool surfaced = false;
  try {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), ks::elementwise(extents, Ones{}), y,
                   0, ks::Sum{}, forced(Regime::split_lines));
  } catch (std::bad_alloc const&) {
    surfaced = true;
  } catch (std::runtime_error const&) {
    surfaced = true;
  }
  EXPECT_TRUE(surfaced);
  // And leaves nothing behind.
  auto const x = line_field("x", 3, 1.0f);
  auto const z = line_field("z", 3, poison);
  ks::inclusive_scan(Exec(), x, z, 0);
  EXPECT_EQ(to_host(Flat<float>(z.data(), 3)), (std::vector<float>{1, 2, 3}));
}

TEST(errors, workspace_that_cannot_be_had) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer ends the program where memory cannot be had";
#else
  workspace_that_cannot_be_had();
#endif
}

}  // namespace errors
}  // namespace test
