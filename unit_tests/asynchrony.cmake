# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# GCC remarks that it passes overaligned arguments otherwise than GCC 4.5 did.
target_compile_options(unit_test_asynchrony PRIVATE -Wno-psabi)
