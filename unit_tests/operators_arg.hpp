// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// ArgMin and ArgMax against an independent serial loop: indices among equal values and NaNs. Each
// operator has its own source file, because both in one would take GPU compilers too long.

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "operators.hpp"

namespace test::operators {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Best {
  float value;
  std::int64_t index;
};

/// The best of values[0..k] with its index, searched anew for each k. NaN is the best value.
inline std::optional<Best> best_of(std::vector<float> const& values, std::vector<bool> const& keep,
                                   std::size_t count, bool is_min, bool is_last) {
  std::optional<Best> best;
  auto const rank = [&](float x) {  // larger is better
    return std::isnan(x) ? std::numeric_limits<double>::max() : is_min ? -double{x} : double{x};
  };
  for (std::size_t k = 0; k < count; ++k) {
    if (!keep[k]) continue;
    bool const is_better = !best || rank(values[k]) > rank(best->value) ||
                           (is_last && rank(values[k]) == rank(best->value));
    if (is_better) best = Best{values[k], static_cast<std::int64_t>(k)};
  }
  return best;
}

template <class Index>
using Pairs = Kokkos::View<ks::Indexed<float, Index>**, Kokkos::LayoutRight, Exec>;

/// Scans rows of `n` elements with few different values, so that many are equal.
template <class Op, class Index, bool has_mask>
void check_arg(std::int64_t lines, std::int64_t n, bool is_min, bool is_last, bool has_nan,
               Form form, Direction direction) {
  Random random(static_cast<std::uint64_t>(n * 64 + lines * 4 + has_nan * 2 + has_mask));
  auto const size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const x("x", size(lines), size(n));
  Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", size(lines), size(n));
  auto const x_host = Kokkos::create_mirror_view(x);
  auto const mask_host = Kokkos::create_mirror_view(mask);
  for (std::size_t i = 0; i < size(lines); ++i) {
    for (std::size_t k = 0; k < size(n); ++k) {
      // Make better values rare, or nothing would change after the first few elements.
      double const spread = std::log1p(static_cast<double>(k));
      x_host(i, k) = static_cast<float>(std::floor((2 * random.unit() - 1) * (2 + spread)));
      if (random.unit() < 0.05) x_host(i, k) = is_min ? infinity : -infinity;
      if (has_nan && random.unit() < 2 / static_cast<double>(n)) x_host(i, k) = nan;
      mask_host(i, k) = random.unit() < 0.5;
    }
  }
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(mask, mask_host);
  std::int64_t const outputs = n + (form == Form::exclusive_with_total ? 1 : 0);
  Pairs<Index> const out("out", size(lines), size(outputs));
  Exec const exec;
  auto const scan = [&](auto const& in) {
    call(form, exec, in, out, lines_of({form, 1, direction}), Op{});
  };
  auto const input = ks::indexed<Index>(x, 1);
  if constexpr (has_mask) {
    scan(ks::masked(input, mask));
  } else {
    scan(input);
  }
  auto const out_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);

  bool const backward = direction == Direction::backward;
  for (std::size_t i = 0; i < size(lines); ++i) {
    std::vector<float> values(size(n));
    std::vector<bool> keep(size(n));
    for (std::size_t k = 0; k < size(n); ++k) {
      std::size_t const at = backward ? size(n) - 1 - k : k;
      values[k] = x_host(i, at);
      keep[k] = !has_mask || mask_host(i, at);
    }
    for (std::size_t j = 0; j < size(outputs); ++j) {
      auto const best = best_of(values, keep, form == Form::inclusive ? j + 1 : j, is_min, is_last);
      auto const actual = out_host(i, backward ? size(outputs) - 1 - j : j);
      if (!best) {
        ASSERT_EQ(actual.index, static_cast<Index>(-1)) << i << ", " << j;
        continue;
      }
      std::int64_t const index = backward ? n - 1 - best->index : best->index;
      ASSERT_EQ(static_cast<std::int64_t>(actual.index), index)
          << "line " << i << ", result " << j << " of " << n;
      ASSERT_TRUE(actual.value == best->value || std::isnan(best->value)) << i << ", " << j;
      ASSERT_EQ(std::isnan(actual.value), std::isnan(best->value)) << i << ", " << j;
    }
  }
}

template <class Op>
void check_all_args(bool is_min, bool is_last) {
  int turn = 0;
  for (std::int64_t const n : {1, 2, 33, 129, 300, 1500}) {
    for (auto const form : all_forms()) {
      for (int options = 0; options < 4; ++options, ++turn) {
        SCOPED_TRACE(::testing::Message() << to_text(form) << " of " << n << ", turn " << turn);
        auto const check = options / 2 == 1 ? check_arg<Op, std::int64_t, true>
                                            : check_arg<Op, std::int64_t, false>;
        check(3, n, is_min, is_last, options % 2 == 1, form,
              turn % 3 == 0 ? Direction::backward : Direction::forward);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  check_arg<Op, std::int32_t, true>(1, 9000, is_min, is_last, true, Form::inclusive,
                                    Direction::forward);
  check_arg<Op, std::uint16_t, true>(40, 70, is_min, is_last, true, Form::exclusive,
                                     Direction::backward);
}

}  // namespace test::operators
