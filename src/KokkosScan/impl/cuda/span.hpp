// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Moves contiguous bytes between global and shared memory, a quad at a time, whatever their
/// alignment.

#if defined(__CUDACC__)
#include <cuda_pipeline.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "KokkosScan needs GPUs of compute capability 8.0 or later."
#endif

namespace KokkosScan::impl::cuda {

/// Bytes moved by one instruction.
inline constexpr int quad = 16;

#if defined(__CUDACC__)
/// The dynamic shared memory of a launch.
__device__ __forceinline__ std::byte* shared_memory() {
  extern __shared__ __align__(128) std::byte memory[];
  return memory;
}
/// A shared memory address as instructions take it.
using SharedAddress = unsigned;
__device__ __forceinline__ SharedAddress shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
#else
// For unit tests, which run the kernels without a GPU.
using SharedAddress = std::byte*;
inline SharedAddress shared_address(std::byte* at) { return at; }
#endif

/// Where a span lies in shared memory. It has the same offset modulo 16 as in global memory, so
/// that both sides can be accessed in aligned quads. (An offset, as the compiler can lose track of
/// which memory a pointer points to.)
struct Span {
  int offset;  ///< of the first quad, a multiple of 16
  int begin;   ///< of the first byte, 0 to 15
  /// Padding after each 128 bytes: 0, or 16 where lanes read quads a multiple of 32 bytes apart and
  /// would have bank conflicts.
  int padding;

  /// The address of the byte at `place`, not counting padding.
  [[nodiscard]] __device__ __forceinline__ std::byte* at_place(int place) const {
    return shared_memory() + offset + place + (place >> 7) * padding;
  }
  /// The padded distance of bytes that are `bytes`, a multiple of 128, apart without padding.
  [[nodiscard]] __device__ __forceinline__ int step(int bytes) const {
    return bytes + bytes / 128 * padding;
  }
  /// The address of byte `b` of the span.
  [[nodiscard]] __device__ __forceinline__ std::byte* at(int b) const {
    return at_place(begin + b);
  }
};

__host__ __device__ inline int misalignment(const void* address, int alignment = quad) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) %
                          static_cast<unsigned>(alignment));
}

/// Threads that share work, and the index of this thread.
struct Threads {
  int own;
  int count;
};
__device__ __forceinline__ Threads threads_of_block() {
  return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
}

/// Calls f(first, count) for the numbers from `first` on, each `step` from the next, below `end`:
/// for `at_once` of them while so many are left, then for half as many, and so on. Behind
/// conditions, loads would wait for each other.
template <int at_once, class F>
__device__ __forceinline__ void in_batches(int first, int end, int step, const F& f) {
#pragma unroll 1
  for (; first + (at_once - 1) * step < end; first += at_once * step) {
    f(first, std::integral_constant<int, at_once>{});
  }
  if constexpr (at_once > 1) in_batches<at_once / 2>(first, end, step, f);
}

/// Bytes of the least that is copied asynchronously.
inline constexpr int bytes_of_word = 4;

/// A type that one instruction moves, of the size of a unit.
template <int Unit>
struct UnitOf {
  static_assert(Unit > 0 && quad % Unit == 0);
  using type =
      std::tuple_element_t<std::countr_zero(static_cast<unsigned>(Unit)),
                           std::tuple<unsigned char, unsigned short, unsigned, uint2, uint4>>;
};

/// Begins to copy a quad, or its first bytes, to shared memory, and fills the rest with zeros.
__device__ __forceinline__ void begin_copy_of_quad(std::byte* to, const std::byte* from,
                                                   int bytes) {
#if defined(__CUDACC__)
  // Not __pipeline_memcpy_async(), which branches on the number of bytes.
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
#else
  __pipeline_memcpy_async(to, from, quad, static_cast<std::size_t>(quad - bytes));
#endif
}

/// Makes this thread's writes to shared memory visible to the async proxy. Threads of the block may
/// begin bulk copies after the next barrier.
__device__ __forceinline__ void before_bulk_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#if defined(__CUDACC__)
/// Whether the GPU has bulk copies.
__device__ __forceinline__ constexpr bool has_bulk_copies() {
#if __CUDA_ARCH__ >= 900
  return true;
#else
  return false;
#endif
}
/// Begins a bulk copy of whole quads to global memory. Called by one thread.
__device__ __forceinline__ void begin_bulk_store([[maybe_unused]] std::byte* to,
                                                 [[maybe_unused]] const std::byte* from,
                                                 [[maybe_unused]] int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
/// Waits until the bulk stores of this thread have read shared memory.
__device__ __forceinline__ void wait_for_bulk_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
#endif

/// Begins to copy a span to global memory, where it must have the same offset modulo 16.
/// wait_for_bulk_stores() completes the copy.
///
/// \tparam Unit    alignment of the elements
/// \tparam in_bulk whether spans without padding are stored by bulk copies
template <int Unit, bool in_bulk>
__device__ __forceinline__ void copy_out(const Span& from, std::byte* to, int bytes,
                                         const Threads& threads) {
  // Whole quads lie between `begin` and `end`.
  const int to_quad = (quad - from.begin) % quad;
  const int begin = to_quad < bytes ? to_quad : bytes;
  const int end = bytes - (bytes - begin) % quad;
  if (in_bulk && has_bulk_copies() && from.padding == 0) {
    // Few large copies, as those of several lanes are issued one after another.
    constexpr int run = 4096;
    for (int b = begin + threads.own * run; b < end; b += threads.count * run) {
      begin_bulk_store(to + b, from.at(b), end - b < run ? end - b : run);
    }
  } else {
    const int first = begin + threads.own * quad;
    const std::byte* slot = from.at(first);
#pragma unroll 4
    for (int b = first; b < end; b += threads.count * quad) {
      *reinterpret_cast<uint4*>(to + b) = *reinterpret_cast<const uint4*>(slot);
      slot += from.step(threads.count * quad);
    }
  }
  if constexpr (Unit < quad) {
    // A thread has at most one element before the quads and one behind them.
    const auto copy_element = [&](int b) {
      using Word = typename UnitOf<Unit>::type;
      *reinterpret_cast<Word*>(to + b) = *reinterpret_cast<const Word*>(from.at(b));
    };
    const int b = threads.own * Unit;
    if (b < begin) copy_element(b);
    if (end + b < bytes) copy_element(end + b);
  }
}

}  // namespace KokkosScan::impl::cuda
