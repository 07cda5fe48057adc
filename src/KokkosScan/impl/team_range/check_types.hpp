// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Checks the types of a scan inside a kernel and explains the first error in one sentence. A
/// refused call instantiates nothing else.

#include <KokkosScan/impl/team_range/combination.hpp>
#include <KokkosScan/impl/team_range/scan.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::team_range {

template <class T>
inline constexpr bool is_view = Kokkos::is_view<T>::value;

template <class T>
consteval bool is_rank_1() {
  if constexpr (is_view<T>) {
    return T::rank() == 1;
  } else {
    return false;
  }
}

/// Whether x is a View of rank 1, a callable of an index, or masked.
template <class In, class Index>
inline constexpr bool is_input = is_rank_1<In>() ||
                                 (!is_view<In> && std::is_invocable_v<const In&, Index>);
template <class Values, class Mask, class Index>
inline constexpr bool is_input<Masked<Values, Mask>, Index> =
    is_input<Values, Index>&& is_input<Mask, Index>;

template <class In, class Index>
using value_of_input =
    std::remove_cvref_t<decltype(element(std::declval<const In&>(), std::declval<Index>()))>;

/// Whether the size of an input is known.
template <class In>
inline constexpr bool has_extent = is_view<In>;
template <class Values, class Mask>
inline constexpr bool has_extent<Masked<Values, Mask>> = has_extent<Values>;

/// Whether the values of all masks are or convert to bool, and are not floating-point numbers.
template <class In, class Index>
inline constexpr bool masks_are_boolean = true;
template <class Values, class Mask, class Index>
inline constexpr bool masks_are_boolean<Masked<Values, Mask>, Index> =
    std::is_constructible_v<bool, value_of_input<Mask, Index>> &&
    !std::is_floating_point_v<value_of_input<Mask, Index>> && masks_are_boolean<Values, Index>;

/// The type of results before they are stored.
template <class In, class Out, class Index>
struct ValueOf {
  using type = value_of_input<In, Index>;
};
template <class In, class Out, class Index>
requires is_view<Out>
struct ValueOf<In, Out, Index> {
  using type = typename Out::non_const_value_type;
};

template <class Out, class Index, class A, Result result>
consteval bool is_output() {
  if constexpr (is_view<Out>) {
    return Out::rank() == 1 && result != Result::both && !std::is_const_v<typename Out::value_type>;
  } else if constexpr (result == Result::both) {
    return std::is_invocable_v<const Out&, Index, const A&, const A&>;
  } else {
    return std::is_invocable_v<const Out&, Index, const A&>;
  }
}

/// The first error in the types of a call.
enum class Refusal {
  none,
  range,
  space,
  options,
  input,
  mask,
  extent,
  operator_call,
  not_trivially_copyable,
  output,
  start,
  exclusive_identity,
  mask_identity
};

template <class Op, class A>
concept Identity = requires(const Op& op) {
  static_cast<A>(op.identity());
};

template <class Range, class In, class Out, class Options, class OpOrTransparent, Result result>
consteval Refusal refusal_of() {
  using Traits = RangeTraits<Range>;
  if constexpr (Traits::level == Level::none) {
    return Refusal::range;
  } else if constexpr (!has_warps<typename Traits::Member::execution_space> &&
                       !has_host_teams<typename Traits::Member::execution_space>) {
    return Refusal::space;
  } else if constexpr (!requires(const Options& o) { o.scratch_level(); }) {
    return Refusal::options;
  } else {
    using Index = typename Traits::Index;
    if constexpr (!is_input<In, Index>) {
      return Refusal::input;
    } else if constexpr (!masks_are_boolean<In, Index>) {
      return Refusal::mask;
    } else if constexpr (Traits::is_member && !has_extent<In>) {
      return Refusal::extent;
    } else {
      using A = accumulator_of_t<OpOrTransparent, typename ValueOf<In, Out, Index>::type>;
      using Op = bound_t<OpOrTransparent, A>;
      using Start = std::remove_cvref_t<decltype(std::declval<const Options&>().start())>;
      constexpr bool has_start = !std::is_same_v<Start, None>;
      if constexpr (!std::is_trivially_copyable_v<A> || !std::is_copy_assignable_v<A>) {
        return Refusal::not_trivially_copyable;
      } else if constexpr (!std::is_invocable_r_v<A, const Op&, const A&, const A&>) {
        return Refusal::operator_call;
      } else if constexpr (!is_output<Out, Index, A, result>()) {
        return Refusal::output;
      } else if constexpr (has_start && !std::is_constructible_v<A, const Start&>) {
        return Refusal::start;
      } else if constexpr (result != Result::inclusive && !has_start && !Identity<Op, A>) {
        return Refusal::exclusive_identity;
      } else if constexpr (has_mask<In> && !Identity<Op, A>) {
        return Refusal::mask_identity;
      } else {
        return Refusal::none;
      }
    }
  }
}

