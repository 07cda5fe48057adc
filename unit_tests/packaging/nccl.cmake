# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -D CHECKOUT=FOLDER -D WORK=FOLDER -D KOKKOS=FOLDER -P nccl.cmake
# Installs the library with KokkosScan::NCCL, and links a program to it as described in docs/mpi.md. The header of NCCL
# is the stand-in of the tests, its library an empty archive. Projects that do not request the component must not need
# NCCL, and those that do learn where it is missing.

cmake_minimum_required(VERSION 3.23)
file(REMOVE_RECURSE ${WORK})
set(ENV{CMAKE_PREFIX_PATH} ${WORK}/prefix:${KOKKOS})

macro(try)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output
                  COMMAND_ECHO STDOUT RESULT_VARIABLE result)
endmacro()
macro(run)
  try(${ARGN})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${output}")
  endif()
endmacro()

# Of pip's package the library has this name alone.
file(COPY ${CHECKOUT}/unit_tests/nccl/stand_in/nccl.h DESTINATION ${WORK}/nvidia/nccl/include)
file(WRITE ${WORK}/nvidia/nccl/lib/libnccl.so.2 "!<arch>\n")
set(nccl -DNCCL_ROOT=${WORK}/nvidia/nccl -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF)

run(${CMAKE_COMMAND} -S ${CHECKOUT} -B ${WORK}/library -DKokkosScan_ENABLE_NCCL=ON ${nccl}
    -DCMAKE_INSTALL_PREFIX=${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${WORK}/library)

file(COPY ${CMAKE_CURRENT_LIST_DIR}/nccl/ DESTINATION ${WORK}/my_code)
run(${CMAKE_COMMAND} -S ${WORK}/my_code -B ${WORK}/my_code/build ${nccl} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0)
run(${CMAKE_COMMAND} --build ${WORK}/my_code/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/my_code/build --verbose --no-tests=error)
if(NOT output MATCHES "1 3 6 10")
  message(FATAL_ERROR "The program prints something else:\n${output}")
endif()

# Where NCCL is missing, the error says so.
try(${CMAKE_COMMAND} -S ${WORK}/my_code -B ${WORK}/my_code/without -DNCCL_ROOT=${WORK}/nowhere
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF)
if(result EQUAL 0 OR NOT output MATCHES "NCCL")
  message(FATAL_ERROR "Without NCCL:\n${output}")
endif()

file(MAKE_DIRECTORY ${WORK}/without)
file(WRITE ${WORK}/without/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.22)
      project(Without LANGUAGES CXX)
      find_package(KokkosScan REQUIRED)
      if(NCCL_FOUND OR TARGET KokkosScan::NCCL)
        message(FATAL_ERROR \"NCCL was looked for.\")
      endif()")
run(${CMAKE_COMMAND} -S ${WORK}/without -B ${WORK}/without/build)
