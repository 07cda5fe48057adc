// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Moves contiguous bytes between global and shared memory, a quad at a time, whatever their
/// alignment.
///
/// On an H200, loads through registers with one run per warp, together with bulk stores, come
/// closest to a plain copy. Ordinary stores and asynchronous loads are slower, stores that may stay
/// in the cache slowest.

#if defined(__CUDACC__)
#include <cuda_pipeline.h>
#endif

#include <cstddef>
#include <cstdint>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "KokkosScan needs GPUs of compute capability 8.0 or later."
#endif

namespace KokkosScan::impl::cuda {

/// Bytes moved by one instruction.
inline constexpr int quad = 16;

/// Where a span lies in shared memory. It has the same offset modulo 16 as in global memory, so
/// that both sides can be accessed in aligned quads.
struct Span {
  std::byte* memory;  ///< a multiple of 16
  int begin;          ///< of the first byte, 0 to 15
  /// Padding after each 128 bytes: 0, or 16 where lanes read quads a multiple of 32 bytes apart and
  /// would have bank conflicts.
  int padding;

  /// The address of the byte at `place`, not counting padding.
  [[nodiscard]] __device__ __forceinline__ std::byte* at_place(int place) const {
    return memory + place + (place >> 7) * padding;
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

/// Bytes of shared memory for a span of `bytes` at any offset.
///
/// \param alignment of the next span, a multiple of 16
__host__ __device__ constexpr int bytes_of_span(int bytes, int padding, int alignment = quad) {
  return (bytes + 2 * (alignment - 1)) / alignment * alignment + (bytes / 128 + 2) * padding;
}

__device__ __forceinline__ int misalignment(const void* address, int alignment = quad) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) %
                          static_cast<unsigned>(alignment));
}

/// The whole quads of a span, and the bytes before and after them.
struct Pieces {
  int head;  ///< bytes before the first quad
  int quads;
  int tail;  ///< bytes after the last

  __device__ __forceinline__ Pieces(int begin, int bytes) {
    const int to_quad = (quad - begin) % quad;
    head = to_quad < bytes ? to_quad : bytes;
    quads = (bytes - head) / quad;
    tail = bytes - head - quads * quad;
  }
};

/// Threads that share work, and the index of this thread.
struct Threads {
  int own;
  int count;
};
__device__ __forceinline__ Threads threads_of_block() {
  return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
}

/// The elements of a span outside whole quads, in units of their alignment. Each thread has at most
/// one before the quads and one after them.
template <int Unit>
struct Edges {
  int before;  ///< offset in the span, or -1
  int behind;

  __device__ __forceinline__ Edges(const Pieces& pieces, int thread) {
    const int b = thread * Unit;
    before = b < pieces.head ? b : -1;
    behind = b < pieces.tail ? pieces.head + pieces.quads * quad + b : -1;
  }
};

/// Bytes of the least that is copied asynchronously.
inline constexpr int bytes_of_word = 4;

/// An unsigned type of the size of a unit.
template <int Unit>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = unsigned char;
};
template <>
struct UnitOf<2> {
  using type = unsigned short;
};
template <>
struct UnitOf<4> {
  using type = unsigned;
};
template <>
struct UnitOf<8> {
  using type = uint2;
};
template <>
struct UnitOf<16> {
  using type = uint4;
};

#if defined(__CUDACC__)
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

/// Loads a quad if the condition holds, otherwise zero. (Without a defined value, or with a branch,
/// the quad would be live from the start of the kernel and spill.)
__device__ __forceinline__ uint4 load_quad_if(bool condition, const uint4* from) {
#if defined(__CUDACC__)
  uint4 x;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %5, 0;\n\t"
      "mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0;\n\t"
      "@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t"
      "}"
      : "=&r"(x.x), "=&r"(x.y), "=&r"(x.z), "=&r"(x.w)
      : "l"(from), "r"(static_cast<unsigned>(condition)));
  return x;
#else
  return condition ? *from : uint4{0, 0, 0, 0};
#endif
}

/// Begins to copy a quad, or its first bytes, to shared memory, and fills the rest with zeros.
///
/// \param left bytes that may be read from there on, at least one
__device__ __forceinline__ void begin_copy_of_quad(std::byte* to, const std::byte* from, int left) {
  const int bytes = left < quad ? left : quad;
#if defined(__CUDACC__)
  // Not __pipeline_memcpy_async(), which branches on the number of bytes.
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes)
               : "memory");
#else
  __pipeline_memcpy_async(to, from, quad, static_cast<std::size_t>(quad - bytes));
#endif
}

/// Writes a quad to shared memory if the condition holds. (In a branch, the address would be
/// computed each time.)
__device__ __forceinline__ void put_quad_if(bool condition, SharedAddress to, const uint4& x) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %5, 0;\n\t"
      "@p st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n\t"
      "}" ::"r"(to),
      "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(static_cast<unsigned>(condition))
      : "memory");
