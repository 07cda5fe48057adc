// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Vector registers, from the vector extensions of GCC and Clang: 16 bytes for four neighbours at a
/// time (SSE2, NEON), and 32 for four from each of two places (AVX2). What the lanes of a place
/// compute does not depend on how many places there are, so results have the same bits. All that
/// depends on a processor is in this file.

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

// Registers of 32 bytes: kernels that use them are compiled for AVX2 whatever the flags say, and
// are called where the processor has it. nvcc refuses their types.
#if defined(__x86_64__) && !defined(__CUDACC__)
#define KOKKOSSCAN_IMPL_AVX2
#endif

/// The vector of 16 bytes a place for an arithmetic type. Those for one place are written out,
/// since nvcc refuses the attribute on a type that depends on a template parameter.
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
template <class T, int places>
struct NativeOf {
  typedef T type __attribute__((vector_size(16 * places)));
};
template <class T>
struct NativeOf<T, 1> : Native<std::is_floating_point_v<T>, std::is_signed_v<T>, sizeof(T)> {};
template <class T, int places = 1>
using native_t = typename NativeOf<T, places>::type;

/// A register of arithmetic values.
template <class T, int places = 1>
struct Register {
  native_t<T, places> lanes;

  Register() = default;
  [[gnu::always_inline]] Register(const native_t<T, places>& v) : lanes(v) {}
  // Not trivial: so functions take and return registers in memory, unless they are inlined, where
  // the ABI for vectors would depend on the instructions that the caller is compiled for.
  [[gnu::always_inline]] Register(const Register& other) : lanes(other.lanes) {}
  [[gnu::always_inline]] Register& operator=(const Register& other) {
    lanes = other.lanes;
    return *this;
  }
};

/// The unsigned type whose arithmetic wraps.
template <class T>
using wrapping_lane_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Whether values of type T fill vectors.
template <class T>
inline constexpr bool is_vectorized = (std::is_floating_point_v<T> ||
                                       std::is_integral_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8);

/// Bytes of a cache line.
inline constexpr int cache_line = 64;

/// The elements of a pack, the base of the combination tree.
inline constexpr int pack_length = 4;

/// Four neighbours from each of some places.
template <class T, int places = 1>
struct Pack {
  static constexpr int parts = pack_length * sizeof(T) / 16;
  static constexpr int lanes = pack_length / parts;  ///< of a place in each part
  Register<T, places> part[parts];
};

// ---- Lanes --------------------------------------------------------------------------------------

/// Where lane `index` of a shuffle is at a place: below `lanes` in the first register, else in the
/// second.
constexpr int lane_at(int place, int places, int lanes, int index) {
  const int lane = index < lanes ? index : index - lanes + places * lanes;
  return lane + place * lanes;
}

/// __builtin_shufflevector(). (Lane by lane, as nvcc loses the expansion of a pack among the
/// arguments of a built-in function.)
template <int... Lane, class T, int places>
[[gnu::always_inline]] inline Register<T, places> shuffle_all(const Register<T, places>& a,
                                                              const Register<T, places>& b) {
  constexpr int at[] = {Lane...};
  if constexpr (sizeof...(Lane) == 2) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1]);
  } else if constexpr (sizeof...(Lane) == 4) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1], at[2], at[3]);
  } else if constexpr (sizeof...(Lane) == 8) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1], at[2], at[3], at[4], at[5],
                                   at[6], at[7]);
  } else if constexpr (sizeof...(Lane) == 16) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1], at[2], at[3], at[4], at[5],
                                   at[6], at[7], at[8], at[9], at[10], at[11], at[12], at[13],
                                   at[14], at[15]);
  } else {
    static_assert(sizeof...(Lane) == 32);
    return __builtin_shufflevector(
        a.lanes, b.lanes, at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9],
        at[10], at[11], at[12], at[13], at[14], at[15], at[16], at[17], at[18], at[19], at[20],
        at[21], at[22], at[23], at[24], at[25], at[26], at[27], at[28], at[29], at[30], at[31]);
  }
}
/// The same at each place alike.
template <int... Index, class T, int places>
[[gnu::always_inline]] inline Register<T, places> shuffle(const Register<T, places>& a,
                                                          const Register<T, places>& b) {
  constexpr int lanes = sizeof...(Index);
  if constexpr (places == 1) {
    return shuffle_all<Index...>(a, b);
  } else {
    return shuffle_all<lane_at(0, 2, lanes, Index)..., lane_at(1, 2, lanes, Index)...>(a, b);
  }
}

