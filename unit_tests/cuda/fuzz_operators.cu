// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans of floats by other operators.

#include "fuzz_gpu.hpp"

void test::fuzz::add_operators(Runners<Gpu>& runners) {
  add<FloatProduct>(runners);
  add<DoubleMax>(runners);
  add<FloatSumInDouble>(runners);
}
