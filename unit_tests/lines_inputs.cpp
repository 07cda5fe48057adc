// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Masks, computed inputs, and both nested. Classes G, I (the identity where a mask is false), J (a
// NaN that is masked out), D (masked in place).

#include "lines.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace test::lines {

/// An element of up to 8 indices: a number that differs from its neighbours.
struct Formula {
  std::int64_t seed;
  template <class... I>
  KOKKOS_FUNCTION std::int64_t operator()(I... i) const {
    std::uint64_t hash = static_cast<std::uint64_t>(seed);
    ((hash = (hash ^ static_cast<std::uint64_t>(i)) * 0x9E3779B97F4A7C15u), ...);
    return static_cast<std::int64_t>(hash >> 20);
  }
};
template <std::size_t... d>
std::int64_t evaluate(Formula const& formula, Index const& index, std::index_sequence<d...>) {
  return formula(index[d]...);
}
/// The same on the host, for the oracle.
template <int rank>
struct FormulaValues {
  Formula formula;
  std::int64_t operator()(Index const& index) const {
    return evaluate(formula, index, std::make_index_sequence<rank>{});
  }
};

/// A computed mask.
struct Odd {
  Formula formula;
  template <class... I>
  KOKKOS_FUNCTION bool operator()(I... i) const {
    return (formula(i...) & 1) != 0;
  }
};

enum class Pattern { all_true, all_false, alternating, random, first_only, last_only };

inline bool keeps(Pattern pattern, std::int64_t k, std::int64_t n, Random& random) {
  switch (pattern) {
    case Pattern::all_true:
      return true;
    case Pattern::all_false:
      return false;
    case Pattern::alternating:
      return k % 2 == 0;
    case Pattern::random:
      return random.below(2) == 0;
    case Pattern::first_only:
      return k == 0;
    default:
      return k == n - 1;
  }
}

/// The elements that a mask keeps, for the oracle.
template <class M>
struct Keeps {
  Array<M> mask;
  bool operator()(Index const& index) const { return static_cast<bool>(mask.before(index)); }
};

/// A View of values, masked by a View of M; where the mask is false, floats are NaN.
template <class T, class M, class Op>
void check_masks(Data data, bool in_place) {
  Random random(41);
  std::vector<std::int64_t> const extents{3, 150, 4};
  for (Pattern const pattern : {Pattern::all_true, Pattern::all_false, Pattern::alternating,
                                Pattern::random, Pattern::first_only, Pattern::last_only}) {
    for_each_scan(3, [&](Scan const& scan) {
      if (in_place && scan.form == Form::exclusive_with_total) return;
      Array<T> const in(strided(extents, random));
      Array<M> const mask(strided(extents, random));
      Array<T> const out = in_place ? in : Array<T>(strided(output_extents(extents, scan), random));
      in.fill(random, data);
      for_each_index(mask.shape(), [&](Index const& index) {
        bool const keep = keeps(pattern, index[scan.axis], mask.shape().extent[scan.axis], random);
        mask.set(index, keep ? static_cast<M>(1) : static_cast<M>(0));
        if constexpr (std::is_floating_point_v<T>) {
          if (!keep) in.set(index, std::nan(""));
        }
      });
      if (!in_place) out.upload();
      in.upload();
      mask.upload();
      call(scan.form, Exec{}, ks::masked(view<3>(in), const_view<3>(mask)), view<3>(out),
           lines_of(scan), Op{});
      out.download();
      std::string const what = "mask pattern " + std::to_string(static_cast<int>(pattern));
      expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, Keeps<M>{mask});
      expect_untouched_except(what, out.memory(), out);
    });
  }
}

/// A mask with starts and totals: the total of a fully masked-out line is its start.
void check_started_mask() {
  Random random(42);
  std::vector<std::int64_t> const extents{4, 40, 3};
  for (Pattern const pattern : {Pattern::all_false, Pattern::random, Pattern::last_only}) {
    for_each_scan(3, [&](Scan const& scan) {
      Array<Affine> const in(strided(extents, random));
      Array<bool> const mask(strided(extents, random));
      Array<Affine> const out(strided(output_extents(extents, scan), random));
      Array<Affine> const starts(strided(line_extents(extents, scan), random));
      Array<Affine> const totals(strided(line_extents(extents, scan), random));
      in.fill(random).upload();
      starts.fill(random).upload();
      for_each_index(mask.shape(), [&](Index const& index) {
        mask.set(index, keeps(pattern, index[scan.axis],
                              extents[static_cast<std::size_t>(scan.axis)], random));
      });
      mask.upload();
      out.upload();
      totals.upload();
      call(scan.form, Exec{}, ks::masked(const_view<3>(in), const_view<3>(mask)), view<3>(out),
           lines_of(scan).starting_at(const_view<2>(starts)).totals(view<2>(totals)),
           ComposeAffine{});
      out.download();
      totals.download();
      expect_scan<ComposeAffine>("started mask", scan, in.shape(), out, ValuesOf{in},
                                 Keeps<bool>{mask}, StartArray<Affine>{starts}, &totals);
    });
  }
}

