// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Inputs that are made of others: zipped ones of their parts, masked ones of values and a mask.
/// Kernels move each part as if it were alone, and combine elements when they read them.

#include <KokkosScan/impl/problem.hpp>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The parts of an input, as a list with members `first` and `rest`.
template <class Function, class Parts>
KOKKOS_FORCEINLINE_FUNCTION const Parts& parts_of(const ZippedInput<Function, Parts>& in) {
  return in.parts;
}
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION List<const Values&, const Mask&> parts_of(
    const Selected<A, Values, Mask>& in) {
  return {in.values, {in.mask, {}}};
}

/// Whether an input is zipped rather than masked.
template <class In>
inline constexpr bool is_zipped_input = false;
template <class Function, class Parts>
inline constexpr bool is_zipped_input<ZippedInput<Function, Parts>> = true;

/// What combines the elements of an input's parts: a function, or the choice between a value and
/// the identity.
template <class Function, class Parts>
KOKKOS_FORCEINLINE_FUNCTION const Function& function_of(const ZippedInput<Function, Parts>& in) {
  return in.function;
}
template <class A>
struct Selection {
  A identity;
};
template <class A, class Values, class Mask>
KOKKOS_FORCEINLINE_FUNCTION Selection<A> function_of(const Selected<A, Values, Mask>& in) {
  return {in.identity};
}
template <class Function, class... Elements>
KOKKOS_FORCEINLINE_FUNCTION auto combine(const Function& function, const Elements&... elements) {
  return rounded(function(as_argument(elements)...));
}
template <class A, class Value, class Selects>
KOKKOS_FORCEINLINE_FUNCTION A combine(const Selection<A>& selection, const Value& value,
                                      const Selects& selected) {
  return static_cast<bool>(selected) ? static_cast<A>(value) : selection.identity;
}

/// Stands for an input In that is made of Parts: a specialisation for it serves all such inputs.
template <class In, class First_, class... Rest>
struct Composition {
  using First = First_;
  /// The type of an element.
  using Value = std::remove_cvref_t<decltype(std::declval<In>().line(Coordinates{})(0))>;
};
template <class In>
struct CompositionOf {
  using type = void;
};
template <class Function, class... Parts>
struct CompositionOf<ZippedInput<Function, List<Parts...>>> {
  using type = Composition<ZippedInput<Function, List<Parts...>>, Parts...>;
};
template <class A, class Values, class Mask>
struct CompositionOf<Selected<A, Values, Mask>> {
  using type = Composition<Selected<A, Values, Mask>, Values, Mask>;
};
template <class In>
using composition_t = typename CompositionOf<In>::type;
/// Whether an input is made of others.
template <class In>
inline constexpr bool is_composed = !std::is_void_v<composition_t<In>>;

/// What a kernel keeps of each part.
template <class... Kept>
struct Each;
template <>
struct Each<> {
  Each() = default;
  template <class... Arguments>
  __device__ __forceinline__ explicit Each(const List<>&, const Arguments&...) {}
  template <class F>
  __device__ __forceinline__ void visit(const List<>&, const F&) {}
  template <class Get, class F, class... Values>
  __device__ __forceinline__ auto call(const Get&, const F& f, const Values&... values) const {
    return f(values...);
  }
};
template <class First, class... Rest>
struct Each<First, Rest...> {
  First first;
  Each<Rest...> rest;

  Each() = default;
  /// Constructs what is kept of each part from the part and the arguments.
  template <class Parts, class... Arguments>
  __device__ __forceinline__ explicit Each(const Parts& parts, const Arguments&... arguments)
      : first(parts.first, arguments...), rest(parts.rest, arguments...) {}

  /// f(kept, part) for each part.
  template <class Parts, class F>
  __device__ __forceinline__ void visit(const Parts& parts, const F& f) {
    f(first, parts.first);
    rest.visit(parts.rest, f);
  }
  /// f(get(each kept)...).
  template <class Get, class F, class... Values>
  __device__ __forceinline__ auto call(const Get& get, const F& f, const Values&... values) const {
    return rest.call(get, f, values..., get(first));
  }
};

/// Some elements of a part.
template <class T, int E>
struct Some {
  T element[E];
};
/// Sets x to the elements that combine those of the parts.
///
/// \param read read(kept, elements) reads as many elements of a part
template <class... Kept, class Function, class A, int E, class Read>
__device__ __forceinline__ void combine_some(const Each<Kept...>& each, const Function& function,
                                             A (&x)[E], const Read& read) {
  each.call(
      [&](const auto& kept) {
        Some<typename std::remove_cvref_t<decltype(kept)>::Value, E> some;
        read(kept, some.element);
        return some;
      },
      [&](const auto&... some) {
#pragma unroll
        for (int i = 0; i < E; ++i) x[i] = static_cast<A>(combine(function, some.element[i]...));
      });
}

}  // namespace KokkosScan::impl::cuda
