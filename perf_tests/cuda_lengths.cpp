// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fractions of a copy that scans of 2^30 floats reach on a GPU, by kind, by length and by axis, as
// the tables of perf_tests/results/. Each row is measured between two copies of the same bytes
// in the same process; the SM clock stands beside it, because a card may cap its power under load.
//
//   cmake --build BUILD --target perf_test_cuda_lengths && BUILD/perf_tests/perf_test_cuda_lengths

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <vector>

namespace ks = KokkosScan;

namespace {

using Exec = Kokkos::Cuda;
using Rows = Kokkos::View<float**, Kokkos::LayoutRight, Exec, Kokkos::MemoryUnmanaged>;
using Blocks = Kokkos::View<float***, Kokkos::LayoutRight, Exec, Kokkos::MemoryUnmanaged>;
using MaskRows = Kokkos::View<bool**, Kokkos::LayoutRight, Exec, Kokkos::MemoryUnmanaged>;

constexpr std::int64_t elements = std::int64_t{1} << 30;
constexpr int repetitions = 15;

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

/// The fastest copy that is known here: a float4 a thread.
__global__ void copy_quads(const float4* from, float4* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  __stcs(to + i, __ldcs(from + i));
}

/// Uniform values in [0, 1), and a mask that is true for three of four.
__global__ void fill_uniform(float* x, bool* mask) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements;
       i += threads) {
    // The finaliser of splitmix64.
    std::uint64_t z = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    x[i] = static_cast<float>(z >> 40) * 0x1p-24f;
    mask[i] = (z & 3) != 0;
  }
}

/// Cycles and nanoseconds of a short stretch of time on one multiprocessor.
__global__ void sample_clock(std::int64_t* cycles_and_ns) {
  const auto now = [] {
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  };
  const std::uint64_t begin = now();
  const std::int64_t first = clock64();
  while (now() - begin < 30000) {
  }
  cycles_and_ns[0] = clock64() - first;
  cycles_and_ns[1] = static_cast<std::int64_t>(now() - begin);
}

double sm_clock_mhz() {
  static std::int64_t* sample = nullptr;
  if (sample == nullptr) check(cudaMalloc(&sample, 2 * sizeof(std::int64_t)));
  sample_clock<<<1, 1>>>(sample);
  std::int64_t host[2];
  check(cudaMemcpy(host, sample, sizeof host, cudaMemcpyDeviceToHost));
  return 1e3 * static_cast<double>(host[0]) / static_cast<double>(host[1]);
}

/// Median milliseconds of a call, by events on the default stream.
double milliseconds(const std::function<void()>& call) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  call();
  std::vector<float> times;
  for (int i = 0; i < repetitions; ++i) {
    check(cudaEventRecord(begin));
    call();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    times.emplace_back();
    check(cudaEventElapsedTime(&times.back(), begin, end));
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[repetitions / 2];
}

struct Memory {
  float* x;
  float* y;
  bool* mask;
};

/// Prints a row: time, and fraction of the copy before and after that is the faster.
void measure(const Memory& m, const char* name, std::int64_t scanned, double bytes_of_element,
             const std::function<void()>& call) {
  const auto copy = [&] {
    const auto* from = reinterpret_cast<const float4*>(m.x);
    auto* to = reinterpret_cast<float4*>(m.y);
    const double quads = milliseconds([&] { copy_quads<<<elements / 4 / 128, 128>>>(from, to); });
    return std::min(
        quads, milliseconds([&] {
          check(cudaMemcpyAsync(m.y, m.x, elements * sizeof(float), cudaMemcpyDeviceToDevice));
        }));
  };
  const double before = copy();
  const double ms = milliseconds(call);
  const double clock = sm_clock_mhz();
  const double best = std::min(before, copy());
  const double work = static_cast<double>(scanned) / elements * bytes_of_element / 8;
  std::printf("| %s | %.4f | %.4f | %.3f | %.0f |\n", name, ms, best, best * work / ms, clock);
  std::fflush(stdout);
}

