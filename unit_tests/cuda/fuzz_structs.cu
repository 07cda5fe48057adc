// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans of structs with non-commutative operators.

#include "fuzz_gpu.hpp"

void test::fuzz::add_structs(Runners<Gpu>& runners) {
  add<Struct12>(runners);
  add<Struct24>(runners);
  add<Struct3>(runners);
  add<MaskedAffine>(runners);
}
