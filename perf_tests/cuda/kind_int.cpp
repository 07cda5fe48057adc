// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>

#include "kind.hpp"
#include "kinds.hpp"

using Integers = perf::Sums<std::uint64_t, 0>;

perf::Kind perf::sum_int8() {
  return make_kind<std::int8_t, std::int8_t, ks::Sum<>, Integers>("int8");
}
perf::Kind perf::sum_int16() {
  return make_kind<std::int16_t, std::int16_t, ks::Sum<>, Integers>("int16");
}
