// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans of one and two bytes.

#include "fuzz_gpu.hpp"

void test::fuzz::add_small(Runners<Gpu>& runners) {
  add<MaskedByteSum>(runners);
  add<ShortMin>(runners);
}
