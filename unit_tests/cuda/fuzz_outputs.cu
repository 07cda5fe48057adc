// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random recurrences, random scans whose results go to a function or are projected, and random
// selections.

#include "fuzz_gpu.hpp"

void test::fuzz::add_outputs(Runners<Gpu>& runners) {
  add<Recurrence>(runners);
  add<CalledRecurrence>(runners);
  add<CalledSum>(runners);
  add<ProjectedSum>(runners);
  add<CalledArgMax>(runners);
  add<SelectWords>(runners);
  add<SelectMaskedBytes>(runners);
  add<SelectMaskedStructs>(runners);
}
