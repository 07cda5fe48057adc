// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Shared-memory barriers, at which specialised warps synchronise and asynchronous copies complete.

#include <KokkosScan/impl/cuda/span.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

#if defined(__CUDACC__)
/// Called in polling loops. The emulation without a GPU switches to another thread here.
__device__ __forceinline__ void pause() {}

/// An mbarrier: a phase ends when the expected arrivals have happened and all announced bytes have
/// been copied. Phases have alternating parities, beginning with 0.
class Barrier {
 public:
  /// Called by one thread, before any other uses the barrier.
  __device__ __forceinline__ void initialize(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals)
                 : "memory");
  }
  /// Arrives. Earlier writes of this thread are visible to threads that wait for the phase.
  __device__ __forceinline__ void arrive() {
    [[maybe_unused]] std::uint64_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                 : "=l"(state)
                 : "r"(address())
                 : "memory");
  }
  /// Arrives once the earlier asynchronous copies of this thread have completed.
  __device__ __forceinline__ void arrive_after_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address())
                 : "memory");
  }
  /// Waits until the phase of this parity has ended. For a new barrier, a phase of parity 1 counts
  /// as ended.
  __device__ __forceinline__ void wait(int parity) const {
    while (!has_ended(parity)) pause();
  }
  /// Begins a bulk copy of whole quads, for which the phase waits. Called by one thread, before it
  /// arrives.
  __device__ __forceinline__ void begin_bulk_load([[maybe_unused]] std::byte* to,
                                                  [[maybe_unused]] const std::byte* from,
                                                  int bytes) {
    if (bytes == 0) return;
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
        "[%1], %2, [%3];" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(address())
        : "memory");
#endif
  }

 private:
  /// May suspend the thread for a while before it returns false.
  [[nodiscard]] __device__ __forceinline__ bool has_ended(int parity) const {
#if __CUDA_ARCH__ >= 900
#define KOKKOS_SCAN_MBARRIER_WAIT "mbarrier.try_wait"
#else
#define KOKKOS_SCAN_MBARRIER_WAIT "mbarrier.test_wait"
#endif
    unsigned ended;
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t" KOKKOS_SCAN_MBARRIER_WAIT
        ".parity.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t"
        "}"
        : "=r"(ended)
        : "r"(address()), "r"(parity)
        : "memory");
#undef KOKKOS_SCAN_MBARRIER_WAIT
    return ended != 0;
  }

  __device__ __forceinline__ SharedAddress address() const { return shared_address(&m_state); }
  std::uint64_t m_state;
};
#endif

/// A position in the ring: the stage of a tile, and the parity of its phase.
struct Turn {
  int stage = 0;
  int parity = 0;

  __device__ __forceinline__ void advance(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Makes initialised barriers visible to the async proxy. Called by the initialising thread.
__device__ __forceinline__ void after_initialization() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Begins to copy a span into shared memory: all quads that contain some of its bytes. Bytes of the
/// first quad before them are loaded too, which is faster than single elements, but must not be
/// used. They belong to the same allocation, since allocations are aligned to 16 bytes. The threads
/// share the work; each must arrive at the barrier and call arrive_after_copies().
__device__ __forceinline__ void begin_copy_in(const std::byte* from, const Span& to, int bytes,
                                              Barrier& barrier, const Threads& threads) {
  const int before = misalignment(from);
  const std::byte* const first = from - before;
  const int quads = (before + bytes) / quad;
  const int rest = (before + bytes) % quad;
  if (has_bulk_copies() && to.padding == 0) {
    if (threads.own == 0) barrier.begin_bulk_load(to.at_place(0), first, quads * quad);
  } else {
    const int step = threads.count * quad;
    in_batches<8>(threads.own, quads, threads.count, [&](int q, auto count) {
      const std::byte* const at = first + q * quad;
      std::byte* const slot = to.at_place(q * quad);
#pragma unroll
      for (int i = 0; i < count.value; ++i) {
        begin_copy_of_quad(slot + i * to.step(step), at + i * step, quad);
      }
    });
  }
  if (rest > 0 && threads.own == 0) {
    begin_copy_of_quad(to.at_place(quads * quad), first + quads * quad, rest);
  }
}

}  // namespace KokkosScan::impl::cuda
