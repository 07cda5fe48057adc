// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Checks the types of a call and explains the first error in one sentence. A refused call
/// instantiates nothing else.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/impl/operator_traits.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

/// Whether an execution space can access a View's memory.
template <class Exec, class View>
inline constexpr bool can_access =
    Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible;

/// Whether kernels can assign values of a type and take their addresses. A struct with a const
/// member is trivially copyable, but not assignable.
template <class T>
concept Assignable = std::is_copy_assignable_v<T>;
template <class T>
concept Addressable = requires(T& x) {
  { &x } -> std::same_as<T*>;
};
/// Whether a type can be that of a mask. Floating-point types are excluded, so that swapped
/// arguments of masked() are noticed.
template <class T>
concept MaskValue =
    std::is_constructible_v<bool, const T&> && !std::is_floating_point_v<accumulator_t<T>>;

/// The stored form of a callable: a function's address, or the object.
template <class F>
std::decay_t<const F&> kept_callable(const F& f) {
  return f;
}

// ---- Inputs -------------------------------------------------------------------------------------

/// Base of the traits of an input that contains no zip.
struct ZipsNothing {
  /// Whether a masked input is zipped. It must be the other way round: a mask goes around the zip,
  /// because the operator's identity is not an element of a zipped array.
  static constexpr bool zips_masked = false;
  /// Whether all zipped inputs have the same rank.
  static constexpr bool zips_one_rank = true;
  /// Whether the functions of zipped inputs can be called with their elements.
  static constexpr bool zips_callably = true;
};

/// The value type and rank of an input, the number of arrays and functions in it (its leaves), and
/// whether its functions can be called, its masks are valid masks and its zips valid zips.
template <class In>
struct InputTraits : ZipsNothing {
  using Value = typename In::non_const_value_type;
  static constexpr int rank = static_cast<int>(In::rank());
  static constexpr int leaves = 1;
  static constexpr bool functions_are_callable = true;
  static constexpr bool has_mask = false;
  static constexpr bool masks_have_rank = true;
  static constexpr bool masks_are_boolean = true;
  template <class Exec>
  static constexpr bool accessible = can_access<Exec, In>;
};
template <class In, class Mask>
struct InputTraits<Masked<In, Mask>> {
  using Value = typename InputTraits<In>::Value;
  static constexpr int rank = InputTraits<In>::rank;
  static constexpr int leaves = InputTraits<In>::leaves + InputTraits<Mask>::leaves;
  static constexpr bool functions_are_callable =
      InputTraits<In>::functions_are_callable && InputTraits<Mask>::functions_are_callable;
  static constexpr bool has_mask = true;
  static constexpr bool masks_have_rank = InputTraits<Mask>::rank == rank &&
                                          InputTraits<In>::masks_have_rank &&
                                          InputTraits<Mask>::masks_have_rank;
  static constexpr bool masks_are_boolean = MaskValue<typename InputTraits<Mask>::Value> &&
                                            InputTraits<In>::masks_are_boolean &&
                                            InputTraits<Mask>::masks_are_boolean;
  static constexpr bool zips_masked =
      InputTraits<In>::zips_masked || InputTraits<Mask>::zips_masked;
  static constexpr bool zips_one_rank =
      InputTraits<In>::zips_one_rank && InputTraits<Mask>::zips_one_rank;
  static constexpr bool zips_callably =
      InputTraits<In>::zips_callably && InputTraits<Mask>::zips_callably;
  template <class Exec>
  static constexpr bool accessible =
      InputTraits<In>::template accessible<Exec>&& InputTraits<Mask>::template accessible<Exec>;
};
template <class View>
struct InputTraits<OfEachLine<View>> : InputTraits<View> {
  static constexpr int rank = InputTraits<View>::rank + 1;
};
// A class, because nvcc drops the parameter of an alias that does not use it.
template <std::size_t>
struct IndexType {
  using type = std::int64_t;
};
/// The return type of the function of an elementwise input; None if it cannot be called.
template <std::size_t Rank, class F, class = std::make_index_sequence<Rank>>
struct ElementwiseValue;
template <std::size_t Rank, class F, std::size_t... D>
struct ElementwiseValue<Rank, F, std::index_sequence<D...>> {
  static constexpr bool is_callable = false;
  using type = None;
};
template <std::size_t Rank, class F, std::size_t... D>
requires std::is_invocable_v<const F&, typename IndexType<D>::type...>
struct ElementwiseValue<Rank, F, std::index_sequence<D...>> {
  static constexpr bool is_callable = true;
  using type = std::remove_cvref_t<std::invoke_result_t<const F&, typename IndexType<D>::type...>>;
};
template <std::size_t Rank, class F>
struct InputTraits<Elementwise<Rank, F>> : ZipsNothing {
  using Value = typename ElementwiseValue<Rank, F>::type;
  static constexpr int rank = static_cast<int>(Rank);
  static constexpr int leaves = 1;
  static constexpr bool functions_are_callable = ElementwiseValue<Rank, F>::is_callable;
  static constexpr bool has_mask = false;
  static constexpr bool masks_have_rank = true;
  static constexpr bool masks_are_boolean = true;
  template <class Exec>
  static constexpr bool accessible = true;
};

