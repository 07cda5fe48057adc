// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Emulates CUDA on a host: each thread of a block is a fiber, barriers and shuffles switch to the
// next fiber, and blocks run one after the other. This tests results and memory accesses of kernels
// in CI and under sanitizers, for all types and modes. It cannot find races, because fibers never
// run concurrently.
//
// Asynchronous copies read their source and arrive only when a thread waits for them, which is the
// latest possible time on a GPU, so a missing wait shows. Operations that hardware rejects throw an
// exception with the reason: launches with too many threads, blocks or bytes of shared memory;
// writes behind a block's shared memory; asynchronous copies of sizes other than 4, 8 or 16 bytes,
// unaligned ones, ones that are never waited for, and concurrent ones to the same address; bulk
// copies that are unaligned or no multiple of 16 bytes; copies to or from memory that is not
// shared; barriers that are uninitialised, expect no arrival or too many bytes, or are left within
// a phase, after too many or too few arrivals; unaligned accesses of uint2, uint4 and operands of
// __ldcg and __stcg. Registers and __launch_bounds__ are not modelled.

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {
namespace emulated {

/// An operation that hardware rejects, or that would kill the process.
struct Refused : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] inline void refuse(std::string const& what) {
  throw Refused("a GPU would refuse this: " + what);
}

inline bool is_aligned(void const volatile* at, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(at) % alignment == 0;
}
/// Checks that the address of an access is a multiple of its size.
template <class T>
T* aligned(T* at, std::size_t size) {
  // Hidden, because the compiler assumes alignment from the type.
  asm("" : "+r"(at));
  if (!is_aligned(at, size)) {
    refuse("an access of " + std::to_string(size) + " bytes at an address that is no multiple");
  }
  return at;
}

/// Shared memory: the maximum of any GPU, followed by a guard that must not change.
inline constexpr int most_shared_bytes = 232448;
inline constexpr int shared_canary_bytes = 1024;
inline constexpr unsigned char shared_poison = 0xA5;
/// The resources that a launch requests.
inline int dynamic_shared_bytes = 0;
/// Whether the running kernel has static shared variables, whose size is unknown.
inline bool has_shared_variables = false;
/// Maximum size of static shared variables, which launch.hpp reserves.
inline constexpr int most_bytes_of_shared_variables = 1024;
/// The limits of the device.
inline int shared_bytes_of_block_now = most_shared_bytes;

/// Called where the kernel declares a shared variable.
inline void declare_shared_variable() {
  has_shared_variables = true;
  if (dynamic_shared_bytes + most_bytes_of_shared_variables > shared_bytes_of_block_now) {
    refuse("a block with shared variables asks for " + std::to_string(dynamic_shared_bytes) +
           " more bytes of shared memory");
  }
}

}  // namespace emulated
}  // namespace test

namespace KokkosScan::impl::cuda {
/// Poisoned before each block, so that uninitialised memory is never zero by luck.
inline std::byte* shared_memory() {
  alignas(1024) static std::byte
      memory[test::emulated::most_shared_bytes + test::emulated::shared_canary_bytes];
  return memory;
}
}  // namespace KokkosScan::impl::cuda

// ---- What CUDA C++ has ------------------------------------------------------------------------

#define __device__
#define __host__
#define __global__
#define __shared__                           \
  test::emulated::declare_shared_variable(); \
  static
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __align__(n) __attribute__((aligned(n)))

struct Dim {
  unsigned x;
};
inline Dim threadIdx, blockIdx, blockDim, gridDim;

// Each access is a single instruction, as on a GPU.
struct alignas(8) uint2 {
  unsigned x, y;

  uint2() = default;
  uint2(unsigned a, unsigned b) : x(a), y(b) {}
  uint2(uint2 const& from) { *this = from; }
  uint2& operator=(uint2 const& from) {
    std::memcpy(static_cast<void*>(test::emulated::aligned(this, 8)),
                test::emulated::aligned(&from, 8), 8);
    return *this;
  }
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;

