// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan by the CUDA backend without Kokkos, its data, and a plain scan for comparison. Each
/// source file that includes this has one kind, because kinds take long to compile.

// The backend must be included first.
#include "../../unit_tests/cuda/stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "device.hpp"

namespace perf {

namespace ks = KokkosScan;

/// Inclusive results, exclusive results, or n+1 results, the first of which is the start.
enum class Results { inclusive, exclusive, extra };

/// Lines of n elements along the middle of an array (outer, n, inner). There may be a gap behind
/// each row (of inner elements, or of n elements if inner is 1), and an offset at the beginning. A
/// backward scan begins with the last element.
struct Shape {
  std::int64_t outer, n, inner;
  std::int64_t gap = 0;
  std::int64_t offset = 0;
  Results results = Results::inclusive;
  bool is_backward = false;

  [[nodiscard]] __host__ __device__ std::int64_t lines() const { return outer * inner; }
  [[nodiscard]] std::int64_t elements() const { return lines() * n; }
  /// The stride along a line.
  [[nodiscard]] __host__ __device__ std::int64_t along() const {
    return inner == 1 ? 1 : inner + gap;
  }
  /// The stride of the outer dimension.
  [[nodiscard]] __host__ __device__ std::int64_t slab() const {
    return inner == 1 ? n + gap : n * along();
  }
  /// The size of the array in elements, including gaps.
  [[nodiscard]] std::int64_t extent() const { return offset + outer * slab(); }
  /// The offset of the k-th element of a line in scan order.
  [[nodiscard]] __host__ __device__ std::int64_t place(std::int64_t i, std::int64_t k,
                                                       std::int64_t j) const {
    return offset + i * slab() + (is_backward ? n - 1 - k : k) * along() + j;
  }
  /// The array of results.
  [[nodiscard]] __host__ __device__ Shape of_results() const {
    Shape shape = *this;
    shape.n += extra();
    return shape;
  }
  /// The number of results before that of the first element.
  [[nodiscard]] __host__ __device__ std::int64_t extra() const {
    return results == Results::extra ? 1 : 0;
  }
};

/// Device memory.
struct Arrays {
  void* in;
  bool* mask;
  void* out;
};

/// Exact data are small integers whose sums are exact in any order; natural data, which use all
/// bits, are timed.
enum class Data { exact, natural };
/// The input: an array, a masked array, or a function that reads an array.
enum class Input { array, masked, computed };

/// The interface of a kind, which one source file compiles.
struct RandomKind {
  const char* option;         ///< --type
  const char* type;           ///< in names
  const char* variant;        ///< in names
  std::size_t in, mask, out;  ///< element sizes in bytes; mask is 0 if there is none
  void (*fill)(const Arrays&, std::int64_t elements, Data);
  std::size_t (*workspace_bytes)(const Shape&);
  void (*scan)(const Shape&, const Arrays&, std::byte* workspace);
  std::size_t (*reference_bytes)(const Shape&);
  /// The number of results of exact data that differ from the plain scan.
  std::int64_t (*wrong)(const Shape&, const Arrays&, void* memory);
};
RandomKind random_float();
RandomKind random_double();
RandomKind random_masked();
RandomKind random_bytes();
RandomKind random_wide();
RandomKind random_product();
RandomKind random_computed();
inline std::vector<RandomKind> random_kinds() {
  return {random_float(), random_double(),  random_masked(),  random_bytes(),
          random_wide(),  random_product(), random_computed()};
}

/// The finaliser of splitmix64.
__device__ inline std::uint64_t scramble(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Exact data, and the integer arithmetic of the plain scan for them: sums of small integers.
template <class Op>
struct Elements {
  template <class T>
  static __device__ T exact(std::uint64_t bits) {
    return static_cast<T>(static_cast<int>(bits & 63) - static_cast<int>(bits >> 8 & 63));
  }
  template <class T>
  static __device__ T natural(std::uint64_t bits) {
    return std::is_integral_v<T> ? static_cast<T>(bits)
                                 : static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-53);
  }
  template <class T>
  static __device__ std::int64_t count(T x) {
    return static_cast<std::int64_t>(x);
  }
  template <class T>
  static __device__ T result(std::int64_t count) {
    return static_cast<T>(count);
  }
};
/// Products of 1 and -1, whose negative factors are counted.
template <class A>
struct Elements<ks::Prod<A>> {
  template <class T>
  static __device__ T exact(std::uint64_t bits) {
    return static_cast<T>(bits % 2 == 0 ? 1 : -1);
  }
  template <class T>
  static __device__ T natural(std::uint64_t bits) {
    return static_cast<T>(1 + (static_cast<double>(bits >> 11) * 0x1p-53 - 0.5) / 1024);
  }
  template <class T>
  static __device__ std::int64_t count(T x) {
    return x < 0 ? 1 : 0;
  }
  template <class T>
  static __device__ T result(std::int64_t count) {
    return static_cast<T>(count % 2 == 0 ? 1 : -1);
  }
};

template <class Of, class T>
__global__ void fill_random(T* in, bool* mask, std::int64_t elements, Data data) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    const std::uint64_t bits = scramble(static_cast<std::uint64_t>(i));
    in[i] = data == Data::exact ? Of::template exact<T>(bits) : Of::template natural<T>(bits);
    if (mask != nullptr) mask[i] = (bits >> 32) % 4 != 0;
  }
}

