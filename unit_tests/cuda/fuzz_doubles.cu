// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random sums of doubles.

#include "fuzz_gpu.hpp"

void test::fuzz::add_doubles(Runners<Gpu>& runners) {
  add<DoubleSum>(runners);
  add<MaskedDoubleSum>(runners);
}
