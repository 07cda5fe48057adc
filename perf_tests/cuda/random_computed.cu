// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

perf::RandomKind perf::random_computed() {
  return RandomScan<float, float, float, Input::computed>::kind("computed", "float", "/computed");
}
