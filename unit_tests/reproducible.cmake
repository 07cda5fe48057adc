# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

target_sources(unit_test_reproducible PRIVATE reproducible/fused.cpp)

# Again for processors with FMA, which the x86-64 baseline lacks.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag("-mfma -ffp-contract=fast" KokkosScan_COMPILER_FUSES)
if(KokkosScan_COMPILER_FUSES)
  add_executable(unit_test_reproducible_fused reproducible/fused.cpp)
  target_include_directories(unit_test_reproducible_fused PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(unit_test_reproducible_fused PRIVATE kokkos_scan_test_main)
  # GCC 16 contracts here only at -O3. Kernels in KokkosScan::ETI would have other flags.
  target_compile_options(unit_test_reproducible_fused PRIVATE ${test_options} -O3 -mfma
                                                              -ffp-contract=fast -UKOKKOSSCAN_ENABLE_ETI)
  add_test(NAME reproducible.fused COMMAND unit_test_reproducible_fused)
  set_tests_properties(reproducible.fused PROPERTIES ENVIRONMENT "${test_environment}")
endif()
