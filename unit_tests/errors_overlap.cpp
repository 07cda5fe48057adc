// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views that share memory: overlaps that are refused, with the exact message, and legal aliases.
// Regression class: D aliasing (kokkos #6667, oneDPL #637).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "support/flat.hpp"
#include "support/types.hpp"

namespace test {
namespace errors {
namespace {

std::string overlap(std::string const& function, std::string const& a, std::string const& b) {
  return function + ": " + a + " and " + b + " overlap in memory without being the same elements.";
}

/// rows x columns elements of `memory` from `offset`.
template <class T>
Field<T> part(Flat<T> const& memory, std::size_t offset, std::size_t rows, std::size_t row_stride,
              std::size_t columns, std::size_t column_stride) {
  return Field<T>(memory.data() + offset,
                  Kokkos::LayoutStride(rows, row_stride, columns, column_stride));
}
LineField<float> line_part(Flat<float> const& memory, std::size_t offset, std::size_t size,
                           std::size_t stride) {
  return LineField<float>(memory.data() + offset, Kokkos::LayoutStride(size, stride));
}
template <class T = float>
Flat<T> ones(std::string const& label, std::size_t size) {
  Flat<T> const memory(label, size);
  fill(memory, T(1));
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

/// Subviews keep the label of the original View.
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

/// Results for values of 1: the index along the axis, from 1 (inclusive) or 0 (exclusive).
template <class Function, class T>
void expect_counts(Flat<T> const& memory, Field<T> const& y, int axis) {
  auto const host = to_host(memory);
  T const first = std::is_same_v<Function, Inclusive> ? 1 : 0;
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) {
      auto const at = static_cast<std::size_t>(y.data() - memory.data()) +
                      i * static_cast<std::size_t>(y.stride(0)) +
                      j * static_cast<std::size_t>(y.stride(1));
      ASSERT_EQ(host[at], first + static_cast<T>(axis == 0 ? i : j)) << i << ", " << j;
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
  auto const m = ones<std::int32_t>("m", 100);
  auto const x = ones<std::int32_t>("x", 20);
  auto const plain = part(x, 0, 4, 5, 5, 1);
  auto const y = part(m, 0, 4, 5, 5, 1);
  // Any type that converts to bool can be a mask.
  EXPECT_EQ(
      refusal([&] { Function::scan(Exec(), ks::masked(plain, part(m, 1, 4, 5, 5, 1)), y, 1); }),
      message);
  EXPECT_EQ(
      refusal([&] { Function::scan(Exec(), ks::masked(plain, part(m, 0, 4, 6, 5, 1)), y, 1); }),
      message);
  EXPECT_TRUE(is_all(m, 1));
  // Operands that are only read may overlap.
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

  // Totals in the starting values; starting values in the input, which is only read.
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
  // Strides that look like an overlap, but all elements differ: 5 i + 4 j for i < 4, j < 5.
  auto const m = ones("m", 200);
  for (auto const& [row, column] : {std::pair<std::size_t, std::size_t>{5, 4}, {1, 4}, {7, 20}}) {
    auto const y = part(m, 0, 4, row, 5, column);
    fill(m, 1.0f);
    EXPECT_EQ(refusal([&] { Function::scan(Exec(), x, y, 1); }), "nothing was thrown")
        << "strides " << row << ", " << column;
    expect_counts<Function>(m, y, 1);
  }
  // An input may overlap itself: one row for all lines.
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

}  // namespace
}  // namespace errors
}  // namespace test