/// The return type of the function of a zipped input; None if it cannot be called.
template <class Function, class... Values>
struct ZippedValue {
  static constexpr bool is_callable = false;
  using type = None;
};
template <class Function, class... Values>
requires std::is_invocable_v<const Function&, const Values&...>
struct ZippedValue<Function, Values...> {
  static constexpr bool is_callable = true;
  using type = std::remove_cvref_t<std::invoke_result_t<const Function&, const Values&...>>;
};
template <class Function, class First, class... Rest>
struct InputTraits<Zipped<Function, First, Rest...>> {
  using Result = ZippedValue<Function, typename InputTraits<First>::Value,
                             typename InputTraits<Rest>::Value...>;
  using Value = typename Result::type;
  static constexpr int rank = InputTraits<First>::rank;
  static constexpr int leaves = (InputTraits<First>::leaves + ... + InputTraits<Rest>::leaves);
  static constexpr bool functions_are_callable = InputTraits<First>::functions_are_callable &&
                                                 (InputTraits<Rest>::functions_are_callable && ...);
  static constexpr bool has_mask =
      InputTraits<First>::has_mask || (InputTraits<Rest>::has_mask || ...);
  static constexpr bool masks_have_rank =
      InputTraits<First>::masks_have_rank && (InputTraits<Rest>::masks_have_rank && ...);
  static constexpr bool masks_are_boolean =
      InputTraits<First>::masks_are_boolean && (InputTraits<Rest>::masks_are_boolean && ...);
  static constexpr bool zips_masked = has_mask;
  static constexpr bool zips_one_rank = ((InputTraits<Rest>::rank == rank) && ...) &&
                                        InputTraits<First>::zips_one_rank &&
                                        (InputTraits<Rest>::zips_one_rank && ...);
  static constexpr bool zips_callably = Result::is_callable && InputTraits<First>::zips_callably &&
                                        (InputTraits<Rest>::zips_callably && ...);
  template <class Exec>
  static constexpr bool accessible = InputTraits<First>::template accessible<Exec> &&
                                     (InputTraits<Rest>::template accessible<Exec> && ...);
};

/// Whether an input contains a zip.
template <class In>
inline constexpr bool is_zipped = false;
template <class In, class Mask>
inline constexpr bool is_zipped<Masked<In, Mask>> = is_zipped<In> || is_zipped<Mask>;
template <class Function, class... Inputs>
inline constexpr bool is_zipped<Zipped<Function, Inputs...>> = true;

/// Whether an input contains a mask that a scan cannot read.
template <class In>
inline constexpr bool has_unreadable_mask = false;
template <class In, class Mask>
inline constexpr bool has_unreadable_mask<Masked<In, Mask>> =
    !ScanInput<Mask> || has_unreadable_mask<In>;
