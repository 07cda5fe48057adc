// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Outputs that are projected, and outputs that are functions: every form, axis and direction, with
// masks, starts and totals, by the tree and in order.

#include "lines.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace test::lines {

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// ---- Projected ----------------------------------------------------------------------------------

/// Exact in any arithmetic type, and never equal to its argument.
struct Shifted {
  template <class T>
  KOKKOS_FUNCTION T operator()(T const& x) const {
    return static_cast<T>(x + T(3));
  }
};
struct ShiftOf {
  KOKKOS_FUNCTION double operator()(Affine const& x) const { return static_cast<double>(x.offset); }
};
/// A composition with an accumulator type.
struct NamedCompose : ComposeAffine {
  using accumulator_type = Affine;
};

/// A projected scan is bitwise the function of a plain scan.
template <class Function, class Op, class Stored, class T, class Out, class Change>
void check_projected(std::vector<std::int64_t> const& extents, Data data, Change const& change) {
  Random random(61);
  for (int layout = 0; layout < 3; ++layout) {
    for_each_scan(3, [&](Scan const& scan) {
      auto const of_output = output_extents(extents, scan);
      auto const shape = [&](std::vector<std::int64_t> const& e) {
        return layout == 0 ? right(e) : layout == 1 ? left(e) : strided(e, random);
      };
      // With the same strides, because the combination tree may depend on them.
      Shape const output_shape = shape(of_output);
      Array<T> const in(shape(extents));
      Array<Stored> const plain(output_shape);
      Array<Out> const out(output_shape);
      in.fill(random, data).upload();
      plain.upload();
      out.upload();
      call(scan.form, Exec{}, const_view<3>(in), view<3>(plain), change(lines_of(scan)), Op{});
      call(scan.form, Exec{}, const_view<3>(in), ks::projected(view<3>(out), Function{}),
           change(lines_of(scan)), Op{});
      plain.download();
      out.download();
      int differences = 0;
      for_each_index(out.shape(), [&](Index const& i) {
        auto const expected = static_cast<Out>(Function{}(plain.after(i)));
        differences += same_bits(out.after(i), expected) ? 0 : 1;
      });
      EXPECT_EQ(differences, 0) << "projected, layout " << layout << ", " << scan.text();
      expect_untouched_except("projected", out.memory(), out);
    });
  }
}
template <class T, class Op>
void check_shifted(std::vector<std::int64_t> const& extents, Data data = Data::any) {
  check_projected<Shifted, Op, T, T, T>(extents, data, [](auto const& lines) { return lines; });
}

/// The input may be the View that is projected to.
void check_projected_in_place() {
  Random random(62);
  for_each_scan(2, [&](Scan const& scan) {
    if (scan.form == Form::exclusive_with_total) return;
    Shape const shape = strided({7, 301}, random);
    Array<float> const x(shape);
    Array<float> const plain(shape);
    x.fill(random).upload();
    plain.upload();
    call(scan.form, Exec{}, view<2>(x), view<2>(plain), lines_of(scan), ks::Sum{});
    call(scan.form, Exec{}, view<2>(x), ks::projected(view<2>(x), Shifted{}), lines_of(scan),
         ks::Sum{});
    x.download();
    plain.download();
    for_each_index(x.shape(), [&](Index const& i) {
      ASSERT_TRUE(same_bits(x.after(i), Shifted{}(plain.after(i)))) << scan.text();
    });
  });
}

// ---- For each result ----------------------------------------------------------------------------

/// Stores results and counts calls.
template <class T, int rank>
struct Store {
  using Values = decltype(view<rank>(std::declval<Array<T> const&>()));
  using Counts = decltype(view<rank>(std::declval<Array<std::uint32_t> const&>()));
  Values values;
  Counts counts;

  template <class... I>
  requires(sizeof...(I) == rank + 1)  //
      KOKKOS_FUNCTION void
      operator()(I const&... indices_and_value) const {
    store(std::make_index_sequence<rank>{}, indices_and_value...);
  }

