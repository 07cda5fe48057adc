// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans of computed inputs, and of arrays zipped with them.

#include "fuzz_gpu.hpp"

void test::fuzz::add_computed(Runners<Gpu>& runners) {
  add<ComputedLongSum>(runners);
  add<MaskedComputedSum>(runners);
  add<ZippedSum>(runners);
  add<CalledComputedSum>(runners);
}
