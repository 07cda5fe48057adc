// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Selections on a GPU, without Kokkos: speed compared with CUB's DeviceSelect and a copy of the
/// bytes that must be moved, in one run, and a check that results are those of CUB.
///
///     nvcc -x cu -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
///       perf_tests/cuda/{select.cu,device.cpp} -ldl -o select
///     ./select [--log2-elements=28] [--seed=1]

#include <KokkosScan/impl/cuda/select.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/device/device_select.cuh>
#include <functional>
#include <string>
#include <vector>

#include "../../unit_tests/cuda/stream.hpp"
#include "device.hpp"

namespace {

namespace impl = KokkosScan::impl;
namespace cuda = KokkosScan::impl::cuda;
using test::check;

/// Keeps a fraction of random numbers.
template <class T>
struct IsBelow {
  std::uint32_t limit;
  __host__ __device__ bool operator()(const T& x) const {
    return static_cast<std::uint32_t>(x) < limit;
  }
};

__host__ __device__ std::uint64_t scramble(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}
template <class T>
__global__ void fill(T* x, std::int64_t size, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    x[i] =
        static_cast<T>(static_cast<std::uint32_t>(scramble(seed + static_cast<std::uint64_t>(i))));
  }
}
template <class T>
__global__ void fill_mask(bool* mask, const T* x, std::int64_t size, IsBelow<T> keep) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    mask[i] = keep(x[i]);
  }
}
__global__ void count_differences(const std::uint32_t* a, const std::uint32_t* b, std::int64_t size,
                                  unsigned long long* count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    if (a[i] != b[i]) atomicAdd(count, 1ULL);
  }
}
__global__ void copy_quads(const uint4* from, uint4* to, std::int64_t quads) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < quads;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

struct Memory {
  std::byte *x, *y, *expected, *workspace, *cub;
  bool* mask;
  std::int64_t* counts;  ///< of this library, of CUB, and of differences
  std::size_t cub_bytes;
};

/// Median times in microseconds of pieces of work that alternate, after two warm-up runs.
std::vector<double> in_turns(const std::vector<std::function<void()>>& work) {
  for (int i = 0; i < 2; ++i) {
    for (const auto& one : work) one();
  }
  perf::Timer timer(nullptr);
  for (int i = 0; i < 10; ++i) {
    for (std::size_t w = 0; w < work.size(); ++w) timer.time(std::to_string(w), work[w]);
  }
  std::vector<double> medians;
  for (std::size_t w = 0; w < work.size(); ++w) {
    medians.push_back(timer.median(std::to_string(w)) * 1e3);
  }
  return medians;
}

void print_clock() {
  std::printf("%.0f MHz\n", perf::sm_clock_mhz(nullptr));
  std::fflush(stdout);
}

template <class T, class Keep>
auto selection(const Memory& memory, std::int64_t lines, std::int64_t n, const Keep& keep) {
  const impl::Strides strides{1, {n}};
  const impl::Batch batch{lines, lines == 1 ? 0 : 1, {lines}};
  const impl::Array<const T> x{reinterpret_cast<const T*>(memory.x), strides};
  const impl::Array<T> y{reinterpret_cast<T*>(memory.y), strides};
  const impl::Array<std::int64_t> counts{memory.counts, {0, {1}}};
  return impl::Selection<impl::Array<const T>, Keep, T, std::int64_t>{n, batch, x, keep, y, counts};
}

/// Whether one line has CUB's results; the output is poisoned first.
template <class T>
bool equals_cub(const Memory& memory, std::int64_t n) {
  std::int64_t counts[2];
  check(cudaMemcpy(counts, memory.counts, sizeof counts, cudaMemcpyDeviceToHost));
  if (counts[0] != counts[1]) return false;
  check(cudaMemset(memory.counts + 2, 0, 8));
  const auto words = static_cast<std::int64_t>(sizeof(T) / 4) * counts[0];
  count_differences<<<1056, 256>>>(reinterpret_cast<std::uint32_t*>(memory.y),
                                   reinterpret_cast<std::uint32_t*>(memory.expected), words,
                                   reinterpret_cast<unsigned long long*>(memory.counts + 2));
  std::int64_t differences = 1;
  check(cudaMemcpy(&differences, memory.counts + 2, 8, cudaMemcpyDeviceToHost));
  return differences == 0 && n > 0;
}

