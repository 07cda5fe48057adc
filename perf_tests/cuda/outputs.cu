// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Linear recurrences with their gradients, projected outputs, for_each_result, and logarithms of
/// sums, on a GPU, without Kokkos: speed compared with a kernel that moves the same bytes, and the
/// error compared with a loop in double.
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
/// The numbers of arrays that are read and written.
constexpr int most_streams = 3;
struct Streams {
  const float4* in[most_streams];
  float4* out[most_streams];
};
template <int ins, int outs>
__global__ void move(Streams s, std::int64_t quads) {
  for (std::int64_t i = own(); i < quads; i += all()) {
    float4 sum = s.in[0][i];
#pragma unroll
    for (int j = 1; j < ins; ++j) {
      const float4 x = s.in[j][i];
      sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
    }
#pragma unroll
    for (int j = 0; j < outs; ++j) s.out[j][i] = sum;
  }
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

/// The same for the gradients of a recurrence: b has the gradients of its states, h the states.
__global__ void find_error_of_gradients(const float* a, const float* b, const float* h,
                                        const float* da, const float* db, Shape s, double* worst) {
  for (std::int64_t line = own(); line < s.outer * s.inner; line += all()) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    double handed_on = 0, magnitude = 0, error = 0;
    for (std::int64_t k = s.n - 1; k >= 0; --k) {
      const std::int64_t at = first + k * s.inner;
      const double gradient = b[at] + handed_on;
      magnitude += fabs(double{b[at]});
      const double before = k > 0 ? h[at - s.inner] : 0;
      const double of_b = fabs(db[at] - gradient) / (magnitude + 1e-30);
      const double of_a = fabs(da[at] - gradient * before) / (magnitude * fabs(before) + 1e-30);
      if (!(of_b <= error)) error = of_b;
      if (!(of_a <= error)) error = of_a;
      handed_on = double{a[at]} * gradient;
      magnitude *= fabs(double{a[at]});
    }
    worst[line % 4096] = fmax(worst[line % 4096], error == error ? error : 1e30);
  }
}
/// The largest error of logarithms of sums, in units of 1 and the largest magnitude: elements and
/// results are below 32.
__global__ void find_error_of_logarithms(const float* b, const float* h, Shape s, double* worst) {
  for (std::int64_t line = own(); line < s.outer * s.inner; line += all()) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    double sum = 0, magnitude = 0, error = 0;
    for (std::int64_t k = 0; k < s.n; ++k) {
      const std::int64_t at = first + k * s.inner;
      sum += exp(double{b[at]});
      magnitude = fmax(magnitude, fmax(fabs(double{b[at]}), fabs(log(sum))));
      const double of_this = fabs(h[at] - log(sum)) / (magnitude + 1);
      if (!(of_this <= error)) error = of_this;
    }
    worst[line % 4096] = fmax(worst[line % 4096], error == error ? error : 1e30);
  }
}
/// Sums in two arrays: the second is the square of the first.
__global__ void find_error_of_two(const float* b, const float* c, const float* d, Shape s,
                                  double* worst) {
  for (std::int64_t line = own(); line < s.outer * s.inner; line += all()) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    double sum = 0, magnitude = 0, error = 0;
    for (std::int64_t k = 0; k < s.n; ++k) {
      const std::int64_t at = first + k * s.inner;
      sum += b[at];
      magnitude += fabs(double{b[at]});
      const double of_this = fabs(c[at] - sum) / (magnitude + 1e-30);
      if (!(of_this <= error) || d[at] != c[at] * c[at]) error = of_this + (d[at] != c[at] * c[at]);
    }
    worst[line % 4096] = fmax(worst[line % 4096], error == error ? error : 1e30);
  }
}
/// Running maxima with their indices: 1 if one is wrong.
__global__ void find_error_of_maxima(const float* b, const float* c, const std::int64_t* at_index,
                                     Shape s, double* worst) {
  for (std::int64_t line = own(); line < s.outer * s.inner; line += all()) {
    const std::int64_t first = line / s.inner * s.n * s.inner + line % s.inner;
    std::int64_t index = 0;
    bool is_wrong = false;
    for (std::int64_t k = 0; k < s.n; ++k) {
      const std::int64_t at = first + k * s.inner;
      if (b[at] >= b[first + index * s.inner]) index = k;
      is_wrong = is_wrong || c[at] != b[first + index * s.inner] || at_index[at] != index;
    }
    if (is_wrong) worst[line % 4096] = 1;
  }
}

