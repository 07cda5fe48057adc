// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Four neighbours at a time, in vector registers of 16 bytes: SSE2, AVX and NEON alike, from the
/// vector extensions of GCC and Clang. All that depends on a processor is in this file.

#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace KokkosScan::impl::host {

/// The vector of 16 bytes for an arithmetic type. Each is written out, since nvcc refuses the
/// attribute on a type that depends on a template parameter.
template <bool is_floating, bool is_signed, std::size_t size>
struct Native;
template <>
struct Native<true, true, 4> {
  typedef float type __attribute__((vector_size(16)));
};
template <>
struct Native<true, true, 8> {
  typedef double type __attribute__((vector_size(16)));
};
template <>
struct Native<false, true, 1> {
  typedef std::int8_t type __attribute__((vector_size(16)));
};
template <>
struct Native<false, true, 2> {
  typedef std::int16_t type __attribute__((vector_size(16)));
};
template <>
struct Native<false, true, 4> {
  typedef std::int32_t type __attribute__((vector_size(16)));
};
template <>
struct Native<false, false, 4> {
  typedef std::uint32_t type __attribute__((vector_size(16)));
};
template <>
struct Native<false, true, 8> {
  typedef std::int64_t type __attribute__((vector_size(16)));
};
template <>
struct Native<false, false, 8> {
  typedef std::uint64_t type __attribute__((vector_size(16)));
};
template <class T>
using native_t = typename Native<std::is_floating_point_v<T>, std::is_signed_v<T>, sizeof(T)>::type;
/// The same with unsigned lanes, whose arithmetic wraps.
template <class T>
using native_wrapping_t = typename Native<false, false, sizeof(T)>::type;

/// Whether values of type T fill vectors.
template <class T>
inline constexpr bool is_vectorized = (std::is_floating_point_v<T> ||
                                       std::is_integral_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8);

/// The elements of a pack, the base of the combination tree.
inline constexpr int pack_length = 4;

/// Four neighbours.
template <class T>
struct Pack {
  static constexpr int parts = pack_length * sizeof(T) / 16;
  static constexpr int lanes = pack_length / parts;
  native_t<T> part[parts];
};

// ---- Move ---------------------------------------------------------------------------------------

/// A register from any address.
template <class T>
[[gnu::always_inline]] inline native_t<T> load_register(const T* from) {
  native_t<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

/// A register to any address.
template <class T>
[[gnu::always_inline]] inline void store_register(T* to, const native_t<T>& v) {
  __builtin_memcpy(to, &v, sizeof v);
}

// A pack moves register by register: as a whole GCC takes one of two registers through the stack.

/// Four values from any address.
template <class T>
[[gnu::always_inline]] inline Pack<T> load(const T* from) {
  Pack<T> p;
  for (int i = 0; i < Pack<T>::parts; ++i) p.part[i] = load_register(from + i * Pack<T>::lanes);
  return p;
}

/// Four values to any address.
template <class T>
[[gnu::always_inline]] inline void store(T* to, const Pack<T>& p) {
  for (int i = 0; i < Pack<T>::parts; ++i) store_register(to + i * Pack<T>::lanes, p.part[i]);
}

/// The first `count` of four values, 1 to 3, and `fill` behind them. Nothing else is read.
template <class T>
[[gnu::always_inline]] inline Pack<T> load_some(const T* from, int count, const Pack<T>& fill) {
  Pack<T> p = fill;
  if constexpr (Pack<T>::parts == 1) {
    const T none = fill.part[0][0];
    if (count == 1) {
      p.part[0] = native_t<T>{from[0], none, none, none};
    } else if (count == 2) {
      p.part[0] = native_t<T>{from[0], from[1], none, none};
    } else {
      p.part[0] = native_t<T>{from[0], from[1], from[2], none};
    }
  } else {
    p.part[0] = native_t<T>{from[0], count > 1 ? from[1] : fill.part[0][0]};
    if (count > 2) p.part[1] = native_t<T>{from[2], fill.part[0][0]};
  }
  return p;
}

/// A register to an address that is a multiple of 16, past the caches where the processor can.
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const native_t<T>& v) {
#if defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
#else
  store_register(to, v);
#endif
}

/// Four values to an address that is a multiple of 16, likewise.
template <class T>
[[gnu::always_inline]] inline void stream(T* to, const Pack<T>& p) {
  for (int i = 0; i < Pack<T>::parts; ++i) stream_register(to + i * Pack<T>::lanes, p.part[i]);
}

/// What stream_register() has stored is visible to other threads as ordinary stores are.
[[gnu::always_inline]] inline void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Whether stream_register() passes the caches by.
#if defined(__SSE2__)
inline constexpr bool can_stream = true;
#else
inline constexpr bool can_stream = false;
#endif