/// Computed inputs, with extents given as numbers: every axis, into outputs of any strides.
template <int rank>
void check_computed(std::vector<std::int64_t> const& extents) {
  Random random(43);
  std::array<std::int64_t, rank> numbers{};
  for (std::size_t r = 0; r < rank; ++r) numbers[r] = extents[r];
  Formula const formula{44};
  for_each_scan(rank, [&](Scan const& scan) {
    // Strided, and contiguous in either order, because dimensions merge differently then.
    for (int layout = 0; layout < 3; ++layout) {
      auto const of_output = output_extents(extents, scan);
      Array<std::int64_t> const out(layout == 0   ? right(of_output)
                                    : layout == 1 ? left(of_output)
                                                  : strided(of_output, random));
      out.upload();
      call(scan.form, Exec{}, ks::elementwise(numbers, formula), view<rank>(out), lines_of(scan),
           ks::Sum{});
      out.download();
      expect_scan<ks::Sum<>>("computed", scan, right(extents), out, FormulaValues<rank>{formula});
      expect_untouched_except("computed", out.memory(), out);
    }
  });
}

/// The function's value for a line, as a start for the oracle.
struct StartFormula {
  Formula formula;
  template <class A>
  std::optional<A> get(Index const& line) const {
    return static_cast<A>(FormulaValues<2>{formula}(line));
  }
};

/// Starting values that a function computes, with outputs whose dimensions merge or do not. The
/// host kernels combine 1-byte integers in a wider type.
template <class T>
void check_computed_starts() {
  Random random(51);
  Formula const formula{52};
  for (std::vector<std::int64_t> const& extents :
       {std::vector<std::int64_t>{4, 70, 3}, std::vector<std::int64_t>{5, 0, 2}}) {
    for_each_scan(3, [&](Scan const& scan) {
      for (bool const is_dense : {true, false}) {
        auto const of_output = output_extents(extents, scan);
        auto const of_lines = line_extents(extents, scan);
        Array<T> const in(is_dense ? right(extents) : strided(extents, random));
        Array<T> const out(is_dense ? right(of_output) : strided(of_output, random));
        Array<T> const totals(is_dense ? right(of_lines) : strided(of_lines, random));
        in.fill(random).upload();
        out.upload();
        totals.upload();
        auto const starts = ks::elementwise({of_lines[0], of_lines[1]}, formula);
        call(scan.form, Exec{}, const_view<3>(in), view<3>(out),
             lines_of(scan).starting_at(starts).totals(view<2>(totals)), ks::Sum{});
        out.download();
        totals.download();
        expect_scan<ks::Sum<>>("computed starts", scan, in.shape(), out, ValuesOf{in}, KeepAll{},
                               StartFormula{formula}, &totals);
        expect_untouched_except("computed starts", out.memory(), out);
      }
    });
  }
}

/// A function's small values as another type.
template <class T>
struct Small {
  Formula formula;
  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t k) const {
    return static_cast<T>(formula(i, k) % 100);
  }
};

/// Computed lines, with lengths and numbers that share tiles, lanes and chunks in different ways,
/// and values as wide as the results or not.
template <class T, class Result>
void check_computed_lengths() {
  Small<T> const formula{Formula{50}};
  for (std::int64_t const n :
       {1, 2, 5, 8, 16, 17, 33, 40, 64, 72, 100, 128, 131, 257, 700, 1024, 1025, 5000, 10007}) {
    for (std::int64_t const lines : {2, 7, 50}) {
      if (n > 1025 && lines > 2) continue;
      std::array<std::int64_t, 2> const extents{lines, n};
      for_each_scan(2, [&](Scan const& scan) {
        if (scan.axis == 0) return;
        Array<Result> const out(right(output_extents({lines, n}, scan)));
        out.upload();
        call(scan.form, Exec{}, ks::elementwise(extents, formula), view<2>(out), lines_of(scan),
             ks::Sum{});
        out.download();
        expect_scan<ks::Sum<>>("computed of length " + std::to_string(n), scan, right({lines, n}),
                               out, [&](Index const& i) { return formula(i[0], i[1]); });
      });
    }
  }
}

/// A product of two Views, as in a column integral, with the extents of a View.
struct Product {
  Kokkos::View<double const**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged> rho, dz;
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t k) const {
    return rho(i, k) * dz(i, k);
  }
};