struct Memory {
  float *a, *b, *h, *c, *d;
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

/// The best time of kernels that read and write this many arrays; overwrites c, d and, for a third
/// output, h.
template <int ins, int outs>
double time_to_move(const Memory& m, const Shape& s) {
  const std::int64_t quads = s.size() / 4;
  const auto q = [](float* p) { return reinterpret_cast<float4*>(p); };
  const Streams streams{{q(m.b), q(m.a), q(m.h)}, {q(m.c), q(m.d), q(m.h)}};
  double best = 1e30;
  for (const unsigned blocks : {132U * 8, 132U * 16, 132U * 64}) {
    best = std::min(best, microseconds([&] { move<ins, outs><<<blocks, 256>>>(streams, quads); }));
  }
  if (ins > 1 || outs > 1) return best;
  return std::min(best, microseconds([&] {
                    check(cudaMemcpyAsync(m.c, m.b, static_cast<std::size_t>(s.size()) * 4,
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
/// The same with states in double, as Python has them.
using WideMap = ks::AffineMap<double>;
struct WideMapOf {
  __host__ __device__ WideMap operator()(float b, float a) const { return {a, b}; }
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

/// Stores a result and its square.
struct StoreTwo {
  float *c, *d;
  std::int64_t n, inner;
  __host__ __device__ void operator()(std::int64_t i, std::int64_t k, std::int64_t j,
                                      float sum) const {
    const std::int64_t at = (i * n + k) * inner + j;
    c[at] = sum;
    d[at] = sum * sum;
  }
};

/// The gradients of a recurrence h[k] = a[k] h[k-1] + b[k], given those of its states: state k
/// passes m[k] = a[k] (g[k] + m[k+1]) to the state before it. This is an exclusive backward
/// recurrence.
struct HandOn {
  __host__ __device__ Map operator()(float g, float a) const { return {a, a * g}; }
};
struct StoreGradients {
  const float *g, *h;
  float *da, *db;
  std::int64_t n, inner;
  __host__ __device__ void operator()(std::int64_t i, std::int64_t k, std::int64_t j,
                                      float handed_on) const {
    const std::int64_t at = (i * n + k) * inner + j;
    const float of_state = read(g + at);
    const float before = read(h + (k > 0 ? at - inner : at));
    const float gradient = of_state + handed_on;
    db[at] = gradient;
    da[at] = k > 0 ? gradient * before : 0.0F;
  }
  /// Reads through the read-only path, so that loads need not wait for stores.
  static __host__ __device__ float read(const float* from) {
#if defined(__CUDA_ARCH__)
    return __ldg(from);
#else
    return *from;
#endif
  }
};

/// A maximum and its last index.
using Placed32 = ks::Indexed<float, std::int32_t>;
using LastMaximum = ks::ArgMax<ks::Ties::last, Placed32>;
using PlaceOf = impl::IndexAlong<std::int32_t>;
struct MakePlaced {
  __host__ __device__ Placed32 operator()(float value, std::int32_t index) const {
    return {value, index};
  }
};
struct StorePlaced {
  float* values;
  std::int64_t* indices;
  std::int64_t n, inner;
  __host__ __device__ void operator()(std::int64_t i, std::int64_t k, std::int64_t j,
                                      const Placed32& x) const {
    const std::int64_t at = (i * n + k) * inner + j;
    values[at] = x.value;
    indices[at] = x.index;
  }
};

/// A function of indices.
template <class F>
impl::Computed<3, F> computed(const Shape& s, const F& f, bool backward = false) {
  impl::Computed<3, F> computed{f, {s.outer, s.n, s.inner}, 1, 0, 1, {}};
  computed.strides = {0, {s.inner, 1}};
  if (Placed(s).batch.rank == 1) computed.strides.batch[0] = 1;
  if (backward) {
    computed.first = s.n - 1;
    computed.step = -1;
  }
  return computed;
}
/// A scan whose results are passed to a function.
template <class A, class Value, class Op, class In, class F>
auto called(const Shape& s, impl::Form form, const In& in, const Op& op, const A& start,
            const impl::Computed<3, F>& out) {
  using Out = impl::Called<Value, 3, F>;
  return impl::Problem<A, Op, In, Out, impl::CommonStart<A>, Value>{impl::Function::inclusive_scan,
                                                                    s.n,
                                                                    Placed(s).batch,
                                                                    form,
                                                                    impl::Extra::none,
                                                                    op,
                                                                    impl::Maybe<A>(op.identity()),
                                                                    in,
                                                                    {out},
                                                                    {impl::Maybe<A>(start)},
                                                                    {nullptr, {}}};
}

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

enum class Check { recurrence, exponential, gradients, two, maxima, logarithms, none };

void find_error(const Memory& m, const Shape& s, Check expected) {
  switch (expected) {
    case Check::gradients:
      return find_error_of_gradients<<<528, 128>>>(m.a, m.b, m.h, m.c, m.d, s, m.worst);
    case Check::two:
      return find_error_of_two<<<528, 128>>>(m.b, m.c, m.d, s, m.worst);
    case Check::maxima:
      return find_error_of_maxima<<<528, 128>>>(
          m.b, m.c, reinterpret_cast<const std::int64_t*>(m.d), s, m.worst);
    case Check::logarithms:
      return find_error_of_logarithms<<<528, 128>>>(m.b, m.h, s, m.worst);
    default:
      return find_error<<<528, 128>>>(expected == Check::recurrence ? m.a : nullptr, m.b, m.h, s,
                                      m.worst);
  }
}

template <class P>
double measure(const char* what, const Memory& m, const Shape& s, const P& p, double moves,
               Check expected) {
  const test::Stream stream;
  for (float* out : {m.c, m.d, expected == Check::gradients ? m.c : m.h}) {
    check(cudaMemset(out, 0xEE, static_cast<std::size_t>(s.size()) * 4));
  }
  if (cuda::Backend::workspace_bytes<P>(stream, s.n, s.outer * s.inner) > bytes_of_workspace) {
    std::printf("a workspace is too small\n");
    std::exit(1);
  }
  cuda::Backend{}.scan(stream, p, m.workspace);
  check(cudaMemset(m.worst, 0, 4096 * 8));
  double worst = 0;
  if (expected != Check::none) {
    find_error(m, s, expected);
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
  const double three = time_to_move<2, 1>(m, s);
  using Parts = impl::List<impl::Array<const float>, impl::Array<const float>>;
  const impl::ZippedInput<MapOf, Parts> zipped{{}, {b, {a, {}}}};
  measure("recurrence", m, s, problem<Map, Compose, float>(m, s, zipped, Compose{}, Map(0)), three,
          Check::recurrence);
  const impl::ZippedInput<WideMapOf, Parts> wide{{}, {b, {a, {}}}};
  measure("the same, states in double", m, s,
          problem<WideMap, ks::ComposeAffine<double>, float>(
              m, s, wide, ks::ComposeAffine<double>{}, WideMap(0)),
          three, Check::recurrence);
  measure("the same, elementwise", m, s,
          problem<Map, Compose, float>(m, s, computed(s, MapAt{m.a, m.b, s.n, s.inner}), Compose{},
                                       Map(0)),
          three, Check::recurrence);

  // The gradient: h has the states of the recurrence above, b now has their gradients.
  const double five = time_to_move<3, 2>(m, s);
  const auto backward = [&](const float* data) {
    impl::Array<const float> array{data + (s.n - 1) * placed.strides.along, placed.strides};
    array.strides.along = -placed.strides.along;
    return array;
  };
  const impl::ZippedInput<HandOn, Parts> handed_on{{}, {backward(m.b), {backward(m.a), {}}}};
  measure("gradients of a recurrence", m, s,
          called<Map, float>(s, impl::Form::exclusive, handed_on, Compose{}, Map(0),
                             computed(s, StoreGradients{m.b, m.h, m.c, m.d, s.n, s.inner}, true)),
          five, Check::gradients);

  // Running maxima with their indices, which overwrite d and the array after it.
  const double four = time_to_move<1, 3>(m, s);
  using WithPlaces = impl::List<impl::Array<const float>, impl::Computed<3, PlaceOf>>;
  const impl::ZippedInput<MakePlaced, WithPlaces> with_places{{},
                                                              {b, {computed(s, PlaceOf{1}), {}}}};
  measure("maxima and int64 indices", m, s,
          called<Placed32, Placed32>(
              s, impl::Form::inclusive, with_places, LastMaximum{}, LastMaximum::identity(),
              computed(s, StorePlaced{m.c, reinterpret_cast<std::int64_t*>(m.d), s.n, s.inner})),
          four, Check::maxima);

  fill<<<1056, 256>>>(m.b, s.size(), 0.0F, 4.0F / static_cast<float>(s.n), 5);
  const double two = time_to_move<1, 1>(m, s);
  using Sum = ks::Sum<float>;
  measure("sum", m, s, problem<float, Sum, float>(m, s, b, Sum{}, 0.0F), two, Check::none);
  using Projected = impl::ProjectedValue<float, float, Exponential>;
  measure("exp(-sum), projected", m, s, problem<float, Sum, Projected>(m, s, b, Sum{}, 0.0F), two,
          Check::exponential);
  const double one_to_two = time_to_move<1, 2>(m, s);
  measure("sum to two arrays, a function", m, s,
          called<float, float>(s, impl::Form::inclusive, b, Sum{}, 0.0F,
                               computed(s, StoreTwo{m.c, m.d, s.n, s.inner})),
          one_to_two, Check::two);

  fill<<<1056, 256>>>(m.b, s.size(), -8.0F, 8.0F, 5);
  using LogSumExp = ks::LogSumExp<float>;
  measure("logarithm of a sum", m, s,
          problem<float, LogSumExp, float>(m, s, b, LogSumExp{}, LogSumExp::identity()), two,
          Check::logarithms);
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
  check(cudaMalloc(&m.c, largest));
  check(cudaMalloc(&m.d, 2 * largest));
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
