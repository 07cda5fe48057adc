// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views with negative strides, as in Python: each operand of a call independently runs upwards or
// downwards in memory, along the lines and across them, on every backend.

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

/// The memory layout of an array of (lines, n).
struct Lie {
  bool has_rows;          ///< whether elements of a line are contiguous, not neighbouring lines
  bool runs_down;         ///< along the lines
  bool runs_down_across;  ///< from line to line
};

/// The place in memory of element k of line l.
struct Places {
  std::int64_t first, across, along;

  Places(Lie const& lie, std::int64_t lines, std::int64_t n)
      : first(0), across(lie.has_rows ? n : 1), along(lie.has_rows ? 1 : lines) {
    if (lie.runs_down) {
      first += (n - 1) * along;
      along = -along;
    }
    if (lie.runs_down_across) {
      first += (lines - 1) * across;
      across = -across;
    }
  }
  std::size_t operator()(std::int64_t l, std::int64_t k) const {
    return static_cast<std::size_t>(first + l * across + k * along);
  }
};

template <class T>
Plane<T> plane(Flat<T> const& flat, Lie const& lie, std::int64_t lines, std::int64_t n) {
  Places const places(lie, lines, n);
  auto const number = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  return Plane<T>(
      flat.data() + places.first,
      Kokkos::LayoutStride(number(lines), number(places.across), number(n), number(places.along)));
}

// Small integers, whose sums are exact in any type.
template <class T>
struct OfIndices {
  KOKKOS_FUNCTION T operator()(std::int64_t l, std::int64_t k) const {
    return static_cast<T>((31 * l + 7 * k + 1) % 16);
  }
};
template <class T>
struct SumOfBoth {
  KOKKOS_FUNCTION T operator()(T a, T b) const { return static_cast<T>(a + 3 * b); }
};
template <class T>
struct Store {
  T* to;
  Places places;
  KOKKOS_FUNCTION void operator()(std::int64_t l, std::int64_t k, T result) const {
    to[places.first + l * places.across + k * places.along] = result;
  }
};

enum class Reads { stored, masked, computed, zipped };

struct Case {
  std::int64_t lines, n;
  Reads reads;
  Direction direction;
  bool is_exclusive;
  bool is_called;  ///< whether results go to a function
  Lie x, mask, y;
};

template <class T, bool is_in_order, class Backend>
void check_case(Case const& c, Random& random, Backend const& backend) {
  auto const size = c.lines * c.n;
  std::int64_t const results = c.n + (c.is_exclusive ? 1 : 0);
  std::vector<T> x_values(static_cast<std::size_t>(size));
  std::vector<std::uint8_t> mask_values(x_values.size());
  for (auto& x : x_values) x = static_cast<T>(random.below(16));
  for (auto& m : mask_values) m = random.below(3) != 0;
  auto const x_flat = to_device("x", x_values);
  auto const mask_flat = to_device("mask", mask_values);
  auto const y_flat = uninitialized<T>("y", static_cast<std::size_t>(c.lines * results));
  fill(y_flat, static_cast<T>(77));

  Places const at_x(c.x, c.lines, c.n), at_mask(c.mask, c.lines, c.n);
  Places const at_y(c.y, c.lines, results);
  auto const x = plane(x_flat, c.x, c.lines, c.n);
  auto const mask = plane(mask_flat, c.mask, c.lines, c.n);
  auto const y = plane(y_flat, c.y, c.lines, results);
  auto const lines = c.direction == Direction::backward ? ks::along(1).backward() : ks::along(1);
  auto const function =
      c.is_exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan;
  auto const scan = [&](auto const& in, auto const& out) {
    if constexpr (is_in_order) {
      ks::impl::scan(function, Exec(), in, out, lines.in_order(), ks::Sum<T>{}, backend);
    } else {
      ks::impl::scan(function, Exec(), in, out, lines, ks::Sum<T>{}, backend);
    }
  };
  // In-order scans to functions use the generic backend.
  auto const scan_or_call = [&](auto const& in) {
    if constexpr (!is_in_order) {
      if (c.is_called) {
        return scan(in, ks::for_each_result({c.lines, results}, Store<T>{y_flat.data(), at_y}));
      }
    }
    scan(in, y);
  };
  auto const computed = ks::elementwise({c.lines, c.n}, OfIndices<T>{});
  switch (c.reads) {
    case Reads::stored:
      scan_or_call(x);
      break;
    case Reads::masked:
      scan(ks::masked(x, mask), y);
      break;
    case Reads::computed:
      scan_or_call(computed);
      break;
    default:
      scan(ks::zip_transform(SumOfBoth<T>{}, x, computed), y);
  }
  Kokkos::fence();

  auto const y_values = to_host(y_flat);
  for (std::int64_t l = 0; l < c.lines; ++l) {
    T sum = 0;
    for (std::int64_t step = 0; step < results; ++step) {
      auto const in_order = [&](std::int64_t s, std::int64_t extent) {
        return c.direction == Direction::backward ? extent - 1 - s : s;
      };
      if (c.is_exclusive) {
        ASSERT_EQ(y_values[at_y(l, in_order(step, results))], sum) << l << ' ' << step;
        if (step == c.n) break;
      }
      std::int64_t const k = in_order(step, c.n);
      T const stored = x_values[at_x(l, k)];
      T const value = c.reads == Reads::stored || c.reads == Reads::masked ? stored
                      : c.reads == Reads::zipped ? SumOfBoth<T>{}(stored, OfIndices<T>{}(l, k))
                                                 : OfIndices<T>{}(l, k);
      if (c.reads != Reads::masked || mask_values[at_mask(l, k)] != 0)
        sum = static_cast<T>(sum + value);
      if (!c.is_exclusive) {
        ASSERT_EQ(y_values[at_y(l, k)], sum) << l << ' ' << step;
      }
    }
  }
}