template <class T>
[[gnu::always_inline]] inline Pack<T> broadcast(const T& value) {
  Pack<T> p;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    if constexpr (Pack<T>::lanes == 4) {
      p.part[i] = native_t<T>{value, value, value, value};
    } else {
      p.part[i] = native_t<T>{value, value};
    }
  }
  return p;
}

/// The last value in all places.
template <class T>
[[gnu::always_inline]] inline Pack<T> broadcast_last(const Pack<T>& p) {
  if constexpr (Pack<T>::parts == 1) {
    return {{__builtin_shufflevector(p.part[0], p.part[0], 3, 3, 3, 3)}};
  } else {
    const auto last = __builtin_shufflevector(p.part[1], p.part[1], 1, 1);
    return {{last, last}};
  }
}

template <class T>
[[gnu::always_inline]] inline T last(const Pack<T>& p) {
  return p.part[Pack<T>::parts - 1][Pack<T>::lanes - 1];
}

/// The values of a register in the opposite order.
template <class T>
[[gnu::always_inline]] inline native_t<T> reverse(const native_t<T>& v) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_shufflevector(v, v, 3, 2, 1, 0);
  } else {
    return __builtin_shufflevector(v, v, 1, 0);
  }
}

/// The values in the opposite order.
template <class T>
[[gnu::always_inline]] inline Pack<T> reverse(const Pack<T>& p) {
  Pack<T> reversed;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    reversed.part[i] = reverse<T>(p.part[Pack<T>::parts - 1 - i]);
  }
  return reversed;
}

/// The lower half of the lanes, each twice.
template <class T>
[[gnu::always_inline]] inline native_t<T> double_low(native_t<T> v) {
  if constexpr (sizeof(T) == 1) {
    return __builtin_shufflevector(v, v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_shufflevector(v, v, 0, 8, 1, 9, 2, 10, 3, 11);
  } else {
    return __builtin_shufflevector(v, v, 0, 4, 1, 5);
  }
}

/// The upper half of the lanes, each twice.
template <class T>
[[gnu::always_inline]] inline native_t<T> double_high(native_t<T> v) {
  if constexpr (sizeof(T) == 1) {
    return __builtin_shufflevector(v, v, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_shufflevector(v, v, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    return __builtin_shufflevector(v, v, 2, 6, 3, 7);
  }
}

/// Each of 16 neighbours where its bool is true, else `other`.
template <class T>
[[gnu::always_inline]] inline void select_of_16(const bool* selected, const T* from, const T& other,
                                                T* x) {
  using Bits = native_wrapping_t<T>;
  const Bits none = (Bits)broadcast(other).part[0];
  const auto choose = [&](native_t<std::int32_t> mask, int place) {
    const Bits bits = (Bits)mask;
    const Bits value = (Bits)load_register(from + place);
    store_register(x + place, (native_t<T>)((value & bits) | (none & ~bits)));
  };
  // Doubled until they are as wide as a value, bytes of 0 or -1 are masks.
  const auto choose_4 = [&](native_t<std::int32_t> mask, int place) {
    if constexpr (sizeof(T) == 4) {
      choose(mask, place);
    } else {
      choose(double_low<std::int32_t>(mask), place);
      choose(double_high<std::int32_t>(mask), place + 2);
    }
  };
  const auto choose_8 = [&](native_t<std::int16_t> mask, int place) {
    choose_4((native_t<std::int32_t>)double_low<std::int16_t>(mask), place);
    choose_4((native_t<std::int32_t>)double_high<std::int16_t>(mask), place + 4);
  };
  native_t<std::int8_t> bytes;
  __builtin_memcpy(&bytes, selected, 16);
  bytes = bytes != 0;
  choose_8((native_t<std::int16_t>)double_low<std::int8_t>(bytes), 0);
  choose_8((native_t<std::int16_t>)double_high<std::int8_t>(bytes), 8);
}

// ---- Combine ------------------------------------------------------------------------------------

template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Sum<T>&, native_t<T> a, native_t<T> b) {
  if constexpr (std::integral<T>) {
    using Wrapping = native_wrapping_t<T>;
    return (native_t<T>)((Wrapping)a + (Wrapping)b);
  } else {
    return a + b;
  }
}
template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Prod<T>&, native_t<T> a, native_t<T> b) {
  if constexpr (std::integral<T>) {
    using Wrapping = native_wrapping_t<T>;
    return (native_t<T>)((Wrapping)a * (Wrapping)b);
  } else {
    return a * b;
  }
}
/// b < a ? b : a, the operator where b is no NaN: has_nan() tells. GCC does not see that it
/// is one instruction.
template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Min<T>&, native_t<T> a, native_t<T> b) {
#if defined(__SSE2__)
  if constexpr (std::same_as<T, float>) return (native_t<T>)_mm_min_ps((__m128)b, (__m128)a);
  if constexpr (std::same_as<T, double>) return (native_t<T>)_mm_min_pd((__m128d)b, (__m128d)a);
#endif
  return b < a ? b : a;
}
/// b > a ? b : a, likewise.
template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Max<T>&, native_t<T> a, native_t<T> b) {
#if defined(__SSE2__)
  if constexpr (std::same_as<T, float>) return (native_t<T>)_mm_max_ps((__m128)b, (__m128)a);
  if constexpr (std::same_as<T, double>) return (native_t<T>)_mm_max_pd((__m128d)b, (__m128d)a);
#endif
  return b > a ? b : a;
}

