// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The CUDA kernels on raw pointers, without Kokkos: nvcc compiles this file for any architecture.
// On a GPU it compares every kernel with a loop on the host.
//
//   nvcc -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
//     unit_tests/cuda/kernels.cu -o kernels && ./kernels [N]
//
// N is the length of the longest lines, for sanitizers.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <vector>

#include <KokkosScan/impl/cuda/fold.hpp>
#include <KokkosScan/impl/cuda/select.hpp>

#include "stream.hpp"

namespace test {

namespace impl = KokkosScan::impl;
namespace cuda = KokkosScan::impl::cuda;

/// Memory that both sides can read.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count) {
    check(cudaMallocManaged(&m_data, count * sizeof(T) + sizeof(T)));
  }
  ~Memory() { cudaFree(m_data); }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  T* data() const { return m_data; }

 private:
  T* m_data;
};

/// The layout of lines: contiguous, or interleaved.
enum class Layout { rows, columns };
enum class Masked { no, yes };

template <class T, class Op, Masked masked>
auto problem_of(T const* x, bool const* mask, T* y, std::int64_t n, std::int64_t lines,
                Layout layout, bool backward, impl::Form form) {
  std::int64_t const along = layout == Layout::rows ? 1 : lines;
  std::int64_t const across = layout == Layout::rows ? n : 1;
  std::int64_t const first = backward ? (n - 1) * along : 0;
  impl::Strides const strides{backward ? -along : along, {across}};
  using Values = impl::Array<T const>;
  using Mask = impl::Array<impl::StoredBool const>;
  using In = std::conditional_t<masked == Masked::yes, impl::Selected<T, Values, Mask>, Values>;
  In in;
  if constexpr (masked == Masked::yes) {
    in = {{x + first, strides}, {impl::as_stored_bools(mask) + first, strides}, Op::identity()};
  } else {
    in = {x + first, strides};
  }
  using P = impl::Problem<T, Op, In, T, impl::CommonStart<T>, T>;
  return P{impl::Function::inclusive_scan, n,  {lines, 1, {lines}},  form, impl::Extra::none, Op{},
           impl::Maybe<T>(Op::identity()), in, {y + first, strides}, {},   {nullptr, {}}};
}

/// Compares every result with a loop in the accumulator of Sum<double>.
template <class T, class Op, Masked masked = Masked::no>
bool passes(std::int64_t n, std::int64_t lines, Layout layout, bool backward, impl::Form form) {
  auto const count = static_cast<std::size_t>(n * lines);
  Memory<T> x(count), y(count);
  Memory<bool> mask(count);
  std::mt19937 random(static_cast<unsigned>(n));
  for (std::size_t i = 0; i < count; ++i) {
    auto const bits = random();
    // Products stay near 1.
    x.data()[i] = std::is_same_v<Op, KokkosScan::Prod<T>>
                      ? static_cast<T>(1 + (bits % 3 - 1.0) / 65536)
                      : static_cast<T>(bits % 1024);
    mask.data()[i] = bits % 7 < 5;
    y.data()[i] = static_cast<T>(-1);
  }
  auto const p =
      problem_of<T, Op, masked>(x.data(), mask.data(), y.data(), n, lines, layout, backward, form);
  using P = std::remove_const_t<decltype(p)>;
  Memory<std::byte> workspace(cuda::Backend::workspace_bytes<P>(Stream{}, n, lines));
  cuda::Backend{}.scan(Stream{}, p, workspace.data());
  check(cudaDeviceSynchronize());

  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Op const op;
  for (std::int64_t line = 0; line < lines; ++line) {
    Wide run = Op::identity();
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t const place = backward ? n - 1 - k : k;
      std::int64_t const i = layout == Layout::rows ? line * n + place : place * lines + line;
      T const value = masked == Masked::yes && !mask.data()[i] ? Op::identity() : x.data()[i];
      Wide const before = run;
      if constexpr (std::is_same_v<Op, KokkosScan::Sum<T>>) {
        run += static_cast<Wide>(value);
      } else if constexpr (std::is_same_v<Op, KokkosScan::Prod<T>>) {
        run *= static_cast<Wide>(value);
      } else {
        run = op(static_cast<T>(run), value);
      }
      Wide const expected = form == impl::Form::inclusive ? run : before;
      // Sums have an error of a few u for any length; each factor of a product may add one.
      double const u = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
      double const roundings =
          std::is_same_v<Op, KokkosScan::Prod<T>> ? static_cast<double>(k) + 8 : 64;
      double const error = std::abs(double(y.data()[i]) - double(expected));
      bool const is_equal = y.data()[i] == static_cast<T>(expected);
      if (!is_equal && !(error <= roundings * u * std::abs(double(expected)))) {
        std::printf("line %lld of %lld, element %lld of %lld, %s, %s, %s: %g instead of %g\n",
                    static_cast<long long>(line), static_cast<long long>(lines),
                    static_cast<long long>(k), static_cast<long long>(n),
                    layout == Layout::rows ? "rows" : "columns", backward ? "backward" : "forward",
                    form == impl::Form::inclusive ? "inclusive" : "exclusive", double(y.data()[i]),
                    double(expected));
        return false;
      }
    }
  }
  return true;
}

