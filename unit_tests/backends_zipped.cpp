// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Zipped inputs and projected outputs on every backend: integer recurrences, which are exact, equal
// a serial loop at the size limits of every kernel.

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#if !defined(KOKKOS_ENABLE_CUDA)
#include "support/emulated_cuda.hpp"
#endif

#include <KokkosScan/KokkosScan.hpp>

#include <cstdint>
#include <vector>

#include "backends.hpp"

namespace test {
namespace backends {
namespace {

struct Twice {
  template <class T>
  KOKKOS_FUNCTION T operator()(ks::AffineMap<T> const& result) const {
    return static_cast<T>(2 * result.shift);
  }
};

/// The kind of coefficients of a recurrence, and its memory layout.
enum class Coefficients { of_elements, of_lines, computed };
struct Layout {
  int axis;
  std::int64_t padding;  ///< elements behind each row of all arrays
};

template <class T>
struct Computed {
  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<T>(3 * i + 5 * j + 1);
  }
};

template <class T>
Plane<T> plane(Flat<T> const& flat, std::int64_t outer, std::int64_t inner, std::int64_t padding) {
  return Plane<T>(flat.data(), Kokkos::LayoutStride(outer, inner + padding, inner, 1));
}

/// h[k] = a[k] * h[k-1] + b[k] with a start per line; 2 h[k] is stored in place of b.
template <class T, class Backend>
void check_recurrence(std::int64_t lines, std::int64_t n, Layout const& layout,
                      Coefficients coefficients, Direction direction, Backend const& backend) {
  bool const along_rows = layout.axis == 1;
  std::int64_t const outer = along_rows ? lines : n;
  std::int64_t const inner = along_rows ? n : lines;
  std::int64_t const pitch = inner + layout.padding;
  auto const a = random_values<T>(outer * pitch);
  auto b = random_values<T>(outer * pitch);
  for (auto& x : b) x = static_cast<T>(x * 7 + 1);
  auto const of_lines = random_values<T>(lines);
  auto const starts = random_values<T>(lines);
  auto const a_flat = to_device("a", a);
  auto const h_flat = to_device("b", b);
  auto const of_lines_flat = to_device("a of lines", of_lines);
  auto const starts_flat = to_device("starts", starts);
  auto const h = plane(h_flat, outer, inner, layout.padding);
  auto const along = ks::along(layout.axis).starting_at(starts_flat).totals(starts_flat);
  auto const scan = [&](auto const& maps) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), maps, ks::projected(h, Twice{}),
                   direction == Direction::backward ? along.backward() : along,
                   ks::ComposeAffine<T>{}, backend);
  };
  switch (coefficients) {
    case Coefficients::of_elements:
      scan(ks::impl::maps_of<T>(plane(a_flat, outer, inner, layout.padding), h));
      break;
    case Coefficients::of_lines:
      scan(ks::impl::maps_of<T>(of_lines_flat, h));
      break;
    default:
      scan(ks::impl::maps_of<T>(ks::elementwise({outer, inner}, Computed<T>{}), h));
  }
  auto const out = to_host(h_flat);
  auto const totals = to_host(starts_flat);
  for (std::int64_t l = 0; l < lines; ++l) {
    T state = starts[static_cast<std::size_t>(l)];
    for (std::int64_t step = 0; step < n; ++step) {
      std::int64_t const k = direction == Direction::backward ? n - 1 - step : step;
      std::int64_t const i = along_rows ? l : k;
      std::int64_t const j = along_rows ? k : l;
      auto const at = static_cast<std::size_t>(i * pitch + j);
      T const factor = coefficients == Coefficients::of_elements ? a[at]
                       : coefficients == Coefficients::of_lines
                           ? of_lines[static_cast<std::size_t>(l)]
                           : Computed<T>{}(i, j);
      state = static_cast<T>(factor * state + b[at]);
      ASSERT_EQ(out[at], static_cast<T>(2 * state))
          << "line " << l << " of " << lines << ", element " << k << " of " << n << ", axis "
          << layout.axis << ", padding " << layout.padding << ", coefficients "
          << static_cast<int>(coefficients) << ", " << to_text(direction);
    }
    ASSERT_EQ(totals[static_cast<std::size_t>(l)], state) << "line " << l << " of " << lines;
  }
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t j = inner; j < pitch; ++j) {
      auto const at = static_cast<std::size_t>(i * pitch + j);
      ASSERT_EQ(out[at], b[at]) << "behind row " << i;
    }
  }
}

/// Sums of a function of three arrays with captures: such a lambda can be copied, but neither
/// assigned nor default-constructed.
template <class Backend>
void check_three(std::int64_t lines, std::int64_t n, int axis, Backend const& backend) {
  using T = std::uint32_t;
  auto const weight = static_cast<T>(lines + 2);
  auto const sum_of_three = KOKKOS_LAMBDA(T a, T b, T c) { return a + weight * b + 5 * c; };
  auto const a = random_values<T>(lines * n);
  std::vector<T> const b(a.rbegin(), a.rend());
  std::vector<T> c(a);
  for (auto& x : c) x *= 77;
  auto const a_flat = to_device("a", a);
  auto const b_flat = to_device("b", b);
  auto const c_flat = to_device("c", c);
  auto const y_flat = uninitialized<T>("y", a.size());
  bool const along_rows = axis == 1;
  auto const shaped = [&](auto const& flat) {
    return along_rows ? rows(flat, lines, n) : rows(flat, n, lines);
  };
  ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(),
                 ks::zip_transform(sum_of_three, shaped(a_flat), shaped(b_flat), shaped(c_flat)),
                 shaped(y_flat), ks::along(axis), ks::Sum{}, backend);
  auto const y = to_host(y_flat);
  for (std::int64_t l = 0; l < lines; ++l) {
    T sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      auto const at = static_cast<std::size_t>(along_rows ? l * n + k : k * lines + l);
      ASSERT_EQ(y[at], sum) << "line " << l << ", element " << k << " of " << n;
      sum += sum_of_three(a[at], b[at], c[at]);
    }
  }
}