  uint4() = default;
  uint4(unsigned a, unsigned b, unsigned c, unsigned d) : x(a), y(b), z(c), w(d) {}
  uint4(uint4 const& from) { *this = from; }
  uint4& operator=(uint4 const& from) {
    std::memcpy(static_cast<void*>(test::emulated::aligned(this, 16)),
                test::emulated::aligned(&from, 16), 16);
    return *this;
  }
};
template <class T>
T __ldcg(T const* from) {
  return *test::emulated::aligned(from, sizeof(T));
}
template <class T>
void __stcg(T* to, T const& value) {
  *test::emulated::aligned(to, sizeof(T)) = value;
}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  unsigned long long const before = *test::emulated::aligned(at, 8);
  *at += value;
  return before;
}

namespace test {
namespace emulated {

/// Whether the device has bulk copies (compute capability 9.0).
inline bool has_bulk_copies = false;

inline bool is_dynamic_shared(void const* at, std::size_t bytes) {
  auto const* const begin = KokkosScan::impl::cuda::shared_memory();
  auto const* const first = static_cast<std::byte const*>(at);
  return first >= begin && first + bytes <= begin + dynamic_shared_bytes;
}
/// Checks the addresses of a copy between shared and global memory.
inline void check_copy(char const* what, void const* shared, void const* global, std::size_t bytes,
                       std::size_t alignment) {
  auto const is = std::string(what) + " of " + std::to_string(bytes) + " bytes ";
  if (!is_aligned(shared, alignment)) refuse(is + "whose shared address is not aligned");
  if (!is_aligned(global, alignment)) refuse(is + "whose global address is not aligned");
  // The addresses of static shared variables are unknown.
  if (!is_dynamic_shared(shared, bytes) && !has_shared_variables) {
    refuse(is + "beyond the block's shared memory");
  }
  if (is_dynamic_shared(global, 1)) refuse(is + "between two places in shared memory");
}
inline void check_bulk_copy(void const* shared, void const* global, int bytes) {
  if (bytes <= 0 || bytes % 16 != 0) {
    refuse("a bulk copy of " + std::to_string(bytes) + " bytes, which is no multiple of 16");
  }
  check_copy("a bulk copy", shared, global, static_cast<std::size_t>(bytes), 16);
}

/// The words of shared memory that are targets of loads in flight.
inline std::vector<char> is_awaited;

/// A copy in flight: it arrives when it is waited for, as late as possible.
struct Copy {
  void* to;
  void const* from;
  std::size_t bytes;
  int group;              ///< the commit group of its thread
  std::size_t zeros = 0;  ///< number of zero bytes at the end

  /// Called when the copy begins.
  void begin() const {
    for_each_word([](char& is_awaited_now) {
      if (is_awaited_now != 0) refuse("two copies at once to the same shared memory");
      is_awaited_now = 1;
    });
  }
  void arrive() const {
    std::memcpy(to, from, bytes - zeros);
    std::memset(static_cast<std::byte*>(to) + (bytes - zeros), 0, zeros);
    for_each_word([](char& is_awaited_now) { is_awaited_now = 0; });
  }

 private:
  template <class F>
  void for_each_word(F const& f) const {
    if (!is_dynamic_shared(to, bytes)) return;
    auto const place = static_cast<std::byte*>(to) - KokkosScan::impl::cuda::shared_memory();
    auto const first = is_awaited.begin() + place / 4;
    std::for_each(first, first + static_cast<std::ptrdiff_t>(bytes / 4), f);
  }
};
/// Completes the copies of the first groups.
inline void arrive(std::vector<Copy>& copies, int groups) {
  auto const late = std::stable_partition(copies.begin(), copies.end(),
                                          [=](Copy const& copy) { return copy.group < groups; });
  for (auto copy = copies.begin(); copy != late; ++copy) copy->arrive();
  copies.erase(copies.begin(), late);
}
/// The copies that a thread has begun and not waited for.
struct Pending {
  std::vector<Copy> loads;
  int group = 0;  ///< of the next load
  std::vector<Copy> bulk_stores;
};
inline std::vector<Pending> pending;
inline Pending& pending_of_thread() { return pending[threadIdx.x]; }

/// The barriers of a block, indexed by the number that each of them stores.
struct BarrierState {
  void const* address;
  int expected, missing;
  int missing_bytes;
  std::uint32_t phase;
  std::vector<Copy> bulk_loads;