 private:
  template <std::size_t... d, class... I>
  KOKKOS_FUNCTION void store(std::index_sequence<d...>, I const&... all) const {
    call(all...);
  }
  KOKKOS_FUNCTION void call(std::int64_t i, T const& value) const { put(value, i); }
  KOKKOS_FUNCTION void call(std::int64_t i, std::int64_t j, T const& value) const {
    put(value, i, j);
  }
  KOKKOS_FUNCTION void call(std::int64_t i, std::int64_t j, std::int64_t k, T const& value) const {
    put(value, i, j, k);
  }
  template <class... I>
  KOKKOS_FUNCTION void put(T const& value, I... i) const {
    values(i...) = value;
    Kokkos::atomic_inc(&counts(i...));
  }
};

/// The recorded calls of the function.
template <class T>
struct Given {
  Array<T> values;
  Array<std::uint32_t> counts;

  explicit Given(Shape const& shape) : values(shape), counts(shape) {
    for_each_index(shape, [&](Index const& i) { counts.set(i, 0); });
    values.upload();
    counts.upload();
  }
  template <int rank>
  auto store() const {
    return Store<T, rank>{view<rank>(values), view<rank>(counts)};
  }
  void expect_once(std::string const& what) const {
    values.download();
    counts.download();
    int others = 0;
    for_each_index(counts.shape(), [&](Index const& i) { others += counts.after(i) != 1; });
    EXPECT_EQ(others, 0) << what << ": results that were not given exactly once";
    expect_untouched_except(what, values.memory(), values);
  }
};

/// The function gets each result once, with its indices: by the tree and in order, for any layout,
/// with and without mask, start and totals.
template <class T, class Op>
void check_for_each(std::vector<std::int64_t> const& extents, Data data) {
  Random random(63);
  for (int variant = 0; variant < 6; ++variant) {
    for_each_scan(3, [&](Scan const& scan) {
      std::string const what = "for_each_result, variant " + std::to_string(variant);
      auto const of_output = output_extents(extents, scan);
      auto const of_lines = line_extents(extents, scan);
      auto const shape = [&](std::vector<std::int64_t> const& e) {
        return variant % 3 == 0 ? right(e) : variant % 3 == 1 ? left(e) : strided(e, random);
      };
      Array<T> const in(shape(extents));
      Array<bool> const mask(shape(extents));
      Array<T> const starts(shape(of_lines));
      Array<T> const totals(shape(of_lines));
      Given<T> const given(shape(of_output));
      in.fill(random, data).upload();
      mask.fill(random).upload();
      starts.fill(random, data).upload();
      totals.upload();
      std::array<std::int64_t, 3> const numbers{of_output[0], of_output[1], of_output[2]};
      auto const out = ks::for_each_result(numbers, given.template store<3>());
      auto const lines = lines_of(scan);
      if (variant < 3) {
        call(scan.form, Exec{}, const_view<3>(in), out, lines, Op{});
        given.expect_once(what);
        expect_scan<Op>(what, scan, in.shape(), given.values, ValuesOf{in});
        return;
      }
      auto const from = lines.starting_at(const_view<2>(starts)).totals(view<2>(totals));
      auto const masked = ks::masked(const_view<3>(in), const_view<3>(mask));
      if (variant == 4) {
        call(scan.form, Exec{}, masked, out, from.in_order(), Op{});
      } else {
        call(scan.form, Exec{}, masked, out, from, Op{});
      }
      totals.download();
      given.expect_once(what);
      expect_scan<Op>(
          what, scan, in.shape(), given.values, ValuesOf{in},
          [&](Index const& i) { return mask.before(i); }, StartArray<T>{starts}, &totals);
    });
  }
}

/// Long lines, which are split among threads.
void check_for_each_of_long_lines() {
  Random random(64);
  for (std::int64_t const lines : {1, 2}) {
    for_each_scan(2, [&](Scan const& scan) {
      if (scan.axis == 0) return;
      Array<double> const in(right({lines, 70000}));
      Given<double> const given(right(output_extents({lines, 70000}, scan)));
      in.fill(random).upload();
      call(scan.form, Exec{}, const_view<2>(in),
           ks::for_each_result(view<2>(given.values), given.store<2>()), lines_of(scan), ks::Sum{});
      given.expect_once("for_each_result");
      expect_scan<ks::Sum<>>("for_each_result", scan, in.shape(), given.values, ValuesOf{in});
    });
  }
}

