// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// First-order linear recurrences: scans of affine maps.

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/affine.hpp>
#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan {

/// \defgroup recurrences Recurrences
/// @{

/// Coefficients of a recurrence that begins anew in places. Made by resetting().
template <class A, class Reset>
struct Resetting {
  /// Coefficients as linear_recurrence() takes them.
  A coefficients;
  /// An input of the shape of the terms whose values convert to bool.
  Reset reset;
};

/// The coefficients `a` of a linear_recurrence() that begins anew where `reset` is true: there
/// h[k] = b[k], whatever h[k-1] is, even infinite or NaN. So a line holds many sequences: episodes,
/// documents, segments.
///
/// \param a     coefficients as linear_recurrence() takes them
/// \param reset an input of the shape of the terms, without a mask, whose values convert to bool
template <class A, class Reset>
[[nodiscard]] Resetting<A, Reset> resetting(const A& a, const Reset& reset) {
  return {a, reset};
}

namespace impl {

/// The type in which the states of a recurrence are computed.
template <class B, class H>
using state_t = accumulator_t<typename OutputTraits<H>::template Value<B>>;

/// The maps of a recurrence, from a term and a coefficient.
template <class State>
struct MapOf {
  template <class B, class A>
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const B& b, const A& a) const {
    return {static_cast<State>(a), static_cast<State>(b)};
  }
  template <class B, class A>
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const B& b, const A& a,
                                                          bool reset) const {
    return map_of(static_cast<State>(a), static_cast<State>(b), reset);
  }
};
/// The same with one coefficient for all.
template <class State>
struct MapWith {
  State scale;

  template <class B>
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const B& b) const {
    return {scale, static_cast<State>(b)};
  }
  template <class B>
  KOKKOS_FORCEINLINE_FUNCTION AffineMap<State> operator()(const B& b, bool reset) const {
    return map_of(scale, static_cast<State>(b), reset);
  }
};

/// The maps of a recurrence as an input. Terms come first: they have the shape of the lines.
template <class State, class A, class B, class... Reset>
auto maps_of(const A& a, const B& b, const Reset&... reset) {
  if constexpr (!ScanInput<A>) {
    return zip_transform(MapWith<State>{static_cast<State>(a)}, b, reset...);
  } else if constexpr (ViewLike<A> && InputTraits<A>::rank + 1 == InputTraits<B>::rank) {
    return zip_transform(MapOf<State>{}, b, OfEachLine<A>{a}, reset...);
  } else {
    return zip_transform(MapOf<State>{}, b, a, reset...);
  }
}
template <class State, class A, class Reset, class B>
auto maps_of(const Resetting<A, Reset>& a, const B& b) {
  return maps_of<State>(a.coefficients, b, a.reset);
}

/// What coefficients are without resets, and the operator that composes their maps.
template <class A, class State>
struct CoefficientTraits {
  using Type = A;
  using Operator = ComposeAffine<State>;
  static constexpr bool has_inputs = true;
};
template <class A, class Reset, class State>
struct CoefficientTraits<Resetting<A, Reset>, State> {
  using Type = A;
  using Operator = ComposeAffineOrReset<State>;
  static constexpr bool has_inputs = ScanInput<Reset>;
};

/// Whether an argument has a mask.
template <class T>
constexpr bool has_mask() {
  if constexpr (ScanInput<T>) {
    return InputTraits<T>::has_mask;
  } else {
    return false;
  }
}
template <class T>
requires requires(T t) { t.reset; }
constexpr bool has_mask() {
  return has_mask<decltype(T::coefficients)>() || has_mask<decltype(T::reset)>();
}

/// The output of a recurrence. Functions of results receive states, not maps.
template <class State, class H>
const H& states_to(const H& h) {
  return h;
}
template <class State, std::size_t Rank, class F>
ForEachResult<Rank, F, State> states_to(const ForEachResult<Rank, F>& h) {
  return {h.extents, h.function};
}

