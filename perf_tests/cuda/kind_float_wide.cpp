// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "kinds.hpp"

perf::Kind perf::sum_float_in_double() {
  return make_kind<float, float, ks::Sum<double>, Sums<double, 48>>("float");
}
perf::Kind perf::maps() { return make_kind<Map, Map, Compose, Compositions>("map"); }
