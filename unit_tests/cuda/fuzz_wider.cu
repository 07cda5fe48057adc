// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random sums of bytes in wider types.

#include "fuzz_gpu.hpp"

void test::fuzz::add_wider(Runners<Gpu>& runners) {
  add<BytesIntoInt>(runners);
  add<BytesIntoLong>(runners);
}