/// Calls f(place) for each place, which is known at compile time.
template <int places, class F>
[[gnu::always_inline]] inline void for_each_place(const F& f) {
  f(std::integral_constant<int, 0>{});
  if constexpr (places == 2) f(std::integral_constant<int, 1>{});
}

/// The register of a place.
template <int place, class T, int places>
[[gnu::always_inline]] inline Register<T> at_place(const Register<T, places>& r) {
  if constexpr (places == 1) {
    return r;
  } else if constexpr (sizeof(T) == 4) {
    constexpr int i = 4 * place;
    return __builtin_shufflevector(r.lanes, r.lanes, i, i + 1, i + 2, i + 3);
  } else {
    return __builtin_shufflevector(r.lanes, r.lanes, 2 * place, 2 * place + 1);
  }
}

/// Registers of two places beside each other.
template <class T>
[[gnu::always_inline]] inline Register<T, 2> join(const Register<T>& a, const Register<T>& b) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_shufflevector(a.lanes, b.lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    return __builtin_shufflevector(a.lanes, b.lanes, 0, 1, 2, 3);
  }
}

template <class T>
[[gnu::always_inline]] inline Register<T> broadcast_register(const T& value) {
  if constexpr (sizeof(T) == 4) {
    return native_t<T>{value, value, value, value};
  } else {
    return native_t<T>{value, value};
  }
}

/// A value for each place, in all of its lanes.
template <class T, int places = 1>
[[gnu::always_inline]] inline Pack<T, places> broadcast(const T (&values)[places]) {
  Pack<T, places> p;
  for (auto& part : p.part) {
    if constexpr (places == 1) {
      part = broadcast_register(values[0]);
    } else {
      part = join(broadcast_register(values[0]), broadcast_register(values[1]));
    }
  }
  return p;
}

/// One value in all places.
template <int places = 1, class T>
[[gnu::always_inline]] inline Pack<T, places> broadcast(const T& value) {
  if constexpr (places == 1) {
    return broadcast<T, 1>({value});
  } else {
    return broadcast<T, 2>({value, value});
  }
}

/// The last value of each place in all of its lanes.
template <class T, int places>
[[gnu::always_inline]] inline Pack<T, places> broadcast_last(const Pack<T, places>& p) {
  if constexpr (Pack<T>::parts == 1) {
    return {{shuffle<3, 3, 3, 3>(p.part[0], p.part[0])}};
  } else {
    const auto last = shuffle<1, 1>(p.part[1], p.part[1]);
    return {{last, last}};
  }
}

/// The last value of a place.
template <int place = 0, class T, int places>
[[gnu::always_inline]] inline T last(const Pack<T, places>& p) {
  return p.part[Pack<T>::parts - 1].lanes[(place + 1) * Pack<T>::lanes - 1];
}

/// The values of each place in the opposite order.
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> reverse(const Register<T, places>& r) {
  if constexpr (sizeof(T) == 4) {
    return shuffle<3, 2, 1, 0>(r, r);
  } else {
    return shuffle<1, 0>(r, r);
  }
}
template <class T, int places>
[[gnu::always_inline]] inline Pack<T, places> reverse(const Pack<T, places>& p) {
  Pack<T, places> reversed;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    reversed.part[i] = reverse(p.part[Pack<T>::parts - 1 - i]);
  }
  return reversed;
}

/// The four values of each place that end `shift` values before the second pack does: the last of
/// the first pack and the first of the second.
template <int shift, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> shift_in(const Pack<T, places>& a,
                                                       const Pack<T, places>& b) {
  if constexpr (shift == 0) {
    return b;
  } else if constexpr (shift == Pack<T>::lanes && Pack<T>::parts == 1) {
    return a;
  } else if constexpr (Pack<T>::parts == 1) {
    return {{shuffle<4 - shift, 5 - shift, 6 - shift, 7 - shift>(a.part[0], b.part[0])}};
  } else if constexpr (shift == 1) {
    return {{shuffle<1, 2>(a.part[1], b.part[0]), shuffle<1, 2>(b.part[0], b.part[1])}};
  } else {
    static_assert(shift == 2);
    return {{a.part[1], b.part[0]}};
  }
}

/// The pack at the last place.
template <class T, int places>
[[gnu::always_inline]] inline Pack<T> at_last_place(const Pack<T, places>& p) {
  Pack<T> last;
  for (int i = 0; i < Pack<T>::parts; ++i) last.part[i] = at_place<places - 1>(p.part[i]);
  return last;
}