void check_product() {
  Random random(45);
  Array<double> const rho(strided({30, 72}, random));
  Array<double> const dz(strided({30, 72}, random));
  rho.fill(random, Data::one_sign).upload();
  dz.fill(random, Data::one_sign).upload();
  for_each_scan(2, [&](Scan const& scan) {
    Array<double> const out(right(output_extents({30, 72}, scan)));
    out.upload();
    auto const input =
        ks::elementwise(const_view<2>(rho), Product{const_view<2>(rho), const_view<2>(dz)});
    call(scan.form, Exec{}, input, view<2>(out), lines_of(scan), ks::Sum{});
    out.download();
    expect_scan<ks::Sum<>>("product", scan, rho.shape(), out, [&](Index const& index) {
      return rho.before(index) * dz.before(index);
    });
  });
}

/// A computed input that reads only the element that its result overwrites.
struct SquareOf {
  Kokkos::View<std::int64_t**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged> x;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    return x(i, j) * x(i, j);
  }
};

void check_computed_in_place() {
  Random random(46);
  for_each_scan(2, [&](Scan const& scan) {
    if (scan.form == Form::exclusive_with_total) return;
    Array<std::int64_t> const x(right({5, 300}));
    for_each_index(x.shape(), [&](Index const& index) { x.set(index, random.below(1000)); });
    x.upload();
    call(scan.form, Exec{}, ks::elementwise(view<2>(x), SquareOf{view<2>(x)}), view<2>(x),
         lines_of(scan), ks::Sum{});
    x.download();
    expect_scan<ks::Sum<>>("computed in place", scan, x.shape(), x,
                           [&](Index const& index) { return x.before(index) * x.before(index); });
  });
}

/// masked(View, computed), masked(computed, View), masked(masked(computed, View), computed),
/// and a mask that is masked itself.
void check_nested() {
  Random random(47);
  std::vector<std::int64_t> const extents{6, 140, 2};
  std::array<std::int64_t, 3> const numbers{6, 140, 2};
  Formula const formula{48};
  Odd const odd{Formula{49}};
  FormulaValues<3> const values{formula};
  auto const is_odd = [&](Index const& index) {
    return (FormulaValues<3>{odd.formula}(index)&1) != 0;
  };
  Array<std::int64_t> const x(strided(extents, random));
  Array<bool> const mask(strided(extents, random));
  x.fill(random).upload();
  mask.fill(random).upload();
  Keeps<bool> const kept{mask};
  auto const both = [&](Index const& index) { return kept(index) && is_odd(index); };

  for_each_scan(3, [&](Scan const& scan) {
    Array<std::int64_t> const out(strided(output_extents(extents, scan), random));
    auto const check = [&](std::string const& what, auto const& input, auto const& value,
                           auto const& keep) {
      out.upload();
      call(scan.form, Exec{}, input, view<3>(out), lines_of(scan), ks::Sum{});
      out.download();
      expect_scan<ks::Sum<>>(what, scan, right(extents), out, value, keep);
      expect_untouched_except(what, out.memory(), out);
    };
    auto const computed = ks::elementwise(numbers, formula);
    auto const computed_mask = ks::elementwise(numbers, odd);
    auto const x_view = const_view<3>(x);
    auto const mask_view = const_view<3>(mask);
    check("View, computed mask", ks::masked(x_view, computed_mask), ValuesOf{x}, is_odd);
    check("computed, View as mask", ks::masked(computed, mask_view), values, kept);
    check("masked twice", ks::masked(ks::masked(computed, mask_view), computed_mask), values, both);
    check("masked mask", ks::masked(x_view, ks::masked(computed_mask, mask_view)), ValuesOf{x},
          both);
  });
}

/// Counts how often each element is computed.
struct Counted {
  Kokkos::View<std::uint32_t**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged> calls;
  KOKKOS_FUNCTION std::int32_t operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<std::int32_t>(Kokkos::atomic_fetch_inc(&calls(i, j))) * 0 + 1;
  }
};

/// Once if there are more lines than threads, at most twice if lines are split.
void check_calls(std::int64_t lines, std::int64_t n, std::uint32_t most) {
  Array<std::uint32_t> const calls(right({lines, n}));
  Array<std::int32_t> const out(right({lines, n}));
  for_each_index(calls.shape(), [&](Index const& index) { calls.set(index, 0); });
  calls.upload();
  out.upload();
  call_inclusive(Exec{}, ks::elementwise(view<2>(calls), Counted{view<2>(calls)}), view<2>(out), 1,
                 ks::Sum{});
  calls.download();
  out.download();
  for_each_index(calls.shape(), [&](Index const& index) {
    std::uint32_t const count = calls.after(index);
    ASSERT_TRUE(count >= 1 && count <= most) << index[0] << ", " << index[1] << ": " << count;
    ASSERT_EQ(out.after(index), index[1] + 1);
  });
}

