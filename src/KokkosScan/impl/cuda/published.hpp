// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How blocks that share lines tell each other their totals: each is written once to memory that was
/// zero, and whoever needs it reads until it is there. Tiles are taken by tickets, in order, so
/// whoever waits, waits for blocks that have started: no tile needs another to be resident.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace KokkosScan::impl::cuda {

/// How a value is written to global memory, where others wait for it: as 64-bit words that are not
/// zero once they are there. Each is read and written whole, so no order between them is needed.
/// Memory must be zero before. In general a word holds 32 bits of the value below a flag.
template <class R>
struct Published {
  static constexpr int words = Words<R>::count;

  std::uint64_t word[words];

  Published() = default;
  __device__ __forceinline__ explicit Published(const R& value) {
    const Words<R> bits(value);
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = (std::uint64_t{1} << 32) | bits.word[w];
  }
  __device__ __forceinline__ void get(R& value) const {
    Words<R> bits;
#pragma unroll
    for (int w = 0; w < words; ++w) bits.word[w] = static_cast<unsigned>(word[w]);
    bits.get(value);
  }
};

/// A double is one word, in which the bits of one NaN among many mean that it is not there.
template <>
struct Published<double> {
  static constexpr int words = 1;
  static constexpr std::uint64_t absent = 0x7FF8'0123'4567'89AB;
  static constexpr std::uint64_t usual_nan = 0x7FF8'0000'0000'0000;

  std::uint64_t word[1];

  Published() = default;
  __device__ __forceinline__ explicit Published(double value) {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    word[0] = (bits == absent ? usual_nan : bits) ^ absent;
  }
  __device__ __forceinline__ void get(double& value) const {
    const std::uint64_t bits = word[0] ^ absent;
    memcpy(&value, &bits, sizeof bits);
  }
};

__device__ __forceinline__ void store_word(std::uint64_t* at, std::uint64_t word) {
#if defined(__CUDACC__)
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
#else
  *at = word;
#endif
}
/// \tparam Distance of the word from `at`: a constant, for which no register is needed
template <int Distance>
__device__ __forceinline__ std::uint64_t load_word(const std::uint64_t* at) {
#if defined(__CUDACC__)
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1 + %2];"
               : "=l"(word)
               : "l"(at), "n"(8 * Distance)
               : "memory");
  return word;
#else
  return at[Distance];
#endif
}

/// Loads a word if the condition holds, else leaves it as it is.
__device__ __forceinline__ void load_word_if(bool condition, const std::uint64_t* at,
                                             std::uint64_t& word) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p ld.relaxed.gpu.global.u64 %0, [%1];\n\t"
      "}"
      : "+l"(word)
      : "l"(at), "r"(static_cast<unsigned>(condition))
      : "memory");
#else
  if (condition) word = *at;
#endif
}

/// Takes the next ticket from a counter, if the condition holds. (With a branch the thread would
/// wait for the number at the end of the branch.)
__device__ __forceinline__ void take_ticket_if(bool condition, std::uint64_t* counter,
                                               std::int64_t& ticket) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p atom.relaxed.gpu.global.add.u64 %0, [%1], 1;\n\t"
      "}"
      : "+l"(ticket)
      : "l"(counter), "r"(static_cast<unsigned>(condition))
      : "memory");
#else
  if (condition) ticket = static_cast<std::int64_t>((*counter)++);
#endif
}

/// Reads a published value.
///
/// \return whether it is there
template <class R>
__device__ __forceinline__ bool is_published(const std::uint64_t* at, Published<R>& value) {
  bool is_there = true;
#pragma unroll
  for (int w = 0; w < Published<R>::words; ++w) {
    value.word[w] = load_word<0>(at + w);
    is_there = is_there && value.word[w] != 0;
  }
  return is_there;
}
/// What this thread has read and written before is ordered before what it publishes.
__device__ __forceinline__ void fence() {
#if defined(__CUDACC__)
  __threadfence();
#endif
}

/// Publishes a value.
template <class R>
__device__ __forceinline__ void publish(std::uint64_t* at, const R& value) {
  const Published<R> published(value);
#pragma unroll
  for (int w = 0; w < Published<R>::words; ++w) store_word(at + w, published.word[w]);
}

}  // namespace KokkosScan::impl::cuda