template <class Function, class... Inputs>
inline constexpr bool has_unreadable_mask<Zipped<Function, Inputs...>> =
    (has_unreadable_mask<Inputs> || ...);

template <class In>
inline constexpr bool is_elementwise = false;
template <std::size_t Rank, class F>
inline constexpr bool is_elementwise<Elementwise<Rank, F>> = true;

template <class T>
requires ViewLike<T>
inline constexpr int view_rank = static_cast<int>(T::rank());

template <class View>
using value_of = typename View::non_const_value_type;

/// Whether there is a starting value for each line: a View or a computed input.
template <class Start>
inline constexpr bool is_start_of_each_line = ViewLike<Start> || is_elementwise<Start>;

// ---- Outputs ------------------------------------------------------------------------------------

/// The rank, memory and value type of an output, and its type in a Problem.
template <class View>
struct OutputTraits {
  static constexpr int rank = view_rank<View>;
  static constexpr bool is_const = std::is_const_v<typename View::value_type>;
  template <class Exec>
  static constexpr bool accessible = can_access<Exec, View>;
  template <class In>
  using Value = value_of<View>;
  template <class A>
  using Stored = value_of<View>;
};
template <class View, class F>
struct OutputTraits<Projected<View, F>> : OutputTraits<View> {
  template <class A>
  using Stored = ProjectedValue<value_of<View>, A, F>;
};
template <std::size_t Rank, class F, class Result>
struct OutputTraits<ForEachResult<Rank, F, Result>> {
  static constexpr int rank = static_cast<int>(Rank);
  static constexpr bool is_const = false;
  template <class Exec>
  static constexpr bool accessible = true;
  template <class In>
  using Value = typename InputTraits<In>::Value;
  template <class A>
  using Stored =
      Called<std::conditional_t<std::is_void_v<Result>, A, Result>, static_cast<int>(Rank), F>;
};

/// The accumulator of a call.
template <class In, class Out, class Op>
using accumulator_of_call_t = accumulator_of_t<Op, typename OutputTraits<Out>::template Value<In>>;

// ---- Lines --------------------------------------------------------------------------------------

/// The lines argument converted to an Along.
template <class Start, class Totals, class Workspace, Grouping grouping>
const Along<Start, Totals, Workspace, grouping>& lines_of(
    const Along<Start, Totals, Workspace, grouping>& lines) {
  return lines;
}
template <Axis A>
Along<> lines_of(A axis) {
  return along(axis);
}
template <class Lines>
using lines_of_t = std::remove_cvref_t<decltype(lines_of(std::declval<const Lines&>()))>;

template <class Lines>
struct LinesTraits;
template <class S, class T, class W, Grouping g>
struct LinesTraits<Along<S, T, W, g>> {
  using Start = S;
  using Totals = T;
  using Workspace = W;
  static constexpr Grouping grouping = g;
};

// ---- Conversions -------------------------------------------------------------------------------

/// Converts to whatever From converts to implicitly.
template <class From>
struct Implicitly {
  template <class To>
  requires std::is_convertible_v<const From&, To>
  operator To() const;
};
/// Whether a value converts implicitly to the first member of an aggregate.
template <class From, class To>
concept FitsFirstMember = requires(const Implicitly<From>& x) {
  To{x};
};
/// Whether a cast would only initialise the first member of an aggregate (parenthesised aggregate
/// initialisation of C++20) and zero the rest. False for types with a conversion operator
/// (nvcc 13.0 does not find operator templates).
template <class From, class To>
inline constexpr bool fills_first_member =
    std::is_aggregate_v<To> && !std::is_convertible_v<const From&, To> &&
    FitsFirstMember<From, To> && !requires(const From& x) {
  x.operator To();
};

/// Whether there is a conversion, other than a cast that only fills an aggregate's first member.
template <class From, class To>
concept Converts = requires(const From& x) {
  static_cast<To>(x);
}
&&!fills_first_member<From, To>;

template <class From, class To>
concept ConvertsTo = Converts<std::remove_cvref_t<From>, To>;

// ---- The checks ---------------------------------------------------------------------------------

