// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_select [--log2-elements=26] [--seed=1]: measures selections on a host, alternately with
/// std::copy_if on one thread and a copy of the bytes that must be moved. Results are compared with
/// those of std::copy_if. Prints a Markdown table. OMP_NUM_THREADS sets the number of threads.

#include <KokkosScan/select.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultHostExecutionSpace;

struct IsBelow {
  std::uint32_t limit;
  KOKKOS_FUNCTION bool operator()(std::uint32_t x) const { return x < limit; }
};

template <class Work>
double milliseconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}
double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int log2 = 26;
  unsigned seed = 1;
  for (int i = 1; i < argc; ++i) {
    std::sscanf(argv[i], "--log2-elements=%d", &log2);
    std::sscanf(argv[i], "--seed=%u", &seed);
  }
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const Exec exec;
  const std::size_t n = std::size_t{1} << log2;
  const Kokkos::View<std::uint32_t*, Exec> x("x", n), y("y", n);
  const Kokkos::View<bool*, Exec> mask("mask", n);
  const Kokkos::View<std::int64_t, Exec> count("count");
  std::vector<std::uint32_t> expected(n);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < n; ++i) x(i) = static_cast<std::uint32_t>(random());
  std::printf("%d threads, 2^%d uint32\n\n", exec.concurrency(), log2);
  // The size of the copy: at most a mask, an element and a result, so half of 9 bytes.
  const std::size_t room = n + n / 8 + 1;
  const std::vector<std::uint32_t> copied(room, 1);
  std::vector<std::uint32_t> copy_of(room);
  std::printf(
      "| kept | by | select, ms | of a copy | copy_if of a copy | copy_if's time | results |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const double fraction : {0.5, 0.0, 0.01, 0.1, 0.9, 1.0}) {
    const IsBelow keep{static_cast<std::uint32_t>(fraction * 4294967295.0)};
    for (std::size_t i = 0; i < n; ++i) mask(i) = keep(x(i));
    for (const bool by_mask : {false, true}) {
      std::vector<double> own, peer, copy;
      std::size_t kept = 0;
      for (int turn = 0; turn < 6; ++turn) {
        own.push_back(milliseconds([&] {
          by_mask ? ks::select(exec, x, mask, y, count) : ks::select(exec, x, keep, y, count);
          exec.fence();
        }));
        peer.push_back(milliseconds([&] {
          std::size_t k = 0;
          const auto end = by_mask ? std::copy_if(x.data(), x.data() + n, expected.data(),
                                                  [&](std::uint32_t) { return mask(k++); })
                                   : std::copy_if(x.data(), x.data() + n, expected.data(), keep);
          kept = static_cast<std::size_t>(end - expected.data());
        }));
        // A copy reads and writes as many bytes: half of the bytes that must be moved each.
        const auto bytes = static_cast<std::size_t>(static_cast<double>(n) *
                                                    (4 * (1 + fraction) + (by_mask ? 1 : 0)) / 2);
        const auto words = static_cast<std::int64_t>(bytes / 4);
        const auto* const from = copied.data();
        auto* const to = copy_of.data();
        const bool is_right = static_cast<std::size_t>(count()) == kept &&
                              std::memcmp(y.data(), expected.data(), kept * 4) == 0;
        if (!is_right) {
          std::printf("WRONG\n");
          return 1;
        }
        copy.push_back(milliseconds([&] {
          constexpr std::int64_t block = 1 << 16;
          Kokkos::parallel_for("copy",
                               Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                                   exec, 0, (words + block - 1) / block),
                               [=](std::int64_t i) {
                                 const std::int64_t length = std::min(block, words - i * block);
                                 std::memcpy(to + i * block, from + i * block,
                                             static_cast<std::size_t>(length) * 4);
                               });
          exec.fence();
        }));
      }
      // The first round is first touch.
      for (auto* times : {&own, &peer, &copy}) times->erase(times->begin());
      std::printf("| %.2f | %s | %.1f | %.2f | %.2f | %.2f | equal |\n", fraction,
                  by_mask ? "mask" : "predicate", median(own), median(copy) / median(own),
                  median(copy) / median(peer), median(peer) / median(own));
      std::fflush(stdout);
    }
  }
}
