# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Sets oversubscribe, an option of mpirun, and mpi_environment, for tests with more ranks than cores.
set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                    PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
set(oversubscribe "")
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version
                ERROR_VARIABLE mpiexec_version)
if(mpiexec_version MATCHES "Open MPI|OpenRTE|prte")
  set(oversubscribe --oversubscribe)
endif()
