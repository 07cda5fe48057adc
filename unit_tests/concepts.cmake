# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Calls that must not compile, and the expected message: CASE, SENTENCE, ...
set(operator_axis
    "the argument after the output must be an axis or along(axis); an operator needs an explicit axis before it."
)
set(axis_kind
    "an axis must be an int or another integer, not a bool, a character, a floating-point number or an enumeration."
)
# Sentences are given up to their first semicolon, which separates CMake list elements.
set(fills_input "the input's values would fill the first member of the accumulator")
set(fills_start "a starting value would fill the first member of the accumulator")
set(no_identity "Sum and Prod have no identity for a struct that a number does not construct")
set(mask_kind "a mask must be a Kokkos View, masked(...) or elementwise(...)")
set(bool_sum
    "Sum and Prod of bool need an output of another type, or an accumulator of another type, such as Sum<int>."
)
set(complex_order "complex values have no order, so Min and Max cannot combine them.")
set(operator_signature
    "the operator must be callable, as const, with two accumulators, and return what converts to the accumulator. That follows the output's values where the operator names none, as its accumulator_type."
)
set(exclusive_identity
    "an exclusive scan needs an operator with an identity, or along(...).starting_at(...).")
set(mask_identity "a mask needs an operator with an identity.")
set(mask_rank "a mask must have the rank of what it masks.")
set(mask_values
    "the values of a mask must convert to bool and not be floating-point numbers. The mask is the second argument of masked(values, mask)."
)
set(not_assignable
    "values and accumulators must be assignable, so without const members or references.")
set(start_as_operator
    "the argument after the axis is the operator, not a number. A starting value is given by along(axis).starting_at(value)."
)
set(const_output "the output must not be a View of const values.")
set(workspace_kind "the workspace must be a Kokkos View of std::byte of rank 1.")
set(elementwise_call
    "the function of elementwise must be callable, as const, with one std::int64_t for each extent."
)
set(header ${CMAKE_CURRENT_BINARY_DIR}/concepts/header.hpp)
# CMake lists split at semicolons. kokkos_scan_refuse(CASE SENTENCE [SOURCE])
function(kokkos_scan_refuse case sentence)
  set(source refused.cpp ${ARGN})
  list(GET source -1 source)
  add_test(
    NAME concepts.refused.${case}
    COMMAND
      ${CMAKE_COMMAND} -D DATABASE=${CMAKE_BINARY_DIR}/compile_commands.json -D
      LIKE=${CMAKE_CURRENT_SOURCE_DIR}/concepts.cpp -D HEADER=${header} -D
      SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/concepts/${source} -D CASE=${case} -D
      "SENTENCE=KokkosScan: ${sentence}" -P
      ${CMAKE_CURRENT_SOURCE_DIR}/concepts/compile.cmake)
  set_tests_properties(concepts.refused.${case} PROPERTIES FIXTURES_REQUIRED concepts_header)
endfunction()

# Its command compiles the cases too, with a header of their own.
set_target_properties(unit_test_concepts PROPERTIES EXPORT_COMPILE_COMMANDS ON DISABLE_PRECOMPILE_HEADERS ON)
# A precompiled header with what all cases include, if the compiler is GCC, to save most of the time.
add_test(
  NAME concepts.header
  COMMAND
    ${CMAKE_COMMAND} -D DATABASE=${CMAKE_BINARY_DIR}/compile_commands.json -D
    LIKE=${CMAKE_CURRENT_SOURCE_DIR}/concepts.cpp -D HEADER=${header} -P
    ${CMAKE_CURRENT_SOURCE_DIR}/concepts/compile.cmake)
set_tests_properties(concepts.header PROPERTIES FIXTURES_SETUP concepts_header)
add_test(
  NAME concepts.accepted
  COMMAND
    ${CMAKE_COMMAND} -D DATABASE=${CMAKE_BINARY_DIR}/compile_commands.json -D
    LIKE=${CMAKE_CURRENT_SOURCE_DIR}/concepts.cpp -D HEADER=${header} -D
    SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/concepts/refused.cpp -P
    ${CMAKE_CURRENT_SOURCE_DIR}/concepts/compile.cmake)
set_tests_properties(concepts.accepted PROPERTIES FIXTURES_REQUIRED concepts_header)