/// The first error in the types of a call.
enum class Refusal {
  none,
  execution_space,
  mask,
  input,
  output,
  axis,
  lines,
  elementwise_function,
  elementwise_extents,
  zip_of_masked,
  zip_ranks,
  zip_function,
  input_rank,
  output_rank,
  const_output,
  input_memory,
  output_memory,
  sum_of_bool,
  order_of_complex,
  not_trivially_copyable,
  not_assignable,
  not_addressable,
  input_fills_aggregate,
  input_conversion,
  zip_conversion,
  output_fills_aggregate,
  output_conversion,
  output_extents,
  projection_state,
  projection,
  result_function,
  addition,
  multiplication,
  comparison,
  logarithm,
  indexed_values,
  start_as_operator,
  operator_call,
  identity_of_aggregate,
  exclusive_identity,
  mask_identity,
  mask_rank,
  mask_values,
  start_function,
  start_rank,
  start_memory,
  start_fills_aggregate,
  starts_conversion,
  start_conversion,
  totals,
  totals_rank,
  const_totals,
  totals_memory,
  totals_conversion,
  workspace,
  workspace_memory
};

/// Whether a stateless function of an accumulator returns a value that converts to T.
template <class F, class A, class T>
concept Projects = requires(const F& f, const A& result) {
  { f(result) } -> ConvertsTo<T>;
};
/// Whether a function can be called with Rank indices and an accumulator.
template <std::size_t Rank, class F, class A, class = std::make_index_sequence<Rank>>
inline constexpr bool takes_results = false;
template <std::size_t Rank, class F, class A, std::size_t... D>
inline constexpr bool takes_results<Rank, F, A, std::index_sequence<D...>> =
    std::is_invocable_v<const F&, typename IndexType<D>::type..., const A&>;

/// The error in an output for results that are combined in A and carried in R.
template <class Out, class A, class R>
struct RefusalOfOutput {
  using Value = value_of<Out>;
  static constexpr Refusal value = !std::is_trivially_copyable_v<Value>
                                       ? Refusal::not_trivially_copyable
                                   : !Assignable<Value>           ? Refusal::not_assignable
                                   : !Addressable<Value>          ? Refusal::not_addressable
                                   : fills_first_member<R, Value> ? Refusal::output_fills_aggregate
                                   : !Converts<R, Value>          ? Refusal::output_conversion
                                                                  : Refusal::none;
};
template <class View, class F, class A, class R>
struct RefusalOfOutput<Projected<View, F>, A, R> {
  static constexpr Refusal value =
      !std::is_trivially_copyable_v<value_of<View>>                ? Refusal::not_trivially_copyable
      : !Assignable<value_of<View>>                                ? Refusal::not_assignable
      : !Addressable<value_of<View>>                               ? Refusal::not_addressable
      : !std::is_empty_v<F> || !std::is_default_constructible_v<F> ? Refusal::projection_state
      : !Projects<F, A, value_of<View>>                            ? Refusal::projection
                                                                   : Refusal::none;
};
template <std::size_t Rank, class F, class Result, class A, class R>
struct RefusalOfOutput<ForEachResult<Rank, F, Result>, A, R> {
  static constexpr Refusal value =
      takes_results<Rank, F, std::conditional_t<std::is_void_v<Result>, A, Result>>
          ? Refusal::none
          : Refusal::result_function;
};

template <class Exec, class In, class L, class A>
constexpr Refusal refusal_of_start() {
  using Start = typename L::Start;
  if constexpr (is_start_of_each_line<Start>) {
    using S = InputTraits<Start>;
    if constexpr (!S::functions_are_callable)
      return Refusal::start_function;
    else if constexpr (is_elementwise<Start> && S::rank < 1)
      return Refusal::elementwise_extents;
    else if constexpr (S::rank != InputTraits<In>::rank - 1)
      return Refusal::start_rank;
    else if constexpr (!S::template accessible<Exec>)
      return Refusal::start_memory;
    else if constexpr (fills_first_member<typename S::Value, A>)
      return Refusal::start_fills_aggregate;
    else if constexpr (!Converts<typename S::Value, A>)
      return Refusal::starts_conversion;
  } else if constexpr (!std::is_same_v<Start, None>) {
    if constexpr (ScanInput<Start>)
      return Refusal::start_conversion;
    else if constexpr (fills_first_member<Start, A>)
      return Refusal::start_fills_aggregate;
    else if constexpr (!Converts<Start, A>)
      return Refusal::start_conversion;
  }
  return Refusal::none;
}

