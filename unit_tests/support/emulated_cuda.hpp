// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The CUDA kernels on a host: each thread of a block is a fiber, barriers and shuffles hand over to
// the next fiber, and blocks run one after the other. This tests what the kernels compute and where
// they read and write, in CI and under the sanitizers, for all types and modes; it says nothing
// about races, since fibers never run at once.

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

// ---- What CUDA C++ has ------------------------------------------------------------------------

#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __align__(n) __attribute__((aligned(n)))

struct Dim {
  unsigned x;
};
inline Dim threadIdx, blockIdx, blockDim, gridDim;

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
template <class T>
T __ldcg(T const* from) {
  return *from;
}
template <class T>
void __stcg(T* to, T const& value) {
  *to = value;
}
inline void __pipeline_memcpy_async(void* to, void const* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(int) {}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  unsigned long long const before = *at;
  *at += value;
  return before;
}

namespace test {
namespace emulated {

/// The threads of one block.
class Block {
 public:
  /// Runs body() in each of `threads` threads.
  Block(int threads, std::function<void()> const& body) : m_body(body), m_fibers(threads) {
    s_current = this;
    for (int i = 0; i < threads; ++i) {
      Fiber& fiber = m_fibers[i];
      getcontext(&fiber.begin);
      fiber.begin.uc_stack.ss_sp = stack(i);
      fiber.begin.uc_stack.ss_size = stack_bytes;
      fiber.begin.uc_link = nullptr;
      makecontext(&fiber.begin, &Block::run, 0);
    }
    schedule();
    s_current = nullptr;
  }

  /// Waits until all threads of a group of `width` neighbours are here, or have ended.
  static void wait(int width) {
    Fiber& fiber = s_current->m_fibers[threadIdx.x];
    fiber.waits_for = width;
    if (_setjmp(fiber.place) == 0) _longjmp(s_current->m_scheduler, 1);
  }
  /// Lets the other threads run.
  static void yield() {
    Fiber& fiber = s_current->m_fibers[threadIdx.x];
    fiber.yields = true;
    if (_setjmp(fiber.place) == 0) _longjmp(s_current->m_scheduler, 1);
  }
  /// A word that a thread shows to its warp.
  static unsigned& shown(int thread) { return s_current->m_fibers[thread].shown; }

 private:
  static constexpr std::size_t stack_bytes = 64 * 1024;
  /// Contexts begin a fiber; jumps, which ask nothing of the system, change between them.
  struct Fiber {
    ucontext_t begin;
    jmp_buf place;
    bool begun = false;
    int waits_for = 0;  ///< threads of the group, 0 if it can run
    bool ended = false;
    bool yields = false;  ///< it waits for something that others do
    unsigned shown = 0;
  };

  static std::byte* stack(int thread) {
    static std::vector<std::unique_ptr<std::byte[]>> stacks;
    while (static_cast<int>(stacks.size()) <= thread) {
      stacks.emplace_back(new std::byte[stack_bytes]);
    }
    return stacks[static_cast<std::size_t>(thread)].get();
  }
  static void run() {
    s_current->m_body();
    s_current->m_fibers[threadIdx.x].ended = true;
    _longjmp(s_current->m_scheduler, 1);
  }
  void resume(Fiber& fiber) {
    if (_setjmp(m_scheduler) != 0) return;
    if (fiber.begun) _longjmp(fiber.place, 1);
    fiber.begun = true;
    setcontext(&fiber.begin);
  }
  void schedule() {
    int const threads = static_cast<int>(m_fibers.size());
    int idle_turns = 0;
    for (bool progress = true; progress;) {
      progress = false;
      bool all_yield = true;
      for (int i = 0; i < threads; ++i) {
        Fiber& fiber = m_fibers[i];
        if (fiber.ended || fiber.waits_for > 0) continue;
        progress = true;
        threadIdx.x = static_cast<unsigned>(i);
        fiber.yields = false;
        resume(fiber);
        all_yield = all_yield && fiber.yields;
      }
      idle_turns = all_yield ? idle_turns + 1 : 0;
      if (idle_turns > 10'000) throw std::logic_error("threads of a block wait for each other");
      progress = release(32) || progress;
      progress = release(threads) || progress;
    }
    for (Fiber const& fiber : m_fibers) {
      if (!fiber.ended) throw std::logic_error("threads of a block wait for different barriers");
    }
  }
  /// Lets groups of `width` threads go on that are all at the same barrier.
  bool release(int width) {
    bool released = false;
    int const threads = static_cast<int>(m_fibers.size());
    for (int first = 0; first < threads; first += width) {
      int const end = std::min(first + width, threads);
      bool all = true, any = false;
      for (int i = first; i < end; ++i) {
        all = all && (m_fibers[i].ended || m_fibers[i].waits_for == width);
        any = any || m_fibers[i].waits_for == width;
      }
      if (!all || !any) continue;
      for (int i = first; i < end; ++i) m_fibers[i].waits_for = 0;
      released = true;
    }
    return released;
  }

  static inline Block* s_current = nullptr;
  std::function<void()> const& m_body;
  std::vector<Fiber> m_fibers;
  jmp_buf m_scheduler;
};

}  // namespace emulated
}  // namespace test

// Blocks of one warp have barriers of the same width as their warp: both release them.
inline void __syncthreads() { test::emulated::Block::wait(static_cast<int>(blockDim.x)); }
inline void __syncwarp() { test::emulated::Block::wait(32); }
inline unsigned __shfl_sync(unsigned, unsigned value, int source) {
  int const thread = static_cast<int>(threadIdx.x);
  test::emulated::Block::shown(thread) = value;
  __syncwarp();
  unsigned const result = test::emulated::Block::shown(thread / 32 * 32 + (source & 31));
  __syncwarp();
  return result;
}
inline bool __all_sync(unsigned, bool value) {
  int const first = static_cast<int>(threadIdx.x) / 32 * 32;
  test::emulated::Block::shown(static_cast<int>(threadIdx.x)) = value;
  __syncwarp();
  bool all = true;
  for (int lane = 0; lane < 32; ++lane) {
    all = all && test::emulated::Block::shown(first + lane) != 0;
  }
  __syncwarp();
  return all;
}
inline unsigned __shfl_up_sync(unsigned mask, unsigned value, int distance) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  return __shfl_sync(mask, value, lane >= distance ? lane - distance : lane);
}

