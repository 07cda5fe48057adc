// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Linear recurrences: every type of state and kind of coefficient, compared with a loop in a wider
// type; in order, bitwise compared with the loop; products that exceed the range of the type.

#include "lines.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace test::lines {

using Half = Kokkos::Experimental::half_t;

template <class T>
struct Wide {
  using type = double;
};
template <>
struct Wide<double> {
  using type = long double;
};
template <class T>
struct Wide<Kokkos::complex<T>> {
  using type = std::complex<typename Wide<T>::type>;
};
template <class T>
typename Wide<T>::type widened(T const& x) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(static_cast<float>(x));
  } else if constexpr (ks::impl::is_complex<T>) {
    return {x.real(), x.imag()};
  } else {
    return x;
  }
}

/// A decaying random coefficient, a random term.
template <class T>
T coefficient(Random& random) {
  double const x = static_cast<double>(random.below(2001)) / 1000 - 1;
  if constexpr (ks::impl::is_complex<T>) {
    using Real = typename T::value_type;
    return T(static_cast<Real>(0.7 * x), static_cast<Real>(0.7 * x * x));
  } else if constexpr (std::is_same_v<T, Half>) {
    return static_cast<T>(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

enum class Coefficients { of_elements, of_lines, scalar };

/// The unit roundoff of states and of stored values.
template <class T>
double tolerance() {
  if constexpr (std::is_same_v<T, Half>) {
    return std::ldexp(1.0, -11) + std::ldexp(8.0, -24);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Kokkos::complex<float>>) {
    return std::ldexp(16.0, -24);
  } else {
    return std::ldexp(16.0, -53);
  }
}

/// Compares a call with the loop. The error bound decays like the terms.
template <class T>
void check_recurrence(std::vector<std::int64_t> const& extents, Coefficients kind, bool in_place,
                      bool in_order, std::uint64_t seed) {
  Random random(seed);
  for (int axis = 0; axis < 3; ++axis) {
    for (Direction const direction : {Direction::forward, Direction::backward}) {
      Scan const scan{Form::inclusive, axis, direction};
      std::string const what = scan.text() + ", coefficients " +
                               std::to_string(static_cast<int>(kind)) +
                               (in_order ? ", in order" : "");
      auto const of_lines = line_extents(extents, scan);
      Array<T> const a(strided(extents, random));
      Array<T> const b(strided(extents, random));
      Array<T> const a_of_lines(strided(of_lines, random));
      Array<T> const starts(strided(of_lines, random));
      Array<T> const totals(strided(of_lines, random));
      Array<T> const h = in_place ? b : Array<T>(strided(extents, random));
      T const scalar = coefficient<T>(random);
      for (auto const* array : {&a, &b}) {
        for_each_index(array->shape(),
                       [&](Index const& i) { array->set(i, coefficient<T>(random)); });
      }
      for (auto const* array : {&a_of_lines, &starts}) {
        for_each_index(array->shape(),
                       [&](Index const& i) { array->set(i, coefficient<T>(random)); });
      }
      a.upload();
      b.upload();
      a_of_lines.upload();
      starts.upload();
      totals.upload();
      if (!in_place) h.upload();
      auto const solve = [&](auto const& lines) {
        if (kind == Coefficients::of_elements) {
          ks::linear_recurrence(Exec{}, const_view<3>(a), view<3>(b), view<3>(h), lines);
        } else if (kind == Coefficients::of_lines) {
          ks::linear_recurrence(Exec{}, const_view<2>(a_of_lines), view<3>(b), view<3>(h), lines);
        } else {
          ks::linear_recurrence(Exec{}, scalar, view<3>(b), view<3>(h), lines);
        }
        Exec{}.fence();
      };
      auto const lines = lines_of(scan).starting_at(const_view<2>(starts)).totals(view<2>(totals));
      in_order ? solve(lines.in_order()) : solve(lines);
      h.download();
      totals.download();

      std::int64_t const n = extents[static_cast<std::size_t>(axis)];
      int wrong = 0;
      for_each_index(a_of_lines.shape(), [&](Index const& line) {
        Index index{};
        for (int r = 0, l = 0; r < 3; ++r) {
          if (r != axis) index[r] = line[l++];
        }
        auto state = widened(starts.before(line));
        double magnitude = static_cast<double>(std::abs(state));
        for (std::int64_t step = 0; step < n; ++step) {
          index[axis] = direction == Direction::backward ? n - 1 - step : step;
          auto const factor = kind == Coefficients::of_elements ? widened(a.before(index))
                              : kind == Coefficients::of_lines  ? widened(a_of_lines.before(line))
                                                                : widened(scalar);
          auto const term = widened(b.before(index));
          state = factor * state + term;
          magnitude = static_cast<double>(std::abs(factor)) * magnitude +
                      static_cast<double>(std::abs(term));
          auto const error = std::abs(widened(h.after(index)) - state);
          // Negated so that NaN fails; results below the smallest normal half have an absolute
          // error of half the smallest subnormal number.
          double const least = std::is_same_v<T, Half> ? std::ldexp(1.0, -25) : 0;
          if (!(static_cast<double>(error) <= tolerance<T>() * magnitude + least)) ++wrong;
        }
        auto const error = std::abs(widened(totals.after(line)) - state);
        double const least = std::is_same_v<T, Half> ? std::ldexp(1.0, -25) : 0;
        if (!(static_cast<double>(error) <= tolerance<T>() * magnitude + least)) ++wrong;
      });
      EXPECT_EQ(wrong, 0) << what;
      expect_untouched_except(what, h.memory(), h);
    }
  }
}

template <class T>
void check_recurrences(bool in_place) {
  std::uint64_t seed = 71;
  for (auto const kind :
       {Coefficients::of_elements, Coefficients::of_lines, Coefficients::scalar}) {
    for (bool const in_order : {false, true}) {
      check_recurrence<T>({3, 40, 5}, kind, in_place, in_order, ++seed);
    }
  }
  check_recurrence<T>({1, 3, 40000}, Coefficients::of_elements, in_place, false, ++seed);
}

/// In order, results are bitwise those of the loop for any coefficients.
template <class T>
void check_bits_in_order(double scale) {
  Random random(73);
  for (int const axis : {0, 1}) {
    Array<T> const a(right({50, 60}));
    Array<T> const b(right({50, 60}));
    Array<T> const h(right({50, 60}));
    for_each_index(a.shape(), [&](Index const& i) {
      a.set(i, static_cast<T>(scale) * coefficient<T>(random));
      b.set(i, coefficient<T>(random));
    });
    a.upload();
    b.upload();
    h.upload();
    ks::linear_recurrence(Exec{}, const_view<2>(a), const_view<2>(b), view<2>(h),
                          ks::along(axis).in_order());
    Exec{}.fence();
    h.download();
#if defined(KOKKOS_ENABLE_CUDA) || defined(__FMA__)
    constexpr bool fused = true;
#else
    constexpr bool fused = false;
#endif
    int wrong = 0;
    for (std::int64_t l = 0; l < (axis == 1 ? 50 : 60); ++l) {
      T state = 0;
      for (std::int64_t k = 0; k < (axis == 1 ? 60 : 50); ++k) {
        Index index{};
        index[axis] = k;
        index[1 - axis] = l;
        T const product = ks::impl::rounded(a.before(index) * state);
        state =
            fused ? std::fma(a.before(index), state, b.before(index)) : product + b.before(index);
        T const actual = h.after(index);
        wrong += std::isnan(state) ? !std::isnan(actual) : actual != state;
      }
    }
    EXPECT_EQ(wrong, 0) << "axis " << axis << ", scale " << scale;
  }
}

/// Without a start h[-1] is 0, and backward lines are bitwise equal to flipped ones.
void check_backward_equals_flipped() {
  Random random(74);
  std::int64_t const n = 20000;
  Array<float> const a(right({n}));
  Array<float> const b(right({n}));
  Array<float> const h(right({n}));
  Array<float> const flipped_a(right({n}));
  Array<float> const flipped_b(right({n}));
  Array<float> const flipped_h(right({n}));
  for (std::int64_t k = 0; k < n; ++k) {
    Index const at{k};
    Index const other{n - 1 - k};
    a.set(at, coefficient<float>(random));
    b.set(at, coefficient<float>(random));
    flipped_a.set(other, a.before(at));
    flipped_b.set(other, b.before(at));
  }
  for (auto const* array : {&a, &b, &h, &flipped_a, &flipped_b, &flipped_h}) array->upload();
  ks::linear_recurrence(Exec{}, const_view<1>(a), const_view<1>(b), view<1>(h));
  ks::linear_recurrence(Exec{}, const_view<1>(flipped_a), const_view<1>(flipped_b),
                        view<1>(flipped_h), ks::along(0).backward());
  Exec{}.fence();
  h.download();
  flipped_h.download();
  EXPECT_EQ(h.after(Index{0}), b.before(Index{0}));
  for (std::int64_t k = 0; k < n; ++k) {
    ASSERT_EQ(h.after(Index{k}), flipped_h.after(Index{n - 1 - k})) << k;
  }
}

/// Decaying coefficients: products underflow without consequences.
void check_underflow() {
  std::int64_t const n = 50000;
  Array<float> const b(right({n}));
  Array<float> const h(right({n}));
  for (std::int64_t k = 0; k < n; ++k) b.set(Index{k}, k % 1000 == 0 ? 1e30F : 1.0F);
  b.upload();
  h.upload();
  ks::linear_recurrence(Exec{}, 0.25, const_view<1>(b), view<1>(h));
  Exec{}.fence();
  h.download();
  double state = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    state = 0.25 * state + b.before(Index{k});
    ASSERT_LE(std::abs(h.after(Index{k}) - state), 1e-6 * state) << k;
  }
}

#if defined(__SSE2__) && !defined(KOKKOS_ENABLE_CUDA)
/// Whether any thread has met a subnormal operand or result since the last call.
bool met_subnormals() {
  constexpr unsigned denormal_operand = 1U << 1U, underflow = 1U << 4U;
  unsigned flags = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>>(0, Exec{}.concurrency()),
      [](int, unsigned& of_thread) {
        unsigned const state = _mm_getcsr();
        of_thread |= state & (denormal_operand | underflow);
        _mm_setcsr(state & ~(denormal_operand | underflow));
      },
      Kokkos::BOr<unsigned>(flags));
  return flags != 0;
}

/// Many coefficients have subnormal products, which the loop does not compute: they are slow.
void check_no_subnormals() {
  Random random(76);
  for (std::vector<std::int64_t> const& extents : std::vector<std::vector<std::int64_t>>{
           {9, 781, 1}, {70, 130, 1}, {2, 17000, 1}, {3, 500, 4}, {1, 20000, 30}, {1, 300, 5000}}) {
    Array<float> const a(right(extents));
    Array<float> const b(right(extents));
    Array<float> const h(right(extents));
    for_each_index(a.shape(), [&](Index const& i) {
      a.set(i, static_cast<float>(0.001 + random.unit()) / 2);
      b.set(i, static_cast<float>(1 + random.unit()));
    });
    a.upload();
    b.upload();
    met_subnormals();
    ks::linear_recurrence(Exec{}, const_view<3>(a), const_view<3>(b), view<3>(h), 1);
    EXPECT_FALSE(met_subnormals()) << extents[0] << ", " << extents[1] << ", " << extents[2];
  }
}
#endif

/// Recurrences that begin anew: every kind of coefficient, compared with the loop. NaN before a
/// reset, products that underflow with either sign, and coefficients -0.0 must not matter.
template <class T>
void check_resets(bool in_order) {
  Random random(76);
  for (auto const kind :
       {Coefficients::of_elements, Coefficients::of_lines, Coefficients::scalar}) {
    for (int const axis : {0, 1}) {
      std::int64_t const lines = 7, n = 3000;
      std::vector<std::int64_t> const extents =
          axis == 1 ? std::vector{lines, n} : std::vector{n, lines};
      Array<T> const a(right(extents)), b(right(extents)), h(right(extents));
      Array<T> const a_of_lines(right({lines}));
      Array<std::int8_t> const reset(right(extents));
      for_each_index(a.shape(), [&](Index const& i) {
        a.set(i, random.below(50) == 0 ? static_cast<T>(-0.0) : coefficient<T>(random));
        b.set(i, coefficient<T>(random));
        // Long enough without one that products of coefficients underflow.
        bool const is_long = 1500 <= i[axis] && i[axis] < 2500;
        reset.set(i, random.below(100) == 0 && !is_long);
      });
      for_each_index(a_of_lines.shape(),
                     [&](Index const& i) { a_of_lines.set(i, coefficient<T>(random)); });
      Index bad{}, after{};
      bad[axis] = 1500;
      after[axis] = 2500;
      constexpr bool has_nan = !std::is_integral_v<T>;
      if constexpr (has_nan) b.set(bad, static_cast<T>(std::nan("")));
      reset.set(after, 1);
      T const scalar = coefficient<T>(random);
      for (auto const* array : {&a, &b, &h, &a_of_lines}) array->upload();
      reset.upload();
      auto const solve = [&](auto const& along) {
        auto const ends = const_view<2>(reset);
        if (kind == Coefficients::of_elements) {
          ks::linear_recurrence(Exec{}, ks::resetting(const_view<2>(a), ends), view<2>(b),
                                view<2>(h), along);
        } else if (kind == Coefficients::of_lines) {
          ks::linear_recurrence(Exec{}, ks::resetting(const_view<1>(a_of_lines), ends), view<2>(b),
                                view<2>(h), along);
        } else {
          ks::linear_recurrence(Exec{}, ks::resetting(scalar, ends), view<2>(b), view<2>(h), along);
        }
        Exec{}.fence();
      };
      in_order ? solve(ks::along(axis).in_order()) : solve(ks::along(axis));
      h.download();
      int wrong = 0;
      for (std::int64_t line = 0; line < lines; ++line) {
        auto state = widened(T(0));
        double magnitude = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          Index index{};
          index[axis] = k;
          index[1 - axis] = line;
          auto const factor = kind == Coefficients::of_elements ? widened(a.before(index))
                              : kind == Coefficients::of_lines
                                  ? widened(a_of_lines.before(Index{line}))
                                  : widened(scalar);
          auto const term = widened(b.before(index));
          bool const begins = reset.before(index) != 0;
          state = begins ? term : factor * state + term;
          magnitude = (begins ? 0 : static_cast<double>(std::abs(factor)) * magnitude) +
                      static_cast<double>(std::abs(term));
          auto const found = widened(h.after(index));
          if constexpr (has_nan) {
            if (std::abs(state) != std::abs(state)) {
              wrong += std::abs(found) == std::abs(found);
              continue;
            }
          }
          double const error = static_cast<double>(std::abs(found - state));
          if (!(error <= tolerance<T>() * magnitude)) ++wrong;
        }
      }
      EXPECT_EQ(wrong, 0) << "axis " << axis << ", coefficients " << static_cast<int>(kind)
                          << (in_order ? ", in order" : "");
    }
  }
}