template <class T, bool by_mask>
void measure(const char* type, const Memory& memory, std::int64_t n, double fraction) {
  const IsBelow<T> keep{static_cast<std::uint32_t>(fraction * 4294967295.0)};
  const auto* const x = reinterpret_cast<const T*>(memory.x);
  fill_mask<<<1056, 256>>>(memory.mask, x, n, keep);
  const auto s = [&] {
    if constexpr (by_mask) {
      return selection<T>(
          memory, 1, n,
          impl::Array<const impl::StoredBool>{impl::as_stored_bools(memory.mask), {1, {n}}});
    } else {
      return selection<T>(memory, 1, n, impl::Predicate<IsBelow<T>>{keep});
    }
  }();
  const test::Stream stream;
  const auto own = [&] { cuda::SelectBackend{}.select(stream, s, memory.workspace); };
  const auto cub = [&] {
    std::size_t bytes = memory.cub_bytes;
    auto* const to = reinterpret_cast<T*>(memory.expected);
    if constexpr (by_mask) {
      check(
          cub::DeviceSelect::Flagged(memory.cub, bytes, x, memory.mask, to, memory.counts + 1, n));
    } else {
      check(cub::DeviceSelect::If(memory.cub, bytes, x, to, memory.counts + 1, n, keep));
    }
  };
  check(cudaMemset(memory.y, 0xEE, static_cast<std::size_t>(n) * sizeof(T)));
  own();
  cub();
  const bool right = equals_cub<T>(memory, n);
  // The best copy of the bytes that must be moved.
  const double bytes = static_cast<double>(n) * (sizeof(T) * (1 + fraction) + (by_mask ? 1 : 0));
  const auto quads = static_cast<std::int64_t>(bytes / 32);
  const auto copy = [&](unsigned blocks) {
    return [=] {
      copy_quads<<<blocks, 256>>>(reinterpret_cast<uint4*>(memory.x),
                                  reinterpret_cast<uint4*>(memory.expected), quads);
    };
  };
  const auto times = in_turns({own, cub, copy(132U * 8), copy(132U * 32)});
  const double best_copy = std::min(times[2], times[3]);
  std::printf("| %s%s | %lld | %.2f | %.1f | %.3f | %.3f | %.2f | %s |\n", type,
              by_mask ? ", mask" : "", static_cast<long long>(n), fraction, times[0],
              best_copy / times[0], best_copy / times[1], times[1] / times[0],
              right ? "equal" : "WRONG");
  std::fflush(stdout);
  if (!right) std::exit(1);
}

/// Rows, for which CUB has no selection: compared with a copy only.
template <class T>
void measure_rows(const char* type, const Memory& memory, std::int64_t lines, std::int64_t n) {
  const IsBelow<T> keep{1U << 31};
  const auto s = selection<T>(memory, lines, n, impl::Predicate<IsBelow<T>>{keep});
  const test::Stream stream;
  const auto own = [&] { cuda::SelectBackend{}.select(stream, s, memory.workspace); };
  const auto quads =
      static_cast<std::int64_t>(static_cast<double>(lines * n) * sizeof(T) * 1.5 / 32);
  const auto times =
      in_turns({own, [&] {
                  copy_quads<<<132 * 8, 256>>>(reinterpret_cast<uint4*>(memory.x),
                                               reinterpret_cast<uint4*>(memory.expected), quads);
                }});
  std::printf("| %s | %lld x %lld | 0.50 | %.1f | %.3f | | | %s |\n", type,
              static_cast<long long>(lines), static_cast<long long>(n), times[0],
              times[1] / times[0], test::last_path());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }
  int log2 = 28;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    std::sscanf(argv[i], "--log2-elements=%d", &log2);
    unsigned long long number = 0;
    if (std::sscanf(argv[i], "--seed=%llu", &number) == 1) seed = number;
  }
  const std::int64_t n = std::int64_t{1} << log2;
  const std::size_t bytes = static_cast<std::size_t>(n) * 8;
  Memory memory{};
  check(cudaMalloc(&memory.x, bytes));
  check(cudaMalloc(&memory.y, bytes));
  check(cudaMalloc(&memory.expected, bytes));
  check(cudaMalloc(&memory.mask, static_cast<std::size_t>(n)));
  check(cudaMalloc(&memory.workspace, static_cast<std::size_t>(n) / 64 + 1024));
  memory.cub_bytes = static_cast<std::size_t>(n) / 8 + (1 << 20);
  check(cudaMalloc(&memory.cub, memory.cub_bytes));
  check(cudaMalloc(&memory.counts, static_cast<std::size_t>(n)));
  print_clock();
  std::printf(
      "| type | elements | kept | select, us | of a copy | CUB of a copy | CUB's time | results |\n"
      "|---|---|---|---|---|---|---|---|\n");
  fill<<<1056, 256>>>(reinterpret_cast<std::uint32_t*>(memory.x), n, seed);
  for (const double fraction : {0.5, 0.0, 0.01, 0.1, 0.9, 1.0}) {
    measure<std::uint32_t, false>("uint32", memory, n, fraction);
  }
  for (const std::int64_t size : {n - 3, n / 16, n / 256, n / 4096}) {
    measure<std::uint32_t, false>("uint32", memory, size, 0.5);
  }
  measure<std::uint32_t, true>("uint32", memory, n, 0.5);
  for (const std::int64_t length :
       {std::int64_t{8}, std::int64_t{100}, std::int64_t{4096}, n / 64}) {
    measure_rows<std::uint32_t>("uint32", memory, n / length, length);
  }
  fill<<<1056, 256>>>(reinterpret_cast<std::uint64_t*>(memory.x), n, seed);
  measure<std::uint64_t, false>("uint64", memory, n, 0.5);
  measure<std::uint64_t, false>("uint64", memory, n, 0.1);
  print_clock();
  return 0;
}