std::int64_t longest = 1'000'003;

template <class T, class Op, Masked masked = Masked::no>
int failures(char const* name) {
  int failed = 0;
  for (std::int64_t const n :
       {1, 5, 36, 100, 1000, 1025, 4096, 8191, 9217, 12'000, 32'768, 40'001, 100'000, 1'000'003}) {
    if (n > longest) continue;
    for (int mode = 0; mode < 8; ++mode) {
      bool const are_columns = mode % 2 == 1;
      // Of columns narrow, aligned and unaligned rows, both in one strip and in several; of short
      // ones runs of bytes in tiles of half rows of chunks.
      std::int64_t lines = n > 100'000 ? 2 : 37;
      if (are_columns && mode == 3) lines = 5;
      if (are_columns && mode == 5 && n <= 12'000) lines = n > 9000 ? 100 : 128;
      if (are_columns && mode == 7 && n <= 12'000) lines = n > 4096 ? 131 : 101;
      failed += passes<T, Op, masked>(n, lines, are_columns ? Layout::columns : Layout::rows,
                                      mode / 2 % 2 == 1,
                                      mode < 4 ? impl::Form::inclusive : impl::Form::exclusive)
                    ? 0
                    : 1;
    }
  }
  // Columns so many that each thread may have one.
  for (std::int64_t const n : {4, 9, 65, 100}) {
    for (bool const backward : {false, true}) {
      failed += passes<T, Op, masked>(n, 90'001, Layout::columns, backward, impl::Form::exclusive)
                    ? 0
                    : 1;
    }
  }
  std::printf("%s: %s\n", name, failed == 0 ? "passed" : "FAILED");
  return failed;
}

/// Whether folds of lines are those of a loop: of whole numbers, whose sums are exact when carried.
template <class T>
bool folds(std::int64_t n, std::int64_t lines, Layout layout) {
  auto const count = static_cast<std::size_t>(n * lines);
  Memory<T> x(count), y(count), totals(static_cast<std::size_t>(lines));
  Memory<bool> mask(count);
  std::mt19937 random(static_cast<unsigned>(n));
  for (std::size_t i = 0; i < count; ++i) x.data()[i] = static_cast<T>(random() % 1024);
  for (std::int64_t line = 0; line < lines; ++line) totals.data()[line] = static_cast<T>(-1);
  auto p = problem_of<T, KokkosScan::Sum<T>, Masked::no>(x.data(), mask.data(), y.data(), n, lines,
                                                         layout, false, impl::Form::inclusive);
  p.totals = {totals.data(), {0, {1}}};
  Memory<std::byte> workspace(cuda::LineFold::workspace_bytes<decltype(p)>(Stream{}, n, lines) +
                              16);
  cuda::LineFold::fold(Stream{}, p, workspace.data());
  check(cudaDeviceSynchronize());
  for (std::int64_t line = 0; line < lines; ++line) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      sum += double(x.data()[layout == Layout::rows ? line * n + k : k * lines + line]);
    }
    if (totals.data()[line] != static_cast<T>(sum)) return false;
  }
  return true;
}
template <class T>
int failures_of_folds(char const* name) {
  int failed = 0;
  for (std::int64_t const n : {1, 5, 36, 128, 129, 1000, 12'000, 1'000'003}) {
    if (n > longest) continue;
    for (std::int64_t const lines : {1, 37, 20'000}) {
      if (n * lines > 40'000'000) continue;
      failed += folds<T>(n, lines, Layout::rows) ? 0 : 1;
      failed += folds<T>(n, lines, Layout::columns) ? 0 : 1;
    }
  }
  std::printf("%s: %s\n", name, failed == 0 ? "passed" : "FAILED");
  return failed;
}

struct IsOdd {
  __host__ __device__ bool operator()(std::uint32_t x) const { return x % 2 == 1; }
};

/// Whether a selection has the elements that a loop keeps, and nothing is written behind them.
template <class Keep>
bool selects(std::int64_t n, std::int64_t lines) {
  auto const count = static_cast<std::size_t>(n * lines);
  Memory<std::uint32_t> x(count), y(count);
  Memory<bool> mask(count);
  Memory<std::int64_t> counts(static_cast<std::size_t>(lines));
  std::mt19937 random(static_cast<unsigned>(n));
  for (std::size_t i = 0; i < count; ++i) {
    x.data()[i] = static_cast<std::uint32_t>(random()) & 0x7FFF'FFFF;
    mask.data()[i] = IsOdd{}(x.data()[i]);
    y.data()[i] = ~std::uint32_t{0};
  }
  impl::Strides const strides{1, {n}};
  auto const keep = [&] {
    if constexpr (impl::is_predicate<Keep>) {
      return Keep{IsOdd{}};
    } else {
      return Keep{impl::as_stored_bools(mask.data()), strides};
    }
  }();
  using In = impl::Array<std::uint32_t const>;
  impl::Selection<In, Keep, std::uint32_t, std::int64_t> const selection{
      n,    {lines, 1, {lines}}, {x.data(), strides},
      keep, {y.data(), strides}, {counts.data(), {0, {1}}}};
  using S = std::remove_const_t<decltype(selection)>;
  Memory<std::byte> workspace(cuda::SelectBackend{}.workspace_bytes<S>(Stream{}, n, lines) + 16);
  cuda::SelectBackend{}.select(Stream{}, selection, workspace.data());
  check(cudaDeviceSynchronize());
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t kept = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      std::uint32_t const value = x.data()[line * n + k];
      if (IsOdd{}(value) && y.data()[line * n + kept++] != value) return false;
    }
    if (counts.data()[line] != kept) return false;
    for (std::int64_t k = kept; k < n; ++k) {
      if (y.data()[line * n + k] != ~std::uint32_t{0}) return false;
    }
  }
  return true;
}

template <class Keep>
int failures_of_selection(char const* name) {
  int failed = 0;
  for (std::int64_t const n : {1, 5, 100, 1024, 1025, 4096, 4099, 100'000, 1'000'003}) {
    if (n > longest) continue;
    for (std::int64_t const lines : {1, 37}) failed += selects<Keep>(n, lines) ? 0 : 1;
  }
  std::printf("%s: %s\n", name, failed == 0 ? "passed" : "FAILED");
  return failed;
}

}  // namespace test

int main(int argc, char** argv) {
  if (argc > 1) test::longest = std::atoll(argv[1]);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }
  namespace ks = KokkosScan;
  using test::failures;
  int const failed =
      failures<float, ks::Sum<float>>("sums of float") +
      failures<float, ks::Sum<float>, test::Masked::yes>("masked sums of float") +
      failures<float, ks::Prod<float>>("products of float") +
      failures<float, ks::Max<float>>("maxima of float") +
      failures<double, ks::Sum<double>>("sums of double") +
      failures<std::int64_t, ks::Sum<std::int64_t>>("sums of int64") +
      test::failures_of_folds<float>("folds of float") +
      test::failures_of_folds<std::int64_t>("folds of int64") +
      test::failures_of_selection<test::impl::Predicate<test::IsOdd>>("selections by a predicate") +
      test::failures_of_selection<test::impl::Array<test::impl::StoredBool const>>(
          "selections by a mask");
  return failed == 0 ? 0 : 1;
}
