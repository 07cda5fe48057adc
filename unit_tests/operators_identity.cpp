// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The identity laws. Class I: the identity of a minimum is infinity if the type has one (cudf
// #11357), unlike Kokkos::reduction_identity.

#include "operators.hpp"

#include <limits>
#include <vector>

namespace test::operators {

template <class T>
std::vector<T> sample() {
  std::vector<T> values{T(0), T(1), std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest()};
  if constexpr (std::is_floating_point_v<T>) {
    T const infinity = std::numeric_limits<T>::infinity();
    values.insert(values.end(), {infinity, -infinity, std::numeric_limits<T>::denorm_min(),
                                 std::numeric_limits<T>::quiet_NaN()});
  }
  Random random(11);
  for (int i = 0; i < 100; ++i) values.push_back(random_value<T>(random));
  return values;
}

template <class T>
bool same(T const& a, T const& b) {
  if constexpr (!is_complex<T>) {
    if (a != a) return b != b;
  }
  return a == b;
}

/// e * x = x * e = x exactly, for typed and transparent operators.
template <class T, template <class> class Op>
void check_law(std::vector<T> const& values) {
  T const identity = Op<T>{}.identity();
  for (T const& x : values) {
    EXPECT_TRUE(same(Op<T>{}(identity, x), x)) << oracle::to_text(x);
    EXPECT_TRUE(same(Op<T>{}(x, identity), x)) << oracle::to_text(x);
    EXPECT_TRUE(same(Op<void>{}(x, identity), x)) << oracle::to_text(x);
  }
}

template <class T>
void check_laws() {
  check_law<T, ks::Sum>(sample<T>());
  check_law<T, ks::Prod>(sample<T>());
  check_law<T, ks::Min>(sample<T>());
  check_law<T, ks::Max>(sample<T>());
}

template <class Real>
void check_complex_laws() {
  using T = Kokkos::complex<Real>;
  std::vector<T> values{T(0), T(1), T(0, 1)};
  Random random(12);
  for (int i = 0; i < 100; ++i) values.push_back(random_value<T>(random));
  check_law<T, ks::Sum>(values);
  check_law<T, ks::Prod>(values);
}

/// The identity is the first result of an exclusive scan and the total of an empty line.
template <class T, class Op>
void check_first(std::string const& what, T identity) {
  for (std::int64_t const n : {0, 1, 5}) {
    Random random(13);
    Array<T> const in(right({3, n}));
    Array<T> const out(right({3, n + 1}));
    Array<T> const totals(right({3}));
    in.fill(random).upload();
    out.upload();
    totals.upload();
    call_exclusive(Exec{}, const_view<2>(in), view<2>(out), ks::along(1).totals(view<1>(totals)),
                   Op{});
    out.download();
    totals.download();
    for (std::int64_t line = 0; line < 3; ++line) {
      EXPECT_TRUE(oracle::same_bits(out.after({line, 0}), identity))
          << what << ": " << oracle::to_text(out.after({line, 0}));
      T const total = totals.after({line});
      EXPECT_TRUE(oracle::same_bits(total, out.after({line, n}))) << what << ": total";
    }
    Scan const scan{Form::exclusive_with_total, 1, Direction::forward};
    expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{}, NoStart{}, &totals);
  }
}

void check_first_of_all() {
  float const infinity = std::numeric_limits<float>::infinity();
  check_first<float, ks::Min<>>("min of float", infinity);
  check_first<float, ks::Max<>>("max of float", -infinity);
  check_first<std::int8_t, ks::Min<>>("min of int8", std::int8_t{127});
  check_first<std::int8_t, ks::Max<>>("max of int8", std::int8_t{-128});
  check_first<std::uint64_t, ks::Min<>>("min of uint64", ~std::uint64_t{0});
  check_first<std::int32_t, ks::Prod<>>("product of int32", 1);
  check_first<std::int32_t, ks::Sum<>>("sum of int32", 0);
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
  check_first<Half, ks::Min<>>("min of half", static_cast<Half>(infinity));
  check_first<Half, ks::Max<>>("max of half", static_cast<Half>(-infinity));
#endif
}

}  // namespace test::operators

using namespace test;  // NOLINT: a test file

TEST(operators, identity_laws_of_integers) {
  operators::check_laws<std::int8_t>();
  operators::check_laws<std::uint8_t>();
  operators::check_laws<std::int16_t>();
  operators::check_laws<std::int32_t>();
  operators::check_laws<std::uint32_t>();
  operators::check_laws<std::int64_t>();
  operators::check_laws<std::uint64_t>();
}
TEST(operators, identity_laws_of_floats) {
  operators::check_laws<float>();
  operators::check_laws<double>();
  operators::check_complex_laws<float>();
  operators::check_complex_laws<double>();
}
TEST(operators, first_of_exclusive) { operators::check_first_of_all(); }
