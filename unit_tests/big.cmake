# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Billions of elements: optimise. Run serially, because of the memory.
target_compile_options(unit_test_big PRIVATE -O2)
set_tests_properties(big PROPERTIES RUN_SERIAL TRUE)
