// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Shared by the tests of all backends: random jobs, and the serial loop as reference.

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/flat.hpp"
#include "support/oracle.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace backends {

/// An instance with this many threads, or at most as many as there are, if that can be chosen.
///
/// \tparam Space a template parameter, because only OpenMP has such a constructor
template <class Space = Exec>
Space instance_of_threads([[maybe_unused]] std::int64_t threads) {
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) {
    return Space(static_cast<int>(std::min<std::int64_t>(threads, Space().concurrency())));
  }
#endif
  return Space();
}

/// Selects about one in `several` of many similar cases, the same ones in each run. With
/// `scripts/test --full`, which sets KOKKOS_SCAN_FULL, it selects all.
class Sample {
 public:
  Sample(int several, std::uint64_t seed)
      : m_random(seed), m_several(std::getenv("KOKKOS_SCAN_FULL") == nullptr ? several : 1) {}

  /// Whether the next case is selected.
  bool takes() { return m_random.below(m_several) == 0; }

 private:
  Random m_random;
  int m_several;
};

template <class Op, class T>
void expect_oracle(Job<T> const& job, Scanned<T> const& scanned) {
  using A = oracle::accumulator_of<Op, T>;
  using Ref = oracle::Reference<Op, A>;
  bool const forward = job.direction == Direction::forward;
  for (std::int64_t l = 0; l < job.lines; ++l) {
    std::string wrong;
    oracle::walk_line<Ref>(
        job.n,
        [&](std::int64_t k) {
          return static_cast<A>(
              job.values[static_cast<std::size_t>(l * job.n + (forward ? k : job.n - 1 - k))]);
        },
        [](std::int64_t) { return true; }, std::nullopt,
        [&](std::int64_t k, auto const& prefix) {
          if (!wrong.empty()) return;
          std::int64_t const j = job.form == Form::inclusive ? k - 1 : k;
          if (j >= 0 && j < scanned.extent) {
            T const actual = scanned.line(l)[forward ? j : scanned.extent - 1 - j];
            if (!prefix.has_value() || !Ref::matches(*prefix, actual)) {
              wrong = "element " + std::to_string(j) + " in scan order is " +
                      oracle::to_text(actual) + ", expected " +
                      (prefix.has_value() ? Ref::print(*prefix) : "an identity");
            }
          }
          if (k == job.n && !Ref::matches(*prefix, scanned.totals[static_cast<std::size_t>(l)])) {
            wrong += " total is " + oracle::to_text(scanned.totals[static_cast<std::size_t>(l)]);
          }
        });
    ASSERT_EQ(wrong, "") << "line " << l << " of " << job.lines << ", n " << job.n << ", "
                         << to_text(job.form) << " " << to_text(job.direction);
  }
}

template <class T>
std::vector<T> random_values(std::int64_t size) {
  Random random(31);
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) values.push_back(random_value<T>(random));
  return values;
}

/// Masked lines of n elements whose totals overwrite the starting values, which some thread may not
/// have read yet.
template <class T, class Op, class Backend>
void starts_and_totals_in_one_view(std::int64_t n, int axis, Backend const& backend,
                                   std::int64_t lines = 5) {
  auto const values = random_values<T>(lines * n);
  auto const starts = random_values<T>(lines);
  Random random(41);
  std::vector<std::uint8_t> keep(values.size());
  for (auto& k : keep) k = random.below(3) != 0;
  auto const x = to_device("x", values);
  auto const m = to_device("m", keep);
  auto const y = uninitialized<T>("y", values.size());
  auto const s = to_device("s", starts);
  auto const shaped = [&](auto const& flat) {
    return axis == 1 ? rows(flat, lines, n) : rows(flat, n, lines);
  };
  ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(), ks::masked(shaped(x), shaped(m)),
                 shaped(y), ks::along(axis).starting_at(s).totals(s), Op{}, backend);
  auto const out = to_host(y);
  auto const totals = to_host(s);
  for (std::int64_t l = 0; l < lines; ++l) {
    T prefix = starts[static_cast<std::size_t>(l)];
    for (std::int64_t k = 0; k < n; ++k) {
      auto const i = static_cast<std::size_t>(axis == 1 ? l * n + k : k * lines + l);
      ASSERT_TRUE(oracle::same_bits(out[i], prefix)) << "line " << l << ", element " << k;
      if (keep[i] != 0) prefix = Op{}(prefix, values[i]);
    }
    ASSERT_TRUE(oracle::same_bits(totals[static_cast<std::size_t>(l)], prefix)) << "line " << l;
  }
}

}  // namespace backends
}  // namespace test
