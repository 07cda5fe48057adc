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

// stream_register() stores a register with a non-temporal store if the processor has it; `to` is a
// multiple of 16. end_streaming() orders earlier ones before later stores, as ordinary stores are.
#if defined(__SSE2__)
inline constexpr bool can_stream = true;
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T>& r) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)r.lanes);
}
[[gnu::always_inline]] inline void end_streaming() { _mm_sfence(); }
#else
inline constexpr bool can_stream = false;
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T>& r) {
  store_register(to, r);
}
[[gnu::always_inline]] inline void end_streaming() {}
#endif

/// Prefetches `count` neighbours, which need not exist.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T* from, int count) {
  constexpr int of_line = cache_line / static_cast<int>(sizeof(T));
  for (int i = 0; i < count; i += of_line) __builtin_prefetch(from + i);
}

/// Up to two arrays of which elements are prefetched, a few at a time while others are scanned:
/// many prefetches at once keep loads waiting.
class Prefetches {
 public:
  /// Adds an array, unless elements are far from each other.
  template <class T>
  void add(const T* first, std::int64_t stride) {
    const std::int64_t distance = stride * static_cast<std::int64_t>(sizeof(T));
    if (distance < -cache_line || distance > cache_line) return;
    m_arrays[m_arrays[0].distance == 0 ? 0 : 1] = {reinterpret_cast<const char*>(first), distance};
  }
  /// Prefetches what belongs to elements begin ... begin + count - 1, each of which has at most
  /// `size` bytes.
  template <int count, int size>
  [[gnu::always_inline]] void elements(std::int64_t begin) const {
    constexpr int lines = count * size / cache_line;
    for (const ArrayAhead& array : m_arrays) {
      if (array.distance == 0) return;
      const char* const at = array.first + begin * array.distance;
      KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < lines; ++i) {
        __builtin_prefetch(at + i * (count / lines) * array.distance);
      }
    }
  }

 private:
  struct ArrayAhead {
    const char* first = nullptr;
    std::int64_t distance = 0;  ///< between elements, in bytes
  };
  ArrayAhead m_arrays[2];
};

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

/// The values of each place in opposite order.
template <class T, int places>
[[gnu::always_inline]] inline Pack<T, places> reversed(const Pack<T, places>& p) {
  if constexpr (Pack<T>::parts == 1) {
    return {{shuffle<3, 2, 1, 0>(p.part[0], p.part[0])}};
  } else {
    return {{shuffle<1, 0>(p.part[1], p.part[1]), shuffle<1, 0>(p.part[0], p.part[0])}};
  }
}

}  // namespace KokkosScan::impl::host