  /// Ends the phase if all arrivals and bytes are there.
  void advance() {
    if (missing > 0 || missing_bytes != 0) return;
    missing = expected;
    ++phase;
  }
};
inline std::vector<BarrierState> barriers;
inline constexpr int most_arrivals = (1 << 20) - 1;

/// At the end of a block: completes stores, which need no wait, and checks that no loads are left.
inline void check_copies() {
  for (auto& thread : pending) {
    if (!thread.loads.empty()) refuse("a block ends before its asynchronous copies have arrived");
    arrive(thread.bulk_stores, 1);
  }
}
/// At the end of a block: checks that barriers have neither excess nor missing arrivals.
inline void check_barriers() {
  for (auto const& barrier : barriers) {
    if (barrier.missing != barrier.expected || barrier.missing_bytes != 0) {
      refuse("a block leaves a barrier within a phase: " + std::to_string(barrier.missing) +
             " of " + std::to_string(barrier.expected) + " arrivals and " +
             std::to_string(barrier.missing_bytes) + " bytes are missing");
    }
  }
}

}  // namespace emulated
}  // namespace test

/// \param zeros number of bytes at the end that become zero instead
inline void __pipeline_memcpy_async(void* to, void const* from, std::size_t bytes,
                                    std::size_t zeros = 0) {
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    test::emulated::refuse("an asynchronous copy of " + std::to_string(bytes) +
                           " bytes, which are not 4, 8 or 16");
  }
  test::emulated::check_copy("an asynchronous copy", to, from, bytes, bytes);
  if (zeros > bytes) test::emulated::refuse("a copy of more zeros than bytes");
  auto& thread = test::emulated::pending_of_thread();
  thread.loads.push_back({to, from, bytes, thread.group, zeros});
  thread.loads.back().begin();
}
inline void __pipeline_commit() { ++test::emulated::pending_of_thread().group; }
inline void __pipeline_wait_prior(int groups) {
  auto& thread = test::emulated::pending_of_thread();
  test::emulated::arrive(thread.loads, thread.group - groups);
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

  /// Waits until all threads of a group of `width` neighbours have arrived or ended.
  static void wait(int width) {
    Fiber& fiber = s_current->m_fibers[threadIdx.x];
    fiber.waits_for = width;
    if (width != 32) s_current->m_widest = width;
    if (_setjmp(fiber.place) == 0) _longjmp(s_current->m_scheduler, 1);
  }
  /// Lets the other threads run.
  static void yield() {
    Fiber& fiber = s_current->m_fibers[threadIdx.x];
    fiber.yields = true;
    if (_setjmp(fiber.place) == 0) _longjmp(s_current->m_scheduler, 1);
  }
  /// The word that a thread exposes to its warp.
  static unsigned& shown(int thread) { return s_current->m_fibers[thread].shown; }

 private:
  static constexpr std::size_t stack_bytes = 64 * 1024;
  /// Fibers start by ucontext; switches use longjmp, which needs no system call.
  struct Fiber {
    ucontext_t begin;
    jmp_buf place;
    bool begun = false;
    int waits_for = 0;  ///< size of the group that it waits for; 0 if it can run
    bool ended = false;
    bool yields = false;  ///< whether it waits for progress of other threads
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
    // Exceptions must not leave a fiber.
    try {
      s_current->m_body();
    } catch (...) {
      s_current->m_refusal = std::current_exception();
    }
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
        if (m_refusal) std::rethrow_exception(m_refusal);
        all_yield = all_yield && fiber.yields;
      }
      idle_turns = all_yield ? idle_turns + 1 : 0;
      if (idle_turns > 10'000) throw std::logic_error("threads of a block wait for each other");
      progress = release(32) || progress;
      progress = release(threads) || progress;
      if (m_widest != threads) progress = release(m_widest) || progress;
    }
    for (Fiber const& fiber : m_fibers) {
      if (!fiber.ended) throw std::logic_error("threads of a block wait for different barriers");
    }
  }
  /// Releases groups of `width` threads that have all arrived at the same barrier.
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
  int m_widest = 32;  ///< width of the last barrier
  std::exception_ptr m_refusal;
  jmp_buf m_scheduler;
};

}  // namespace emulated
}  // namespace test