void run() {
  const Exec exec(cudaStream_t{});
  Memory m{};
  check(cudaMalloc(&m.x, elements * sizeof(float)));
  check(cudaMalloc(&m.y, elements * sizeof(float) + (elements >> 4)));
  check(cudaMalloc(&m.mask, elements));
  fill_uniform<<<1056, 256>>>(m.x, m.mask);

  std::printf(
      "| 32768 lines of 32768 | ms | copy, ms | fraction | SM MHz |\n|---|---|---|---|---|\n");
  const std::int64_t n = 32768;
  const Rows x(m.x, n, n), y(m.y, n, n), longer(m.y, n, n + 1);
  const MaskRows mask(m.mask, n, n);
  measure(m, "sum", elements, 8, [&] { ks::inclusive_scan(exec, x, y, 1); });
  measure(m, "product", elements, 8, [&] { ks::inclusive_scan(exec, x, y, 1, ks::Prod{}); });
  measure(m, "maximum", elements, 8, [&] { ks::inclusive_scan(exec, x, y, 1, ks::Max{}); });
  measure(m, "backward sum", elements, 8,
          [&] { ks::inclusive_scan(exec, x, y, ks::along(1).backward()); });
  measure(m, "exclusive sum", elements, 8, [&] { ks::exclusive_scan(exec, x, y, 1); });
  measure(m, "masked sum, of 9 bytes", elements, 9,
          [&] { ks::inclusive_scan(exec, ks::masked(x, mask), y, 1); });
  measure(m, "exclusive sum, n+1 outputs", elements, 8,
          [&] { ks::exclusive_scan(exec, x, longer, 1); });
  measure(m, "sum in place", elements, 8, [&] { ks::inclusive_scan(exec, x, x, 1); });
  measure(m, "sum, generic backend", elements, 8, [&] {
    ks::impl::scan(ks::impl::Function::inclusive_scan, exec, x, y, 1, ks::Sum{},
                   ks::impl::team::Backend{});
  });

  std::printf(
      "\n| sums of n floats | ms | copy, ms | fraction | SM MHz |\n|---|---|---|---|---|\n");
  fill_uniform<<<1056, 256>>>(m.x, m.mask);  // the scan in place has left sums
  for (const std::int64_t length :
       {1l,       2l,       3l,     4l,     8l,     16l,    32l,      64l,       128l,
        256l,     512l,     1024l,  2048l,  4096l,  8192l,  16384l,   32768l,    1l << 20,
        1l << 25, elements, 7l,     33l,    100l,   1000l,  1023l,    1025l,     2049l,
        4097l,    8191l,    12001l, 32767l, 32769l, 50257l, 1000001l, 100000007l}) {
    const std::int64_t lines = elements / length;
    const Rows in(m.x, lines, length), out(m.y, lines, length);
    char name[32];
    std::snprintf(name, sizeof name, "%lld", static_cast<long long>(length));
    measure(m, name, lines * length, 8, [&] { ks::inclusive_scan(exec, in, out, 1); });
  }

  std::printf(
      "\n| sums along the middle axis | ms | copy, ms | fraction | SM MHz "
      "|\n|---|---|---|---|---|\n");
  const std::int64_t shapes[][3] = {{1, 32768, 32768},   {4, 16384, 16384},  {64, 4096, 4096},
                                    {1024, 1024, 1024},  {16384, 256, 256},  {64, 32768, 512},
                                    {16384, 128, 512},   {1, 1 << 26, 16},   {1, 1 << 24, 64},
                                    {1, 72, 10'000'000}, {1, 128, 8'000'001}};
  for (const auto& [outer, length, inner] : shapes) {
    const Blocks in(m.x, outer, length, inner), out(m.y, outer, length, inner);
    char name[64];
    std::snprintf(name, sizeof name, "%lld x %lld x %lld", static_cast<long long>(outer),
                  static_cast<long long>(length), static_cast<long long>(inner));
    measure(m, name, outer * length * inner, 8, [&] { ks::inclusive_scan(exec, in, out, 1); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  run();
}
