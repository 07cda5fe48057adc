// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, struct12) { test::scan::check_type<test::Struct12, 11>(); }
TEST(scan, struct24) { test::scan::check_type<test::Struct24, 12>(); }