/// Receives states, to which maps convert.
struct StoreState {
  Kokkos::View<float**, Exec> to;
  template <class State>
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, State const& state) const {
    static_assert(std::is_same_v<State, float>);
    to(i, k) = state;
  }
};
/// The gradient that state k passes to the state before it: m[k] = a[k] (g[k] + m[k+1]).
struct HandOn {
  KOKKOS_FUNCTION ks::AffineMap<double> operator()(double g, double a) const { return {a, a * g}; }
};
struct StoreGradients {
  Kokkos::View<double const**, Exec> g, h;
  Kokkos::View<double**, Exec> of_a, of_b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, double handed_on) const {
    of_b(i, k) = g(i, k) + handed_on;
    of_a(i, k) = of_b(i, k) * (k > 0 ? h(i, k - 1) : 0.5);
  }
};

/// A function receives states; one backward scan computes both gradients of a recurrence.
void check_functions_of_states() {
  Random random(75);
  for (std::int64_t const n : {1, 7, 3000}) {
    std::int64_t const lines = 5;
    Kokkos::View<float**, Exec> const terms("terms", lines, n), states("states", lines, n);
    Kokkos::View<double**, Exec> const a("a", lines, n), g("g", lines, n), h("h", lines, n),
        of_a("of_a", lines, n), of_b("of_b", lines, n);
    Kokkos::View<double*, Exec> const of_start("of_start", lines);
    auto const host = [](auto const& view) {
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
    };
    auto const a_host = host(a), g_host = host(g), h_host = host(h);
    auto const terms_host = host(terms);
    for (std::int64_t i = 0; i < lines; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        a_host(i, k) = coefficient<double>(random);
        g_host(i, k) = coefficient<double>(random);
        h_host(i, k) = coefficient<double>(random);
        terms_host(i, k) = coefficient<float>(random);
      }
    }
    Kokkos::deep_copy(a, a_host);
    Kokkos::deep_copy(g, g_host);
    Kokkos::deep_copy(h, h_host);
    Kokkos::deep_copy(terms, terms_host);
    ks::linear_recurrence(Exec{}, 0.5F, terms, ks::for_each_result({lines, n}, StoreState{states}));
    ks::exclusive_scan(Exec{}, ks::zip_transform(HandOn{}, g, a),
                       ks::for_each_result({lines, n}, StoreGradients{g, h, of_a, of_b}),
                       ks::along(1).backward().starting_at(0.0).totals(of_start),
                       ks::ComposeAffine<double>{});
    auto const found = host(states);
    auto const found_a = host(of_a), found_b = host(of_b);
    auto const found_start = host(of_start);
    for (std::int64_t i = 0; i < lines; ++i) {
      double state = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        state = 0.5 * state + terms_host(i, k);
        ASSERT_NEAR(found(i, k), state, std::ldexp(32.0, -24)) << n << ", " << i << ", " << k;
      }
      double handed_on = 0;
      for (std::int64_t k = n - 1; k >= 0; --k) {
        double const gradient = g_host(i, k) + handed_on;
        double const before = k > 0 ? h_host(i, k - 1) : 0.5;
        ASSERT_NEAR(found_b(i, k), gradient, 1e-12) << n << ", " << i << ", " << k;
        ASSERT_NEAR(found_a(i, k), gradient * before, 1e-12) << n << ", " << i << ", " << k;
        handed_on = a_host(i, k) * gradient;
      }
      ASSERT_NEAR(found_start(i), handed_on, 1e-12) << n << ", " << i;
    }
  }
}

}  // namespace test::lines