void check_all_calls() {
  auto const threads = static_cast<std::int64_t>(Exec{}.concurrency());
  check_calls(threads, 20, 1);
  check_calls(1, 100, 1);
  check_calls(1, 100000, 2);
}

/// The elements of four inputs.
struct Four {
  std::uint64_t a, b, c, d;
};
struct AddFours {
  using accumulator_type = Four;
  KOKKOS_FUNCTION Four operator()(Four const& x, Four const& y) const {
    return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
  }
  KOKKOS_FUNCTION static Four identity() { return {0, 0, 0, 0}; }
};
/// A linear function, so that sums of its values can be computed from sums of its arguments.
struct MixFour {
  KOKKOS_FUNCTION std::uint64_t operator()(Four const& x) const {
    return x.a + 3 * x.b + 5 * x.c + 7 * x.d;
  }
};
struct UnsignedFormula {
  Formula formula;
  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<std::uint64_t>(formula(i, j, k));
  }
};

/// Zips four inputs of different types, layouts and kinds, with and without a mask.
void check_zip_of_four() {
  Random random(53);
  std::vector<std::int64_t> const extents{5, 140, 9};
  UnsignedFormula const formula{Formula{54}};
  Array<std::uint32_t> const a(right(extents));
  Array<std::uint64_t> const b(left(extents));
  Array<std::uint8_t> const d(strided(extents, random));
  Array<bool> const mask(strided(extents, random));
  a.fill(random).upload();
  b.fill(random).upload();
  d.fill(random).upload();
  mask.fill(random).upload();
  auto const c = ks::elementwise({extents[0], extents[1], extents[2]}, formula);
  auto const zipped = ks::zip(const_view<3>(a), const_view<3>(b), c, const_view<3>(d));
  auto const value = [&](Index const& i) {
    return MixFour{}({a.before(i), b.before(i), formula(i[0], i[1], i[2]), d.before(i)});
  };
  for_each_scan(3, [&](Scan const& scan) {
    Array<std::uint64_t> const out(strided(output_extents(extents, scan), random));
    out.upload();
    call(scan.form, Exec{}, zipped, ks::projected(view<3>(out), MixFour{}), lines_of(scan),
         AddFours{});
    out.download();
    expect_scan<ks::Sum<>>("zip of four", scan, right(extents), out, value);
    out.upload();
    call(scan.form, Exec{}, ks::masked(zipped, const_view<3>(mask)),
         ks::projected(view<3>(out), MixFour{}), lines_of(scan), AddFours{});
    out.download();
    expect_scan<ks::Sum<>>("masked zip of four", scan, right(extents), out, value,
                           Keeps<bool>{mask});
  });
}

}  // namespace test::lines

using namespace test;  // NOLINT: a test file

TEST(lines, masks_of_floats) {
  lines::check_masks<double, bool, ks::Sum<>>(Data::any, false);
  lines::check_masks<double, bool, ks::Sum<>>(Data::any, true);
}
TEST(lines, masks_of_other_types) {
  lines::check_masks<float, std::uint8_t, ks::Min<>>(Data::any, false);
}
TEST(lines, masks_of_affine_maps) {
  lines::check_masks<Affine, bool, ComposeAffine>(Data::any, false);
  lines::check_masks<Affine, bool, ComposeAffine>(Data::any, true);
}
TEST(lines, started_mask) { lines::check_started_mask(); }
TEST(lines, computed_rank_1) { lines::check_computed<1>({777}); }
TEST(lines, computed_rank_2) { lines::check_computed<2>({140, 5}); }
TEST(lines, computed_rank_3) { lines::check_computed<3>({3, 5, 140}); }
TEST(lines, computed_rank_8) { lines::check_computed<8>({2, 1, 3, 2, 4, 2, 1, 3}); }
TEST(lines, computed_starts) {
  lines::check_computed_starts<std::int64_t>();
  lines::check_computed_starts<std::int8_t>();
}
TEST(lines, computed_lengths) {
  lines::check_computed_lengths<float, float>();
  lines::check_computed_lengths<std::int16_t, std::int64_t>();
}
TEST(lines, computed_empty) {
  lines::check_computed<2>({0, 4});
  lines::check_computed<2>({4, 0});
}
TEST(lines, product) { lines::check_product(); }
TEST(lines, computed_in_place) { lines::check_computed_in_place(); }
TEST(lines, nested) { lines::check_nested(); }
TEST(lines, calls) { lines::check_all_calls(); }
TEST(lines, zip_of_four_inputs) { lines::check_zip_of_four(); }
