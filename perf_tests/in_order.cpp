// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_in_order [--threads=T] [--only=TEXT]
/// measures in-order scans of selected shapes, compared with a copy, the default scan and the plain
/// loop, whose bits they must have. Prints a Markdown table.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "measure.hpp"

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultHostExecutionSpace;

struct Shape {
  std::size_t outer, n, inner;
};

/// The plain loop, for several neighbouring lines of one slab.
template <class T>
struct PlainLoop {
  const T* x;
  const bool* mask;  ///< null if there is no mask
  T* y;
  std::int64_t n, inner, width;

  void operator()(std::int64_t unit) const {
    const std::int64_t units = (inner + width - 1) / width;
    const std::int64_t first = unit / units * n * inner + unit % units * width;
    const std::int64_t count = std::min(width, inner - unit % units * width);
    if (count == 1 && mask == nullptr) {
      T a = 0;
      for (std::int64_t k = 0; k < n; ++k) y[first + k * inner] = a += x[first + k * inner];
      return;
    }
    std::vector<T> acc(static_cast<std::size_t>(count), T(0));
    T* const __restrict a = acc.data();
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t row = first + k * inner;
      for (std::int64_t i = 0; i < count; ++i) {
        if (mask == nullptr || mask[row + i]) a[i] += x[row + i];
        y[row + i] = a[i];
      }
    }
  }
};

template <class T>
void measure(const char* type, const Shape& s, bool is_masked) {
  using Cube = perf::Field<Exec, T>;
  const Exec exec;
  const Cube x(Kokkos::view_alloc("x", Kokkos::WithoutInitializing), s.outer, s.n, s.inner);
  const Cube y(Kokkos::view_alloc("y", Kokkos::WithoutInitializing), s.outer, s.n, s.inner);
  const Cube expected(Kokkos::view_alloc("z", Kokkos::WithoutInitializing), s.outer, s.n, s.inner);
  const Kokkos::View<bool***, Kokkos::LayoutRight, Exec> mask("mask", is_masked ? s.outer : 0, s.n,
                                                              s.inner);
  const auto size = static_cast<std::int64_t>(x.size());
  T* const values = x.data();
  bool* const selected = mask.data();
  Kokkos::parallel_for("fill", perf::Range<Exec>(exec, 0, size), [=](std::int64_t i) {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    values[i] = static_cast<T>(bits >> 40) * static_cast<T>(0x1p-24);
    if (is_masked) selected[i] = (bits >> 20) % 3 != 0;
  });
  const auto scan = [&](const auto& lines) {
    if (is_masked) {
      ks::inclusive_scan(exec, ks::masked(x, mask), y, lines);
    } else {
      ks::inclusive_scan(exec, x, y, lines);
    }
  };
  const auto n = static_cast<std::int64_t>(s.n), inner = static_cast<std::int64_t>(s.inner);
  const std::int64_t width = std::min<std::int64_t>(inner, 1024);
  const PlainLoop<T> loop{values, is_masked ? selected : nullptr, expected.data(), n, inner, width};
  const std::int64_t units = static_cast<std::int64_t>(s.outer) * ((inner + width - 1) / width);
  const std::function<void()> ways[] = {
      [&] { scan(ks::along(1).in_order()); }, [&] { scan(ks::along(1)); },
      [&] { Kokkos::parallel_for("plain", perf::Range<Exec>(exec, 0, units), loop); }};
  std::vector<double> times[3];
  const auto copies = perf::copies(exec, x, y);
  std::vector<std::vector<double>> copied(copies.size());
  for (int round = 0; round < 5; ++round) {
    for (int i = 2; i >= 0; --i) times[i].push_back(perf::seconds(exec, ways[i]));
    if (std::memcmp(y.data(), expected.data(), x.size() * sizeof(T)) != 0) {
      std::printf("wrong\n");
      std::exit(1);
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copied[i].push_back(perf::seconds(exec, copies[i]));
    }
  }
  double copy = perf::median(copied[0]);
  for (const auto& way : copied) copy = std::min(copy, perf::median(way));
  const double in_order = perf::median(times[0]);
  const auto ns = [&](double seconds) { return seconds * 1e9 / static_cast<double>(size); };
  std::printf("| %s%s | (%zu, %zu, %zu) | %.2f | %.2f | %.2f | %.2f | %.2f |\n", type,
              is_masked ? ", masked" : "", s.outer, s.n, s.inner, copy / in_order, ns(in_order),
              ns(perf::median(times[1])), ns(perf::median(times[2])), ns(copy));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::InitializationSettings settings;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (const char* const threads = perf::value_of(argv[i], "--threads=")) {
      settings.set_num_threads(std::atoi(threads));
    } else if (const char* const name = perf::value_of(argv[i], "--only=")) {
      only = name;
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of in_order.cpp\n", argv[i]);
      return 2;
    }
  }
  const Kokkos::ScopeGuard guard(settings);
  std::printf(
      "| type | (outer, n, inner) | in order, of a copy | in order, ns an element | by default | "
      "plain loop | copy |\n|---|---|---|---|---|---|---|\n");
  // Rows, short rows, few rows, rows in the caches; wide and narrow columns.
  const Shape shapes[] = {{4096, 4096, 1},   {16384, 1000, 1},  {200'000, 72, 1},
                          {2'000'000, 8, 1}, {8, 2'000'000, 1}, {1, 16'000'000, 1},
                          {64, 1024, 1},     {1, 4096, 4096},   {1, 72, 200'000},
                          {256, 64, 1000},   {1, 64, 1024},     {100'000, 50, 3}};
  for (const Shape& s : shapes) {
    const std::string name =
        std::to_string(s.outer) + "," + std::to_string(s.n) + "," + std::to_string(s.inner);
    if (name.find(only) == std::string::npos) continue;
    measure<float>("float", s, false);
    measure<double>("double", s, false);
    measure<float>("float", s, true);
  }
  return 0;
}
