// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operators on registers, and the prefixes of packs.

#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/operators.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace KokkosScan::impl::host {

/// Combines registers lane by lane. Minima and maxima equal the operator's if b is no NaN
/// (may_have_nan() checks that).
template <template <class> class Op, class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Op<T>&,
                                                                    const Register<T, places>& a,
                                                                    const Register<T, places>& b) {
  using Lane = std::conditional_t<std::integral<T>, wrapping_lane_t<T>, T>;
  using Wrapped = native_t<Lane, places>;
  if constexpr (std::same_as<Op<T>, Sum<T>>) {
    return (native_t<T, places>)((Wrapped)a.lanes + (Wrapped)b.lanes);
  } else if constexpr (std::same_as<Op<T>, Prod<T>>) {
    return (native_t<T, places>)((Wrapped)a.lanes * (Wrapped)b.lanes);
  } else {
    constexpr bool is_min = std::same_as<Op<T>, Min<T>>;
    static_assert(is_min || std::same_as<Op<T>, Max<T>>);
#if defined(__SSE2__)
    // Without AVX, GCC 16 makes four instructions of the comparison and the choice.
    if constexpr (places == 1 && std::same_as<T, float>) {
      const auto x = (__m128)b.lanes, y = (__m128)a.lanes;
      return (native_t<T>)(is_min ? _mm_min_ps(x, y) : _mm_max_ps(x, y));
    } else if constexpr (places == 1 && std::same_as<T, double>) {
      const auto x = (__m128d)b.lanes, y = (__m128d)a.lanes;
      return (native_t<T>)(is_min ? _mm_min_pd(x, y) : _mm_max_pd(x, y));
    }
#endif
    return (is_min ? b.lanes < a.lanes : b.lanes > a.lanes) ? b.lanes : a.lanes;
  }
}

/// An operator whose vector form also handles NaNs like the operator.
template <class Op>
struct Exact {
  const Op& op;
};
/// The operator in the form that handles NaNs exactly.
template <class Op>
[[gnu::always_inline]] inline auto exactly(const Op& op) {
  if constexpr (minds_nan<Op>) {
    return Exact<Op>{op};
  } else {
    return op;
  }
}
template <template <class> class Op, class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Exact<Op<T>>&,
                                                                    const Register<T, places>& ra,
                                                                    const Register<T, places>& rb) {
  const auto &a = ra.lanes, &b = rb.lanes;
  const auto precedes = std::same_as<Op<T>, Min<T>> ? b < a : b > a;
  return (precedes | ((b != b) & (a == a))) ? b : a;
}

/// The type of comparison results for values of type T: all bits of a lane are set, or none.
template <class T>
using truth_t = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Whether some lane of a comparison is true.
template <class T, int places>
[[gnu::always_inline]] inline bool any(const Register<T, places>& lanes) {
#if defined(__SSE2__)
  if constexpr (places == 2) {
    return any<T, 1>(at_place<0>(lanes).lanes | at_place<1>(lanes).lanes);
  } else {
    return _mm_movemask_epi8((__m128i)lanes.lanes) != 0;
  }
#else
  std::int64_t words[sizeof lanes.lanes / 8];
  __builtin_memcpy(words, &lanes.lanes, sizeof words);
  std::int64_t all = 0;
  for (const std::int64_t word : words) all |= word;
  return all != 0;
#endif
}

/// Lanes that may contain a NaN in some register: true for NaNs, and for infinities of both signs.
/// A sum takes fewer instructions than comparisons.
template <class T, int places, class... Registers>
[[gnu::always_inline]] inline Register<truth_t<T>, places> where_nan(
    const Register<T, places>& first, const Registers&... others) {
  native_t<T, places> sum = first.lanes;
  ((sum += others.lanes), ...);
  return (native_t<truth_t<T>, places>)(sum != sum);
}

/// Combines packs lane by lane.
template <class Op, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> combine(const Op& op, const Pack<T, places>& a,
                                                      const Pack<T, places>& b) {
  Pack<T, places> result;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i) {
    result.part[i] = combine_registers(op, a.part[i], b.part[i]);
  }
  return result;
}

/// The prefixes of a pack: x0, x0 * x1, (x0 * x1) * x2, (x0 * x1) * (x2 * x3).
///
/// \param fill a register of neutral values
template <class Op, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> prefixes(const Op& op, const Pack<T, places>& x,
                                                       const Register<T, places>& fill) {
  if constexpr (Pack<T>::parts == 1) {
    auto before = fill;  // fill, x0, fill, x2
    if constexpr (places == 1) {
      // Two shuffles suffice. GCC makes four of it if it is written as one.
      const auto even = shuffle<0, 1, 4, 6>(fill, x.part[0]);
      before = shuffle<0, 2, 1, 3>(even, even);
    } else {
      // With AVX2 the second is a blend, which can execute on more ports than a shuffle.
      const auto even = shuffle<0, 0, 2, 2>(x.part[0], x.part[0]);
      before = shuffle<4, 1, 6, 3>(even, fill);
    }
    const auto pairs = combine_registers(op, before, x.part[0]);
    return {{combine_registers(op, shuffle<0, 0, 5, 5>(fill, pairs), pairs)}};
  } else {
    const auto low = combine_registers(op, shuffle<0, 2>(fill, x.part[0]), x.part[0]);
    const auto high = combine_registers(op, shuffle<0, 2>(fill, x.part[1]), x.part[1]);
    return {{low, combine_registers(op, shuffle<1, 1>(low, low), high)}};
  }
}

}  // namespace KokkosScan::impl::host