// In blocks of one warp, block and warp barriers have the same width, and release each other.
inline void __syncthreads() { test::emulated::Block::wait(static_cast<int>(blockDim.x)); }
inline void __threadfence() {}
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
inline unsigned __ballot_sync(unsigned, bool value) {
  int const first = static_cast<int>(threadIdx.x) / 32 * 32;
  test::emulated::Block::shown(static_cast<int>(threadIdx.x)) = value;
  __syncwarp();
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (test::emulated::Block::shown(first + lane) != 0) bits |= 1u << lane;
  }
  __syncwarp();
  return bits;
}
inline int __syncthreads_and(int value) {
  test::emulated::Block::shown(static_cast<int>(threadIdx.x)) = static_cast<unsigned>(value);
  __syncthreads();
  bool all = true;
  for (unsigned thread = 0; thread < blockDim.x; ++thread) {
    all = all && test::emulated::Block::shown(static_cast<int>(thread)) != 0;
  }
  __syncthreads();
  return static_cast<int>(all);
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned __shfl_up_sync(unsigned mask, unsigned value, int distance) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  return __shfl_sync(mask, value, lane >= distance ? lane - distance : lane);
}

namespace KokkosScan::impl::cuda {

inline void pause() { test::emulated::Block::yield(); }

/// The counterpart of carry.hpp for GPUs. Blocks run sequentially, so all words of predecessors are
/// available: to test waiting, a third of the look-backs is told that a word is not yet there.
inline std::uint64_t look_at_word(std::uint64_t const* at) {
  static std::uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (state >> 16) % 3 == 0 ? 0 : *at;
}
inline bool has_bulk_copies() { return test::emulated::has_bulk_copies; }

/// The counterpart of barrier.hpp for GPUs.
class Barrier {
 public:
  void initialize(int arrivals) {
    using namespace test::emulated;
    if (!is_aligned(this, 8)) test::emulated::refuse("a barrier that is not aligned");
    if (arrivals < 1 || arrivals > most_arrivals) {
      test::emulated::refuse("a barrier that expects " + std::to_string(arrivals) + " arrivals");
    }
    m_state = mark + barriers.size();
    barriers.push_back({this, arrivals, arrivals, 0, 0, {}});
  }
  void arrive() {
    auto& own = state();
    // Bytes of the phase may still be in flight.
    if (own.missing == 0) test::emulated::refuse("an arrival beyond those that a barrier expects");
    --own.missing;
    own.advance();
  }
  void arrive_after_copies() {
    auto& thread = test::emulated::pending_of_thread();
    test::emulated::arrive(thread.loads, thread.group + 1);
    arrive();
  }
  void wait(int parity) {
    while (state().phase % 2 == static_cast<unsigned>(parity)) {
      if (state().bulk_loads.empty()) {
        pause();
      } else {
        land();
      }
    }
  }
  void begin_bulk_load(std::byte* to, std::byte const* from, int bytes) {
    if (bytes == 0) return;
    test::emulated::check_bulk_copy(to, from, bytes);
    expect_bytes(bytes);
    state().bulk_loads.push_back({to, from, static_cast<std::size_t>(bytes), 0});
    state().bulk_loads.back().begin();
  }
  /// Announces expected bytes, or reports arrived ones.
  void expect_bytes(int bytes) {
    auto& own = state();
    own.missing_bytes += bytes;
    if (own.missing_bytes > test::emulated::most_arrivals ||
        own.missing_bytes < -test::emulated::most_arrivals) {
      test::emulated::refuse("a barrier that waits for " + std::to_string(own.missing_bytes) +
                             " bytes");
    }
  }

