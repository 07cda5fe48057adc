// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

TEST(scan, complex64) { test::scan::check_type<Kokkos::complex<float>, 9>(); }
TEST(scan, complex128) { test::scan::check_type<Kokkos::complex<double>, 10>(); }