/// Sums of the elements that masks of other types than bool select: integers, and a masked mask.
template <class Backend>
void check_masks(std::int64_t lines, std::int64_t n, int axis, Backend const& backend) {
  auto const x = random_values<std::uint32_t>(lines * n);
  std::vector<int> integers(x.size());
  std::vector<unsigned char> bytes(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    integers[i] = static_cast<int>(x[i] % 3) << 16;
    bytes[i] = static_cast<unsigned char>(x[i] % 5 % 2);
  }
  auto const x_flat = to_device("x", x);
  auto const integers_flat = to_device("integers", integers);
  auto const bytes_flat = to_device("bytes", bytes);
  auto const y_flat = uninitialized<std::uint32_t>("y", x.size());
  bool const along_rows = axis == 1;
  auto const shaped = [&](auto const& flat) {
    return along_rows ? rows(flat, lines, n) : rows(flat, n, lines);
  };
  auto const check = [&](auto const& mask, auto const& selects) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), ks::masked(shaped(x_flat), mask),
                   shaped(y_flat), ks::along(axis), ks::Sum{}, backend);
    auto const y = to_host(y_flat);
    for (std::int64_t l = 0; l < lines; ++l) {
      std::uint32_t sum = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        auto const at = static_cast<std::size_t>(along_rows ? l * n + k : k * lines + l);
        if (selects(at)) sum += x[at];
        ASSERT_EQ(y[at], sum) << "line " << l << " of " << lines << ", element " << k << " of " << n
                              << ", axis " << axis;
      }
    }
  };
  check(shaped(integers_flat), [&](std::size_t at) { return integers[at] != 0; });
  check(ks::masked(shaped(integers_flat), shaped(bytes_flat)),
        [&](std::size_t at) { return integers[at] != 0 && bytes[at] != 0; });
}

struct Scattered {
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t k) const { return k * 7919 % 10'007; }
};

/// Running maxima of computed values, each with its index, which has no memory of its own.
template <class Backend>
void check_computed_with_indices(std::int64_t n, Backend const& backend) {
  using Pair = ks::Indexed<std::int64_t, std::int64_t>;
  Kokkos::View<Pair*, Device> const y("y", static_cast<std::size_t>(n));
  ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(),
                 ks::indexed(ks::elementwise({n}, Scattered{}), 0), y, ks::along(0).backward(),
                 ks::ArgMax<ks::Ties::first, Pair>{}, backend);
  auto const results = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::int64_t k = n - 1, best = k; k >= 0; --k) {
    if (Scattered{}(k) > Scattered{}(best)) best = k;
    ASSERT_EQ(results(k).index, best) << "element " << k << " of " << n;
  }
}

template <class Backend>
void check_zipped(Backend const& backend) {
  for (std::int64_t const n : {1, 100, 3000, 30'000}) check_computed_with_indices(n, backend);
  int turn = 0;
  for (std::int64_t const n : {1, 2, 5, 8, 13, 16, 17, 33, 64, 100, 257, 1000, 3000, 20'000}) {
    for (std::int64_t const lines : {1, 3, 32, 57}) {
      if (n > 3000 && lines > 3) continue;
      for (Layout const& layout : {Layout{1, 0}, Layout{0, 0}, Layout{1, 3}, Layout{0, 5}}) {
        auto const direction = turn % 2 == 0 ? Direction::forward : Direction::backward;
        auto const coefficients = static_cast<Coefficients>(turn % 3);
        if (turn % 5 == 0) {
          check_recurrence<std::uint64_t>(lines, n, layout, coefficients, direction, backend);
        } else {
          check_recurrence<std::uint32_t>(lines, n, layout, coefficients, direction, backend);
        }
        if (::testing::Test::HasFailure()) return;
        ++turn;
      }
      check_three(lines, n, turn % 2, backend);
      check_masks(lines, n, turn % 2, backend);
      if (::testing::Test::HasFailure()) return;
    }
  }
  // Aligned narrow rows with gaps, and columns so long that blocks share them.
  for (std::int64_t const lines : {4, 16}) {
    for (auto const coefficients : {Coefficients::of_elements, Coefficients::of_lines}) {
      check_recurrence<std::uint32_t>(lines, 5000, {0, 16}, coefficients, Direction::backward,
                                      backend);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(backends, zipped_inputs_by_default) { check_zipped(Automatic{}); }
TEST(backends, zipped_inputs_in_each_regime) {
  for (Regime const regime : forced_regimes) check_zipped(forced(regime));
}
#if !defined(KOKKOS_ENABLE_CUDA)
TEST(backends, zipped_inputs_in_emulated_cuda) { check_zipped(emulated::Backend{}); }
#endif

}  // namespace
}  // namespace backends
}  // namespace test
