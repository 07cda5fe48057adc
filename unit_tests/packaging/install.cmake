# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D CHECKOUT=FOLDER -D WORK=FOLDER -D KOKKOS=FOLDER -D EXAMPLES=BOOL -P install.cmake
# Installs the checkout, moves the installed tree, and uses it like other projects do, optionally with the EXAMPLES.
# KOKKOS is the folder of KokkosConfig.cmake. CMAKE_GENERATOR and CXX set the generator and compiler.

cmake_minimum_required(VERSION 3.23)

# run(WHAT COMMAND...)
function(run what)
  message(STATUS "${what}")
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} fails:\n${output}")
  endif()
endfunction()

# check_same(WHAT FOUND EXPECTED): two lists, in any order.
function(check_same what found expected)
  set(surplus ${found})
  list(REMOVE_ITEM surplus "" ${expected})
  set(missing ${expected})
  list(REMOVE_ITEM missing "" ${found})
  if(surplus OR missing)
    message(FATAL_ERROR "${what}: surplus ${surplus}, missing ${missing}")
  endif()
endfunction()

# use(PROJECT OPTION...): configures, builds and tests a project that uses kokkos-scan.
function(use project)
  # Compiling with optimisation takes longer than running without.
  run("Configure ${project}" ${CMAKE_COMMAND} -S ${project} -B ${project}/build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
  run("Build ${project}" ${CMAKE_COMMAND} --build ${project}/build --parallel 2)
  run("Test ${project}" ${CMAKE_CTEST_COMMAND} --test-dir ${project}/build --output-on-failure
      --no-tests=error)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

# ---- Install, with DESTDIR and without ---------------------------------------------------------

run("Configure"
    ${CMAKE_COMMAND} -S ${CHECKOUT} -B ${WORK}/library -DCMAKE_INSTALL_PREFIX=${prefix}
    -DCMAKE_PREFIX_PATH=${KOKKOS} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
# If only Kokkos is available, nothing has to be compiled.
if(EXISTS ${WORK}/library/compile_commands.json)
  file(READ ${WORK}/library/compile_commands.json commands)
  if(commands MATCHES "command")
    message(FATAL_ERROR "The library alone compiles:\n${commands}")
  endif()
endif()
run("Build" ${CMAKE_COMMAND} --build ${WORK}/library)

run("Install with DESTDIR" ${CMAKE_COMMAND} -E env DESTDIR=${WORK}/staged ${CMAKE_COMMAND} --install
    ${WORK}/library)
if(EXISTS ${prefix})
  message(FATAL_ERROR "Installing with DESTDIR wrote to the prefix itself.")
endif()
file(GLOB_RECURSE staged RELATIVE ${WORK}/staged${prefix} ${WORK}/staged/*)

run("Install" ${CMAKE_COMMAND} -E env --unset=DESTDIR ${CMAKE_COMMAND} --install ${WORK}/library)
file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
check_same("What DESTDIR receives" "${staged}" "${installed}")

file(GLOB_RECURSE public RELATIVE ${CHECKOUT}/include ${CHECKOUT}/include/*)
file(GLOB_RECURSE internal RELATIVE ${CHECKOUT}/src ${CHECKOUT}/src/*.hpp)
set(expected ${public} ${internal})
list(TRANSFORM expected PREPEND include/)
foreach(name IN ITEMS Config ConfigVersion Targets)
  list(APPEND expected share/cmake/KokkosScan/KokkosScan${name}.cmake)
endforeach()
check_same("The installed files" "${installed}" "${expected}")

# ---- Use it, moved -----------------------------------------------------------------------------

set(moved ${WORK}/moved)
file(RENAME ${prefix} ${moved})
foreach(name IN LISTS installed)
  file(READ ${moved}/${name} text)
  foreach(folder IN ITEMS ${CHECKOUT} ${WORK})
    string(FIND "${text}" ${folder} found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "The installed ${name} speaks of ${folder}.")
    endif()
  endforeach()
endforeach()

# A program of two files, every header by itself, the properties of the target, accepted versions.
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
file(COPY ${consumer}/ DESTINATION ${WORK}/installed)
set(ENV{CMAKE_PREFIX_PATH} ${moved}:${KOKKOS})
use(${WORK}/installed -DKOKKOS_SCAN_AT=${moved})

# The examples, copied like a user would.
if(EXAMPLES)
  file(COPY ${CHECKOUT}/examples DESTINATION ${WORK})
  use(${WORK}/examples)
endif()

file(GLOB projects ${WORK}/examples/build ${WORK}/installed/build) # those that there are
foreach(project IN LISTS projects)
  file(READ ${project}/compile_commands.json commands)
  foreach(folder IN ITEMS include src)
    string(FIND "${commands}" ${CHECKOUT}/${folder} found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${project} uses ${CHECKOUT}/${folder}.")
    endif()
  endforeach()
endforeach()

# ---- Install and use it with the commands of README.md ------------------------------------------

find_program(shell sh)
if(shell)
  file(STRINGS ${CHECKOUT}/README.md lines REGEX "^[$] cmake ")
  # No other files are needed.
  file(COPY ${CHECKOUT}/CMakeLists.txt ${CHECKOUT}/cmake ${CHECKOUT}/include ${CHECKOUT}/src
       DESTINATION ${WORK}/readme)
  set(ENV{CMAKE_PREFIX_PATH} ${KOKKOS})
  foreach(line IN LISTS lines)
    string(REPLACE "$ cmake " "cmake " line "${line}")
    string(REPLACE "cmake " "'${CMAKE_COMMAND}' " line "${line}")
    string(REPLACE PREFIX ../readme-prefix line "${line}")
    run("${line}" ${CMAKE_COMMAND} -E chdir ${WORK}/readme ${shell} -c "${line}")
  endforeach()
  if(NOT EXISTS ${WORK}/readme-prefix)
    message(FATAL_ERROR "README.md does not install: ${lines}")
  endif()
  file(RENAME ${WORK}/readme-prefix ${WORK}/readme-moved)
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/my_code DESTINATION ${WORK})
  use(${WORK}/my_code -DCMAKE_PREFIX_PATH=${WORK}/readme-moved)
endif()

# ---- Use it without installing -----------------------------------------------------------------

file(COPY ${consumer}/ DESTINATION ${WORK}/subdirectory)
set(ENV{CMAKE_PREFIX_PATH} ${KOKKOS})
use(${WORK}/subdirectory -DKOKKOS_SCAN_AT=${CHECKOUT})
