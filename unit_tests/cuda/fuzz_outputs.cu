// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random recurrences, and random scans whose results go to a function.

#include "fuzz_gpu.hpp"

void test::fuzz::add_outputs(Runners<Gpu>& runners) {
  add<Recurrence>(runners);
  add<CalledRecurrence>(runners);
  add<CalledSum>(runners);
}