// The plain scan: threads fold segments of lines, one thread per line scans the segment totals, and
// threads replay the segments.

/// Elements that a thread folds.
inline std::int64_t length_of_segment(const Shape& shape) {
  return std::max<std::int64_t>(256, (shape.n + 65535) / 65536);
}

/// Calls f(i, k, j, value) for the elements of segment number t, in the order of the scan;
/// neighbouring lines have neighbouring numbers.
template <class Of, class T, class F>
__device__ void for_segment(const Shape& shape, std::int64_t length, std::int64_t segments,
                            std::int64_t t, const T* in, const bool* mask, const F& f) {
  const std::int64_t j = t % shape.inner;
  const std::int64_t begin = t / shape.inner % segments * length;
  const std::int64_t end = begin + length < shape.n ? begin + length : shape.n;
  const std::int64_t i = t / shape.inner / segments;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t at = shape.place(i, k, j);
    f(i, k, j, mask != nullptr && !mask[at] ? 0 : Of::count(in[at]));
  }
}
template <class Of, class T>
__global__ void fold_segments(Shape shape, std::int64_t length, std::int64_t segments, const T* in,
                              const bool* mask, std::int64_t* sums) {
  const std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (t >= shape.lines() * segments) return;
  std::int64_t sum = 0;
  for_segment<Of>(shape, length, segments, t, in, mask,
                  [&](std::int64_t, std::int64_t, std::int64_t, std::int64_t x) { sum += x; });
  sums[t] = sum;
}
__global__ static void scan_segments(Shape shape, std::int64_t segments, std::int64_t* sums) {
  const std::int64_t line = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (line >= shape.lines()) return;
  std::int64_t* at = sums + line / shape.inner * segments * shape.inner + line % shape.inner;
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < segments; ++s, at += shape.inner) {
    const std::int64_t next = *at;
    *at = sum;
    sum += next;
  }
}
template <class Of, class T, class Out>
__global__ void compare_segments(Shape shape, std::int64_t length, std::int64_t segments,
                                 const T* in, const bool* mask, const std::int64_t* sums,
                                 const Out* out, unsigned long long* wrong) {
  const std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (t >= shape.lines() * segments) return;
  std::int64_t sum = sums[t];
  unsigned long long different = 0;
  const Shape results = shape.of_results();
  const auto compare = [&](std::int64_t i, std::int64_t k, std::int64_t j) {
    different += out[results.place(i, k, j)] == Of::template result<Out>(sum) ? 0 : 1;
  };
  for_segment<Of>(shape, length, segments, t, in, mask,
                  [&](std::int64_t i, std::int64_t k, std::int64_t j, std::int64_t x) {
                    if (k == 0 && shape.extra() > 0) compare(i, 0, j);
                    if (shape.results == Results::exclusive) compare(i, k, j);
                    sum += x;
                    if (shape.results != Results::exclusive) compare(i, k + shape.extra(), j);
                  });
  if (different > 0) atomicAdd(wrong, different);
}

/// A function that reads an array.
template <class T>
struct ElementsOf {
  const T* data;
  std::int64_t slab, along;

  __device__ T operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return data[i * slab + k * along + j];
  }
};

/// Scans of In in A, stored as Out.
template <class A, class In, class Out, Input input = Input::array, class Op = ks::Sum<A>>
struct RandomScan {
  static constexpr bool is_masked = input == Input::masked;
  using Of = Elements<Op>;
  using Values = std::conditional_t<input == Input::computed, ks::impl::Computed<3, ElementsOf<In>>,
                                    ks::impl::Array<const In>>;
  using Scanned =
      std::conditional_t<is_masked,
                         ks::impl::Selected<A, Values, ks::impl::Array<const ks::impl::StoredBool>>,
                         Values>;
  using P = ks::impl::Problem<A, Op, Scanned, Out, ks::impl::CommonStart<A>, Out>;

