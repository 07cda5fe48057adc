# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D CHECKOUT=FOLDER -D WORK=FOLDER -D KOKKOS=FOLDER -D PREFLAGS=OPTION -P mpi.cmake
# Installs the library with KokkosScan::MPI, links a program to it as described in docs/mpi.md, and
# runs it on 4 ranks. Projects that do not request the component must not need MPI. PREFLAGS are the
# options of mpirun for machines with fewer cores than ranks.

cmake_minimum_required(VERSION 3.23)
file(REMOVE_RECURSE ${WORK})
set(ENV{CMAKE_PREFIX_PATH} ${WORK}/prefix:${KOKKOS})

macro(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output
                  COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${output}")
  endif()
endmacro()
run(${CMAKE_COMMAND} -S ${CHECKOUT} -B ${WORK}/library -DKokkosScan_ENABLE_MPI=ON
    -DCMAKE_INSTALL_PREFIX=${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${WORK}/library)

file(COPY ${CMAKE_CURRENT_LIST_DIR}/mpi/ DESTINATION ${WORK}/my_code)
configure_file(${CHECKOUT}/examples/column_integral_mpi.cpp ${WORK}/my_code/main.cpp COPYONLY)
run(${CMAKE_COMMAND} -S ${WORK}/my_code -B ${WORK}/my_code/build -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DMPIEXEC_PREFLAGS=${PREFLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/my_code/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/my_code/build --verbose --no-tests=error)
if(NOT output MATCHES "column 2: 0 6 18 36 60 90 126 168, in all 216")
  message(FATAL_ERROR "The program prints something else:\n${output}")
endif()

file(MAKE_DIRECTORY ${WORK}/without)
file(WRITE ${WORK}/without/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.22)
      project(Without LANGUAGES CXX)
      find_package(KokkosScan REQUIRED)
      if(MPI_CXX_FOUND OR TARGET KokkosScan::MPI)
        message(FATAL_ERROR \"MPI was looked for.\")
      endif()")
run(${CMAKE_COMMAND} -S ${WORK}/without -B ${WORK}/without/build)
