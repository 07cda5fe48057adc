// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads and stores of registers and packs, non-temporal stores, and prefetches.

#include <KokkosScan/impl/host/registers.hpp>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace KokkosScan::impl::host {

/// Loads a register from any address.
template <int places = 1, class T>
[[gnu::always_inline]] inline Register<T, places> load_register(const T* from) {
  Register<T, places> r;
  __builtin_memcpy(&r.lanes, from, sizeof r.lanes);
  return r;
}

/// Stores a register to any address.
template <class T, int places>
[[gnu::always_inline]] inline void store_register(T* to, const Register<T, places>& r) {
  __builtin_memcpy(to, &r.lanes, sizeof r.lanes);
}

/// Stores a register with a non-temporal store if the processor has it. `to` is a multiple of 16.
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T>& r) {
#if defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)r.lanes);
#else
  store_register(to, r);
#endif
}

/// The same for a register of two places; `to` is a multiple of 32. (An intrinsic would need a
/// caller that is compiled for AVX; for Clang, which checks that before inlining, so would asm.)
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T, 2>& r) {
#if defined(KOKKOSSCAN_IMPL_AVX2) && defined(__clang__)
  __builtin_nontemporal_store(r.lanes, reinterpret_cast<native_t<T, 2>*>(to));
#elif defined(KOKKOSSCAN_IMPL_AVX2)
  asm volatile("vmovntdq %1, %0" : "=m"(*reinterpret_cast<native_t<T, 2>*>(to)) : "x"(r.lanes));
#else
  store_register(to, r);
#endif
}

/// Orders earlier non-temporal stores before later stores, as ordinary stores are ordered.
[[gnu::always_inline]] inline void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Whether stream_register() makes non-temporal stores.
#if defined(__SSE2__)
inline constexpr bool can_stream = true;
#else
inline constexpr bool can_stream = false;
#endif

/// The caches to prefetch to: all, or only the nearest one for elements that are used once.
enum class Caches { all, nearest };

/// The prefetch distance in elements, and the caches to prefetch to.
struct Ahead {
  std::int64_t elements;
  Caches caches;
};
inline constexpr Ahead nothing_ahead{0, Caches::all};

/// Prefetches `count` neighbours, which need not exist.
///
/// \tparam step the direction of the scan in memory. Cache lines are prefetched in that direction,
///              since any other order misleads the hardware prefetcher.
template <int step = 1, class T>
[[gnu::always_inline]] inline void prefetch(const T* from, int count, Caches caches) {
  constexpr int of_line = cache_line / static_cast<int>(sizeof(T));
  const int last = step > 0 ? 0 : (count - 1) / of_line * of_line;
  if (caches == Caches::nearest) {
    for (int i = 0; i < count; i += of_line) __builtin_prefetch(from + last + step * i, 0, 0);
  } else {
    for (int i = 0; i < count; i += of_line) __builtin_prefetch(from + last + step * i);
  }
}

// Packs are moved register by register: GCC takes one of two registers through the stack otherwise.

/// Loads four values from any address, and for each further place from `distance` further on.
template <int places = 1, class T>
[[gnu::always_inline]] inline Pack<T, places> load(const T* from, std::int64_t distance = 0) {
  Pack<T, places> p;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i, from += Pack<T>::lanes) {
    if constexpr (places == 1) {
      p.part[i] = load_register(from);
    } else {
      p.part[i] = join(load_register(from), load_register(from + distance));
    }
  }
  return p;
}

/// Stores the four values of one place.
template <int place = 0, class T, int places>
[[gnu::always_inline]] inline void store(T* to, const Pack<T, places>& p) {
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i, to += Pack<T>::lanes) {
    store_register(to, at_place<place>(p.part[i]));
  }
}

/// A part of a pack with the first `count` of four values, 1 to 3, followed by `fill`.
template <class T>
[[gnu::always_inline]] inline Register<T> load_some_of_part(int part, const T* from, int count,
                                                            T fill) {
  if constexpr (Pack<T>::parts == 1) {
    if (count == 1) return native_t<T>{from[0], fill, fill, fill};
    if (count == 2) return native_t<T>{from[0], from[1], fill, fill};
    return native_t<T>{from[0], from[1], from[2], fill};
  } else {
    if (part == 1) return native_t<T>{count > 2 ? from[2] : fill, fill};
    return native_t<T>{from[0], count > 1 ? from[1] : fill};
  }
}

/// Loads the first `count` (1 to 3) of four values at each place, and nothing else; then `fill`.
template <int places, class T>
[[gnu::always_inline]] inline Pack<T, places> load_some(const T* from, std::int64_t distance,
                                                        int count, T fill) {
  Pack<T, places> p;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i) {
    const Register<T> first = load_some_of_part(i, from, count, fill);
    if constexpr (places == 1) {
      p.part[i] = first;
    } else {
      p.part[i] = join(first, load_some_of_part(i, from + distance, count, fill));
    }
  }
  return p;
}

}  // namespace KokkosScan::impl::host