template <Refusal refusal>
KOKKOS_FORCEINLINE_FUNCTION constexpr void explain() {
  static_assert(refusal != Refusal::range,
                "KokkosScan: the first argument of a team's scan must be TeamThreadRange, "
                "TeamVectorRange, ThreadVectorRange or the team member.");
  static_assert(refusal != Refusal::space,
                "KokkosScan: scans inside a kernel run on Serial, OpenMP, Threads, Cuda and HIP.");
  static_assert(refusal != Refusal::options,
                "KokkosScan: a team's scan takes options such as starting_at(value), then the "
                "operator.");
  static_assert(refusal != Refusal::input,
                "KokkosScan: the input of a team's scan must be a View of rank 1, a callable of an "
                "index, or masked(input, mask) of these.");
  static_assert(refusal != Refusal::mask,
                "KokkosScan: the values of a mask must convert to bool and not be floating-point "
                "numbers. The mask is the second argument of masked(values, mask).");
  static_assert(refusal != Refusal::extent,
                "KokkosScan: a scan of the whole input, with a team member instead of a range, "
                "needs a View as its input.");
  static_assert(refusal != Refusal::operator_call,
                "KokkosScan: the operator must be callable, as const, with two accumulators, and "
                "return what converts to the accumulator. That follows the output's values where "
                "the operator names none, as its accumulator_type.");
  static_assert(refusal != Refusal::not_trivially_copyable,
                "KokkosScan: values of a team's scan must be trivially copyable and assignable.");
  static_assert(refusal != Refusal::output,
                "KokkosScan: the output of a team's scan must be a View of rank 1 whose values are "
                "not const, or a callable of an index and a result; that of for_each_step is a "
                "callable of an index and two results.");
  static_assert(refusal != Refusal::start,
                "KokkosScan: a starting value must convert to the accumulator.");
  static_assert(refusal != Refusal::exclusive_identity,
                "KokkosScan: an exclusive scan needs an operator with an identity, or "
                "starting_at(...).");
  static_assert(refusal != Refusal::mask_identity,
                "KokkosScan: a mask needs an operator with an identity.");
}

/// Checks the types, then scans.
template <Result result, class Range, class In, class Out, class Options, class OpOrTransparent>
KOKKOS_FORCEINLINE_FUNCTION auto checked_scan(const Range& range, const In& x, const Out& y,
                                              const Options& options, const OpOrTransparent& op) {
  constexpr Refusal refusal = refusal_of<Range, In, Out, Options, OpOrTransparent, result>();
  explain<refusal>();
  if constexpr (refusal == Refusal::none) {
    using Index = typename RangeTraits<Range>::Index;
    using A = accumulator_of_t<OpOrTransparent, typename ValueOf<In, Out, Index>::type>;
    using Op = bound_t<OpOrTransparent, A>;
    using C = Combining<A, Op, Options::grouping == Grouping::in_order>;
    if constexpr (std::is_same_v<Op, OpOrTransparent>) {
      return scan<C, result>(range, x, y, options, C{op});
    } else {
      return scan<C, result>(range, x, y, options, C{Op{}});
    }
  } else {
    return 0;
  }
}

}  // namespace KokkosScan::impl::team_range
