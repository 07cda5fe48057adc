// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Linear recurrences and projected outputs on a GPU, without Kokkos: how fast, beside a kernel
/// that moves the same bytes, and how far off the loop in double.
///
///     nvcc -x cu -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
///       perf_tests/cuda/outputs.cu -o outputs && ./outputs

#include <KokkosScan/affine.hpp>
#include <KokkosScan/impl/cuda/problems.hpp>
#include <KokkosScan/operators.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "../../unit_tests/cuda/stream.hpp"

namespace {

namespace ks = KokkosScan;
namespace impl = KokkosScan::impl;
namespace cuda = KokkosScan::impl::cuda;
using test::check;

using Map = ks::AffineMap<float>;
using Compose = ks::ComposeAffine<float>;

struct Shape {
  std::int64_t outer, n, inner;
  [[nodiscard]] std::int64_t size() const { return outer * n * inner; }
};

__device__ std::int64_t own() { return blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; }
__device__ std::int64_t all() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Coefficients and terms in (low, high).
__global__ void fill(float* x, std::int64_t size, float low, float high, std::uint64_t seed) {
  for (std::int64_t i = own(); i < size; i += all()) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(i) + seed) * 0x9e3779b97f4a7c15U;
    x[i] = low + (high - low) * static_cast<float>((bits ^ bits >> 31) & 0xffffff) * 0x1p-24f;
  }
}
/// What a recurrence moves: two arrays in, one out.
__global__ void move_three(const float4* a, const float4* b, float4* c, std::int64_t quads) {
  for (std::int64_t i = own(); i < quads; i += all()) {
    const float4 x = a[i], y = b[i];
    c[i] = {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
  }
}
__global__ void move_two(const float4* a, float4* c, std::int64_t quads) {
  for (std::int64_t i = own(); i < quads; i += all()) c[i] = a[i];
}
/// The largest error of recurrences or of exponentials of sums, in units of the sum of magnitudes.
__global__ void find_error(const float* a, const float* b, const float* h, Shape s, double* worst) {
  for (std::int64_t line = own(); line < s.outer * s.inner; line += all()) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    double state = 0, magnitude = 0, error = 0;
    for (std::int64_t k = 0; k < s.n; ++k) {
      const std::int64_t at = first + k * s.inner;
      double actual = h[at], expected;
      if (a != nullptr) {
        state = double{a[at]} * state + b[at];
        magnitude = fabs(double{a[at]}) * magnitude + fabs(double{b[at]});
        expected = state;
      } else {
        state += b[at];
        expected = exp(-state);
        magnitude = expected * (1 + state);
      }
      const double of_this = fabs(actual - expected) / (magnitude + 1e-30);
      if (!(of_this <= error)) error = of_this;
    }
    worst[line % 4096] = fmax(worst[line % 4096], error == error ? error : 1e30);
  }
}

struct Memory {
  float *a, *b, *h;
  double* worst;
  std::byte* workspace;
};
constexpr std::size_t bytes_of_workspace = std::size_t{256} << 20;

double microseconds(const std::function<void()>& work) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
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

double time_to_move(const Memory& m, const Shape& s, bool three) {
  const std::int64_t quads = s.size() / 4;
  const auto q = [](float* p) { return reinterpret_cast<float4*>(p); };
  double best = 1e30;
  for (const unsigned blocks : {132U * 8, 132U * 16, 132U * 64}) {
    best = std::min(best, microseconds([&] {
                      three ? move_three<<<blocks, 256>>>(q(m.a), q(m.b), q(m.h), quads)
                            : move_two<<<blocks, 256>>>(q(m.b), q(m.h), quads);
                    }));
  }
  if (three) return best;
  return std::min(best, microseconds([&] {
                    check(cudaMemcpyAsync(m.h, m.b, static_cast<std::size_t>(s.size()) * 4,
                                          cudaMemcpyDeviceToDevice));
                  }));
}

struct Placed {
  impl::Batch batch;
  impl::Strides strides;

  explicit Placed(const Shape& s) {
    batch = {s.outer * s.inner, 2, {s.outer, s.inner}};
    strides = {s.inner, {s.n * s.inner, 1}};
    if (s.inner == 1 || s.outer == 1) {
      batch = {s.outer * s.inner, 1, {s.outer * s.inner}};
      strides.batch[0] = s.inner == 1 ? s.n : 1;
    }
  }
};

struct MapOf {
  __host__ __device__ Map operator()(float b, float a) const { return {a, b}; }
};
struct Exponential {
  __host__ __device__ float operator()(float tau) const { return expf(-tau); }
};
/// The same recurrence by a function of indices.
struct MapAt {
  const float *a, *b;
  std::int64_t n, inner;
  __host__ __device__ Map operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    const std::int64_t at = (i * n + k) * inner + j;
    return {a[at], b[at]};
  }
};