# Headers must compile without warnings that stricter projects turn into errors.
add_test(
  NAME concepts.without_warnings
  COMMAND
    ${CMAKE_COMMAND} -D DATABASE=${CMAKE_BINARY_DIR}/compile_commands.json -D
    LIKE=${CMAKE_CURRENT_SOURCE_DIR}/concepts.cpp -D
    "OPTIONS=-Werror;-Wsign-conversion;-Wold-style-cast;-Wconversion" -D
    SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/concepts/refused.cpp -P
    ${CMAKE_CURRENT_SOURCE_DIR}/concepts/compile.cmake)

# Of flags that take NaN and infinity away there is a warning, here an error.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_test(
    NAME concepts.finite_math
    COMMAND
      ${CMAKE_COMMAND} -D DATABASE=${CMAKE_BINARY_DIR}/compile_commands.json -D
      LIKE=${CMAKE_CURRENT_SOURCE_DIR}/concepts.cpp -D
      SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/concepts/refused.cpp -D CASE=finite_math -D
      "OPTIONS=-ffast-math;-Werror=cpp" -D "SENTENCE=KokkosScan: with -ffinite-math-only" -P
      ${CMAKE_CURRENT_SOURCE_DIR}/concepts/compile.cmake)
endif()

kokkos_scan_refuse(no_execution_space
                   "the first argument must be a Kokkos execution space instance.")
kokkos_scan_refuse(input_of_another_kind
                   "the input must be a Kokkos View, masked(...), elementwise(...) or zip(...).")
kokkos_scan_refuse(
  output_of_another_kind
  "the output must be a Kokkos View, projected(view, function) or for_each_result(...).")
kokkos_scan_refuse(operator_without_axis "${operator_axis}")
kokkos_scan_refuse(range_policy "the first argument must be a Kokkos execution space instance.")
kokkos_scan_refuse(workspace_bytes_of_a_range_policy
                   "the first argument must be a Kokkos execution space instance.")
kokkos_scan_refuse(boolean_as_axis "${axis_kind}")
kokkos_scan_refuse(character_as_axis "${axis_kind}")
kokkos_scan_refuse(number_as_axis "${axis_kind}")
kokkos_scan_refuse(enumeration_as_axis "${axis_kind}")
kokkos_scan_refuse(number_as_axis_of_along "${axis_kind}")
kokkos_scan_refuse(character_as_axis_of_along "${axis_kind}")
kokkos_scan_refuse(lambda_as_mask "${mask_kind}")
kokkos_scan_refuse(lambda_as_inner_mask "${mask_kind}")
kokkos_scan_refuse(struct_without_plus "Sum needs a + b for two accumulators a and b.")
kokkos_scan_refuse(struct_without_times "Prod needs a * b for two accumulators a and b.")
kokkos_scan_refuse(struct_without_less "Min and Max need a < b for two accumulators a and b.")
# C++20 conversions of numbers to aggregates.
kokkos_scan_refuse(input_that_fills_an_aggregate "${fills_input}")
kokkos_scan_refuse(computed_input_that_fills_an_aggregate "${fills_input}")
kokkos_scan_refuse(output_that_is_filled
                   "the accumulator would fill the first member of the output's values")
kokkos_scan_refuse(totals_that_are_filled
                   "the accumulator must convert to the values of the totals.")
kokkos_scan_refuse(starts_that_fill_an_aggregate "${fills_start}")
kokkos_scan_refuse(start_that_fills_an_aggregate "${fills_start}")
kokkos_scan_refuse(computed_starts_that_fill_an_aggregate "${fills_start}")
kokkos_scan_refuse(product_identity_of_an_aggregate "${no_identity}")
kokkos_scan_refuse(sum_identity_of_an_aggregate "${no_identity}")
kokkos_scan_refuse(
  computed_starts_of_another_rank
  "a View of starting values must have one dimension less than the input.")
kokkos_scan_refuse(computed_starts_that_cannot_be_called
                   "the function of computed starting values must be callable")
