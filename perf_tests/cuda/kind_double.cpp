// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "kinds.hpp"

using DoubleSums = perf::Sums<double, 48>;

perf::Kind perf::sum_double() { return make_kind<double, double, ks::Sum<>, DoubleSums>("double"); }
perf::Kind perf::sum_double_of_products() {
  return make_kind<double, double, ks::Sum<>, DoubleSums, Second::factor>("double");
}
