# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D DATABASE=compile_commands.json -D LIKE=FILE -D SOURCE=FILE [-D CASE=NAME -D SENTENCE=TEXT]
#       -P compile.cmake
# Compiles SOURCE with the command that compiles LIKE. With CASE, which becomes a definition, it must
# fail and print SENTENCE; else it must succeed.

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
    list(APPEND arguments ${SOURCE})
  elseif(NOT argument MATCHES "^-(c|MD|MMD|O.|g)$")
    list(APPEND arguments ${argument})
  endif()
endforeach()
if(CASE)
  list(APPEND arguments -DREFUSED_${CASE})
endif()

# Where the compiler can, it stops before it generates code.
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
