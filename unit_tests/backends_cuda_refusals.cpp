// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The CUDA emulation rejects operations that hardware rejects.

#include <Kokkos_Core.hpp>

// In builds with CUDA all suites run the kernels on the GPU.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include "support/emulated_cuda.hpp"

#include <KokkosScan/KokkosScan.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "backends.hpp"

namespace test {
namespace backends {
namespace {

namespace cuda = KokkosScan::impl::cuda;

constexpr cuda::Launch usual{ks::impl::Function::inclusive_scan, "test", 1, 32, 1024};

alignas(128) std::byte global[4096];

/// The reason why a kernel is rejected, or nothing.
template <class Kernel>
std::string refusal(Kernel const& kernel, cuda::Launch const& launch = usual,
                    emulated::Space const& space = {}) {
  try {
    enqueue(space, launch, kernel, 1, 1);
  } catch (emulated::Refused const& refused) {
    return refused.what();
  }
  return "";
}
template <class Kernel>
void expect_refused(std::string const& why, Kernel const& kernel,
                    cuda::Launch const& launch = usual, emulated::Space const& space = {}) {
  EXPECT_EQ(refusal(kernel, launch, space), "a GPU would refuse this: " + why);
}

cuda::Launch with(std::int64_t blocks, int threads, int shared_bytes) {
  return {usual.function, usual.path, blocks, threads, shared_bytes};
}

/// Lets one thread call it while the others wait.
template <class F>
auto by_one_thread(F const& f) {
  return [f] {
    if (threadIdx.x == 0) f(cuda::shared_memory());
    __syncthreads();
  };
}

TEST(backends, emulated_cuda_refuses_launches) {
  auto const nothing = [] {};
  EXPECT_EQ(refusal(nothing), "");
  EXPECT_EQ(refusal(nothing, with(1, 1024, emulated::most_shared_bytes)), "");
  expect_refused("a block of 1025 threads", nothing, with(1, 1025, 0));
  expect_refused("a block of 0 threads", nothing, with(1, 0, 0));
  expect_refused("a launch of 0 blocks", nothing, with(0, 32, 0));
  expect_refused("a launch of 2147483648 blocks", nothing, with(std::int64_t{1} << 31, 32, 0));
  expect_refused("a block with 232449 bytes of shared memory", nothing, with(1, 32, 232449));
  expect_refused("a block with 101377 bytes of shared memory", nothing, with(1, 32, 101377),
                 emulated::Space{132, 101376});
  auto const has_variable = [] {
    __shared__ int variable;
    __stcg(&variable, 1);
  };
  EXPECT_EQ(refusal(has_variable, with(1, 32, 232448 - 1024)), "");
  expect_refused("a block with shared variables asks for 231425 more bytes of shared memory",
                 has_variable, with(1, 32, 232448 - 1023));
}

TEST(backends, emulated_cuda_refuses_writes_behind_shared_memory) {
  EXPECT_EQ(refusal(by_one_thread([](std::byte* shared) { shared[1023] = {}; })), "");
  expect_refused("a block writes behind its 1024 bytes of shared memory",
                 by_one_thread([](std::byte* shared) { shared[1024] = {}; }));
}

TEST(backends, emulated_cuda_refuses_asynchronous_copies) {
  auto const copy = [](int to, int from, std::size_t bytes) {
    return by_one_thread([=](std::byte* shared) {
      __pipeline_memcpy_async(shared + to, global + from, bytes);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    });
  };
  for (int const bytes : {4, 8, 16}) {
    auto const size = static_cast<std::size_t>(bytes);
    auto const is = "an asynchronous copy of " + std::to_string(bytes) + " bytes ";
    EXPECT_EQ(refusal(copy(bytes, 3 * bytes, size)), "");
    expect_refused(is + "whose shared address is not aligned", copy(bytes / 2, 0, size));
    expect_refused(is + "whose global address is not aligned", copy(0, bytes / 2, size));
    expect_refused(is + "beyond the block's shared memory", copy(1024, 0, size));
    expect_refused(is + "between two places in shared memory",
                   by_one_thread([=](std::byte* shared) {
                     __pipeline_memcpy_async(shared, shared + 64, size);
                   }));
  }
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{2}, std::size_t{12}}) {
    expect_refused(
        "an asynchronous copy of " + std::to_string(bytes) + " bytes, which are not 4, 8 or 16",
        copy(0, 0, bytes));
  }
  expect_refused("a copy of more zeros than bytes", by_one_thread([](std::byte* shared) {
                   __pipeline_memcpy_async(shared, global, 16, 17);
                 }));
}

// A quad with zero-filled bytes reads only the other bytes.
TEST(backends, emulated_cuda_copies_the_begin_of_a_quad) {
  for (int b = 0; b < 16; ++b) global[b] = static_cast<std::byte>(b + 1);
  for (int bytes = 1; bytes <= 16; ++bytes) {
    EXPECT_EQ(refusal(by_one_thread([=](std::byte* shared) {
                std::fill_n(shared, 16, std::byte{7});
                cuda::begin_copy_of_quad(shared, global, bytes);
                EXPECT_EQ(shared[0], std::byte{7});  // still in flight
                __pipeline_commit();
                __pipeline_wait_prior(0);
                for (int b = 0; b < 16; ++b) {
                  EXPECT_EQ(shared[b], b < bytes ? global[b] : std::byte{0});
                }
              })),
              "");
  }
}

TEST(backends, emulated_cuda_refuses_two_copies_to_one_place) {
  auto const is = std::string("two copies at once to the same shared memory");
  // With either kind of copy.
  expect_refused(is, by_one_thread([](std::byte* shared) {
                   __pipeline_memcpy_async(shared + 16, global, 16);
                   __pipeline_memcpy_async(shared + 28, global, 4);
                 }));
  expect_refused(is, by_one_thread([](std::byte* shared) {
                   auto& barrier = *reinterpret_cast<cuda::Barrier*>(shared);
                   barrier.initialize(1);
                   barrier.begin_bulk_load(shared + 128, global, 32);
                   __pipeline_memcpy_async(shared + 144, global, 16);
                 }));
  // Sequentially they may.
  EXPECT_EQ(refusal(by_one_thread([](std::byte* shared) {
              for (int i = 0; i < 2; ++i) {
                __pipeline_memcpy_async(shared + 16, global, 16);
                __pipeline_commit();
                __pipeline_wait_prior(0);
              }
            })),
            "");
}

TEST(backends, emulated_cuda_refuses_bulk_copies) {
  auto const load = [](int to, int from, int bytes) {
    return by_one_thread([=](std::byte* shared) {
      auto& barrier = *reinterpret_cast<cuda::Barrier*>(shared);
      barrier.initialize(1);
      barrier.begin_bulk_load(shared + 128 + to, global + from, bytes);
      barrier.arrive();
      barrier.wait(0);
    });
  };
  auto const store = [](int to, int from, int bytes) {
    return by_one_thread([=](std::byte* shared) {
      cuda::begin_bulk_store(global + to, shared + 128 + from, bytes);
    });
  };
  EXPECT_EQ(refusal(load(16, 32, 48)), "");
  EXPECT_EQ(refusal(store(16, 32, 48)), "");
  expect_refused("a bulk copy of 24 bytes, which is no multiple of 16", load(0, 0, 24));
  expect_refused("a bulk copy of 24 bytes, which is no multiple of 16", store(0, 0, 24));
  expect_refused("a bulk copy of 16 bytes whose shared address is not aligned", load(8, 0, 16));
  expect_refused("a bulk copy of 16 bytes whose shared address is not aligned", store(0, 8, 16));
  expect_refused("a bulk copy of 16 bytes whose global address is not aligned", load(0, 8, 16));
  expect_refused("a bulk copy of 16 bytes whose global address is not aligned", store(8, 0, 16));
  expect_refused("a bulk copy of 912 bytes beyond the block's shared memory", load(0, 0, 912));
  expect_refused("a bulk copy of 912 bytes beyond the block's shared memory", store(0, 0, 912));
}

TEST(backends, emulated_cuda_refuses_wrong_barriers) {
  auto const use = [](auto const& f) {
    return by_one_thread(
        [f](std::byte* shared) { f(*reinterpret_cast<cuda::Barrier*>(shared + 64)); });
  };
  EXPECT_EQ(refusal(use([](cuda::Barrier& barrier) {
              barrier.initialize(2);
              barrier.wait(1);
              for (int i = 0; i < 4; ++i) barrier.arrive();
              barrier.wait(1);
            })),
            "");
  expect_refused("the use of a barrier that is not initialised",
                 use([](cuda::Barrier& barrier) { barrier.arrive(); }));
  expect_refused("the use of a barrier that is not initialised",
                 use([](cuda::Barrier& barrier) { barrier.wait(1); }));
  expect_refused("a barrier that expects 0 arrivals",
                 use([](cuda::Barrier& barrier) { barrier.initialize(0); }));
  expect_refused("a barrier that expects 1048576 arrivals",
                 use([](cuda::Barrier& barrier) { barrier.initialize(1 << 20); }));
  expect_refused("a barrier that is not aligned", by_one_thread([](std::byte* shared) {
                   reinterpret_cast<cuda::Barrier*>(shared + 4)->initialize(1);
                 }));
  // An excess arrival begins the next phase.
  expect_refused("a block leaves a barrier within a phase: 1 of 2 arrivals and 0 bytes are missing",
                 use([](cuda::Barrier& barrier) {
                   barrier.initialize(2);
                   for (int i = 0; i < 3; ++i) barrier.arrive();
                 }));
  // Bytes that never arrive, and more bytes than announced.
  for (int const bytes : {16, -16}) {
    expect_refused("a block leaves a barrier within a phase: 0 of 1 arrivals and " +
                       std::to_string(bytes) + " bytes are missing",
                   use([bytes](cuda::Barrier& barrier) {
                     barrier.initialize(1);
                     barrier.expect_bytes(bytes);
                     barrier.arrive();
                   }));
  }
  expect_refused("an arrival beyond those that a barrier expects", use([](cuda::Barrier& barrier) {
                   barrier.initialize(1);
                   barrier.expect_bytes(16);
                   barrier.arrive();
                   barrier.arrive();
                 }));
  expect_refused("a barrier that waits for 1048576 bytes", use([](cuda::Barrier& barrier) {
                   barrier.initialize(1);
                   barrier.expect_bytes(1 << 20);
                 }));
}

// Copies arrive only when they are waited for; groups arrive in order.
TEST(backends, emulated_cuda_copies_arrive_late) {
  for (std::size_t i = 0; i < sizeof global; ++i) global[i] = std::byte(i % 101);
  auto const reads = [](std::byte const* shared, int from, bool has_arrived) {
    auto const poison = std::byte{emulated::shared_poison};
    EXPECT_EQ(shared[3], has_arrived ? global[from + 3] : poison);
  };
  auto const asynchronous = by_one_thread([=](std::byte* shared) {
    for (int group = 0; group < 3; ++group) {
      __pipeline_memcpy_async(shared + 16 * group, global + 64 * group, 16);
      __pipeline_commit();
    }
    for (int waits_for = 0; waits_for <= 3; ++waits_for) {
      if (waits_for > 0) __pipeline_wait_prior(3 - waits_for);
      for (int group = 0; group < 3; ++group) {
        reads(shared + 16 * group, 64 * group, group < waits_for);
      }
    }
  });
  EXPECT_EQ(refusal(asynchronous), "");
  auto const with_barrier = by_one_thread([=](std::byte* shared) {
    auto& barrier = *reinterpret_cast<cuda::Barrier*>(shared);
    barrier.initialize(2);
    __pipeline_memcpy_async(shared + 64, global + 64, 16);
    barrier.begin_bulk_load(shared + 128, global + 128, 32);
    barrier.arrive();
    reads(shared + 64, 64, false);
    barrier.arrive_after_copies();
    reads(shared + 64, 64, true);
    reads(shared + 128, 128, false);
    barrier.wait(0);
    reads(shared + 128, 128, true);
  });
  EXPECT_EQ(refusal(with_barrier), "");
  expect_refused("a block ends before its asynchronous copies have arrived",
                 by_one_thread([](std::byte* shared) {
                   __pipeline_memcpy_async(shared, global, 16);
                   __pipeline_commit();
                 }));
  // A bulk store reads its source when it is waited for, or at the end.
  for (bool const waits : {false, true}) {
    EXPECT_EQ(refusal(by_one_thread([=](std::byte* shared) {
                std::fill(shared, shared + 16, std::byte{1});
                cuda::begin_bulk_store(global + 256, shared, 16);
                if (waits) cuda::wait_for_bulk_stores();
                std::fill(shared, shared + 16, std::byte{2});
              })),
              "");
    EXPECT_EQ(global[256], waits ? std::byte{1} : std::byte{2});
  }
}

template <class T>
void refuses_unaligned() {
  auto const why = "a GPU would refuse this: an access of " + std::to_string(sizeof(T)) +
                   " bytes at an address that is no multiple";
  auto const at = [](std::size_t offset) { return reinterpret_cast<T*>(global + offset); };
  for (std::size_t offset = 0; offset <= sizeof(T); offset += sizeof(T) / 2) {
    auto const expected = offset % sizeof(T) == 0 ? "" : why;
    EXPECT_EQ(refusal([&] { [[maybe_unused]] T const x = *at(offset); }), expected);
    EXPECT_EQ(refusal([&] { *at(offset) = T{}; }), expected);
    EXPECT_EQ(refusal([&] { __stcg(at(offset), __ldcg(at(0))); }), expected);
    EXPECT_EQ(refusal([&] { __stcg(at(0), __ldcg(at(offset))); }), expected);
  }
}
TEST(backends, emulated_cuda_refuses_unaligned_accesses) {
  refuses_unaligned<uint2>();
  refuses_unaligned<uint4>();
}

// A kernel in which one thread of a warp waits for others that never come, and one that throws.
TEST(backends, emulated_cuda_goes_on_after_a_refusal) {
  for (int turn = 0; turn < 3; ++turn) {
    expect_refused("an asynchronous copy of 2 bytes, which are not 4, 8 or 16", [] {
      if (threadIdx.x == 17) __pipeline_memcpy_async(cuda::shared_memory(), global, 2);
      __syncthreads();
    });
    EXPECT_EQ(refusal([] { __syncthreads(); }), "");
  }
}

/// Inclusive sums of masked columns, and the reference loop.
template <class T, class Value>
void scans_masked_columns(std::int64_t n, std::int64_t inner, bool has_bulk_copies) {
  SCOPED_TRACE(::testing::Message()
               << n << " x " << inner << ", " << sizeof(T) << " bytes into " << sizeof(Value));
  Kokkos::View<T**, Kokkos::LayoutRight, Exec> const x("x", n, inner);
  Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", n, inner);
  Kokkos::View<Value**, Kokkos::LayoutRight, Exec> const y("y", n, inner);
  for (std::int64_t i = 0; i < n * inner; ++i) {
    x.data()[i] = static_cast<T>(i % 29);
    mask.data()[i] = i % 7 < 4;
  }
  emulated::Backend const backend{132, emulated::most_shared_bytes, has_bulk_copies};
  auto const scan = [&](auto const& input) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), input, y, ks::along(0), ks::Sum{},
                   backend);
  };
  for (bool const is_masked : {false, true}) {
    if (is_masked) {
      scan(ks::masked(x, mask));
    } else {
      scan(x);
    }
    for (std::int64_t j = 0; j < inner; ++j) {
      Value sum{};
      for (std::int64_t k = 0; k < n; ++k) {
        if (!is_masked || mask(k, j)) sum = static_cast<Value>(sum + static_cast<Value>(x(k, j)));
        ASSERT_EQ(y(k, j), sum) << k << ' ' << j;
      }
    }
  }
}

// Regression: misaligned packs of two bytes (a mask beside doubles, or bytes that are widened to
// eight) killed the process on a GPU.
TEST(backends, emulated_cuda_scans_masked_columns_of_doubles) {
  for (std::int64_t const inner : {2, 4, 6, 8, 16}) {
    for (bool const has_bulk_copies : {false, true}) {
      scans_masked_columns<double, double>(9000, inner, has_bulk_copies);
      scans_masked_columns<std::int8_t, std::int64_t>(9000, inner, has_bulk_copies);
    }
  }
}

}  // namespace
}  // namespace backends
}  // namespace test

#endif
