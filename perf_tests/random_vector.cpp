// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

std::vector<perf::RandomResult> perf::measure_random_vector(const RandomOptions& options) {
  return measure_random<Vector>(options);
}
