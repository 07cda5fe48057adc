// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Vector registers, by the vector extensions of GCC and Clang. A register has one or two *places*
/// of 16 bytes, each with neighbouring values: one place with SSE2 and NEON, two with AVX2. No lane
/// depends on lanes of the other place, so results are bitwise the same for both widths. Everything
/// that is specific to a processor is in this file, move.hpp, combine.hpp and instruction_sets.hpp.

#include <KokkosScan/impl/host/trees.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

// Registers of 32 bytes: their kernels are compiled for AVX2 whatever the flags are, and are called
// only if the processor supports it. nvcc does not accept these types.
#if defined(__x86_64__) && !defined(__CUDACC__)
#define KOKKOSSCAN_IMPL_AVX2
#endif

// Unrolls a loop of known length completely. With -O2, GCC unrolls only if the code gets smaller,
// and keeps register arrays of other loops in memory.
#if defined(__CUDACC__)
#define KOKKOSSCAN_IMPL_UNROLL
#else
#define KOKKOSSCAN_IMPL_UNROLL _Pragma("GCC unroll 16")
#endif
// Keeps a loop from being unrolled, for code size.
#if defined(__CUDACC__)
#define KOKKOSSCAN_IMPL_ROLLED
#else
#define KOKKOSSCAN_IMPL_ROLLED _Pragma("GCC unroll 1")
#endif
// Says that iterations of a loop do not load what others store.
#if defined(__CUDACC__)
#define KOKKOSSCAN_IMPL_INDEPENDENT
#elif defined(__clang__)
#define KOKKOSSCAN_IMPL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KOKKOSSCAN_IMPL_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// The unsigned type whose arithmetic wraps.
template <class T>
using wrapping_lane_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The lane type for an arithmetic type: the one of its size and kind that vectors convert to each
/// other. (For vectors, long and long long differ, as do wchar_t and int.)
template <class T>
using lane_t = std::conditional_t<
    std::is_floating_point_v<T>, std::conditional_t<sizeof(T) == 4, float, double>,
    std::conditional_t<std::is_signed_v<T>, std::make_signed_t<wrapping_lane_t<T>>,
                       wrapping_lane_t<T>>>;

/// The native vector type, 16 bytes for each place. Types with one place are written out because
/// nvcc rejects the attribute on a type that depends on a template parameter.
template <class T, int places>
struct Native {
  typedef T type __attribute__((vector_size(16 * places)));
};
#define KOKKOSSCAN_IMPL_NATIVE(T, places)                       \
  template <>                                                   \
  struct Native<T, places> {                                    \
    typedef T type __attribute__((vector_size(16 * (places)))); \
  }
KOKKOSSCAN_IMPL_NATIVE(float, 1);
KOKKOSSCAN_IMPL_NATIVE(double, 1);
KOKKOSSCAN_IMPL_NATIVE(double, 2);  // carries four floats
KOKKOSSCAN_IMPL_NATIVE(std::int32_t, 1);
KOKKOSSCAN_IMPL_NATIVE(std::uint32_t, 1);
KOKKOSSCAN_IMPL_NATIVE(std::int64_t, 1);
KOKKOSSCAN_IMPL_NATIVE(std::uint64_t, 1);
#undef KOKKOSSCAN_IMPL_NATIVE
template <class T, int places = 1>
using native_t = typename Native<lane_t<T>, places>::type;

/// A register of arithmetic values.
template <class T, int places = 1>
struct Register {
  native_t<T, places> lanes;

  Register() = default;
  [[gnu::always_inline]] Register(const native_t<T, places>& v) : lanes(v) {}
  // User-provided, so that functions that are not inlined pass registers in memory: the calling
  // convention for vectors depends on the instruction set of the caller.
  [[gnu::always_inline]] Register(const Register& other) : lanes(other.lanes) {}
  [[gnu::always_inline]] Register& operator=(const Register& other) {
    lanes = other.lanes;
    return *this;
  }
};

/// The number of values in a register.
template <class T, int places>
inline constexpr int lanes_of = 16 * places / static_cast<int>(sizeof(T));

