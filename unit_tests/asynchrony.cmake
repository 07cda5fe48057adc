# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# GCC notes that the ABI of overaligned arguments has changed since GCC 4.5.
target_compile_options(unit_test_asynchrony PRIVATE -Wno-psabi)
