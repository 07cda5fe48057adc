# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D PROGRAM=FILE -D SOURCE=FILE.cpp -P compare_output.cmake
# Runs PROGRAM; its output must be the comment lines that follow "// Prints:" in SOURCE.

file(READ ${SOURCE} source)
if(NOT source MATCHES "\n// Prints:\n((//   [^\n]*\n)+)")
  message(FATAL_ERROR "${SOURCE} does not say what it prints.")
endif()
string(REPLACE "//   " "" expected "${CMAKE_MATCH_1}")

execute_process(
  COMMAND ${PROGRAM}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output)
message("${output}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} fails: ${result}")
elseif(NOT output STREQUAL expected)
  message(FATAL_ERROR "Its output is not what is expected:\n${expected}")
endif()
