// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, int8) { test::scan::check_type<std::int8_t, 0>(); }
TEST(scan, uint8) { test::scan::check_type<std::uint8_t, 1>(); }