template <class A, class Op, class Out, class In>
auto problem(const Memory& m, const Shape& s, const In& in, const Op& op, const A& start) {
  const Placed placed(s);
  return impl::Problem<A, Op, In, Out, impl::CommonStart<A>, float>{
      impl::Function::inclusive_scan,
      s.n,
      placed.batch,
      impl::Form::inclusive,
      impl::Extra::none,
      op,
      impl::Maybe<A>(op.identity()),
      in,
      {reinterpret_cast<Out*>(m.h), placed.strides},
      {impl::Maybe<A>(start)},
      {nullptr, {}}};
}

enum class Check { recurrence, exponential, none };

template <class P>
double measure(const char* what, const Memory& m, const Shape& s, const P& p, double moves,
               Check expected) {
  const test::Stream stream;
  check(cudaMemset(m.h, 0xEE, static_cast<std::size_t>(s.size()) * 4));
  if (cuda::Backend::workspace_bytes<P>(stream, s.n, s.outer * s.inner) > bytes_of_workspace) {
    std::printf("a workspace is too small\n");
    std::exit(1);
  }
  cuda::Backend{}.scan(stream, p, m.workspace);
  check(cudaMemset(m.worst, 0, 4096 * 8));
  double worst = 0;
  if (expected != Check::none) {
    find_error<<<528, 128>>>(expected == Check::recurrence ? m.a : nullptr, m.b, m.h, s, m.worst);
    std::vector<double> host(4096);
    check(cudaMemcpy(host.data(), m.worst, 4096 * 8, cudaMemcpyDeviceToHost));
    worst = *std::max_element(host.begin(), host.end());
  }
  const double time = microseconds([&] { cuda::Backend{}.scan(stream, p, m.workspace); });
  std::printf("| %s | (%lld, %lld, %lld) | %s | %.3f | %.1f | %.1f | %.1f |\n", what,
              static_cast<long long>(s.outer), static_cast<long long>(s.n),
              static_cast<long long>(s.inner), test::last_path(), moves / time, time, moves,
              std::ldexp(worst, 24));
  std::fflush(stdout);
  return time;
}

void print_clock() {
  if (std::system("nvidia-smi --query-gpu=name,clocks.sm,clocks.mem,temperature.gpu,power.draw "
                  "--format=csv,noheader") != 0) {
    std::printf("no nvidia-smi\n");
  }
}

void measure_all(const Memory& m, const Shape& s) {
  const Placed placed(s);
  const impl::Array<const float> a{m.a, placed.strides};
  const impl::Array<const float> b{m.b, placed.strides};
  fill<<<1056, 256>>>(m.a, s.size(), -1.0F, 1.0F, 1);
  fill<<<1056, 256>>>(m.b, s.size(), -1.0F, 1.0F, 77);
  const double three = time_to_move(m, s, true);
  using Parts = impl::List<impl::Array<const float>, impl::Array<const float>>;
  const impl::ZippedInput<MapOf, Parts> zipped{{}, {b, {a, {}}}};
  measure("recurrence", m, s, problem<Map, Compose, float>(m, s, zipped, Compose{}, Map(0)), three,
          Check::recurrence);
  impl::Computed<3, MapAt> computed{{m.a, m.b, s.n, s.inner}, {s.outer, s.n, s.inner}, 1, 0, 1, {}};
  computed.strides = {0, {s.inner, 1}};
  if (placed.batch.rank == 1) computed.strides.batch[0] = 1;
  measure("the same, elementwise", m, s,
          problem<Map, Compose, float>(m, s, computed, Compose{}, Map(0)), three,
          Check::recurrence);

  fill<<<1056, 256>>>(m.b, s.size(), 0.0F, 4.0F / static_cast<float>(s.n), 5);
  const double two = time_to_move(m, s, false);
  using Sum = ks::Sum<float>;
  measure("sum", m, s, problem<float, Sum, float>(m, s, b, Sum{}, 0.0F), two, Check::none);
  using Projected = impl::ProjectedValue<float, float, Exponential>;
  measure("exp(-sum), projected", m, s, problem<float, Sum, Projected>(m, s, b, Sum{}, 0.0F), two,
          Check::exponential);
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }
  const Shape shapes[] = {{65536, 4096, 1}, {64, 1 << 20, 1}, {8, 4096, 2048},
                          {1, 72, 1 << 20}, {1 << 20, 72, 1}, {1, 1 << 24, 1}};
  Memory m{};
  constexpr std::size_t largest = std::size_t{1} << 30;
  check(cudaMalloc(&m.a, largest));
  check(cudaMalloc(&m.b, largest));
  check(cudaMalloc(&m.h, largest));
  check(cudaMalloc(&m.worst, 4096 * 8));
  check(cudaMalloc(&m.workspace, bytes_of_workspace));
  print_clock();
  std::printf(
      "| what | (outer, n, inner) | kernel | of moving the same bytes | us | moving, us | "
      "error, u of the sum of magnitudes |\n|---|---|---|---|---|---|---|\n");
  for (const Shape& s : shapes) measure_all(m, s);
  print_clock();
  return 0;
}
