// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, int64) { test::scan::check_type<std::int64_t, 4>(); }
TEST(scan, uint64) { test::scan::check_type<std::uint64_t, 5>(); }
