// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>

#include "kind.hpp"
#include "kinds.hpp"

using Integers = perf::Sums<std::uint64_t, 0>;

perf::Kind perf::sum_int64() {
  return make_kind<std::int64_t, std::int64_t, ks::Sum<>, Integers>("int64");
}
perf::Kind perf::sum_int8_to_int64() {
  return make_kind<std::int8_t, std::int64_t, ks::Sum<>, Integers>("int8-int64");
}
perf::Kind perf::sum_int32_to_int64() {
  return make_kind<std::int32_t, std::int64_t, ks::Sum<>, Integers>("int32-int64");
}