using namespace test;  // NOLINT: a test file

TEST(lines, recurrences_of_floats) {
  lines::check_recurrences<float>(false);
  lines::check_recurrences<float>(true);
}
TEST(lines, recurrences_of_doubles) { lines::check_recurrences<double>(false); }
TEST(lines, recurrences_of_complex) {
  lines::check_recurrences<Kokkos::complex<float>>(true);
  lines::check_recurrences<Kokkos::complex<double>>(false);
}
TEST(lines, recurrences_of_halves) { lines::check_recurrences<lines::Half>(true); }
TEST(lines, recurrences_in_order_are_the_loop) {
  lines::check_bits_in_order<float>(1);
  lines::check_bits_in_order<double>(1);
  // Products of coefficients overflow, although the states of the loop do not.
  lines::check_bits_in_order<float>(1e8);
}
TEST(lines, recurrences_begin_anew) {
  for (bool const in_order : {false, true}) {
    lines::check_resets<float>(in_order);
    lines::check_resets<double>(in_order);
    lines::check_resets<Kokkos::complex<double>>(in_order);
  }
}
TEST(lines, recurrences_backward) { lines::check_backward_equals_flipped(); }
TEST(lines, recurrences_underflow) { lines::check_underflow(); }
#if defined(__SSE2__) && !defined(KOKKOS_ENABLE_CUDA)
TEST(lines, recurrences_without_subnormals) { lines::check_no_subnormals(); }
#endif
TEST(lines, recurrences_to_functions) { lines::check_functions_of_states(); }
