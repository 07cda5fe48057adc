// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

perf::RandomKind perf::random_wide() {
  return RandomScan<double, float, float>::kind("wide", "float", "/sum<double>");
}