/// The lines of a recurrence, which start at 0 by default.
template <class State, class Lines>
auto started(const Lines& lines) {
  if constexpr (std::is_same_v<typename LinesTraits<lines_of_t<Lines>>::Start, None>) {
    return lines_of(lines).starting_at(State(0));
  } else {
    return lines_of(lines);
  }
}

}  // namespace impl

/// Solves h[k] = a[k] * h[k-1] + b[k] along each line, where h[-1] is the starting value (default:
/// 0): exponentially weighted means, filters, transport through layers, state-space models.
///
/// \param exec  the execution space instance
/// \param a     the coefficients: an input of the shape of b without a mask, a View of that shape
///              without the axis (one coefficient per line), or a scalar; or resetting() of those
/// \param b     the terms: an input of rank 1 to 8, without a mask
/// \param h     an output of that shape; it may be b or a
/// \param lines the axis (default: the last), or along(axis) with .backward(), .starting_at(s) for
///              a state or a View of one state per line, .totals(t) for the last states,
///              .workspace(w), .in_order()
///
/// States are computed in accumulator_t of the values of h: float for 16-bit floats, otherwise the
/// same type. The scan composes affine maps (ComposeAffine) in the combination tree of the backend,
/// so results are bitwise reproducible. It multiplies consecutive coefficients, which a loop does
/// not. If these products stay in the range of the type, as they do for |a| <= 1, the error is a
/// few roundings of the terms that the loop adds. If one overflows, later results can be infinite
/// or NaN although the loop's are not. `.in_order()` computes as the loop does, one thread per
/// line: h = fma(a, h, b) on GPUs and if the compiler's target has it, otherwise a * h + b.
///
/// Errors are those of inclusive_scan().
///
/// \par Example
/// \snippet recurrence.cpp linear_recurrence
template <class Exec, class A, class B, class H, class Lines = Along<>>
void linear_recurrence(const Exec& exec, const A& a, const B& b, const H& h,
                       const Lines& lines = along(-1)) {
  static_assert(ScanInput<B>, "KokkosScan: the terms of a recurrence must be an input.");
  static_assert(ScanOutput<H>,
                "KokkosScan: the states of a recurrence go to a Kokkos View, projected(view, "
                "function) or for_each_result(...).");
  static_assert(ScanLines<Lines>,
                "KokkosScan: the argument after the states must be an axis or along(axis).");
  if constexpr (ScanInput<B> && ScanOutput<H> && ScanLines<Lines>) {
    using State = impl::state_t<B, H>;
    using Traits = impl::CoefficientTraits<A, State>;
    using Coefficient = typename Traits::Type;
    constexpr bool is_coefficient =
        Traits::has_inputs &&
        (ScanInput<Coefficient> || std::is_constructible_v<State, const Coefficient&>);
    static_assert(is_coefficient,
                  "KokkosScan: the coefficients of a recurrence must be an input or a scalar that "
                  "converts to the states.");
    constexpr bool keeps_fractions =
        !std::is_floating_point_v<Coefficient> || !std::is_integral_v<State>;
    static_assert(keeps_fractions,
                  "KokkosScan: the coefficient of a recurrence would lose its fraction: states are "
                  "computed in the type of h's values.");
    constexpr bool is_masked = impl::has_mask<A>() || impl::has_mask<B>();
    static_assert(!is_masked,
                  "KokkosScan: the terms and coefficients of a recurrence have no mask: scan "
                  "masked(zip(...), mask) with ComposeAffine to leave steps out.");
    if constexpr (is_coefficient && keeps_fractions && !is_masked) {
      impl::checked_scan<impl::Function::linear_recurrence>(
          exec, impl::maps_of<State>(a, b), impl::states_to<State>(h), impl::started<State>(lines),
          typename Traits::Operator{});
    }
  }
}

/// @}

}  // namespace KokkosScan

#include <KokkosScan/impl/end_header.hpp>
