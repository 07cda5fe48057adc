// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans of 1- and 2-byte types.

#include "fuzz_gpu.hpp"

void test::fuzz::add_small(Runners<Gpu>& runners) {
  add<MaskedByteSum>(runners);
  add<ShortMin>(runners);
}
