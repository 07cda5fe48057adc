// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

perf::RandomKind perf::random_bytes() {
  return RandomScan<std::int32_t, std::int8_t, std::int32_t>::kind("bytes", "int8-int32", "");
}