/// For lines without elements the function is called for the n+1st result only.
void check_for_each_of_none() {
  for_each_scan(2, [&](Scan const& scan) {
    std::vector<std::int64_t> extents{5, 5};
    extents[static_cast<std::size_t>(scan.axis)] = 0;
    Array<std::int64_t> const in(right(extents));
    Given<std::int64_t> const given(right(output_extents(extents, scan)));
    call(scan.form, Exec{}, const_view<2>(in),
         ks::for_each_result(view<2>(given.values), given.store<2>()),
         lines_of(scan).starting_at(7), ks::Sum{});
    given.expect_once("for_each_result of none");
    for_each_index(given.values.shape(),
                   [&](Index const& i) { ASSERT_EQ(given.values.after(i), 7); });
  });
}

/// The function may overwrite the element that its result belongs to.
void check_for_each_in_place() {
  Random random(65);
  for_each_scan(2, [&](Scan const& scan) {
    if (scan.form == Form::exclusive_with_total) return;
    Given<std::int64_t> const given(right({5, 700}));
    for_each_index(given.values.shape(),
                   [&](Index const& i) { given.values.set(i, random.below(1000)); });
    given.values.upload();
    call(scan.form, Exec{}, view<2>(given.values), ks::for_each_result({5, 700}, given.store<2>()),
         lines_of(scan), ks::Sum{});
    given.expect_once("for_each_result in place");
    expect_scan<ks::Sum<>>("for_each_result in place", scan, given.values.shape(), given.values,
                           ValuesOf{given.values});
  });
}

void check_for_each_of_rank_1() {
  Random random(66);
  for_each_scan(1, [&](Scan const& scan) {
    Array<std::int32_t> const in(right({1000}));
    Given<std::int32_t> const given(right(output_extents({1000}, scan)));
    in.fill(random).upload();
    call(scan.form, Exec{}, const_view<1>(in),
         ks::for_each_result(view<1>(given.values), given.store<1>()), lines_of(scan), ks::Max{});
    given.expect_once("for_each_result of rank 1");
    expect_scan<ks::Max<>>("for_each_result of rank 1", scan, in.shape(), given.values,
                           ValuesOf{in});
  });
}

}  // namespace test::lines

using namespace test;  // NOLINT: a test file

TEST(lines, projected_floats) {
  lines::check_shifted<float, ks::Sum<>>({3, 150, 20});
  lines::check_shifted<double, ks::Prod<>>({4, 5, 200});
}
TEST(lines, projected_integers) {
  lines::check_shifted<std::int64_t, ks::Max<>>({3, 150, 4});
  lines::check_shifted<std::uint8_t, ks::Sum<>>({20, 70, 3});
  lines::check_shifted<std::int32_t, ks::Sum<>>({2, 3, 4});
}
TEST(lines, projected_structs) {
  lines::check_projected<lines::ShiftOf, lines::NamedCompose, Affine, Affine, double>(
      {3, 150, 4}, Data::any, [](auto const& lines) { return lines; });
}
TEST(lines, projected_in_order) {
  lines::check_projected<lines::Shifted, ks::Sum<>, float, float, float>(
      {3, 150, 20}, Data::any, [](auto const& lines) { return lines.in_order(); });
}
TEST(lines, projected_empty) { lines::check_shifted<float, ks::Sum<>>({3, 0, 2}); }
TEST(lines, projected_in_place) { lines::check_projected_in_place(); }
TEST(lines, for_each_result) {
  lines::check_for_each<double, ks::Sum<>>({3, 150, 4}, Data::any);
  lines::check_for_each<std::int16_t, ks::Sum<>>({20, 7, 3}, Data::any);
}
TEST(lines, for_each_result_of_floats) {
  lines::check_for_each<float, ks::Max<>>({4, 3, 140}, Data::any);
}
TEST(lines, for_each_result_of_affine_maps) {
  lines::check_for_each<Affine, ComposeAffine>({3, 140, 2}, Data::any);
}
TEST(lines, for_each_result_of_long_lines) { lines::check_for_each_of_long_lines(); }
TEST(lines, for_each_result_of_none) { lines::check_for_each_of_none(); }
TEST(lines, for_each_result_in_place) { lines::check_for_each_in_place(); }
TEST(lines, for_each_result_of_rank_1) { lines::check_for_each_of_rank_1(); }
