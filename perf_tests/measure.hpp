// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures a scan beside a copy of the same bytes, in turns, so that a change of clocks or a busy
/// neighbour meets both alike.

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perf {

template <class Exec, class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec>;

template <class Exec>
using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

/// Copies element by element.
template <class T>
struct Copy {
  const T* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// Seconds of `work` from fence to fence.
template <class Exec, class Work>
double seconds(const Exec& exec, const Work& work) {
  exec.fence();
  const auto begin = std::chrono::steady_clock::now();
  work();
  exec.fence();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Runs the benchmark loop over `scan`, which reads `in` and writes at least as many elements.
///
/// Counters: bytes_per_second, and fraction_of_copy, the same divided by the bytes per second of
/// the faster of Kokkos::deep_copy and a parallel_for that copy `in` to `copied`.
template <class Exec, class T, class Scan>
void measure(benchmark::State& state, const Exec& exec, const Matrix<Exec, T>& in,
             const Matrix<Exec, T>& copied, std::size_t scan_bytes, const Scan& scan) {
  const Range<Exec> elements(exec, 0, static_cast<std::int64_t>(in.size()));
  const Copy<T> copy{in.data(), copied.data()};
  std::vector<double> scans;
  std::vector<double> deep_copies;
  std::vector<double> copies;
  scan();  // warms up
  const auto measure_copies = [&] {
    deep_copies.push_back(seconds(exec, [&] { Kokkos::deep_copy(exec, copied, in); }));
    copies.push_back(seconds(exec, [&] { Kokkos::parallel_for("perf copy", elements, copy); }));
  };
  for ([[maybe_unused]] auto _ : state) {
    scans.push_back(seconds(exec, scan));
    state.SetIterationTime(scans.back());
    measure_copies();
  }
  while (copies.size() < 5) measure_copies();
  const double copy_rate = 2.0 * static_cast<double>(in.size() * sizeof(T)) /
                           std::min(median(deep_copies), median(copies));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(scan_bytes));
  state.counters["fraction_of_copy"] = static_cast<double>(scan_bytes) / median(scans) / copy_rate;
}

}  // namespace perf
