// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Linear recurrences inside a kernel, as scans of affine maps.

#include <KokkosScan/affine.hpp>
#include <KokkosScan/impl/team_range/check_types.hpp>
#include <Kokkos_Core.hpp>
#include <type_traits>

namespace KokkosScan::impl::team_range {

/// A coefficient: element k of an input, or the same number for all.
template <class A, class Index>
KOKKOS_FORCEINLINE_FUNCTION auto coefficient(const A& a, Index k) {
  if constexpr (is_input<A, Index>) {
    return element(a, k);
  } else {
    return a;
  }
}

/// The maps of a recurrence as a callable.
template <class State, class A, class B>
struct Maps {
  const A& a;
  const B& b;

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(Index k) const {
    return {static_cast<State>(coefficient(a, k)), static_cast<State>(element(b, k))};
  }
};

/// Stores states, which are what maps make of 0.
template <class H>
struct States {
  const H& h;

  template <class Index, class State>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(Index k, const AffineMap<State>& map) const {
    if constexpr (is_view<H>) {
      h(k) = static_cast<typename H::non_const_value_type>(map.shift);
    } else {
      h(k, map.shift);
    }
  }
};

template <class Range, class A, class B, class H, class Options>
KOKKOS_FORCEINLINE_FUNCTION auto solve_recurrence(const Range& range, const A& a, const B& b,
                                                  const H& h, const Options& options) {
  static_assert(RangeTraits<Range>::level != Level::none && !RangeTraits<Range>::is_member,
                "KokkosScan: the first argument of a team's recurrence must be TeamThreadRange, "
                "TeamVectorRange or ThreadVectorRange.");
  if constexpr (RangeTraits<Range>::level != Level::none && !RangeTraits<Range>::is_member) {
    using Index = typename RangeTraits<Range>::Index;
    constexpr bool has_terms = is_input<B, Index> && !has_mask<B> && !has_mask<A>;
    static_assert(has_terms,
                  "KokkosScan: the terms of a team's recurrence must be a View of rank 1 or a "
                  "callable of an index, without a mask.");
    if constexpr (has_terms) {
      using State = accumulator_t<typename ValueOf<B, H, Index>::type>;
      constexpr bool has_coefficients =
          is_input<A, Index> || std::is_constructible_v<State, const A&>;
      static_assert(has_coefficients,
                    "KokkosScan: the coefficients of a team's recurrence must be a View of rank 1, "
                    "a callable of an index, or a number.");
      constexpr bool has_states = is_output<H, Index, State, Result::inclusive>();
      static_assert(has_states,
                    "KokkosScan: the states of a team's recurrence go to a View of rank 1 whose "
                    "values are not const, or to a callable of an index and a state.");
      if constexpr (has_coefficients && has_states) {
        const Maps<State, A, B> maps{a, b};
        const States<H> states{h};
        const auto solve = [&](const auto& started) {
          return static_cast<State>(checked_scan<Result::inclusive>(range, maps, states, started,
                                                                    ComposeAffine<State>{}));
        };
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(options.start())>, None>) {
          return solve(options.starting_at(State(0)));
        } else {
          return solve(options);
        }
      }
    }
  }
}

}  // namespace KokkosScan::impl::team_range
