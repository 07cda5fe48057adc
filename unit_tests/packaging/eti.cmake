# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D CHECKOUT=FOLDER -D BUILD=FOLDER -D WORK=FOLDER -D KOKKOS=FOLDER -P eti.cmake
# Installs a build with the library KokkosScan::ETI, and links a program to it that must not compile
# the instances in the library.

cmake_minimum_required(VERSION 3.23)
file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/eti/ DESTINATION ${WORK}/my_code)
configure_file(${CHECKOUT}/examples/running_sum.cpp ${WORK}/my_code/main.cpp COPYONLY)
set(ENV{CMAKE_PREFIX_PATH} ${WORK}/prefix:${KOKKOS})

macro(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output
                  COMMAND_ERROR_IS_FATAL ANY)
endmacro()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${WORK}/my_code -B ${WORK}/my_code/build -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0)
run(${CMAKE_COMMAND} --build ${WORK}/my_code/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/my_code/build --output-on-failure --no-tests=error)

find_program(nm nm)
if(nm)
  file(GLOB_RECURSE object ${WORK}/my_code/build/*main.cpp.o)
  run(${nm} ${object})
  # The instances are undefined symbols, and no backend code is compiled.
  if(NOT output MATCHES " U [^\n]*scan_by_default" OR output MATCHES " [WTt] [^\n]*4host7Backend4scan")
    message(FATAL_ERROR "The program compiles what KokkosScan::ETI holds.")
  endif()
  # Other problems use the host kernels in the library.
  file(GLOB_RECURSE object ${WORK}/my_code/build/*starts.cpp.o)
  run(${nm} ${object})
  set(kernels "4host[0-9]+combine_(slabs|short_lines|chunks)I")
  if(NOT output MATCHES " U [^\n]*${kernels}|4cuda" OR output MATCHES " [WTt] [^\n]*${kernels}")
    message(FATAL_ERROR "The program compiles kernels that KokkosScan::ETI holds.")
  endif()
endif()
