# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Compiles trees.cpp again with copies of the tuning headers in which these numbers are changed. If a
# number is not found, its name or value has changed: update its line here.
get_target_property(folders KokkosScan::KokkosScan INTERFACE_INCLUDE_DIRECTORIES)
list(TRANSFORM folders REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1")
set(varied ${CMAKE_CURRENT_BINARY_DIR}/varied)

# vary(HEADER OLD|NEW...): OLD is a regular expression; in "name = value|NEW" only the value is replaced.
function(vary header)
  find_file(file ${header} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  foreach(line IN LISTS ARGN)
    string(REGEX MATCH "^(.*)\\|(.*)$" line "${line}")
    set(old "${CMAKE_MATCH_1}")
    set(new "${CMAKE_MATCH_2}")
    if(old MATCHES "^([a-z0-9_]+ = )")
      set(new "${CMAKE_MATCH_1}${new}")
    endif()
    if(NOT text MATCHES "${old}")
      message(FATAL_ERROR "unit_tests: ${header} has no '${old}', which trees.cmake changes")
    endif()
    string(REGEX REPLACE "${old}" "${new}" text "${text}")
  endforeach()
  file(CONFIGURE OUTPUT ${varied}/${header} CONTENT "${text}" @ONLY)
endfunction()

vary(KokkosScan/impl/cuda/tuning.hpp
     "groups_that_call = 2|1"
     "are_several \\? 3 : 4|are_several ? 2 : 3"
     "elements_at_once = 8|4"
     "most_threads_in_registers = 960|512"
     "least_threads_alone = 704|32"
     "most_stages = 8|3"
     "bulk_alignment = 128|16"
     "narrowest_rows = 32|64"
     "longest_of_threads = 448|800"
     "columns_of_multiprocessor = 512|1"
     "threads_of_narrow_columns = 128|96"
     "blocks_of_narrow_columns = 8|2"
     "log2_narrow_pieces = 3|1"
     "passes_of_narrow_pieces = 12|1"
     "bytes_of_narrow_tile = 24576|10000"
     "threads_of_columns = 256|64"
     "bytes > 4 \\? 3 : 4|bytes > 4 ? 1 : 2")
vary(KokkosScan/impl/cuda/wide_column_plan.hpp
     "3 \\* strips <=|strips < 0 && 3 * strips <="
     "6 \\* slots|1 * slots"
     "warps_of_wide_block / down|1"
     "unit_of_strip = 8|16")
vary(KokkosScan/impl/host/tuning.hpp
     "block_length = 256|128"
     "ahead_bytes = 4096|1024"
     "strip_bytes = 16384|4096"
     " block_bytes = 12288| block_bytes = 1024"
     "streamed_row_bytes = 96|16"
     "shared_strip_bytes = 1024|256"
     "narrow_strip = 64|32"
     "least_cut_bytes = 1024|64"
     "least_strip_bytes = 128|8"
     "unit_elements = 1 << 15|1 << 12"
     "part_bytes = 1 << 17|1 << 14"
     "std::int64_t{4} << 20|std::int64_t{1} << 10")

add_executable(unit_test_trees_varied trees.cpp)
target_include_directories(unit_test_trees_varied BEFORE PRIVATE ${varied})
target_include_directories(unit_test_trees_varied PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(unit_test_trees_varied PRIVATE kokkos_scan_test_main)
# Kernels in KokkosScan::ETI have the original numbers.
target_compile_options(unit_test_trees_varied PRIVATE ${test_options} -UKOKKOSSCAN_ENABLE_ETI)
add_test(NAME trees_varied COMMAND unit_test_trees_varied)
set_tests_properties(trees_varied PROPERTIES TIMEOUT 900 ENVIRONMENT "${test_environment}")