 private:
  /// Completes the copies in flight.
  void land() {
    auto& own = state();
    for (auto const& copy : own.bulk_loads) own.missing_bytes -= static_cast<int>(copy.bytes);
    test::emulated::arrive(own.bulk_loads, 1);
    own.advance();
  }
  /// Poisoned memory is no valid barrier.
  static constexpr std::uint64_t mark = 0xBA221E2000000000;
  test::emulated::BarrierState& state() const {
    auto& all = test::emulated::barriers;
    std::uint64_t const number = m_state - mark;
    if (number >= all.size() || all[number].address != this) {
      test::emulated::refuse("the use of a barrier that is not initialised");
    }
    return all[number];
  }
  std::uint64_t m_state;
};

inline void begin_bulk_store(std::byte* to, std::byte const* from, int bytes) {
  test::emulated::check_bulk_copy(from, to, bytes);
  test::emulated::pending_of_thread().bulk_stores.push_back(
      {to, from, static_cast<std::size_t>(bytes), 0});
}
inline void wait_for_bulk_stores() {
  test::emulated::arrive(test::emulated::pending_of_thread().bulk_stores, 1);
}

}  // namespace KokkosScan::impl::cuda

// Keywords for nvcc.
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wclass-memaccess"
#include <KokkosScan/impl/cuda/fold.hpp>
#include <KokkosScan/impl/cuda/in_order_problems.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#include <KokkosScan/impl/cuda/select.hpp>

namespace test {
namespace emulated {

/// A minimal execution space instance for launches.
struct Space {
  using memory_space = Kokkos::HostSpace;
  int multiprocessors = 132;
  int shared_bytes_of_block = most_shared_bytes;
  bool has_bulk_copies = true;
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
  if (launch.shared_bytes < 0 || launch.shared_bytes > space.shared_bytes_of_block) {
    refuse("a block with " + std::to_string(launch.shared_bytes) + " bytes of shared memory");
  }
  if (launch.threads < 1 || launch.threads > 1024) {
    refuse("a block of " + std::to_string(launch.threads) + " threads");
  }
  if (launch.blocks < 1 || launch.blocks > INT32_MAX) {
    refuse("a launch of " + std::to_string(launch.blocks) + " blocks");
  }
  std::function<void()> const body = [&] { kernel(arguments...); };
  dynamic_shared_bytes = launch.shared_bytes;
  shared_bytes_of_block_now = space.shared_bytes_of_block;
  has_bulk_copies = space.has_bulk_copies;
  blockDim.x = static_cast<unsigned>(launch.threads);
  gridDim.x = static_cast<unsigned>(launch.blocks);
  std::byte* const memory = KokkosScan::impl::cuda::shared_memory();
  std::byte* const behind = memory + launch.shared_bytes;
  for (std::int64_t block = 0; block < launch.blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    has_shared_variables = false;
    barriers.clear();
    pending.assign(static_cast<std::size_t>(launch.threads), {});
    is_awaited.assign(static_cast<std::size_t>(launch.shared_bytes) / 4 + 1, 0);
    std::memset(memory, shared_poison,
                static_cast<std::size_t>(launch.shared_bytes) + shared_canary_bytes);
    Block(launch.threads, body);
    check_barriers();
    check_copies();
    if (!std::all_of(behind, behind + shared_canary_bytes,
                     [](std::byte b) { return b == std::byte{shared_poison}; })) {
      refuse("a block writes behind its " + std::to_string(launch.shared_bytes) +
             " bytes of shared memory");
    }
  }
}

/// The emulated CUDA backend. With few multiprocessors blocks do not share columns; with little
/// shared memory they do not have several tiles in flight, or many threads.
struct Backend {
  int multiprocessors = 132;
  int shared_bytes_of_block = most_shared_bytes;
  bool has_bulk_copies = true;

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
        return cuda::Backend{}.scan(Space{multiprocessors, shared_bytes_of_block, has_bulk_copies},
                                    problem, nullptr);
      }
    }
    throw std::logic_error("the CUDA backend does not take this problem");
  }
};

/// The emulated CUDA selection kernels.
struct SelectBackend {
  int multiprocessors = 132;

  template <class Exec, class S>
  static constexpr bool works_in_place = true;

  template <class S, class Exec>
  std::size_t workspace_bytes(Exec const&, std::int64_t, std::int64_t) const {
    return 0;
  }
  template <class Exec, class S>
  void select(Exec const& exec, S const& selection, std::byte* workspace) const {
    exec.fence();
    KokkosScan::impl::cuda::SelectBackend{}.select(Space{multiprocessors}, selection, workspace);
  }
};

}  // namespace emulated
}  // namespace test