kokkos_scan_refuse(masked_start "the starting value must convert to the accumulator.")
kokkos_scan_refuse(rank_0 "the input must have rank 1 to 8.")
kokkos_scan_refuse(output_of_another_rank "input and output must have the same rank.")
kokkos_scan_refuse(const_output "${const_output}")
kokkos_scan_refuse(const_output_workspace_bytes "${const_output}")
kokkos_scan_refuse(sum_of_bool "${bool_sum}")
kokkos_scan_refuse(product_of_bool "${bool_sum}")
kokkos_scan_refuse(sum_in_bool "${bool_sum}")
kokkos_scan_refuse(minimum_of_complex "${complex_order}")
kokkos_scan_refuse(maximum_of_complex "${complex_order}")
kokkos_scan_refuse(logarithm_of_integers "LogSumExp needs a floating-point accumulator")
kokkos_scan_refuse(index_of_plain_values "ArgMin and ArgMax combine Indexed<T, Index>")
kokkos_scan_refuse(selection_of_a_masked_input "select takes elements from a Kokkos View, elementwise(...), or")
kokkos_scan_refuse(selection_into_too_few_outputs "zipped outputs need as many zipped inputs, one for each.")
kokkos_scan_refuse(selection_by_a_predicate_of_one_of_two "the third argument of select must be a mask, or a predicate")
kokkos_scan_refuse(selection_of_rank_3 "select takes inputs of rank 1 or 2.")
kokkos_scan_refuse(selection_without_predicate "the third argument of select must be a mask, or a predicate")
kokkos_scan_refuse(selection_by_mask_of_another_rank "${mask_rank}")
kokkos_scan_refuse(selection_with_a_count_of_another_rank "the count must have one dimension less")
kokkos_scan_refuse(selection_with_a_count_of_float "the count must be an integer.")
kokkos_scan_refuse(selection_into_another_type "the input's values must convert to those of the output")
kokkos_scan_refuse(values_that_are_not_trivially_copyable
                   "values and accumulators must be trivially copyable.")
kokkos_scan_refuse(values_with_a_const_member "${not_assignable}")
kokkos_scan_refuse(values_with_an_address_of
                   "values and accumulators must have no operator& of their own.")
kokkos_scan_refuse(selected_values_with_a_const_member
                   "values that are selected must be trivially copyable and assignable,")
kokkos_scan_refuse(start_as_operator "${start_as_operator}")
kokkos_scan_refuse(integer_start_as_operator "${start_as_operator}")
kokkos_scan_refuse(start_as_axis "${axis_kind} A starting value is given by along(axis).starting_at(value).")
kokkos_scan_refuse(input_that_does_not_convert
                   "the input's values must convert to the accumulator.")
kokkos_scan_refuse(accumulator_that_does_not_convert
                   "the accumulator must convert to the output's values.")
kokkos_scan_refuse(operator_of_one_argument "${operator_signature}")
kokkos_scan_refuse(operator_that_is_not_const "${operator_signature}")
kokkos_scan_refuse(operator_that_returns_nothing "${operator_signature}")
kokkos_scan_refuse(exclusive_without_identity "${exclusive_identity}")
kokkos_scan_refuse(exclusive_with_an_identity_of_another_type "${exclusive_identity}")
kokkos_scan_refuse(mask_without_identity "${mask_identity}")
kokkos_scan_refuse(start_does_not_replace_the_identity_for_a_mask "${mask_identity}")
kokkos_scan_refuse(mask_of_another_rank "${mask_rank}")
kokkos_scan_refuse(inner_mask_of_another_rank "${mask_rank}")
kokkos_scan_refuse(mask_of_structs "${mask_values}")
kokkos_scan_refuse(swapped_mask_and_values "${mask_values}")
kokkos_scan_refuse(mask_that_computes_numbers "${mask_values}")
kokkos_scan_refuse(selection_by_numbers
                   "a mask must be a Kokkos View or elementwise(...) whose values convert to bool and are no floating-point numbers."
)
kokkos_scan_refuse(starting_values_that_do_not_convert
                   "starting values must convert to the accumulator.")
kokkos_scan_refuse(totals_that_do_not_convert
                   "the accumulator must convert to the values of the totals.")
kokkos_scan_refuse(
  starting_values_of_another_rank
  "a View of starting values must have one dimension less than the input.")
kokkos_scan_refuse(starting_value_that_does_not_convert
                   "the starting value must convert to the accumulator.")
