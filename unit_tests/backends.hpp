// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the tests of all backends share: random jobs, and a serial loop that says what they give.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/flat.hpp"
#include "support/oracle.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace backends {

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

}  // namespace backends
}  // namespace test
