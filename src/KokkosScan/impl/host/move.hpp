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

/// Prefetches `count` neighbours, which need not exist.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T* from, int count) {
  constexpr int of_line = cache_line / static_cast<int>(sizeof(T));
  for (int i = 0; i < count; i += of_line) __builtin_prefetch(from + i);
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

}  // namespace KokkosScan::impl::host
