// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// In-order scans on a GPU, without Kokkos: speed compared with a copy, and a check that every
/// element has the bits of a plain loop, which runs with one thread per line on the GPU, and for a
/// small shape on the host.
///
///     nvcc -x cu -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
///       perf_tests/cuda/in_order.cu -o in_order && ./in_order
///
///     --sweep   other shapes of tiles and chunks, for tuning

#include <KokkosScan/impl/cuda/in_order_problems.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../../unit_tests/cuda/stream.hpp"

namespace {

namespace ks = KokkosScan;
namespace impl = KokkosScan::impl;
namespace cuda = KokkosScan::impl::cuda;
using test::check;

constexpr std::size_t largest_bytes = std::size_t{32768} * 32768 * 4;
constexpr std::size_t bytes_of_l2 = std::size_t{50} << 20;

struct Shape {
  std::int64_t outer, n, inner;
  [[nodiscard]] std::int64_t size() const { return outer * n * inner; }
};

template <class T>
__global__ void fill(T* x, std::int64_t size) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    x[i] =
        static_cast<T>(static_cast<std::int64_t>(bits >> 40) - (1 << 23)) * static_cast<T>(0x1p-24);
  }
}
__global__ void fill_mask(bool* mask, std::int64_t size) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    mask[i] = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 20 & 3;
  }
}
__device__ bool differ(float a, float b) { return __float_as_uint(a) != __float_as_uint(b); }
__device__ bool differ(double a, double b) {
  return __double_as_longlong(a) != __double_as_longlong(b);
}
__device__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ double add(double a, double b) { return __dadd_rn(a, b); }
/// The plain loop.
template <class T>
__global__ void plain(const T* x, const bool* mask, T* y, Shape s) {
  const std::int64_t line = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (line >= s.outer * s.inner) return;
  const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
  T acc = 0;
  bool exists = false;
  for (std::int64_t k = 0; k < s.n; ++k) {
    const std::int64_t at = first + k * s.inner;
    if (mask == nullptr || mask[at]) {
      acc = exists ? add(acc, x[at]) : x[at];
      exists = true;
    }
    y[at] = acc;
  }
}
template <class T>
__global__ void count_differences(const T* a, const T* b, std::int64_t size,
                                  unsigned long long* count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    if (differ(a[i], b[i])) atomicAdd(count, 1ULL);
  }
}
__global__ void copy_quads(const uint4* from, uint4* to, std::int64_t quads) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < quads;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

struct Memory {
  std::byte *x, *y, *expected;
  bool* mask;
  unsigned long long* count;
};

