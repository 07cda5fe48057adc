// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, float32) { test::scan::check_type<float, 6>(); }
TEST(scan, float64) { test::scan::check_type<double, 7>(); }