/// The pack before the first of each place: `before`, and then those at the other places.
template <class T, int places>
[[gnu::always_inline]] inline Pack<T, places> before_places(const Pack<T>& before,
                                                            const Pack<T, places>& p) {
  Pack<T, places> all;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    if constexpr (places == 1) {
      all.part[i] = before.part[i];
    } else {
      all.part[i] = join(before.part[i], at_place<0>(p.part[i]));
    }
  }
  return all;
}

// ---- Move ---------------------------------------------------------------------------------------

/// A register from any address.
template <int places = 1, class T>
[[gnu::always_inline]] inline Register<T, places> load_register(const T* from) {
  Register<T, places> r;
  __builtin_memcpy(&r.lanes, from, sizeof r.lanes);
  return r;
}

/// A register to any address.
template <class T, int places>
[[gnu::always_inline]] inline void store_register(T* to, const Register<T, places>& r) {
  __builtin_memcpy(to, &r.lanes, sizeof r.lanes);
}

/// A register to an address that is a multiple of 16, past the caches where the processor can.
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T>& r) {
#if defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)r.lanes);
#else
  store_register(to, r);
#endif
}

/// The same for a register of two places, by halves.
template <class T>
[[gnu::always_inline]] inline void stream_register(T* to, const Register<T, 2>& r) {
  stream_register(to, at_place<0>(r));
  stream_register(to + 16 / sizeof(T), at_place<1>(r));
}

/// A value, likewise.
template <class T>
[[gnu::always_inline]] inline void stream_value(T* to, const T& value) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 4) {
    int bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    _mm_stream_si32(reinterpret_cast<int*>(to), bits);
  } else {
    long long bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    _mm_stream_si64(reinterpret_cast<long long*>(to), bits);
  }
#else
  *to = value;
#endif
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

/// The caches to which come elements that are asked for: all of them, or only the nearest, where
/// they are used once and displace nothing that others need.
enum class Caches { all, nearest };

/// How far ahead of the elements that are loaded others are asked for, and where to.
struct Ahead {
  std::int64_t elements;
  Caches caches;
};
inline constexpr Ahead nothing_ahead{0, Caches::all};

/// Asks for `count` neighbours, which are loaded soon and need not exist.
///
/// \tparam step the direction in which memory is passed through. Cache lines are asked for in it:
///              the hardware, which asks for others by itself, is misled by each one that is not
///              (backward rows of doubles from memory took 1.3 times as long).
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

// A pack moves register by register: as a whole GCC takes one of two registers through the stack.

/// Four values from any address, and from each other place `distance` on.
template <int places = 1, class T>
[[gnu::always_inline]] inline Pack<T, places> load(const T* from, std::int64_t distance = 0) {
  Pack<T, places> p;
  for (int i = 0; i < Pack<T>::parts; ++i, from += Pack<T>::lanes) {
    if constexpr (places == 1) {
      p.part[i] = load_register(from);
    } else {
      p.part[i] = join(load_register(from), load_register(from + distance));
    }
  }
  return p;
}

/// The four values of a place to any address; past the caches, if `streams` says so, to one that is
/// a multiple of 16.
template <bool streams, int place = 0, class T, int places>
[[gnu::always_inline]] inline void store(T* to, const Pack<T, places>& p) {
  for (int i = 0; i < Pack<T>::parts; ++i, to += Pack<T>::lanes) {
    const Register<T> r = at_place<place>(p.part[i]);
    if constexpr (streams) {
      stream_register(to, r);
    } else {
      store_register(to, r);
    }
  }
}

/// The first `count` of the four values of a place, 1 to 3, to any address.
template <int place, class T, int places>
[[gnu::always_inline]] inline void store_some(T* to, const Pack<T, places>& p, int count) {
  const Register<T> low = at_place<place>(p.part[0]);
  to[0] = low.lanes[0];
  if (count > 1) to[1] = low.lanes[1];
  if (count > 2) to[2] = at_place<place>(p.part[Pack<T>::parts - 1]).lanes[2 % Pack<T>::lanes];
}

/// A part of a pack of the first `count` of four values, 1 to 3, and `fill` behind them.
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