/// Whether vectors of T are supported.
template <class T>
inline constexpr bool is_vectorized = (std::is_floating_point_v<T> ||
                                       std::is_integral_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8);

/// Size of a cache line in bytes.
inline constexpr int cache_line = 64;

/// Four neighbouring values at each place.
template <class T, int places = 1>
struct Pack {
  static constexpr int parts = pack_length * sizeof(T) / 16;
  static constexpr int lanes = pack_length / parts;  ///< per place in each part
  Register<T, places> part[parts];
};

// ---- Lanes --------------------------------------------------------------------------------------

/// Converts a lane index of shuffle() at a place to one of shuffle_all(): indices below `lanes` are
/// in the first register, others in the second.
constexpr int lane_at(int place, int places, int lanes, int index) {
  const int lane = index < lanes ? index : index - lanes + places * lanes;
  return lane + place * lanes;
}

/// __builtin_shufflevector(). (Indices are listed one by one because nvcc loses pack expansions in
/// arguments of built-in functions.)
template <int... Lane, class T, int places>
[[gnu::always_inline]] inline Register<T, places> shuffle_all(const Register<T, places>& a,
                                                              const Register<T, places>& b) {
  constexpr int at[] = {Lane...};
  if constexpr (sizeof...(Lane) == 2) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1]);
  } else if constexpr (sizeof...(Lane) == 4) {
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1], at[2], at[3]);
  } else {
    static_assert(sizeof...(Lane) == 8);
    return __builtin_shufflevector(a.lanes, b.lanes, at[0], at[1], at[2], at[3], at[4], at[5],
                                   at[6], at[7]);
  }
}
/// The same shuffle at each place.
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

/// Calls f(place) for each place, as a compile-time constant.
template <int places, class F>
[[gnu::always_inline]] inline void for_each_place(const F& f) {
  f(std::integral_constant<int, 0>{});
  if constexpr (places == 2) f(std::integral_constant<int, 1>{});
}

/// The lanes of one place.
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

/// Joins two registers of one place to one of two places.
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

/// Broadcasts one value for each place to all lanes of the place.
template <class T, int places = 1>
[[gnu::always_inline]] inline Pack<T, places> broadcast(const T (&values)[places]) {
  Pack<T, places> p;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i) {
    auto& part = p.part[i];
    if constexpr (places == 1) {
      part = broadcast_register(values[0]);
    } else {
      part = join(broadcast_register(values[0]), broadcast_register(values[1]));
    }
  }
  return p;
}

/// Broadcasts a value to all places. (GCC would not recognise a join of two as a broadcast.)
template <int places = 1, class T>
[[gnu::always_inline]] inline Pack<T, places> broadcast(const T& value) {
  Pack<T, places> p;
  KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < Pack<T>::parts; ++i) {
    if constexpr (places == 1) {
      p.part[i] = broadcast_register(value);
    } else if constexpr (sizeof(T) == 4) {
      p.part[i] = native_t<T, 2>{value, value, value, value, value, value, value, value};
    } else {
      p.part[i] = native_t<T, 2>{value, value, value, value};
    }
  }
  return p;
}

/// Broadcasts a value without letting GCC know that it is constant: it would turn shuffles with
/// constants into slower ones that cross places.
template <int places, class T>
[[gnu::always_inline]] inline Register<T, places> hidden(const T& value) {
  auto r = broadcast<places>(value).part[0];
  // Clang makes no such shuffles, and rejects wide registers in asm unless compiling for AVX.
#if defined(__SSE2__) && !defined(__clang__)
  asm("" : "+x"(r.lanes));
#endif
  return r;
}

/// Broadcasts the last value of each place to all lanes of the place.
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

/// Four values of one place as double, and back.
[[gnu::always_inline]] inline Register<double, 2> widened(const Register<float>& r) {
  return __builtin_convertvector(r.lanes, native_t<double, 2>);
}
[[gnu::always_inline]] inline Register<float> narrowed(const Register<double, 2>& r) {
  return __builtin_convertvector(r.lanes, native_t<float>);
}

}  // namespace KokkosScan::impl::host