template <class Exec, class In, class L, class R>
constexpr Refusal refusal_of_totals() {
  using Totals = typename L::Totals;
  if constexpr (std::is_same_v<Totals, None>)
    return Refusal::none;
  else if constexpr (!ViewLike<Totals>)
    return Refusal::totals;
  else if constexpr (view_rank<Totals> != InputTraits<In>::rank - 1)
    return Refusal::totals_rank;
  else if constexpr (std::is_const_v<typename Totals::value_type>)
    return Refusal::const_totals;
  else if constexpr (!can_access<Exec, Totals>)
    return Refusal::totals_memory;
  else if constexpr (!Converts<R, value_of<Totals>>)
    return Refusal::totals_conversion;
  else if constexpr (!Assignable<value_of<Totals>>)
    return Refusal::not_assignable;
  else if constexpr (!Addressable<value_of<Totals>>)
    return Refusal::not_addressable;
  else
    return Refusal::none;
}

template <class Exec, class L>
constexpr Refusal refusal_of_workspace() {
  using Workspace = typename L::Workspace;
  if constexpr (std::is_same_v<Workspace, None>)
    return Refusal::none;
  else if constexpr (!ViewLike<Workspace>)
    return Refusal::workspace;
  else if constexpr (!std::is_same_v<typename Workspace::value_type, std::byte> ||
                     view_rank<Workspace> != 1)
    return Refusal::workspace;
  else if constexpr (!can_access<Exec, Workspace>)
    return Refusal::workspace_memory;
  else
    return Refusal::none;
}

/// Checks that the operator can combine accumulators and has an identity if one is needed.
template <Function function, class In, class L, class Op, class A>
constexpr Refusal refusal_of_operator() {
  constexpr bool has_start = !std::is_same_v<typename L::Start, None>;
  constexpr bool needs_identity =
      (function == Function::exclusive_scan && !has_start) || InputTraits<In>::has_mask;
  if constexpr (is_sum<Op> && !requires(const A& a) { static_cast<A>(a + a); })
    return Refusal::addition;
  else if constexpr (is_product<Op> && !requires(const A& a) { static_cast<A>(a * a); })
    return Refusal::multiplication;
  else if constexpr (is_min_or_max<Op> && !requires(const A& a) { static_cast<bool>(a < a); })
    return Refusal::comparison;
  else if constexpr (is_log_sum_exp<Op> && !std::is_floating_point_v<A>)
    return Refusal::logarithm;
  else if constexpr (std::is_arithmetic_v<Op>)
    return Refusal::start_as_operator;
  else if constexpr (!OperatorOn<Op, A>)
    return Refusal::operator_call;
  else if constexpr (!needs_identity || HasIdentity<Op, A>)
    return Refusal::none;
  else if constexpr ((is_sum<Op> || is_product<Op>)&&std::is_aggregate_v<A>)
    return Refusal::identity_of_aggregate;
  else if constexpr (InputTraits<In>::has_mask)
    return Refusal::mask_identity;
  else
    return Refusal::exclusive_identity;
}