/// The first `count` of four values of each place, 1 to 3, and `fill` behind them. Nothing else is
/// read.
template <int places, class T>
[[gnu::always_inline]] inline Pack<T, places> load_some(const T* from, std::int64_t distance,
                                                        int count, T fill) {
  Pack<T, places> p;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    const Register<T> first = load_some_of_part(i, from, count, fill);
    if constexpr (places == 1) {
      p.part[i] = first;
    } else {
      p.part[i] = join(first, load_some_of_part(i, from + distance, count, fill));
    }
  }
  return p;
}

// ---- Select -------------------------------------------------------------------------------------

/// The signed integers that comparisons of values of type T give: all bits of a lane, or none.
template <class T>
using truth_t = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Each lane of the lower or upper half of each place twice, as one that is twice as wide: so
/// truths of a type become those of a wider one.
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int16_t, places> widen(
    const Register<std::int8_t, places>& r) {
  constexpr int i = upper ? 8 : 0;
  return (native_t<std::int16_t, places>)
      shuffle<i, i, i + 1, i + 1, i + 2, i + 2, i + 3, i + 3, i + 4, i + 4, i + 5, i + 5, i + 6,
              i + 6, i + 7, i + 7>(r, r)
          .lanes;
}
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int32_t, places> widen(
    const Register<std::int16_t, places>& r) {
  constexpr int i = upper ? 4 : 0;
  return (native_t<std::int32_t, places>)shuffle<i, i, i + 1, i + 1, i + 2, i + 2, i + 3, i + 3>(r,
                                                                                                 r)
      .lanes;
}
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int64_t, places> widen(
    const Register<std::int32_t, places>& r) {
  constexpr int i = upper ? 2 : 0;
  return (native_t<std::int64_t, places>)shuffle<i, i, i + 1, i + 1>(r, r).lanes;
}

/// The truths of 16 neighbouring bools, and of 16 at each other place `distance` on, as they select
/// values of type T: those of four packs.
template <class T, int places>
struct Truths {
  Register<truth_t<T>, places> of_pack[4][Pack<T>::parts];

  [[gnu::always_inline]] explicit Truths(const bool* selected, std::int64_t distance = 0) {
    Register<std::int8_t, places> bytes;
    for (int place = 0; place < places; ++place) {
      __builtin_memcpy(reinterpret_cast<char*>(&bytes.lanes) + 16 * place,
                       selected + place * distance, 16);
    }
    bytes.lanes = bytes.lanes != 0;
    const auto low = widen<false>(bytes), high = widen<true>(bytes);
    const Register<std::int32_t, places> packs[] = {widen<false>(low), widen<true>(low),
                                                    widen<false>(high), widen<true>(high)};
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        of_pack[i][0] = packs[i];
      } else {
        of_pack[i][0] = widen<false>(packs[i]);
        of_pack[i][1] = widen<true>(packs[i]);
      }
    }
  }
};

/// The truths of as many neighbouring bools as a register of T has lanes.
template <class T, int places>
[[gnu::always_inline]] inline Register<truth_t<T>, places> load_truth(const bool* selected) {
  if constexpr (places == 2) {
    typedef std::int8_t Bytes __attribute__((vector_size(8)));
    typedef std::int8_t Half __attribute__((vector_size(4)));
    std::conditional_t<sizeof(T) == 4, Bytes, Half> bytes;
    __builtin_memcpy(&bytes, selected, sizeof bytes);
    return __builtin_convertvector(bytes, native_t<truth_t<T>, places>) != 0;
  } else {
    Register<std::int8_t> bytes = native_t<std::int8_t>{};
    __builtin_memcpy(&bytes.lanes, selected, 16 / sizeof(T));
    bytes.lanes = bytes.lanes != 0;
    const auto truth = widen<false>(widen<false>(bytes));
    if constexpr (sizeof(T) == 4) {
      return truth;
    } else {
      return widen<false>(truth);
    }
  }
}

/// Each value whose truth is all bits, and `other` where it is none.
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> select(const Register<truth_t<T>, places>& truth,
                                                         const Register<T, places>& values,
                                                         const Register<T, places>& other) {
  if constexpr (places == 2) {
    return truth.lanes < 0 ? values.lanes : other.lanes;  // one instruction of AVX
  } else {
    using Bits = native_t<truth_t<T>, places>;
    return (native_t<T, places>)(((Bits)values.lanes & truth.lanes) |
                                 ((Bits)other.lanes & ~truth.lanes));
  }
}

