# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The loop that results are compared with rounds twice what a compiler could fuse. As many threads as
# the random cases ask for.
target_compile_options(unit_test_in_order PRIVATE -ffp-contract=off)
set_tests_properties(
  in_order PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=7;OMP_WAIT_POLICY=passive;OMP_PROC_BIND=false")