#else
  if (condition) *reinterpret_cast<uint4*>(to) = x;
#endif
}

/// Copies a span to shared memory. The constructor issues all loads that fit in registers; finish()
/// writes them to shared memory. The threads of the block share the work.
///
/// \tparam Unit    alignment of the elements
/// \tparam at_once quads per thread in registers, four registers each; 0: asynchronous copies,
///                 which need none
template <int Unit, int at_once>
class CopyIn {
 public:
  /// \param bytes_of_thread at least the bytes of the span divided by the number of threads
  __device__ __forceinline__ CopyIn(const std::byte* from, const Span& to, int bytes,
                                    int bytes_of_thread)
      : m_to(to), m_pieces(to.begin, bytes), m_edges(m_pieces, threads_of_block().own) {
    // Each warp copies a run of its own.
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int run = (bytes_of_thread * (32 / quad) + 31) & ~31;
    m_first = warp * run + lane;
    const int end = m_first - lane + run;
    m_left = (end < m_pieces.quads ? end : m_pieces.quads) - m_first;
    m_from = reinterpret_cast<const uint4*>(from + m_pieces.head) + m_first;
    if constexpr (at_once == 0) {
      std::byte* const first_quad = m_to.at(m_pieces.head + m_first * quad);
#pragma unroll 4
      for (int i = 0; i * 32 < m_left; ++i) {
        __pipeline_memcpy_async(first_quad + i * step(), m_from + i * 32, quad);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      m_quads[i] = load_quad_if(i * 32 < m_left, m_from + i * 32);
    }
    if constexpr (Unit < quad) {
      if (m_edges.before >= 0) m_before = *reinterpret_cast<const Word*>(from + m_edges.before);
      if (m_edges.behind >= 0) m_behind = *reinterpret_cast<const Word*>(from + m_edges.behind);
    }
  }
  __device__ __forceinline__ void finish() {
    // Keeps the compiler from waiting for a load before it has issued all of them.
    __syncwarp();
    if constexpr (at_once == 0) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else {
      const SharedAddress to = shared_address(m_to.at(m_pieces.head + m_first * quad));
#pragma unroll
      for (int i = 0; i < at_once; ++i) put_quad_if(i * 32 < m_left, to + i * step(), m_quads[i]);
      for (int i = at_once; i * 32 < m_left; ++i) {
        put_quad_if(true, to + i * step(), load_quad_if(true, m_from + i * 32));
      }
    }
    if constexpr (Unit < quad) {
      if (m_edges.before >= 0) *reinterpret_cast<Word*>(m_to.at(m_edges.before)) = m_before;
      if (m_edges.behind >= 0) *reinterpret_cast<Word*>(m_to.at(m_edges.behind)) = m_behind;
    }
  }

 private:
  using Word = typename UnitOf<Unit>::type;

  /// Bytes in shared memory between consecutive quads of this thread. This is constant: 32 quads
  /// are a multiple of 128 bytes.
  [[nodiscard]] __device__ __forceinline__ int step() const { return m_to.step(32 * quad); }

  const uint4* m_from;
  Span m_to;
  Pieces m_pieces;
  Edges<Unit> m_edges;
  Word m_before, m_behind;
  uint4 m_quads[at_once > 0 ? at_once : 1];
  int m_first, m_left;
};

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
/// \tparam in_bulk whether spans without padding are stored by bulk copies
template <int Unit, bool in_bulk>
__device__ __forceinline__ void copy_out(const Span& from, std::byte* to, int bytes,
                                         const Threads& threads) {
  const Pieces pieces(from.begin, bytes);
  if (in_bulk && has_bulk_copies() && from.padding == 0) {
    // Few large copies, as those of several lanes are issued one after another.
    constexpr int run = 4096;
    const int end = pieces.head + pieces.quads * quad;
    for (int b = pieces.head + threads.own * run; b < end; b += threads.count * run) {
      begin_bulk_store(to + b, from.at(b), end - b < run ? end - b : run);
    }
  } else {
    const int first = pieces.head + threads.own * quad;
    const std::byte* slot = from.at(first);
    std::byte* at = to + first;
#pragma unroll 4
    for (int q = threads.own; q < pieces.quads; q += threads.count) {
      *reinterpret_cast<uint4*>(at) = *reinterpret_cast<const uint4*>(slot);
      slot += from.step(threads.count * quad);
      at += threads.count * quad;
    }
  }
  if constexpr (Unit < quad) {
    using Word = typename UnitOf<Unit>::type;
    const Edges<Unit> edges(pieces, threads.own);
    for (const int b : {edges.before, edges.behind}) {
      if (b >= 0) *reinterpret_cast<Word*>(to + b) = *reinterpret_cast<const Word*>(from.at(b));
    }
  }
}

}  // namespace KokkosScan::impl::cuda