template <class T, bool is_in_order = false, class Backend>
void check_directions(Backend const& backend) {
  Random random(77);
  auto const one_in = [&](std::int64_t n) { return random.below(n) == 0; };
  for (std::int64_t const n : {1, 2, 3, 5, 16, 17, 40, 129, 1000, 3000, 20'000}) {
    for (std::int64_t const lines : {1, 3, 32, 57, 160}) {
      if (n * lines > 60'000) continue;
      for (int turn = 0; turn < 12; ++turn) {
        bool const has_rows = one_in(2);
        auto const lie = [&] {
          return Lie{one_in(8) ? !has_rows : has_rows, one_in(2), one_in(3)};
        };
        Case const c{lines,
                     n,
                     static_cast<Reads>(random.below(4)),
                     one_in(2) ? Direction::forward : Direction::backward,
                     one_in(2),
                     one_in(4),
                     lie(),
                     lie(),
                     lie()};
        SCOPED_TRACE(::testing::Message()
                     << lines << " lines of " << n << ", reads " << static_cast<int>(c.reads)
                     << ", " << to_text(c.direction) << ", exclusive " << c.is_exclusive
                     << ", called " << c.is_called << ", down: x " << c.x.runs_down << ", mask "
                     << c.mask.runs_down << ", y " << c.y.runs_down << ", rows: " << c.x.has_rows
                     << c.mask.has_rows << c.y.has_rows);
        check_case<T, is_in_order>(c, random, backend);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(backends, operands_run_in_any_direction_by_default) {
  check_directions<std::uint32_t>(Automatic{});
  check_directions<float, true>(Automatic{});
}
TEST(backends, operands_run_in_any_direction_in_each_regime) {
  for (Regime const regime : forced_regimes) check_directions<std::uint32_t>(forced(regime));
}
#if !defined(KOKKOS_ENABLE_CUDA)
/// The CUDA kernels for scans in order, emulated.
struct EmulatedInOrder : emulated::Backend {
  template <class P>
  void scan(Exec const& exec, P const& problem, std::byte*) const {
    exec.fence();
    KokkosScan::impl::cuda::InOrderBackend{}.scan(emulated::Space{}, problem);
  }
};

TEST(backends, operands_run_in_any_direction_in_emulated_cuda) {
  check_directions<std::uint32_t>(emulated::Backend{});
}
TEST(backends, operands_run_in_any_direction_in_emulated_cuda_in_order) {
  check_directions<float, true>(EmulatedInOrder{});
}
#endif

}  // namespace
}  // namespace backends
}  // namespace test