  static unsigned blocks_for(std::int64_t threads) {
    return static_cast<unsigned>((threads + 255) / 256);
  }
  static void fill(const Arrays& arrays, std::int64_t elements, Data data) {
    fill_random<Of><<<4096, 256>>>(static_cast<In*>(arrays.in), is_masked ? arrays.mask : nullptr,
                                   elements, data);
    check(cudaGetLastError());
  }
  static std::size_t workspace_bytes(const Shape& shape) {
    return ks::impl::cuda::Backend::workspace_bytes<P>(test::Stream{}, shape.n, shape.lines());
  }
  static void scan(const Shape& shape, const Arrays& arrays, std::byte* workspace) {
    // Merge dimensions, as a call of the library does.
    ks::impl::Batch batch{shape.lines(), 0, {}};
    const Shape results = shape.of_results();
    const std::int64_t along = shape.is_backward ? -shape.along() : shape.along();
    ks::impl::Strides strides{along, {}};
    ks::impl::Strides strides_of_results{along, {}};
    ks::impl::Strides strides_of_lines{0, {}};  // in an array without the axis
    const auto add = [&](std::int64_t extent, std::int64_t stride, std::int64_t stride_of_results,
                         std::int64_t stride_of_lines) {
      if (extent == 1) return;
      batch.extent[batch.rank] = extent;
      strides_of_lines.batch[batch.rank] = stride_of_lines;
      strides_of_results.batch[batch.rank] = stride_of_results;
      strides.batch[batch.rank++] = stride;
    };
    add(shape.outer, shape.slab(), results.slab(), shape.inner);
    add(shape.inner, 1, 1, 1);
    const auto* const in = static_cast<const In*>(arrays.in);
    const std::int64_t first = shape.place(0, 0, 0);
    const auto scanned = [&]() -> Scanned {
      if constexpr (input == Input::computed) {
        return {{in + shape.offset, shape.slab(), shape.along()},
                {shape.outer, shape.n, shape.inner},
                1,
                shape.is_backward ? shape.n - 1 : 0,
                shape.is_backward ? -1 : 1,
                strides_of_lines};
      } else if constexpr (is_masked) {
        return {{in + first, strides},
                {ks::impl::as_stored_bools(arrays.mask) + first, strides},
                Op::identity()};
      } else {
        return {in + first, strides};
      }
    }();
    const bool is_exclusive = shape.results == Results::exclusive;
    const P p{
        is_exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan,
        shape.n,
        batch,
        is_exclusive ? ks::impl::Form::exclusive : ks::impl::Form::inclusive,
        shape.extra() > 0 ? ks::impl::Extra::first : ks::impl::Extra::none,
        Op{},
        ks::impl::Maybe<A>(Op::identity()),
        scanned,
        {static_cast<Out*>(arrays.out) + results.place(0, shape.extra(), 0), strides_of_results},
        {},
        {nullptr, {}}};
    ks::impl::cuda::Backend{}.scan(test::Stream{}, p, workspace);
  }
  static std::int64_t segments(const Shape& shape) {
    return (shape.n + length_of_segment(shape) - 1) / length_of_segment(shape);
  }
  static std::size_t reference_bytes(const Shape& shape) {
    return static_cast<std::size_t>(shape.lines() * segments(shape) + 1) * sizeof(std::int64_t);
  }
  static std::int64_t wrong(const Shape& shape, const Arrays& arrays, void* memory) {
    auto* const count = static_cast<unsigned long long*>(memory);
    auto* const sums = static_cast<std::int64_t*>(memory) + 1;
    const auto* const in = static_cast<const In*>(arrays.in);
    const bool* const mask = is_masked ? arrays.mask : nullptr;
    const std::int64_t length = length_of_segment(shape);
    const unsigned blocks = blocks_for(shape.lines() * segments(shape));
    check(cudaMemsetAsync(count, 0, sizeof *count));
    fold_segments<Of><<<blocks, 256>>>(shape, length, segments(shape), in, mask, sums);
    scan_segments<<<blocks_for(shape.lines()), 256>>>(shape, segments(shape), sums);
    compare_segments<Of><<<blocks, 256>>>(shape, length, segments(shape), in, mask, sums,
                                          static_cast<const Out*>(arrays.out), count);
    check(cudaGetLastError());
    unsigned long long result = 0;
    check(cudaMemcpy(&result, count, sizeof result, cudaMemcpyDeviceToHost));
    return static_cast<std::int64_t>(result);
  }
  static RandomKind kind(const char* option, const char* type, const char* variant) {
    return {option,      type, variant,         sizeof(In), is_masked ? sizeof(bool) : 0,
            sizeof(Out), fill, workspace_bytes, scan,       reference_bytes,
            wrong};
  }
};

}  // namespace perf