kokkos_scan_refuse(totals_of_another_rank "totals must have one dimension less than the input.")
kokkos_scan_refuse(const_totals "totals must not be a View of const values.")
kokkos_scan_refuse(totals_of_another_kind "totals must be a Kokkos View.")
kokkos_scan_refuse(workspace_of_another_kind "${workspace_kind}")
kokkos_scan_refuse(workspace_of_char "${workspace_kind}")
kokkos_scan_refuse(elementwise_without_extents "elementwise needs 1 to 8 extents.")
kokkos_scan_refuse(elementwise_of_another_rank "${elementwise_call}")
kokkos_scan_refuse(elementwise_that_is_not_const "${elementwise_call}")
# Outputs that compute.
set(projection_state "the function of projected must be of a class without members")
set(projection "the function of projected must be callable, as const, with the accumulator")
set(result_function
    "the function of for_each_result must be callable, as const, with one std::int64_t for each extent and the accumulator."
)
kokkos_scan_refuse(projected_array
                   "the output must be a Kokkos View, projected(view, function) or")
kokkos_scan_refuse(projection_with_members "${projection_state}")
kokkos_scan_refuse(projection_that_captures "${projection_state}")
kokkos_scan_refuse(projection_of_another_type "${projection}")
kokkos_scan_refuse(projection_to_another_type "${projection}")
kokkos_scan_refuse(projection_that_is_not_const "${projection}")
kokkos_scan_refuse(result_function_without_value "${result_function}")
kokkos_scan_refuse(result_function_of_another_rank "${result_function}")
kokkos_scan_refuse(result_function_of_another_type "${result_function}")
kokkos_scan_refuse(result_function_that_is_not_const "${result_function}")
kokkos_scan_refuse(for_each_result_without_extents "for_each_result needs 1 to 8 extents.")
kokkos_scan_refuse(for_each_result_of_another_rank
                   "input and output must have the same rank.")
# Zipped inputs and recurrences.
kokkos_scan_refuse(zip_of_another_rank "zipped inputs must have the same rank.")
kokkos_scan_refuse(zip_of_masked "zip takes inputs without masks")
kokkos_scan_refuse(zip_function "the function of zip_transform must be callable, as const")
kokkos_scan_refuse(zip_without_constructor
                   "the accumulator must be made of the elements that are zipped, as A(a, b) or A{a, b}")
kokkos_scan_refuse(coefficient_of_another_type
                   "the coefficients of a recurrence must be an input or a scalar")
kokkos_scan_refuse(coefficient_with_fraction "the coefficient of a recurrence would lose its fraction")
kokkos_scan_refuse(recurrence_of_masked "the terms and coefficients of a recurrence have no mask")
kokkos_scan_refuse(recurrence_into_nothing "the states of a recurrence go to a Kokkos View")
# Scans inside a kernel.
kokkos_scan_refuse(team_range_policy "the first argument of a team's scan must be TeamThreadRange"
                   refused_team.cpp)
kokkos_scan_refuse(team_input_of_rank_2 "the input of a team's scan must be a View of rank 1"
                   refused_team.cpp)
kokkos_scan_refuse(team_const_output "the output of a team's scan must be a View of rank 1"
                   refused_team.cpp)
kokkos_scan_refuse(team_output_of_one_argument "the output of a team's scan must be a View of rank 1"
                   refused_team.cpp)
kokkos_scan_refuse(team_float_mask "${mask_values}" refused_team.cpp)
kokkos_scan_refuse(team_mask_without_identity "${mask_identity}" refused_team.cpp)
kokkos_scan_refuse(team_exclusive_without_identity
                   "an exclusive scan needs an operator with an identity, or starting_at(...)."
                   refused_team.cpp)
kokkos_scan_refuse(team_member_of_callable "a scan of the whole input, with a team member instead"
                   refused_team.cpp)
kokkos_scan_refuse(team_number_as_options "a team's scan takes options such as starting_at(value)"
                   refused_team.cpp)
kokkos_scan_refuse(team_operator "the operator must be callable, as const, with two accumulators"
                   refused_team.cpp)
kokkos_scan_refuse(team_start "a starting value must convert to the accumulator." refused_team.cpp)
kokkos_scan_refuse(team_recurrence_of_masked
                   "the terms of a team's recurrence must be a View of rank 1" refused_team.cpp)
