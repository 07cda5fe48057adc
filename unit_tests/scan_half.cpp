// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
TEST(scan, float16) { test::scan::check_type<test::Half, 8>(); }
#else
TEST(scan, float16) { GTEST_SKIP() << "this compiler has no 16-bit float"; }
#endif
