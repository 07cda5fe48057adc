// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random sums of floats.

#include "fuzz_gpu.hpp"

void test::fuzz::add_floats(Runners<Gpu>& runners) {
  add<FloatSum>(runners);
  add<MaskedFloatSum>(runners);
}