/// An operator, and also where there are NaNs.
template <class Op>
struct Exact {
  const Op& op;
};
template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Exact<Min<T>>&, native_t<T> a,
                                                  native_t<T> b) {
  return ((b < a) | ((b != b) & (a == a))) ? b : a;
}
template <class T>
[[gnu::always_inline]] inline native_t<T> combine(const Exact<Max<T>>&, native_t<T> a,
                                                  native_t<T> b) {
  return ((b > a) | ((b != b) & (a == a))) ? b : a;
}

/// Whether a comparison is true in some lane.
template <class Comparison>
[[gnu::always_inline]] inline bool any(const Comparison& lanes) {
  native_t<std::int64_t> words;
  __builtin_memcpy(&words, &lanes, sizeof words);
  return (words[0] | words[1]) != 0;
}

/// Whether there is a NaN among `count` neighbours.
template <class T>
[[gnu::always_inline]] inline bool has_nan(const T* x, int count) {
  constexpr int lanes = Pack<T>::lanes;
  auto nan = native_t<T>{} != native_t<T>{};
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const native_t<T> v = load_register(x + i);
    nan |= v != v;
  }
  bool found = any(nan);
  for (; i < count; ++i) found |= x[i] != x[i];
  return found;
}

/// The fold of what comes before each place of a pack and the pack's value there.
template <class Op, class T>
[[gnu::always_inline]] inline Pack<T> combine(const Op& op, const Pack<T>& a, const Pack<T>& b) {
  Pack<T> result;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    result.part[i] = combine(op, a.part[i], b.part[i]);
  }
  return result;
}

/// The prefixes of a pack: x0, x0 * x1, (x0 * x1) * x2, (x0 * x1) * (x2 * x3).
///
/// \param neutral a value that, combined from the left, leaves every other as it is
template <class Op, class T>
[[gnu::always_inline]] inline Pack<T> prefixes(const Op& op, const Pack<T>& x,
                                               const Pack<T>& neutral) {
  const auto fill = neutral.part[0];
  if constexpr (Pack<T>::parts == 1) {
    // GCC needs two shuffles for the first of these, written as one it makes four.
    const auto even = __builtin_shufflevector(fill, x.part[0], 0, 1, 4, 6);
    const auto pairs = combine(op, __builtin_shufflevector(even, even, 0, 2, 1, 3), x.part[0]);
    return {{combine(op, __builtin_shufflevector(fill, pairs, 0, 1, 5, 5), pairs)}};
  } else {
    const auto low = combine(op, __builtin_shufflevector(fill, x.part[0], 0, 2), x.part[0]);
    const auto high = combine(op, __builtin_shufflevector(fill, x.part[1], 0, 2), x.part[1]);
    return {{low, combine(op, __builtin_shufflevector(low, low, 1, 1), high)}};
  }
}

/// Each two neighbours of two registers, combined.
template <class Op, class T>
[[gnu::always_inline]] inline native_t<T> combine_pairs(const Op& op, const native_t<T>& a,
                                                        const native_t<T>& b) {
  if constexpr (sizeof(T) == 4) {
    return combine(op, __builtin_shufflevector(a, b, 0, 2, 4, 6),
                   __builtin_shufflevector(a, b, 1, 3, 5, 7));
  } else {
    return combine(op, __builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3));
  }
}

/// The totals of four packs that follow each other, (x0 * x1) * (x2 * x3) of each.
template <class Op, class T>
[[gnu::always_inline]] inline Pack<T> totals_of_packs(const Op& op, const T* x) {
  constexpr int lanes = Pack<T>::lanes;
  Pack<T> totals;
  for (int part = 0; part < Pack<T>::parts; ++part, x += 4 * lanes) {
    const auto pairs = [&](int i) {
      return combine_pairs<Op, T>(op, load_register(x + i), load_register(x + i + lanes));
    };
    totals.part[part] = combine_pairs<Op, T>(op, pairs(0), pairs(2 * lanes));
  }
  return totals;
}

}  // namespace KokkosScan::impl::host
