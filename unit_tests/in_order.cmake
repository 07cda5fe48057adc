# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The reference loop must not be contracted to FMAs. Random cases need several threads.
target_compile_options(unit_test_in_order PRIVATE -ffp-contract=off)
set_tests_properties(
  in_order PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=7;OMP_WAIT_POLICY=passive;OMP_PROC_BIND=false")
