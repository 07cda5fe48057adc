// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "operators_arg.hpp"

using namespace test;  // NOLINT: a test file

TEST(operators, arg_min) { operators::check_all_args<ks::ArgMin<>>(true, false); }
TEST(operators, last_arg_min) { operators::check_all_args<ks::ArgMin<ks::Ties::last>>(true, true); }
