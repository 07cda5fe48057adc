// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "operators_arg.hpp"

using namespace test;  // NOLINT: a test file

TEST(operators, arg_max) { operators::check_all_args<ks::ArgMax<>>(false, false); }
TEST(operators, last_arg_max) {
  operators::check_all_args<ks::ArgMax<ks::Ties::last>>(false, true);
}
