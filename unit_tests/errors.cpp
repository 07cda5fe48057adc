// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exact text of every message, including labels and numbers; that nothing is written when one
// is thrown; and calls that must not be refused. Overlaps are in errors_overlap.cpp. Regression
// classes: F unchecked arguments of empty arrays (pytorch #188361), H workspace size and alignment
// (cccl #9742), M swallowed errors.

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
  // An axis that overflows int is not converted to another one.
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

// M: a null View with elements is refused in every role.
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

// F: without elements nothing is done, however many lines there are.
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

struct IsOnDiagonal {
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::int64_t j) const { return i == j; }
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
  // One element more, but along another dimension.
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

// F: arguments of empty arrays are checked too (pytorch #188361).
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
  auto const computed_mask = ks::elementwise(extents, IsOnDiagonal{});
  EXPECT_EQ(refusal([&] { Function::scan(Exec(), ks::masked(x, computed_mask), y, 1); }),
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
  // Wrong totals without starting values.
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

/// workspace_bytes() checks the arguments that it uses: axis and extents.
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
  // A workspace must be contiguous.
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

// M: failed allocations are reported.
void workspace_that_cannot_be_had() {
  // Never accessed: allocating the workspace for such a long line fails first.
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
  // And there are no side effects.
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