/// Each of 16 neighbours where its bool is true, else `other`.
template <class T>
[[gnu::always_inline]] inline void select_of_16(const bool* selected, const T* from, const T& other,
                                                T* x) {
  const Truths<T, 1> truths(selected);
  for (int i = 0; i < 4; ++i) {
    for (int part = 0; part < Pack<T>::parts; ++part) {
      const int at = (i * Pack<T>::parts + part) * Pack<T>::lanes;
      store_register(x + at, select(truths.of_pack[i][part], load_register(from + at),
                                    broadcast_register(other)));
    }
  }
}

// ---- Combine ------------------------------------------------------------------------------------

template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Sum<T>&,
                                                                    const Register<T, places>& a,
                                                                    const Register<T, places>& b) {
  if constexpr (std::integral<T>) {
    using Wrapping = native_t<wrapping_lane_t<T>, places>;
    return (native_t<T, places>)((Wrapping)a.lanes + (Wrapping)b.lanes);
  } else {
    return a.lanes + b.lanes;
  }
}
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Prod<T>&,
                                                                    const Register<T, places>& a,
                                                                    const Register<T, places>& b) {
  if constexpr (std::integral<T>) {
    using Wrapping = native_t<wrapping_lane_t<T>, places>;
    return (native_t<T, places>)((Wrapping)a.lanes * (Wrapping)b.lanes);
  } else {
    return a.lanes * b.lanes;
  }
}
/// b < a ? b : a, the operator where b is no NaN: may_have_nan() tells. Without AVX, GCC does not
/// see that it is one instruction.
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Min<T>&,
                                                                    const Register<T, places>& a,
                                                                    const Register<T, places>& b) {
#if defined(__SSE2__)
  if constexpr (places == 1 && std::same_as<T, float>) {
    return (native_t<T>)_mm_min_ps((__m128)b.lanes, (__m128)a.lanes);
  } else if constexpr (places == 1 && std::same_as<T, double>) {
    return (native_t<T>)_mm_min_pd((__m128d)b.lanes, (__m128d)a.lanes);
  }
#endif
  return b.lanes < a.lanes ? b.lanes : a.lanes;
}
/// b > a ? b : a, likewise.
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Max<T>&,
                                                                    const Register<T, places>& a,
                                                                    const Register<T, places>& b) {
#if defined(__SSE2__)
  if constexpr (places == 1 && std::same_as<T, float>) {
    return (native_t<T>)_mm_max_ps((__m128)b.lanes, (__m128)a.lanes);
  } else if constexpr (places == 1 && std::same_as<T, double>) {
    return (native_t<T>)_mm_max_pd((__m128d)b.lanes, (__m128d)a.lanes);
  }
#endif
  return b.lanes > a.lanes ? b.lanes : a.lanes;
}

/// An operator, and also where there are NaNs.
template <class Op>
struct Exact {
  const Op& op;
};
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Exact<Min<T>>&,
                                                                    const Register<T, places>& ra,
                                                                    const Register<T, places>& rb) {
  const auto &a = ra.lanes, &b = rb.lanes;
  return ((b < a) | ((b != b) & (a == a))) ? b : a;
}
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_registers(const Exact<Max<T>>&,
                                                                    const Register<T, places>& ra,
                                                                    const Register<T, places>& rb) {
  const auto &a = ra.lanes, &b = rb.lanes;
  return ((b > a) | ((b != b) & (a == a))) ? b : a;
}

/// Whether a comparison is true in some lane.
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

/// In which lanes there may be a NaN in some register: where there is one, or infinities of both
/// signs. A sum finds out with fewer instructions than comparisons.
template <class T, int places, class... Registers>
[[gnu::always_inline]] inline Register<truth_t<T>, places> where_nan(
    const Register<T, places>& first, const Registers&... others) {
  native_t<T, places> sum = first.lanes;
  ((sum += others.lanes), ...);
  return (native_t<truth_t<T>, places>)(sum != sum);
}

/// The fold of what comes before each lane of a pack and the pack's value there.
template <class Op, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> combine(const Op& op, const Pack<T, places>& a,
                                                      const Pack<T, places>& b) {
  Pack<T, places> result;
  for (int i = 0; i < Pack<T>::parts; ++i) {
    result.part[i] = combine_registers(op, a.part[i], b.part[i]);
  }
  return result;
}

