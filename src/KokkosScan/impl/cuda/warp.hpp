// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Warp-level pieces: packs that one instruction moves, shuffles of any type, the scan of a row.

#include <KokkosScan/operators.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Lanes of a warp.
inline constexpr int lanes = 32;

/// Whether this many bytes can be moved by one instruction.
constexpr bool is_one_instruction(int bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/// The unsigned integer of a pack's size, for streaming access.
template <int Bytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

/// Loads a pack whose data will not be needed again soon.
template <int E, class T>
__device__ __forceinline__ void load_streaming(const T* from, T (&to)[E]) {
  using W = typename Word<sizeof(T) * E>::type;
  const W word = __ldcs(reinterpret_cast<const W*>(from));
  memcpy(to, &word, sizeof(W));
}

/// Stores a pack whose data will not be needed again soon.
template <int E, class T>
__device__ __forceinline__ void store_streaming(T* to, const T (&from)[E]) {
  using W = typename Word<sizeof(T) * E>::type;
  W word;
  memcpy(&word, from, sizeof(W));
  __stcs(reinterpret_cast<W*>(to), word);
}

/// A value of any trivially copyable type as 32-bit words.
template <class T>
struct Words {
  static constexpr int count = (sizeof(T) + 3) / 4;
  unsigned word[count];

  __device__ __forceinline__ explicit Words(const T& value) {
    if constexpr (sizeof(T) % 4 != 0) word[count - 1] = 0;
    memcpy(word, &value, sizeof(T));
  }
  __device__ __forceinline__ void get(T& value) const { memcpy(&value, word, sizeof(T)); }
};

/// The value of the lane `distance` below; that of the lane itself where there is none.
template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, int distance) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) {
    words.word[w] = __shfl_up_sync(~0u, words.word[w], distance);
  }
  T result = value;
  words.get(result);
  return result;
}

/// The value of lane `source`.
template <class T>
__device__ __forceinline__ T shuffle(const T& value, int source) {
  Words<T> words(value);
#pragma unroll
  for (int w = 0; w < Words<T>::count; ++w) {
    words.word[w] = __shfl_sync(~0u, words.word[w], source);
  }
  T result = value;
  words.get(result);
  return result;
}

/// Numbers, whose arithmetic does no harm whatever their bits are.
template <class T>
inline constexpr bool is_plain_number = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_plain_number<Kokkos::complex<T>> = true;

/// Whether an operator may be given any bits, its result being thrown away: then a choice between
/// results costs less than a branch. Operators of users only see what the contract promises.
template <class Op>
inline constexpr bool is_eager = false;
template <class T>
inline constexpr bool is_eager<Sum<T>> = is_plain_number<T>;
template <class T>
inline constexpr bool is_eager<Prod<T>> = is_plain_number<T>;
template <class T>
inline constexpr bool is_eager<Min<T>> = is_plain_number<T>;
template <class T>
inline constexpr bool is_eager<Max<T>> = is_plain_number<T>;

/// a * b if the condition holds, else `otherwise`.
template <class Op, class T>
__device__ __forceinline__ T combine_if(bool condition, const Op& op, const T& a, const T& b,
                                        const T& otherwise) {
  if constexpr (is_eager<Op>) {
    const T both = op(a, b);
    return condition ? both : otherwise;
  } else {
    return condition ? static_cast<T>(op(a, b)) : otherwise;
  }
}

/// The fold of x[First] ... x[First + Count - 1], by halves.
template <int First, int Count, class A, class Op, int E>
__device__ __forceinline__ A fold_in_pairs(const Op& op, const A (&x)[E]) {
  if constexpr (Count == 1) {
    return x[First];
  } else {
    return op(fold_in_pairs<First, (Count + 1) / 2>(op, x),
              fold_in_pairs<First + (Count + 1) / 2, Count / 2>(op, x));
  }
}

/// Packs of a half row, whose lanes combine in the accumulator; everything above combines in the
/// carried type.
inline constexpr int packs_of_half_row = 16;

/// Scans the packs of neighbouring lanes. On return x[i] is the fold of the pack's first i + 1
/// elements, but the last is the fold of the line's elements in this half row up to and with it.
///
/// Lanes combine by the scheme of Kogge and Stone (IEEE Trans. Comput. C-22, 1973), so the order of
/// combination depends on the place in the line and not on the lane. A sum of floats is rounded
/// twice in a pack of four (its total is added in pairs) and four times among 16 packs.
///
/// \param pack  number of the lane's pack within its line and this row
/// \param valid elements of the line from this pack on; users' operators see no others
template <int E, class A, class Op>
__device__ __forceinline__ void scan_half_rows(const Op& op, A (&x)[E], int pack, int valid) {
  const bool is_full = valid >= E;
  A total = x[E - 1];
  if (is_eager<Op> || is_full) total = fold_in_pairs<0, E>(op, x);
#pragma unroll
  for (int i = 1; i < E - 1; ++i) {
    if (is_eager<Op> || i < valid) x[i] = op(x[i - 1], x[i]);
  }
  const int place = pack % packs_of_half_row;
#pragma unroll
  for (int distance = 1; distance < packs_of_half_row; distance *= 2) {
    const A before = shuffle_up(total, distance);
    // A pack that is not full is the last of its line: nothing follows that would need its total.
    const bool has_before = place >= distance && (is_eager<Op> || is_full);
    total = combine_if(has_before, op, before, total, total);
  }
  x[E - 1] = total;
}

/// E neighbours in shared memory, moved 16 bytes at a time where they fill those: scalar access to
/// packs would meet the same bank E times.
template <class T, int E>
struct alignas(sizeof(T) * E % 16 == 0 ? 16 : alignof(T)) Pack {
  T value[E];
};

/// Reads the lane's pack of a row in shared memory.
template <class A, int E>
__device__ __forceinline__ void read_pack(const A* row, A (&x)[E], int lane) {
  const Pack<A, E> pack = reinterpret_cast<const Pack<A, E>*>(row)[lane];
#pragma unroll
  for (int i = 0; i < E; ++i) x[i] = pack.value[i];
}
/// Writes it.
template <class A, int E>
__device__ __forceinline__ void write_pack(A* row, const A (&x)[E], int lane) {
  Pack<A, E> pack;
#pragma unroll
  for (int i = 0; i < E; ++i) pack.value[i] = x[i];
  reinterpret_cast<Pack<A, E>*>(row)[lane] = pack;
}

/// Changes a row from striped (x[i] is element i * 32 + lane) to packed (x[i] is element
/// lane * E + i), through shared memory of the warp.
template <class A, int E>
__device__ __forceinline__ void stripes_to_packs(A* row, A (&x)[E], int lane) {
#pragma unroll
  for (int i = 0; i < E; ++i) row[i * lanes + lane] = x[i];
  __syncwarp();
  read_pack(row, x, lane);
  __syncwarp();
}

/// The way back.
template <class A, int E>
__device__ __forceinline__ void packs_to_stripes(A* row, A (&x)[E], int lane) {
  write_pack(row, x, lane);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < E; ++i) x[i] = row[i * lanes + lane];
  __syncwarp();
}

}  // namespace KokkosScan::impl::cuda
