// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Operators that do not commute, have state, have no identity, or are lambdas.
// Class K: the order of the operands, backward too.

#include "operators.hpp"

namespace test::operators {

/// Addition modulo a run-time number: an operator with state.
struct AddModulo {
  std::uint32_t modulus;
  KOKKOS_FUNCTION std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return (a + b) % modulus;
  }
  KOKKOS_FUNCTION std::uint32_t identity() const { return 0; }
};

/// 256 bytes, which is large for scratch memory.
struct Large {
  std::uint32_t x[64];  // std::array has no device functions
};
struct AddLarge {
  KOKKOS_FUNCTION Large operator()(Large const& a, Large const& b) const {
    Large c{};
    for (unsigned i = 0; i < 64; ++i) c.x[i] = a.x[i] + b.x[i];
    return c;
  }
};

/// A struct with + that is constructible from a number: sufficient for Sum.
struct Vector3 {
  std::int32_t x, y, z;
  Vector3() = default;
  KOKKOS_FUNCTION constexpr explicit Vector3(int i) : x(i), y(i), z(i) {}
  KOKKOS_FUNCTION constexpr Vector3(int a, int b, int c) : x(a), y(b), z(c) {}
  friend KOKKOS_FUNCTION Vector3 operator+(Vector3 const& a, Vector3 const& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
};

/// (lines, n) arrays of a struct for which the generic test driver has no data.
template <class T, class Make>
Array<T> make_array(Shape const& shape, Make&& make) {
  Array<T> const array(shape);
  std::uint32_t i = 0;
  for_each_index(shape, [&](Index const& index) { array.set(index, make(++i)); });
  array.upload();
  return array;
}

/// The oracle needs default-constructible operators, so AddModulo has its own comparison.
void check_state() {
  Array<std::uint32_t> const in = make_array<std::uint32_t>(
      right({5, 1000}), [](std::uint32_t i) { return i * 7919u % 1009u; });
  Array<std::uint32_t> const out(right({5, 1001}));
  out.upload();
  call_exclusive(Exec{}, const_view<2>(in), view<2>(out), ks::along(1), AddModulo{1009});
  out.download();
  for (std::int64_t line = 0; line < 5; ++line) {
    std::uint32_t sum = 0;
    for (std::int64_t k = 0; k <= 1000; ++k) {
      ASSERT_EQ(out.after({line, k}), sum) << line << ", " << k;
      if (k < 1000) sum = (sum + in.before({line, k})) % 1009u;
    }
  }
}

void check_large() {
  for (std::int64_t const n : {1, 200, 20000}) {
    Array<Large> const in = make_array<Large>(right({2, n}), [](std::uint32_t i) {
      Large large{};
      for (std::uint32_t j = 0; j < 64; ++j) large.x[j] = (i + j) * 0x9E3779B1u;
      return large;
    });
    Array<Large> const out(in.shape());
    out.upload();
    Scan const scan{Form::inclusive, 1, Direction::backward};
    call_inclusive(Exec{}, const_view<2>(in), view<2>(out), lines_of(scan), AddLarge{});
    out.download();
    expect_scan<AddLarge>("256 bytes", scan, in.shape(), out, ValuesOf{in});
    expect_untouched_except("256 bytes", out.memory(), out);
  }
}

void check_vectors() {
  Array<Vector3> const in = make_array<Vector3>(right({3, 500}), [](std::uint32_t i) {
    auto const s = static_cast<int>(i);
    return Vector3(s, -2 * s, s % 10);
  });
  for (Form const form : all_forms()) {
    Array<Vector3> const out(right({3, form == Form::exclusive_with_total ? 501 : 500}));
    out.upload();
    call(form, Exec{}, const_view<2>(in), view<2>(out), ks::along(1), ks::Sum{});
    out.download();
    std::int64_t const shift = form == Form::inclusive ? 0 : 1;
    for (std::int64_t line = 0; line < 3; ++line) {
      Vector3 sum(0);
      for (std::int64_t k = 0; k < out.shape().extent[1]; ++k) {
        if (k >= shift) sum = sum + in.before({line, k - shift});
        ASSERT_TRUE(oracle::same_bits(out.after({line, k}), sum)) << line << ", " << k;
      }
    }
  }
}

/// Class F: the total of a line without elements is its start, also for operators without identity.
void check_without_identity() {
  Affine const start{3, 5};
  check_all<Affine, Affine, ComposeAffineWithoutIdentity>("no identity", Data::any, NoStart{},
                                                          PlainLines{}, {Form::inclusive});
  check_all<Affine, Affine, ComposeAffineWithoutIdentity>("no identity but a start", Data::any,
                                                          StartValue<Affine>{start},
                                                          LinesStartingAt<Affine>{start});
}

/// A lambda, in a function with external linkage, as nvcc requires.
void scan_with_lambda(Form form, Array<Affine> const& in, Array<Affine> const& out, Affine start) {
  auto const compose = KOKKOS_LAMBDA(Affine f, Affine g) {
    return Affine{g.slope * f.slope, g.slope * f.offset + g.offset};
  };
  auto const input = const_view<1>(in);
  auto const output = view<1>(out);
  if (form == Form::inclusive) {
    call_inclusive(Exec{}, input, output, 0, compose);
  } else {
    call_exclusive(Exec{}, input, output, ks::along(0).starting_at(start), compose);
  }
}

void check_lambda() {
  Random random(3);
  Affine const start{7, 9};
  Array<Affine> const in(right({1000}));
  in.fill(random).upload();
  for (Form const form : all_forms()) {
    Array<Affine> const out(right({form == Form::exclusive_with_total ? 1001 : 1000}));
    out.upload();
    scan_with_lambda(form, in, out, start);
    out.download();
    Scan const scan{form, 0, Direction::forward};
    if (form == Form::inclusive) {
      expect_scan<ComposeAffine>("lambda", scan, in.shape(), out, ValuesOf{in});
    } else {
      expect_scan<ComposeAffine>("lambda", scan, in.shape(), out, ValuesOf{in}, KeepAll{},
                                 StartValue<Affine>{start});
    }
  }
}

#if !defined(KOKKOS_ENABLE_CUDA)  // which has other addresses for functions of devices
int add(int a, int b) { return a + b; }
bool is_odd(int a) { return a % 2 != 0; }

/// The names of functions, which stand for their addresses.
void check_functions() {
  Kokkos::View<int*, Exec> const x("x", 5), y("y", 5);
  Kokkos::View<int, Exec> const count("count");
  for (int i = 0; i < 5; ++i) x(i) = i + 1;
  auto const expect = [&](std::initializer_list<int> values) {
    Exec().fence();
    int i = 0;
    for (int const value : values) EXPECT_EQ(y(i++), value);
  };
  ks::inclusive_scan(Exec(), x, y, 0, add);
  expect({1, 3, 6, 10, 15});
  ks::exclusive_scan(Exec(), x, y, ks::along(0).starting_at(100), add);
  expect({100, 101, 103, 106, 110});
  ks::inclusive_scan(Exec(), x, y, ks::along(0).backward().in_order(), add);
  expect({15, 14, 12, 9, 5});
  EXPECT_EQ(ks::workspace_bytes(Exec(), x, y, 0, add), ks::workspace_bytes(Exec(), x, y, 0, &add));
  ks::select(Exec(), x, is_odd, y, count);
  expect({1, 3, 5});
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(ks::select_workspace_bytes(Exec(), x, is_odd, y, count), 0U);
}
#endif

}  // namespace test::operators

using namespace test;  // NOLINT: a test file

TEST(operators, affine_maps) { operators::check_all<Affine, Affine, ComposeAffine>("affine"); }
TEST(operators, matrices) { operators::check_all<Matrix, Matrix, MultiplyMatrices>("matrices"); }
TEST(operators, brackets) { operators::check_all<Brackets, Brackets, MatchBrackets>("brackets"); }
TEST(operators, last_value) {
  operators::check_all<double, double, LastNonZero<double>>("last value", Data::often_zero);
}
TEST(operators, without_identity) { operators::check_without_identity(); }
TEST(operators, lambda) { operators::check_lambda(); }
#if !defined(KOKKOS_ENABLE_CUDA)
TEST(operators, functions) { operators::check_functions(); }
#endif
TEST(operators, state) { operators::check_state(); }
TEST(operators, large_struct) { operators::check_large(); }
TEST(operators, struct_with_plus) { operators::check_vectors(); }