namespace KokkosScan::impl::cuda {
inline void pause() { test::emulated::Block::yield(); }
/// Poisoned before each block, so that what a kernel has not written is not zero by luck.
inline std::byte* shared_memory() {
  alignas(128) static std::byte memory[232448 + 64];
  return memory;
}
}  // namespace KokkosScan::impl::cuda

// What is said to nvcc.
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <KokkosScan/impl/cuda/problems.hpp>

namespace test {
namespace emulated {

/// An execution space instance, as far as the launches need one.
struct Space {
  using memory_space = Kokkos::HostSpace;
  int multiprocessors = 132;
  int shared_bytes_of_block = 232448;
};

inline int multiprocessors(Space const& space) { return space.multiprocessors; }
inline int shared_bytes_of_block(Space const& space) { return space.shared_bytes_of_block; }

inline void clear(Space const&, KokkosScan::impl::cuda::Launch const&, std::byte* memory,
                  std::size_t bytes, std::int64_t, std::int64_t) {
  std::memset(memory, 0, bytes);
}

template <class Kernel, class... Arguments>
void enqueue(Space const& space, KokkosScan::impl::cuda::Launch const& launch, Kernel kernel,
             std::int64_t, std::int64_t, Arguments const&... arguments) {
  if (launch.shared_bytes > space.shared_bytes_of_block) {
    throw std::logic_error("a block has not so much shared memory");
  }
  std::function<void()> const body = [&] { kernel(arguments...); };
  blockDim.x = static_cast<unsigned>(launch.threads);
  gridDim.x = static_cast<unsigned>(launch.blocks);
  for (std::int64_t block = 0; block < launch.blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    std::memset(KokkosScan::impl::cuda::shared_memory(), 0xA5,
                static_cast<std::size_t>(launch.shared_bytes) + 64);
    Block(launch.threads, body);
  }
}

/// The CUDA backend, emulated. Few multiprocessors keep blocks from sharing columns, and little
/// shared memory keeps them from having several tiles in flight, or many threads.
struct Backend {
  int multiprocessors = 132;
  int shared_bytes_of_block = 232448;

  template <class P, class Exec>
  std::size_t workspace_bytes(Exec const&, std::int64_t, std::int64_t) const {
    return 0;
  }
  template <class Exec, class P>
  void scan(Exec const& exec, P const& problem, std::byte*) const {
    namespace cuda = KokkosScan::impl::cuda;
    if constexpr (cuda::Backend::supports<P>) {
      if (cuda::Backend::accepts(problem)) {
        exec.fence();
        return cuda::Backend{}.scan(Space{multiprocessors, shared_bytes_of_block}, problem,
                                    nullptr);
      }
    }
    throw std::logic_error("the CUDA backend does not take this problem");
  }
};

}  // namespace emulated
}  // namespace test
