// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures scans and copies of the same bytes alternately, so that clock changes or other load
/// affect all of them alike.

#include <benchmark/benchmark.h>

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

namespace perf {

namespace impl = KokkosScan::impl::host;

/// (outer, n, inner) with lines along the middle, to which every dense array and axis reduces.
template <class Exec, class T>
using Field = Kokkos::View<T***, Kokkos::LayoutRight, Exec>;

template <class Exec>
using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

template <class Exec>
inline constexpr bool is_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// Copies element by element.
template <class T>
struct Copy {
  const T* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// Copies a thread's share of memory, which begins at a multiple of 64 bytes.
struct CopyShare {
  const char* from;
  char* to;
  std::int64_t bytes;
  std::int64_t shares;
  bool streams;

  void operator()(std::int64_t share) const {
    constexpr std::int64_t page = 4096;
    const std::int64_t pages = (bytes + page - 1) / page;
    const std::int64_t begin = std::min(pages * share / shares * page, bytes);
    const std::int64_t end = std::min(pages * (share + 1) / shares * page, bytes);
    if (!streams) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
      return;
    }
    std::int64_t i = begin;
    for (; i + 64 <= end; i += 64) {
      for (int j = 0; j < 64; j += 16) {
        const auto* lanes = reinterpret_cast<const float*>(from + i + j);
        impl::stream_register(reinterpret_cast<float*>(to + i + j), impl::load_register(lanes));
      }
    }
    std::memcpy(to + i, from + i, static_cast<std::size_t>(end - i));
    impl::end_streaming();
  }
};

/// The value of an argument that begins with `option`, as in "--threads=", or null.
inline const char* value_of(const char* argument, const char* option) {
  const std::size_t length = std::strlen(option);
  return std::strncmp(argument, option, length) == 0 ? argument + length : nullptr;
}

/// The time of `work` in seconds, from fence to fence.
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

/// The candidate copies: Kokkos::deep_copy, a parallel_for, and on hosts memcpy and non-temporal
/// stores of one share per thread.
template <class Exec, class T>
std::vector<std::function<void()>> copies(const Exec& exec, const Field<Exec, T>& from,
                                          const Field<Exec, T>& to) {
  std::vector<std::function<void()>> ways{
      [=] { Kokkos::deep_copy(exec, to, from); },
      [=] {
        Kokkos::parallel_for("perf copy",
                             Range<Exec>(exec, 0, static_cast<std::int64_t>(from.size())),
                             Copy<T>{from.data(), to.data()});
      }};
  if constexpr (is_host<Exec>) {
    for (const bool streams : {false, true}) {
      const CopyShare copy{
          reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
          static_cast<std::int64_t>(from.size() * sizeof(T)), exec.concurrency(), streams};
      ways.emplace_back(
          [=] { Kokkos::parallel_for("perf copy", Range<Exec>(exec, 0, copy.shares), copy); });
    }
  }
  return ways;
}

/// Runs the benchmark loop over `scan`, which reads `in` and writes at least as many elements.
///
/// Counters: bytes_per_second, and fraction_of_copy, the same divided by the bytes per second of
/// the fastest way to copy `in` to `copied`.
template <class Exec, class T, class Scan>
void measure(benchmark::State& state, const Exec& exec, const Field<Exec, T>& in,
             const Field<Exec, T>& copied, std::size_t scan_bytes, const Scan& scan) {
  const auto ways = copies(exec, in, copied);
  std::vector<double> scans;
  std::vector<std::vector<double>> times(ways.size());
  scan();  // warm-up
  const auto measure_copies = [&] {
    for (std::size_t i = 0; i < ways.size(); ++i) times[i].push_back(seconds(exec, ways[i]));
  };
  for ([[maybe_unused]] auto _ : state) {
    scans.push_back(seconds(exec, scan));
    state.SetIterationTime(scans.back());
    measure_copies();
  }
  while (times[0].size() < 5) measure_copies();
  double copy = median(times[0]);
  for (const auto& way : times) copy = std::min(copy, median(way));
  const double copy_rate = 2.0 * static_cast<double>(in.size() * sizeof(T)) / copy;
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(scan_bytes));
  state.counters["fraction_of_copy"] = static_cast<double>(scan_bytes) / median(scans) / copy_rate;
}

}  // namespace perf