/// The prefixes of a pack: x0, x0 * x1, (x0 * x1) * x2, (x0 * x1) * (x2 * x3).
///
/// \param neutral a value that, combined from the left, leaves every other as it is
template <class Op, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> prefixes(const Op& op, const Pack<T, places>& x,
                                                       const Pack<T, places>& neutral) {
  const auto fill = neutral.part[0];
  if constexpr (Pack<T>::parts == 1) {
    auto before = fill;  // fill, x0, fill, x2
    if constexpr (places == 1) {
      // GCC needs two shuffles for this, written as one it makes four.
      const auto even = shuffle<0, 1, 4, 6>(fill, x.part[0]);
      before = shuffle<0, 2, 1, 3>(even, even);
    } else {
      // With AVX2 the second is a blend, of which there can be more at once.
      const auto even = shuffle<0, 0, 2, 2>(x.part[0], x.part[0]);
      before = shuffle<4, 1, 6, 3>(even, fill);
    }
    const auto pairs = combine_registers(op, before, x.part[0]);
    return {{combine_registers(op, shuffle<0, 1, 5, 5>(fill, pairs), pairs)}};
  } else {
    const auto low = combine_registers(op, shuffle<0, 2>(fill, x.part[0]), x.part[0]);
    const auto high = combine_registers(op, shuffle<0, 2>(fill, x.part[1]), x.part[1]);
    return {{low, combine_registers(op, shuffle<1, 1>(low, low), high)}};
  }
}

/// Each two neighbours of two registers, combined.
template <class Op, class T, int places>
[[gnu::always_inline]] inline Register<T, places> combine_pairs(const Op& op,
                                                                const Register<T, places>& a,
                                                                const Register<T, places>& b) {
  if constexpr (sizeof(T) == 4) {
    return combine_registers(op, shuffle<0, 2, 4, 6>(a, b), shuffle<1, 3, 5, 7>(a, b));
  } else {
    return combine_registers(op, shuffle<0, 2>(a, b), shuffle<1, 3>(a, b));
  }
}

/// The totals of four packs that follow each other, (x0 * x1) * (x2 * x3) of each.
///
/// \param packs those packs
template <class Op, class T, int places>
[[gnu::always_inline]] inline Pack<T, places> totals_of_packs(const Op& op,
                                                              const Pack<T, places> (&packs)[4]) {
  if constexpr (Pack<T>::parts == 1) {
    return {{combine_pairs(op, combine_pairs(op, packs[0].part[0], packs[1].part[0]),
                           combine_pairs(op, packs[2].part[0], packs[3].part[0]))}};
  } else {
    Pack<T, places> totals;
    for (int i = 0; i < 2; ++i) {
      const auto& left = packs[2 * i].part;
      const auto& right = packs[2 * i + 1].part;
      totals.part[i] = combine_pairs(op, combine_pairs(op, left[0], left[1]),
                                     combine_pairs(op, right[0], right[1]));
    }
    return totals;
  }
}

// ---- Choose -------------------------------------------------------------------------------------

/// The registers that kernels use. Results have the same bits with all of them.
enum class Registers { of_16_bytes, of_32_bytes };

/// The widest registers of this processor.
inline Registers widest_registers() {
#if defined(KOKKOSSCAN_IMPL_AVX2)
  if (__builtin_cpu_supports("avx2")) return Registers::of_32_bytes;
#endif
  return Registers::of_16_bytes;
}

#if defined(KOKKOSSCAN_IMPL_AVX2)
/// f(2), compiled for AVX2.
template <class F>
[[gnu::target("avx2")]] auto call_with_avx2(const F& f) {
  return f(std::integral_constant<int, 2>{});
}
#endif

/// Calls f(places): 1 for registers of 16 bytes, 2 for those of 32, which the processor must have.
///
/// f and all that it calls with registers are always inlined, so they are compiled for both.
template <class F>
[[gnu::always_inline]] inline auto call_with(Registers registers, const F& f) {
#if defined(KOKKOSSCAN_IMPL_AVX2)
  if (registers == Registers::of_32_bytes) return call_with_avx2(f);
#endif
  return f(std::integral_constant<int, 1>{});
}

/// Converts `count` neighbours, upwards (step 1) or downwards (step -1) from the first, in vectors
/// that the compiler makes.
template <int step = 1, class To, class From>
void convert(const From* from, int count, To* to) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        // Copies, which stores of bytes cannot alias.
        const From* const x = from;
        To* const y = to;
        const int n = count;
        for (int i = 0; i < n; ++i) y[i] = static_cast<To>(x[step * i]);
      });
}

}  // namespace KokkosScan::impl::host
