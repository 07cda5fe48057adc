// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, int32) { test::scan::check_type<std::int32_t, 2>(); }
TEST(scan, uint32) { test::scan::check_type<std::uint32_t, 3>(); }