/// The error in arguments that are each of the right kind.
template <Function function, class Exec, class In, class Out, class L, class Op>
constexpr Refusal refusal_of_values() {
  using I = InputTraits<In>;
  using O = OutputTraits<Out>;
  using A = accumulator_of_call_t<In, Out, Op>;
  using Bound = bound_t<Op, A>;
  using R = carried_t<Bound, A>;
  if constexpr (is_elementwise<In> && (I::rank < 1 || I::rank > 8))
    return Refusal::elementwise_extents;
  else if constexpr (!I::functions_are_callable)
    return Refusal::elementwise_function;
  else if constexpr (I::zips_masked)
    return Refusal::zip_of_masked;
  else if constexpr (!I::zips_one_rank)
    return Refusal::zip_ranks;
  else if constexpr (!I::zips_callably)
    return Refusal::zip_function;
  else if constexpr (I::rank < 1 || I::rank > 8)
    return Refusal::input_rank;
  else if constexpr (O::rank < 1)
    return Refusal::output_extents;
  else if constexpr (O::rank != I::rank)
    return Refusal::output_rank;
  else if constexpr (O::is_const)
    return Refusal::const_output;
  else if constexpr (!I::template accessible<Exec>)
    return Refusal::input_memory;
  else if constexpr (!O::template accessible<Exec>)
    return Refusal::output_memory;
  else if constexpr ((is_sum<Bound> || is_product<Bound>)&&std::is_same_v<A, bool>)
    return Refusal::sum_of_bool;
  else if constexpr (is_min_or_max<Bound> && is_complex<A>)
    return Refusal::order_of_complex;
  else if constexpr (is_arg_min_or_max<Bound> && !is_indexed<A>)
    return Refusal::indexed_values;
  else if constexpr (!std::is_trivially_copyable_v<A>)
    return Refusal::not_trivially_copyable;
  else if constexpr (!Assignable<A>)
    return Refusal::not_assignable;
  else if constexpr (!Addressable<A> || !Addressable<typename I::Value>)
    return Refusal::not_addressable;
  else if constexpr (fills_first_member<typename I::Value, A>)
    return Refusal::input_fills_aggregate;
  else if constexpr (!Converts<typename I::Value, A>)
    return is_zipped<In> ? Refusal::zip_conversion : Refusal::input_conversion;
  else if constexpr (constexpr Refusal of_output = RefusalOfOutput<Out, A, R>::value;
                     of_output != Refusal::none)
    return of_output;
  else if constexpr (!I::masks_have_rank)
    return Refusal::mask_rank;
  else if constexpr (!I::masks_are_boolean)
    return Refusal::mask_values;
  else if constexpr (constexpr Refusal of_operator =
                         refusal_of_operator<function, In, L, Bound, A>();
                     of_operator != Refusal::none)
    return of_operator;
  else if constexpr (constexpr Refusal of_start = refusal_of_start<Exec, In, L, A>();
                     of_start != Refusal::none)
    return of_start;
  else if constexpr (constexpr Refusal of_totals = refusal_of_totals<Exec, In, L, R>();
                     of_totals != Refusal::none)
    return of_totals;
  else
    return refusal_of_workspace<Exec, L>();
}

/// The error in the types of a call.
template <Function function, class Exec, class In, class Out, class Lines, class Op>
constexpr Refusal refusal_of() {
  if constexpr (!Kokkos::is_execution_space<Exec>::value)
    return Refusal::execution_space;
  else if constexpr (has_unreadable_mask<In>)
    return Refusal::mask;
  else if constexpr (!ScanInput<In>)
    return Refusal::input;
  else if constexpr (!ScanOutput<Out>)
    return Refusal::output;
  else if constexpr (std::is_arithmetic_v<Lines> && !ScanLines<Lines>)
    return Refusal::axis;
  else if constexpr (std::is_enum_v<Lines>)
    return Refusal::axis;
  else if constexpr (!ScanLines<Lines>)
    return Refusal::lines;
  else
    return refusal_of_values<function, Exec, In, Out, LinesTraits<lines_of_t<Lines>>, Op>();
}