/// The median time in microseconds of several runs on the default stream. If the arrays fit L2, the
/// cache is flushed before each run.
double microseconds(const std::function<void()>& work, const Memory& memory, std::size_t bytes) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  const int runs = bytes > (std::size_t{1} << 30) ? 5 : 11;
  for (int i = 0; i < runs; ++i) {
    if (bytes < 4 * bytes_of_l2) check(cudaMemsetAsync(memory.expected, i, 4 * bytes_of_l2));
    check(cudaEventRecord(begin));
    work();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    if (i > 0) times.push_back(ms * 1e3);
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double copy_time(const Memory& memory, std::size_t bytes) {
  const auto quads = static_cast<std::int64_t>(bytes / 16);
  const double by_call = microseconds(
      [&] { check(cudaMemcpyAsync(memory.y, memory.x, bytes, cudaMemcpyDeviceToDevice)); }, memory,
      bytes);
  double best = by_call;
  for (const unsigned blocks : {132U * 8, 132U * 32}) {
    best =
        std::min(best, microseconds(
                           [&] {
                             copy_quads<<<blocks, 256>>>(reinterpret_cast<uint4*>(memory.x),
                                                         reinterpret_cast<uint4*>(memory.y), quads);
                           },
                           memory, bytes));
  }
  return best;
}

template <class T, bool masked>
auto problem(const Memory& memory, const Shape& s) {
  using A = T;
  const impl::Strides strides{s.inner, {s.n * s.inner, 1}};
  impl::Batch batch{s.outer * s.inner, 2, {s.outer, s.inner}};
  impl::Strides reduced = strides;
  if (s.inner == 1 || s.outer == 1) {
    batch = {s.outer * s.inner, 1, {s.outer * s.inner}};
    reduced.batch[0] = s.inner == 1 ? s.n : 1;
  }
  const impl::Array<const T> x{reinterpret_cast<const T*>(memory.x), reduced};
  const impl::Array<T> y{reinterpret_cast<T*>(memory.y), reduced};
  const auto input = [&] {
    if constexpr (masked) {
      return impl::Selected<A, impl::Array<const T>, impl::Array<const impl::StoredBool>>{
          x, {impl::as_stored_bools(memory.mask), reduced}, A(0)};
    } else {
      return x;
    }
  }();
  using In = std::remove_const_t<decltype(input)>;
  return impl::Problem<A, impl::InOrder<ks::Sum<A>>, In, T, impl::CommonStart<A>, T>{
      impl::Function::inclusive_scan, s.n,   batch, impl::Form::inclusive,    impl::Extra::none, {},
      impl::Maybe<A>(A(0)),           input, y,     impl::CommonStart<A>{{}}, {nullptr, {}}};
}

/// Whether the output has the bits of the plain loop.
template <class T>
bool is_right(const Memory& memory, const Shape& s, bool masked) {
  const auto blocks = static_cast<unsigned>((s.outer * s.inner + 127) / 128);
  plain<<<blocks, 128>>>(reinterpret_cast<T*>(memory.x), masked ? memory.mask : nullptr,
                         reinterpret_cast<T*>(memory.expected), s);
  check(cudaMemsetAsync(memory.count, 0, 8));
  count_differences<<<1056, 256>>>(reinterpret_cast<T*>(memory.y),
                                   reinterpret_cast<T*>(memory.expected), s.size(), memory.count);
  unsigned long long differences = 1;
  check(cudaMemcpy(&differences, memory.count, 8, cudaMemcpyDeviceToHost));
  return differences == 0;
}

template <class T, bool masked>
void measure(const char* type, const Memory& memory, const Shape& s) {
  const auto p = problem<T, masked>(memory, s);
  const test::Stream stream;
  const std::size_t bytes = static_cast<std::size_t>(s.size()) * sizeof(T);
  check(cudaMemsetAsync(memory.y, 0xEE, bytes));
  cuda::InOrderBackend{}.scan(stream, p);
  const char* const path = test::last_path();
  const bool right = is_right<T>(memory, s, masked);
  const double scan =
      microseconds([&] { cuda::InOrderBackend{}.scan(stream, p); }, memory, 2 * bytes);
  const double copy = copy_time(memory, bytes);
  std::printf("| %s | (%lld, %lld, %lld) | %s | %.3f | %.1f | %.1f | %.2f | %s |\n", type,
              static_cast<long long>(s.outer), static_cast<long long>(s.n),
              static_cast<long long>(s.inner), path, copy / scan, scan, copy,
              static_cast<double>(s.size()) / scan * 1e-3, right ? "equal" : "WRONG");
  std::fflush(stdout);
  if (!right) std::exit(1);
}

void print_clock() {
  int khz = 0;
  check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  std::printf("clock at most %d MHz\n", khz / 1000);
  std::fflush(stdout);
  if (std::system("nvidia-smi --query-gpu=name,clocks.sm,clocks.mem,temperature.gpu,power.draw "
                  "--format=csv,noheader") != 0) {
    std::printf("no nvidia-smi\n");
  }
}

/// The plain loop on the host, which the one on the GPU must equal.
void check_plain_loop(const Memory& memory) {
  const Shape s{7, 1000, 13};
  std::vector<float> x(static_cast<std::size_t>(s.size())), y(x.size()), expected(x.size());
  const auto p = problem<float, false>(memory, s);
  cuda::InOrderBackend{}.scan(test::Stream(), p);
  if (!is_right<float>(memory, s, false)) std::printf("WRONG\n");
  check(cudaMemcpy(x.data(), memory.x, x.size() * 4, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(y.data(), memory.y, x.size() * 4, cudaMemcpyDeviceToHost));
  for (std::int64_t line = 0; line < s.outer * s.inner; ++line) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    float acc = 0;
    for (std::int64_t k = 0; k < s.n; ++k) {
      const auto at = static_cast<std::size_t>(first + k * s.inner);
      volatile float sum = k == 0 ? x[at] : acc + x[at];
      expected[at] = acc = sum;
    }
  }
  const bool equal = std::memcmp(expected.data(), y.data(), x.size() * 4) == 0;
  std::printf("a loop on the host: %s\n", equal ? "equal" : "WRONG");
  if (!equal) std::exit(1);
}

// ---- Tuning -------------------------------------------------------------------------------------

template <class T>
void sweep_rows(const Memory& memory, const Shape& s) {
  const auto p = problem<T, false>(memory, s);
  const test::Stream stream;
  const std::size_t bytes = static_cast<std::size_t>(s.size()) * sizeof(T);
  const double copy = copy_time(memory, bytes);
  constexpr int pack = 16 / sizeof(T);
  for (const int lines : {8, 16, 32}) {
    for (const int row : {256, 512, 1024}) {
      for (const int movers : {1, 2, 3}) {
        for (const int blocks : {2, 3, 4}) {
          cuda::RowsInOrder shape{};
          shape.lines = lines;
          shape.slots = static_cast<int>(row / sizeof(T));
          shape.length = static_cast<int>(std::min<std::int64_t>(s.n, shape.slots));
          shape.pitch = (shape.slots / pack | 1) * pack;
          shape.stage = lines * shape.pitch * static_cast<int>(sizeof(T));
          shape.movers = movers;
          shape.loads_packs = shape.stores_packs = s.n % pack == 0;
          if (blocks * shape.shared_bytes() > cuda::shared_bytes_in_order) continue;
          const std::int64_t groups = (s.outer + lines - 1) / lines;
          const cuda::Launch launch{p.function, "rows",
                                    std::min<std::int64_t>(groups, blocks * 132), shape.threads(),
                                    shape.shared_bytes()};
          const double scan = microseconds(
              [&] {
                enqueue(stream, launch, cuda::scan_rows_in_order<std::remove_const_t<decltype(p)>>,
                        p.n, p.batch.count, p, shape);
              },
              memory, 2 * bytes);
          std::printf(
              "%lld rows of %lld, %zu bytes: %d lines, %d bytes a row, %d movers, %d blocks: "
              "%.3f\n",
              static_cast<long long>(s.outer), static_cast<long long>(s.n), sizeof(T), lines, row,
              movers, blocks, copy / scan);
        }
      }
    }
  }
  std::fflush(stdout);
}
template <int N, class T>
void sweep_columns_with(const Memory& memory, const Shape& s, double copy) {
  const auto p = problem<T, false>(memory, s);
  const test::Stream stream;
  for (const int threads : {32, 64, 128, 256}) {
    const cuda::Launch launch{p.function, "columns", (p.batch.count + threads - 1) / threads,
                              threads, 0};
    const double scan = microseconds(
        [&] {
          enqueue(stream, launch, cuda::scan_columns_in_order<N, std::remove_const_t<decltype(p)>>,
                  p.n, p.batch.count, p);
        },
        memory, 2 * static_cast<std::size_t>(s.size()) * sizeof(T));
    std::printf("%lld columns of %lld, %zu bytes: chunks of %d, %d threads: %.3f\n",
                static_cast<long long>(s.inner), static_cast<long long>(s.n), sizeof(T), N, threads,
                copy / scan);
  }
  std::fflush(stdout);
}
template <class T>
void sweep_columns(const Memory& memory, const Shape& s) {
  const double copy = copy_time(memory, static_cast<std::size_t>(s.size()) * sizeof(T));
  sweep_columns_with<8, T>(memory, s, copy);
  sweep_columns_with<16, T>(memory, s, copy);
  sweep_columns_with<32, T>(memory, s, copy);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }
  Memory memory{};
  check(cudaMalloc(&memory.x, largest_bytes));
  check(cudaMalloc(&memory.y, largest_bytes));
  check(cudaMalloc(&memory.expected, largest_bytes));
  check(cudaMalloc(&memory.mask, largest_bytes / 4));
  check(cudaMalloc(&memory.count, 8));
  fill_mask<<<1056, 256>>>(memory.mask, static_cast<std::int64_t>(largest_bytes / 4));
  fill<<<1056, 256>>>(reinterpret_cast<float*>(memory.x),
                      static_cast<std::int64_t>(largest_bytes / 4));
  check_plain_loop(memory);
  print_clock();
  if (argc > 1 && std::strcmp(argv[1], "--sweep") == 0) {
    for (const Shape& s : {Shape{32768, 32768, 1},
                           {16384, 4096, 1},
                           {4096, 1024, 1},
                           {1024, 65536, 1},
                           {32767, 32767, 1}}) {
      sweep_rows<float>(memory, s);
    }
    sweep_rows<double>(memory, {4096, 1024, 1});
    sweep_rows<double>(memory, {16384, 4096, 1});
    for (const Shape& s : {Shape{1, 72, 1'000'000},
                           {1, 32768, 32768},
                           {1, 16384, 16384},
                           {1, 8192, 8192},
                           {1, 1024, 4096},
                           {1, 9, 10'000'000},
                           {1, 72, 999'999},
                           {1, 32767, 32767}}) {
      sweep_columns<float>(memory, s);
    }
    print_clock();
    return 0;
  }
  const Shape shapes[] = {// columns, unaligned ones, narrow ones
                          {1, 72, 1'000'000},
                          {1, 128, 1'000'000},
                          {1, 32768, 32768},
                          {1, 2, 10'000'000},
                          {1, 3, 10'000'000},
                          {1, 5, 10'000'000},
                          {1, 9, 10'000'000},
                          {1, 72, 999'999},
                          {1, 32767, 32767},
                          {100'000, 100, 3},
                          {10'000, 100, 30},
                          // rows, unaligned ones, short ones
                          {32768, 32768, 1},
                          {1'000'000, 72, 1},
                          {16384, 4096, 1},
                          {32767, 32767, 1},
                          {1'000'000, 73, 1},
                          {10'000'000, 8, 1},
                          {10'000'000, 3, 1},
                          // few lines
                          {4096, 64, 1},
                          {1, 64, 4096},
                          {4096, 1024, 1},
                          {1, 1024, 4096},
                          {4096, 16384, 1},
                          {1, 16384, 4096},
                          {1024, 65536, 1},
                          {1, 65536, 1024},
                          {128, 262144, 1},
                          {1, 262144, 128},
                          {1, 1'000'000, 1}};
  std::printf(
      "| type | (outer, n, inner) | kernel | of a copy | scan, us | copy, us | elements a ns | "
      "bits "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const Shape& s : shapes) measure<float, false>("float", memory, s);
  for (const Shape& s : {Shape{1, 72, 1'000'000}, {32768, 16384, 1}, {16384, 4096, 1}}) {
    measure<float, true>("float, masked", memory, s);
  }
  fill<<<1056, 256>>>(reinterpret_cast<double*>(memory.x),
                      static_cast<std::int64_t>(largest_bytes / 8));
  for (Shape s : shapes) {
    if (static_cast<std::size_t>(s.size()) * 8 > largest_bytes) s.n /= 2;
    measure<double, false>("double", memory, s);
  }
  print_clock();
  return 0;
}
