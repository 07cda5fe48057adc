# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D DATABASE=compile_commands.json -D LIKE=FILE [-D HEADER=FILE]
#       [-D SOURCE=FILE [-D CASE=NAME -D SENTENCE=TEXT] [-D OPTIONS=LIST]] -P compile.cmake
# Compiles SOURCE with the command for LIKE. With CASE, which is defined as a macro, it must fail and
# print SENTENCE and no other error; otherwise it must succeed. Without SOURCE, it writes HEADER,
# which includes the library, and precompiles it if the compiler is GCC.

file(READ ${DATABASE} database)
string(JSON count LENGTH "${database}")
set(command)
foreach(i RANGE 1 ${count})
  math(EXPR i "${i} - 1")
  string(JSON file GET "${database}" ${i} file)
  if(file STREQUAL LIKE)
    string(JSON command GET "${database}" ${i} command)
    string(JSON directory GET "${database}" ${i} directory)
  endif()
endforeach()
if(NOT command)
  message(FATAL_ERROR "${DATABASE} does not say how ${LIKE} is compiled")
endif()

separate_arguments(command UNIX_COMMAND "${command}")
set(arguments)
set(skip FALSE)
foreach(argument IN LISTS command)
  if(skip)
    set(skip FALSE)
  elseif(argument MATCHES "^-(o|MF|MT|MQ)$")
    set(skip TRUE)
  elseif(argument STREQUAL LIKE)
    set(skip FALSE)
  elseif(NOT argument MATCHES "^-(c|MD|MMD|O.|g)$")
    list(APPEND arguments ${argument})
  endif()
endforeach()
if(NOT SOURCE)
  file(WRITE ${HEADER} "#include <KokkosScan/KokkosScan.hpp>\n#include <Kokkos_Core.hpp>\n")
  execute_process(
    COMMAND ${arguments} --version
    OUTPUT_VARIABLE version
    ERROR_QUIET)
  if(version MATCHES "Free Software Foundation")
    execute_process(
      COMMAND ${arguments} -x c++-header ${HEADER} -o ${HEADER}.gch
      WORKING_DIRECTORY ${directory} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  return()
endif()
if(HEADER)
  list(APPEND arguments -include ${HEADER})
endif()
list(APPEND arguments ${OPTIONS} ${SOURCE})
if(CASE)
  list(APPEND arguments -DREFUSED_${CASE})
endif()

# Skip code generation if the compiler supports that.
execute_process(
  COMMAND ${arguments} -fsyntax-only
  WORKING_DIRECTORY ${directory}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

if(NOT CASE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE} does not compile:\n${output}")
  endif()
  return()
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "${CASE} compiles, but must be refused with: ${SENTENCE}")
endif()
string(FIND "${output}" "${SENTENCE}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${CASE} is refused, but not with: ${SENTENCE}\n${output}")
endif()
string(REGEX MATCHALL "error: " errors "${output}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${CASE} is refused with ${count} errors, not with one:\n${output}")
endif()
