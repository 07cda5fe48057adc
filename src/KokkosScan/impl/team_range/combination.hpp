// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the elements of a range combine, and what is read and stored.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/operator_traits.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/impl/stored_bool.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::team_range {

/// What is stored for an element: the fold up to it, the fold before it, or both.
enum class Result { inclusive, exclusive, both };

// ---- Operators ----------------------------------------------------------------------------------

/// Whether identity() is a constant: device code may then call it, though it is a host function.
template <class Op>
concept HasConstantIdentity = requires {
  typename std::bool_constant<((void)Op::identity(), true)>;
};

template <class A, class Op>
KOKKOS_FORCEINLINE_FUNCTION A identity_of(const Op& op) {
  if constexpr (HasConstantIdentity<Op>) {
    constexpr auto identity = Op::identity();
    return static_cast<A>(identity);
  } else {
    return static_cast<A>(op.identity());
  }
}

/// How values combine: neighbours in the type S, everything before them in the carried type R.
///
/// \tparam A_  the accumulator
/// \tparam Op_ an operator with its type filled in
template <class A_, class Op_, bool in_order_>
struct Combining {
  using A = A_;
  using Op = Op_;
  static constexpr bool in_order = in_order_ && !associates_exactly<Op, A>;
  using R = std::conditional_t<in_order, A, carried_t<Op, A>>;
  using S = std::conditional_t<is_carried_throughout<Op, A>, R, A>;
  /// Whether the operator may get any bits where its result is not used.
  static constexpr bool takes_any_bits =
      is_built_in<Op> && (std::is_arithmetic_v<S> || is_complex<S>);

  Op op;

  KOKKOS_FORCEINLINE_FUNCTION R operator()(const R& a, const R& b) const {
    if constexpr (in_order) {
      return static_cast<R>(op(a, b));
    } else {
      return static_cast<R>(carrying(op)(a, b));
    }
  }
  /// Two neighbours.
  KOKKOS_FORCEINLINE_FUNCTION S neighbours(const S& a, const S& b) const {
    if constexpr (std::is_same_v<S, R>) {
      return (*this)(a, b);
    } else {
      return static_cast<S>(op(a, b));
    }
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION A identity() const { return identity_of<A>(op); }
};

// ---- Elements -----------------------------------------------------------------------------------

/// Element k of an input.
template <class In, class Index>
KOKKOS_FORCEINLINE_FUNCTION decltype(auto) element(const In& x, Index k) {
  if constexpr (Kokkos::is_view<In>::value) {
    if constexpr (std::is_same_v<typename In::non_const_value_type, bool>) {
      return reinterpret_cast<const StoredBool&>(x(k)).byte != 0;
    } else {
      return x(k);
    }
  } else {
    return x(k);
  }
}
template <class Values, class Mask, class Index>
KOKKOS_FORCEINLINE_FUNCTION decltype(auto) element(const Masked<Values, Mask>& x, Index k) {
  return element(x.values, k);
}

/// Whether element k counts.
template <class In, class Index>
KOKKOS_FORCEINLINE_FUNCTION bool counts(const In&, Index) {
  return true;
}
template <class Values, class Mask, class Index>
KOKKOS_FORCEINLINE_FUNCTION bool counts(const Masked<Values, Mask>& x, Index k) {
  return counts(x.mask, k) && static_cast<bool>(element(x.mask, k)) && counts(x.values, k);
}
/// The number of elements of an input that is a View.
template <class In>
KOKKOS_FUNCTION auto extent_of(const In& x) {
  return x.extent(0);
}
template <class Values, class Mask>
KOKKOS_FUNCTION auto extent_of(const Masked<Values, Mask>& x) {
  return extent_of(x.values);
}
template <class In>
inline constexpr bool has_mask = false;
template <class Values, class Mask>
inline constexpr bool has_mask<Masked<Values, Mask>> = true;

/// A value that need not exist, without saying whether it does.
template <class T>
union Slot {
  char none;
  T value;

  KOKKOS_FORCEINLINE_FUNCTION Slot() : none() {}
  KOKKOS_FORCEINLINE_FUNCTION Slot(const T& v) : value(v) {}
};
static_assert(std::is_trivially_copyable_v<Slot<int>>);

/// A scan of the elements begin to begin + n - 1; element i is counted in scan order.
template <class Combining_, Result result_, class In, class Out, class Start, class Index_>
struct Work {
  using C = Combining_;
  using A = typename C::A;
  using S = typename C::S;
  using R = typename C::R;
  using Index = Index_;
  static constexpr Result result = result_;
  static constexpr bool is_masked = has_mask<In>;

  const In& x;
  const Out& y;
  C combining;
  const Start& start_value;
  Direction direction;
  Extra extra;
  Index begin, n;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Index at(Index i) const {
    return direction == Direction::forward ? begin + i : begin + (n - 1 - i);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool counts(Index i) const {
    return team_range::counts(x, at(i));
  }
  /// Element i, whether or not it counts.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION A value(Index i) const {
    return static_cast<A>(rounded(element(x, at(i))));
  }
  /// Element i; the identity where it does not count.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION S read(Index i) const {
    if constexpr (is_masked) {
      return static_cast<S>(counts(i) ? value(i) : combining.identity());
    } else {
      return static_cast<S>(value(i));
    }
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Maybe<R> start() const {
    if constexpr (std::is_same_v<Start, None>) {
      return {};
    } else {
      return Maybe<R>(static_cast<R>(static_cast<A>(start_value)));
    }
  }
  /// The fold of no elements, where it is stored or returned.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION R or_identity(const Maybe<R>& fold) const {
    if (fold.exists) return fold.value;
    if constexpr (requires { combining.op.identity(); }) {
      return static_cast<R>(combining.identity());
    } else {  // nothing stores it, and a range without elements and start has no total
      Slot<R> zeros;
      memset(static_cast<void*>(&zeros), 0, sizeof(zeros));
      return zeros.value;
    }
  }

  /// Stores what belongs to element i: `before` is the fold before it, `after` that up to it. Only
  /// what the result is made of needs to be given.
  KOKKOS_FORCEINLINE_FUNCTION void store(Index i, [[maybe_unused]] const R& before,
                                         [[maybe_unused]] const R& after) const {
    if constexpr (result == Result::inclusive) {
      put(at(i), after);
    } else if constexpr (result == Result::exclusive) {
      const bool is_shifted = direction == Direction::backward && extra == Extra::last;
      put(is_shifted ? at(i) + 1 : at(i), before);
    } else {
      y(at(i), static_cast<A>(before), static_cast<A>(after));
    }
  }
  /// Stores the total behind the results, if it is wanted. One thread does it.
  KOKKOS_FORCEINLINE_FUNCTION void store_total([[maybe_unused]] const R& total) const {
    if constexpr (result == Result::exclusive) {
      if (extra == Extra::last) put(direction == Direction::forward ? begin + n : begin, total);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void put(Index k, const R& value) const {
    if constexpr (Kokkos::is_view<Out>::value) {
      y(k) = static_cast<typename Out::non_const_value_type>(value);
    } else {
      y(k, static_cast<A>(value));
    }
  }
};

}  // namespace KokkosScan::impl::team_range
