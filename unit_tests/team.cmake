# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Teams are limited by the number of threads: use several, also on machines with few cores.
set_tests_properties(team PROPERTIES ENVIRONMENT
                                     "OMP_NUM_THREADS=8;OMP_WAIT_POLICY=passive;OMP_PROC_BIND=false")