/// Fails to compile, with one sentence, unless r is none.
template <Refusal r>
constexpr void explain() {
  static_assert(r != Refusal::execution_space,
                "KokkosScan: the first argument must be a Kokkos execution space instance.");
  static_assert(r != Refusal::mask,
                "KokkosScan: a mask must be a Kokkos View, masked(...) or elementwise(...); a "
                "function of the indices becomes one by elementwise(extents, function).");
  static_assert(r != Refusal::input,
                "KokkosScan: the input must be a Kokkos View, masked(...), elementwise(...) or "
                "zip(...). Other memory, such as that of a std::vector v, becomes a View by "
                "Kokkos::View<T*, Kokkos::HostSpace>(v.data(), v.size()).");
  static_assert(r != Refusal::output,
                "KokkosScan: the output must be a Kokkos View, projected(view, function) or "
                "for_each_result(...).");
  static_assert(r != Refusal::axis,
                "KokkosScan: an axis must be an int or another integer, not a bool, a character, a "
                "floating-point number or an enumeration. A starting value is given by "
                "along(axis).starting_at(value).");
  static_assert(
      r != Refusal::lines,
      "KokkosScan: the argument after the output must be an axis or along(axis); an operator needs "
      "an explicit axis before it.");
  static_assert(r != Refusal::elementwise_function,
                "KokkosScan: the function of elementwise must be callable, as const, with one "
                "std::int64_t for each extent.");
  static_assert(r != Refusal::elementwise_extents, "KokkosScan: elementwise needs 1 to 8 extents.");
  static_assert(r != Refusal::zip_of_masked,
                "KokkosScan: zip takes inputs without masks; mask what it makes instead, as in "
                "masked(zip(a, b), mask).");
  static_assert(r != Refusal::zip_ranks, "KokkosScan: zipped inputs must have the same rank.");
  static_assert(r != Refusal::zip_function,
                "KokkosScan: the function of zip_transform must be callable, as const, with an "
                "element of each input.");
  static_assert(r != Refusal::input_rank, "KokkosScan: the input must have rank 1 to 8.");
  static_assert(r != Refusal::output_rank, "KokkosScan: input and output must have the same rank.");
  static_assert(r != Refusal::const_output,
                "KokkosScan: the output must not be a View of const values.");
  static_assert(r != Refusal::input_memory,
                "KokkosScan: the execution space cannot access the memory of the input.");
  static_assert(r != Refusal::output_memory,
                "KokkosScan: the execution space cannot access the memory of the output.");
  static_assert(r != Refusal::sum_of_bool,
                "KokkosScan: Sum and Prod of bool need an output of another type, or "
                "an accumulator of another type, such as Sum<int>.");
  static_assert(r != Refusal::order_of_complex,
                "KokkosScan: complex values have no order, so Min and Max cannot combine them.");
  static_assert(r != Refusal::not_trivially_copyable,
                "KokkosScan: values and accumulators must be trivially copyable.");
  static_assert(r != Refusal::not_assignable,
                "KokkosScan: values and accumulators must be assignable, so without const members "
                "or references.");
  static_assert(r != Refusal::not_addressable,
                "KokkosScan: values and accumulators must have no operator& of their own.");
  static_assert(r != Refusal::input_fills_aggregate,
                "KokkosScan: the input's values would fill the first member of the accumulator and "
                "leave the others 0; give the accumulator a constructor from them.");
  static_assert(r != Refusal::input_conversion,
                "KokkosScan: the input's values must convert to the accumulator.");
  static_assert(r != Refusal::zip_conversion,
                "KokkosScan: the accumulator must be made of the elements that are zipped, as "
                "A(a, b) or A{a, b}, or of what the function of zip_transform returns. It follows "
                "the output's values where the operator names none, as its accumulator_type.");
  static_assert(r != Refusal::output_fills_aggregate,
                "KokkosScan: the accumulator would fill the first member of the output's values "
                "and leave the others 0; give them a constructor from it.");
  static_assert(r != Refusal::output_conversion,
                "KokkosScan: the accumulator must convert to the output's values.");
  static_assert(r != Refusal::output_extents, "KokkosScan: for_each_result needs 1 to 8 extents.");
  static_assert(r != Refusal::projection_state,
                "KokkosScan: the function of projected must be of a class without members and with "
                "a default constructor, so no KOKKOS_LAMBDA; what captures something goes to "
                "for_each_result.");
  static_assert(r != Refusal::projection,
                "KokkosScan: the function of projected must be callable, as const, with the "
                "accumulator, and return what converts to the values of the View.");
  static_assert(r != Refusal::result_function,
                "KokkosScan: the function of for_each_result must be callable, as const, with one "
                "std::int64_t for each extent and the accumulator.");
  static_assert(r != Refusal::addition,
                "KokkosScan: Sum needs a + b for two accumulators a and b.");
  static_assert(r != Refusal::multiplication,
                "KokkosScan: Prod needs a * b for two accumulators a and b.");
  static_assert(r != Refusal::comparison,
                "KokkosScan: Min and Max need a < b for two accumulators a and b.");
  static_assert(r != Refusal::logarithm,
                "KokkosScan: LogSumExp needs a floating-point accumulator: that of the output, or "
                "one that is named, such as LogSumExp<double>.");
  static_assert(
      r != Refusal::indexed_values,
      "KokkosScan: ArgMin and ArgMax combine Indexed<T, Index>: scan indexed(view) into a "
      "View of Indexed, or name the accumulator, as in ArgMax<Ties::first, Indexed<double>>.");
  static_assert(r != Refusal::start_as_operator,
                "KokkosScan: the argument after the axis is the operator, not a number. A starting "
                "value is given by along(axis).starting_at(value).");
  static_assert(r != Refusal::operator_call,
                "KokkosScan: the operator must be callable, as const, with two accumulators, and "
                "return what converts to the accumulator. That follows the output's values where "
                "the operator names none, as its accumulator_type.");
  static_assert(r != Refusal::identity_of_aggregate,
                "KokkosScan: Sum and Prod have no identity for a struct that a number does not "
                "construct: T(1) would fill its first member and leave the others 0; give it a "
                "constructor from int, or write an operator with an identity().");
  static_assert(r != Refusal::exclusive_identity,
                "KokkosScan: an exclusive scan needs an operator with an identity, or "
                "along(...).starting_at(...).");
  static_assert(r != Refusal::mask_identity,
                "KokkosScan: a mask needs an operator with an identity.");
  static_assert(r != Refusal::mask_rank, "KokkosScan: a mask must have the rank of what it masks.");
  static_assert(r != Refusal::mask_values,
                "KokkosScan: the values of a mask must convert to bool and not be floating-point "
                "numbers. The mask is the second argument of masked(values, mask).");
  static_assert(r != Refusal::start_function,
                "KokkosScan: the function of computed starting values must be callable, as const, "
                "with one std::int64_t for each extent.");
  static_assert(r != Refusal::start_rank,
                "KokkosScan: a View of starting values must have one dimension less than the "
                "input.");
  static_assert(r != Refusal::start_memory,
                "KokkosScan: the execution space cannot access the memory of the starting values.");
  static_assert(r != Refusal::start_fills_aggregate,
                "KokkosScan: a starting value would fill the first member of the accumulator and "
                "leave the others 0; start at a value of the accumulator's type.");
  static_assert(r != Refusal::starts_conversion,
                "KokkosScan: starting values must convert to the accumulator.");
  static_assert(r != Refusal::start_conversion,
                "KokkosScan: the starting value must convert to the accumulator.");
  static_assert(r != Refusal::totals, "KokkosScan: totals must be a Kokkos View.");
  static_assert(r != Refusal::totals_rank,
                "KokkosScan: totals must have one dimension less than the input.");
  static_assert(r != Refusal::const_totals,
                "KokkosScan: totals must not be a View of const values.");
  static_assert(r != Refusal::totals_memory,
                "KokkosScan: the execution space cannot access the memory of the totals.");
  static_assert(r != Refusal::totals_conversion,
                "KokkosScan: the accumulator must convert to the values of the totals.");
  static_assert(r != Refusal::workspace,
                "KokkosScan: the workspace must be a Kokkos View of std::byte of rank 1.");
  static_assert(r != Refusal::workspace_memory,
                "KokkosScan: the execution space cannot access the memory of the workspace.");
}

}  // namespace KokkosScan::impl
