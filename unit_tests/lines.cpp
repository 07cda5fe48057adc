// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Starting values, totals, workspaces. Classes F (kokkos #9319: the total of an empty line), H (the
// size of a workspace), D (totals in place of the starting values), K.

#include "lines.hpp"

#include <cstddef>

namespace test::lines {

std::vector<std::vector<std::int64_t>> const& all_extents() {
  static std::vector<std::vector<std::int64_t>> const extents{
      {4, 150, 3}, {140, 3, 5}, {1, 1, 1}, {5, 0, 3}, {0, 2, 4}, {2, 3, 0}, {2, 1, 300}};
  return extents;
}

/// Starting values and totals that may be strided, or the same array.
template <class T, class Op>
void check_starts_and_totals(Data data) {
  Random random(31);
  for (auto const& extents : all_extents()) {
    for_each_scan(3, [&](Scan const& scan) {
      for (bool const same : {false, true}) {
        Array<T> const in(strided(extents, random));
        Array<T> const out(strided(output_extents(extents, scan), random));
        Array<T> const starts(strided(line_extents(extents, scan), random));
        Array<T> const totals =
            same ? starts : Array<T>(strided(line_extents(extents, scan), random));
        in.fill(random, data).upload();
        starts.fill(random, data).upload();
        if (!same) totals.upload();
        out.upload();
        call(scan.form, Exec{}, const_view<3>(in), view<3>(out),
             lines_of(scan).starting_at(const_view<2>(starts)).totals(view<2>(totals)), Op{});
        out.download();
        totals.download();
        std::string const what = same ? "totals over starts" : "starts and totals";
        expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{}, StartArray<T>{starts},
                        &totals);
        expect_untouched_except(what, out.memory(), out);
        expect_untouched_except(what, totals.memory(), totals);
      }
    });
  }
}

/// One value for all lines, and no start.
template <class T, class Op>
void check_value_and_totals(Data data, T start) {
  Random random(32);
  for (auto const& extents : all_extents()) {
    for_each_scan(3, [&](Scan const& scan) {
      for (bool const started : {false, true}) {
        Array<T> const in(strided(extents, random));
        Array<T> const out(strided(output_extents(extents, scan), random));
        Array<T> const totals(strided(line_extents(extents, scan), random));
        in.fill(random, data).upload();
        out.upload();
        totals.upload();
        auto const lines = lines_of(scan).totals(view<2>(totals));
        if (started) {
          call(scan.form, Exec{}, const_view<3>(in), view<3>(out), lines.starting_at(start), Op{});
        } else {
          call(scan.form, Exec{}, const_view<3>(in), view<3>(out), lines, Op{});
        }
        out.download();
        totals.download();
        std::string const what = started ? "start value and totals" : "totals";
        if (started) {
          expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{},
                          StartValue<T>{start}, &totals);
        } else {
          expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{}, NoStart{}, &totals);
        }
        expect_untouched_except(what, out.memory(), out);
        expect_untouched_except(what, totals.memory(), totals);
        if (scan.form == Form::exclusive_with_total) {
          // The extra element is bitwise the total.
          for_each_index(totals.shape(), [&](Index const& line) {
            Index last{};
            for (int r = 0, l = 0; r < 3; ++r) last[r] = r == scan.axis ? 0 : line[l++];
            if (scan.direction == Direction::forward)
              last[scan.axis] = in.shape().extent[scan.axis];
            EXPECT_TRUE(oracle::same_bits(out.after(last), totals.after(line))) << what;
          });
        }
      }
    });
  }
}

/// Rank 1 has lines of rank 0, rank 8 has lines of rank 7.
template <int rank>
void check_rank(std::vector<std::int64_t> const& extents) {
  Random random(33);
  for_each_scan(rank, [&](Scan const& scan) {
    Array<std::int64_t> const in(strided(extents, random));
    Array<std::int64_t> const out(strided(output_extents(extents, scan), random));
    Array<std::int64_t> const starts(strided(line_extents(extents, scan), random));
    Array<std::int64_t> const totals(strided(line_extents(extents, scan), random));
    in.fill(random).upload();
    out.upload();
    starts.fill(random).upload();
    totals.upload();
    call(scan.form, Exec{}, const_view<rank>(in), view<rank>(out),
         lines_of(scan).totals(view<rank - 1>(totals)).starting_at(const_view<rank - 1>(starts)),
         ks::Sum{});
    out.download();
    totals.download();
    std::string const what = "rank " + std::to_string(rank);
    expect_scan<ks::Sum<>>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{},
                           StartArray<std::int64_t>{starts}, &totals);
    expect_untouched_except(what, out.memory(), out);
    expect_untouched_except(what, totals.memory(), totals);
  });
}

