// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

perf::RandomKind perf::random_masked() {
  return RandomScan<float, float, float, Input::masked>::kind("masked", "float", "/masked");
}
