// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Checks the types of a selection, like impl/check_types.hpp does for scans.

#include <KokkosScan/impl/check_types.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <type_traits>

namespace KokkosScan::impl {

/// The first error in the types of a selection.
enum class SelectRefusal {
  none,
  execution_space,
  input,
  output,
  zipped_outputs,
  counts,
  elementwise_function,
  rank,
  output_rank,
  counts_rank,
  const_output,
  const_counts,
  input_memory,
  output_memory,
  counts_memory,
  counts_values,
  not_trivially_copyable,
  conversion,
  mask_rank,
  mask_values,
  predicate,
  workspace,
  workspace_memory
};

template <class Input>
inline constexpr bool is_masked = false;
template <class Values, class Mask>
inline constexpr bool is_masked<Masked<Values, Mask>> = true;

/// Whether a predicate takes an element; those of zipped inputs are its arguments.
template <class Keep, class Element>
inline constexpr bool is_predicate_of = std::is_invocable_r_v<bool, const Keep&, const Element&>;
template <class Keep, class... T>
struct IsPredicateOfAll;
template <class Keep, class... Seen>
struct IsPredicateOfAll<Keep, Elements<>, Seen...>
    : std::is_invocable_r<bool, const Keep&, const Seen&...> {};
template <class Keep, class First, class... Rest, class... Seen>
struct IsPredicateOfAll<Keep, Elements<First, Rest...>, Seen...>
    : IsPredicateOfAll<Keep, Elements<Rest...>, Seen..., First> {};
template <class Keep, class... T>
inline constexpr bool is_predicate_of<Keep, Elements<T...>> =
    IsPredicateOfAll<Keep, Elements<T...>>::value;

/// Checks the mask or predicate that says which elements are kept.
template <class Exec, class In, class Keep>
constexpr SelectRefusal refusal_of_keep() {
  using I = InputTraits<In>;
  if constexpr (ScanInput<Keep>) {
    using K = InputTraits<Keep>;
    if constexpr (is_masked<Keep> || has_unreadable_mask<Keep>)
      return SelectRefusal::mask_values;
    else if constexpr (!K::functions_are_callable)
      return SelectRefusal::elementwise_function;
    else if constexpr (K::rank != I::rank)
      return SelectRefusal::mask_rank;
    else if constexpr (!MaskValue<typename K::Value>)
      return SelectRefusal::mask_values;
    else if constexpr (!K::template accessible<Exec>)
      return SelectRefusal::input_memory;
  } else if constexpr (!is_predicate_of<Keep, typename I::Value>) {
    return SelectRefusal::predicate;
  }
  return SelectRefusal::none;
}

template <class Exec, class In, class Out, class Count>
constexpr SelectRefusal refusal_of_select_values() {
  using I = InputTraits<In>;
  if constexpr (!I::functions_are_callable)
    return SelectRefusal::elementwise_function;
  else if constexpr (I::rank != 1 && I::rank != 2)
    return SelectRefusal::rank;
  else if constexpr (view_rank<Out> != I::rank)
    return SelectRefusal::output_rank;
  else if constexpr (view_rank<Count> != I::rank - 1)
    return SelectRefusal::counts_rank;
  else if constexpr (std::is_const_v<typename Out::value_type>)
    return SelectRefusal::const_output;
  else if constexpr (std::is_const_v<typename Count::value_type>)
    return SelectRefusal::const_counts;
  else if constexpr (!I::template accessible<Exec>)
    return SelectRefusal::input_memory;
  else if constexpr (!can_access<Exec, Out>)
    return SelectRefusal::output_memory;
  else if constexpr (!can_access<Exec, Count>)
    return SelectRefusal::counts_memory;
  else if constexpr (!std::is_integral_v<value_of<Count>> || std::is_same_v<value_of<Count>, bool>)
    return SelectRefusal::counts_values;
  else if constexpr (!std::is_trivially_copyable_v<typename I::Value> ||
                     !std::is_trivially_copyable_v<value_of<Out>> ||
                     !std::is_default_constructible_v<value_of<Out>> ||
                     !Assignable<value_of<Out>> || !Addressable<value_of<Out>> ||
                     !Addressable<typename I::Value>)
    return SelectRefusal::not_trivially_copyable;
  else if constexpr (!Converts<typename I::Value, value_of<Out>>)
    return SelectRefusal::conversion;
  else
    return SelectRefusal::none;
}

template <class Workspace, class Exec>
constexpr SelectRefusal refusal_of_select_workspace() {
  if constexpr (std::is_same_v<Workspace, None>)
    return SelectRefusal::none;
  else if constexpr (!ViewLike<Workspace>)
    return SelectRefusal::workspace;
  else if constexpr (!std::is_same_v<typename Workspace::value_type, std::byte> ||
                     view_rank<Workspace> != 1)
    return SelectRefusal::workspace;
  else if constexpr (!can_access<Exec, Workspace>)
    return SelectRefusal::workspace_memory;
  else
    return SelectRefusal::none;
}

/// Whether an output is one View, or zipped ones.
template <class Out>
inline constexpr bool is_select_output = ViewLike<Out>;
template <class... Views>
inline constexpr bool is_select_output<Zipped<Gather, Views...>> = (ViewLike<Views> && ...);

/// Checks each output with its input.
template <class Exec, class In, class Out, class Count>
struct RefusalOfPairs {
  static constexpr SelectRefusal value = refusal_of_select_values<Exec, In, Out, Count>();
};
template <class Exec, class In, class... Views, class Count>
struct RefusalOfPairs<Exec, In, Zipped<Gather, Views...>, Count> {
  static constexpr SelectRefusal value = SelectRefusal::zipped_outputs;
};
template <class Exec, class... Inputs, class... Views, class Count>
requires(sizeof...(Inputs) == sizeof...(Views))  //
    struct RefusalOfPairs<Exec, Zipped<Gather, Inputs...>, Zipped<Gather, Views...>, Count> {
  static constexpr SelectRefusal value = [] {
    SelectRefusal first = SelectRefusal::none;
    for (const SelectRefusal r : {refusal_of_select_values<Exec, Inputs, Views, Count>()...}) {
      if (first == SelectRefusal::none) first = r;
    }
    return first;
  }();
};

/// The error in the types of a selection.
template <class Exec, class In, class Keep, class Out, class Count, class Workspace>
constexpr SelectRefusal refusal_of_select() {
  if constexpr (!Kokkos::is_execution_space<Exec>::value)
    return SelectRefusal::execution_space;
  else if constexpr (!ScanInput<In>)
    return SelectRefusal::input;
  else if constexpr (InputTraits<In>::has_mask || !InputTraits<In>::zips_one_rank ||
                     !InputTraits<In>::zips_callably)
    return SelectRefusal::input;
  else if constexpr (!is_select_output<Out>)
    return SelectRefusal::output;
  else if constexpr (!ViewLike<Count>)
    return SelectRefusal::counts;
  else if constexpr (constexpr SelectRefusal of_pairs = RefusalOfPairs<Exec, In, Out, Count>::value;
                     of_pairs != SelectRefusal::none)
    return of_pairs;
  else if constexpr (constexpr SelectRefusal of_keep = refusal_of_keep<Exec, In, Keep>();
                     of_keep != SelectRefusal::none)
    return of_keep;
  else
    return refusal_of_select_workspace<Workspace, Exec>();
}

/// Fails to compile, with one sentence, unless r is none.
template <SelectRefusal r>
constexpr void explain() {
  using R = SelectRefusal;
  static_assert(r != R::execution_space,
                "KokkosScan: the first argument must be a Kokkos execution space instance.");
  static_assert(
      r != R::input,
      "KokkosScan: select takes elements from a Kokkos View, elementwise(...), or zip(...) "
      "of these, of one rank; a mask is its third argument.");
  static_assert(r != R::output,
                "KokkosScan: the output must be a Kokkos View, or zip(...) of Views.");
  static_assert(r != R::zipped_outputs,
                "KokkosScan: zipped outputs need as many zipped inputs, one for each.");
  static_assert(r != R::counts, "KokkosScan: the count must be a Kokkos View.");
  static_assert(r != R::elementwise_function,
                "KokkosScan: the function of elementwise must be callable, as const, with one "
                "std::int64_t for each extent.");
  static_assert(r != R::rank, "KokkosScan: select takes inputs of rank 1 or 2.");
  static_assert(r != R::output_rank, "KokkosScan: input and output must have the same rank.");
  static_assert(r != R::counts_rank,
                "KokkosScan: the count must have one dimension less than the input: a View of rank "
                "0 for one line, of rank 1 for rows.");
  static_assert(r != R::const_output, "KokkosScan: the output must not be a View of const values.");
  static_assert(r != R::const_counts, "KokkosScan: the count must not be a View of const values.");
  static_assert(r != R::input_memory,
                "KokkosScan: the execution space cannot access the memory of the input.");
  static_assert(r != R::output_memory,
                "KokkosScan: the execution space cannot access the memory of the output.");
  static_assert(r != R::counts_memory,
                "KokkosScan: the execution space cannot access the memory of the count.");
  static_assert(r != R::counts_values, "KokkosScan: the count must be an integer.");
  static_assert(r != R::not_trivially_copyable,
                "KokkosScan: values that are selected must be trivially copyable and assignable, "
                "and have a default constructor and no operator& of their own.");
  static_assert(
      r != R::conversion,
      "KokkosScan: the input's values must convert to those of the output, which are made "
      "of zipped elements as T(a, b) or T{a, b}.");
  static_assert(r != R::mask_rank, "KokkosScan: a mask must have the rank of what it masks.");
  static_assert(r != R::mask_values,
                "KokkosScan: a mask must be a Kokkos View or elementwise(...) whose values convert "
                "to bool and are no floating-point numbers.");
  static_assert(
      r != R::predicate,
      "KokkosScan: the third argument of select must be a mask, or a predicate that is "
      "callable, as const, with a value of the input, and returns what converts to bool.");
  static_assert(r != R::workspace,
                "KokkosScan: the workspace must be a Kokkos View of std::byte of rank 1.");
  static_assert(r != R::workspace_memory,
                "KokkosScan: the execution space cannot access the memory of the workspace.");
}

}  // namespace KokkosScan::impl