/// Starts, totals and output of three types: each is converted from or to the accumulator.
void check_types() {
  Random random(34);
  Scan const scan{Form::inclusive, 1, Direction::forward};
  Array<std::int32_t> const in(right({7, 200}));
  Array<std::int32_t> const out(in.shape());
  Array<std::int16_t> const starts(right({7}));
  Array<std::int64_t> const totals(right({7}));
  in.fill(random).upload();
  out.upload();
  starts.fill(random).upload();
  totals.upload();
  call_inclusive(Exec{}, const_view<2>(in), view<2>(out),
                 lines_of(scan).starting_at(const_view<1>(starts)).totals(view<1>(totals)),
                 ks::Sum<std::int64_t>{});
  out.download();
  totals.download();
  expect_scan<ks::Sum<std::int64_t>>("types of lines", scan, in.shape(), out, ValuesOf{in},
                                     KeepAll{}, StartArray<std::int16_t>{starts});
  for (std::int64_t line = 0; line < 7; ++line) {
    std::int64_t total = starts.before({line});
    for (std::int64_t k = 0; k < 200; ++k) total += in.before({line, k});
    EXPECT_EQ(totals.after({line}), total) << "a total has the accumulator's 64 bits";
  }
}

/// Negative axes count from the end; the default is the last axis.
void check_axes() {
  Random random(35);
  Array<std::int64_t> const in(right({3, 4, 5}));
  in.fill(random).upload();
  auto const input = const_view<3, Kokkos::LayoutRight>(in);
  for (int axis = -3; axis < 3; ++axis) {
    Array<std::int64_t> const out(in.shape());
    out.upload();
    call_inclusive(Exec{}, input, view<3, Kokkos::LayoutRight>(out), axis, ks::Sum{});
    out.download();
    expect_scan<ks::Sum<>>("axis " + std::to_string(axis),
                           Scan{Form::inclusive, (axis + 3) % 3, Direction::forward}, in.shape(),
                           out, ValuesOf{in});
  }
  Array<std::int64_t> const out(in.shape());
  Scan const last{Form::inclusive, 2, Direction::forward};
  out.upload();
  ks::inclusive_scan(Exec{}, input, view<3, Kokkos::LayoutRight>(out));
  Exec{}.fence();
  out.download();
  expect_scan<ks::Sum<>>("no axis", last, in.shape(), out, ValuesOf{in});
}

/// A workspace of exactly the required size, with arbitrary contents and minimal alignment.
template <class T, class Op>
void check_workspace(Op const& op, std::int64_t lines, std::int64_t n) {
  Random random(36);
  Array<T> const in(right({lines, n}));
  in.fill(random).upload();
  for (Form const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
    Scan const scan{form, 1, Direction::forward};
    Array<T> const out(right({lines, n + (form == Form::exclusive_with_total ? 1 : 0)}));
    out.upload();
    auto const input = const_view<2>(in);
    auto const output = view<2>(out);
    auto const bytes =
        static_cast<std::int64_t>(ks::workspace_bytes(Exec{}, input, output, lines_of(scan), op));
    Array<unsigned char> const workspace(right({bytes}), 16);
    workspace.upload();
    Kokkos::View<std::byte*, Device, Kokkos::MemoryUnmanaged> const lent(
        reinterpret_cast<std::byte*>(workspace.data()), static_cast<std::size_t>(bytes));
    call(form, Exec{}, input, output, lines_of(scan).workspace(lent), op);
    out.download();
    workspace.download();
    expect_scan<Op>("workspace", scan, in.shape(), out, ValuesOf{in});
    expect_untouched_except("workspace", workspace.memory(), workspace);
  }
}

}  // namespace test::lines

using namespace test;  // NOLINT: a test file

TEST(lines, starts_and_totals_of_integers) {
  lines::check_starts_and_totals<std::int64_t, ks::Sum<>>(Data::any);
}
TEST(lines, starts_and_totals_of_affine_maps) {
  lines::check_starts_and_totals<Affine, ComposeAffine>(Data::any);
}
TEST(lines, starts_and_totals_of_floats) {
  lines::check_starts_and_totals<float, ks::Sum<>>(Data::any);
}
TEST(lines, start_value_and_totals) {
  lines::check_value_and_totals<float, ks::Max<>>(Data::any, 0.25f);
  lines::check_value_and_totals<float, ks::Sum<>>(Data::any, 1e6f);
  lines::check_value_and_totals<Affine, ComposeAffine>(Data::any, Affine{3, 4});
}
TEST(lines, lines_of_rank_0) { lines::check_rank<1>({400}); }
TEST(lines, lines_of_rank_1) { lines::check_rank<2>({9, 140}); }
TEST(lines, lines_of_rank_7) { lines::check_rank<8>({2, 3, 1, 2, 5, 2, 3, 2}); }
TEST(lines, types) { lines::check_types(); }
TEST(lines, axes) { lines::check_axes(); }
TEST(lines, workspace) {
  lines::check_workspace<float>(ks::Sum{}, 1, 50257);
  lines::check_workspace<float>(ks::Sum{}, 3, 16385);
  lines::check_workspace<float>(ks::Sum{}, 100, 10);
  lines::check_workspace<Affine>(ComposeAffine{}, 1, 50257);
}
