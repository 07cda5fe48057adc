// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_outputs [--threads=T]
/// measures linear recurrences and outputs that compute on a host, beside a loop that moves the
/// same bytes and beside the plain loop over lines: a table in Markdown.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Cube = perf::Field<Exec, float>;

struct Shape {
  std::size_t outer, n, inner;
};

struct Transmission {
  KOKKOS_FUNCTION float operator()(float tau) const { return std::exp(-tau); }
};
struct StoreTwo {
  Cube at, twice;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, std::int64_t j, float x) const {
    at(i, k, j) = x;
    twice(i, k, j) = 2 * x;
  }
};

/// Loops over lines, some neighbouring ones at a time: f(first, stride, count of lines).
struct Loops {
  const Exec& exec;
  Shape shape;

  template <class F>
  void operator()(const F& f) const {
    const auto n = static_cast<std::int64_t>(shape.n);
    const auto inner = static_cast<std::int64_t>(shape.inner);
    const std::int64_t width = std::min<std::int64_t>(inner, 1024);
    const std::int64_t units = (inner + width - 1) / width;
    const auto outer = static_cast<std::int64_t>(shape.outer);
    Kokkos::parallel_for("loops", perf::Range<Exec>(exec, 0, outer * units),
                         [=](std::int64_t unit) {
                           const std::int64_t first = unit % units * width;
                           f(unit / units * n * inner + first, std::min(width, inner - first));
                         });
  }
};

class Table {
 public:
  explicit Table(const Shape& shape) : m_shape(shape) {}

  /// The medians of five rounds, in turns.
  void row(const char* what, const std::vector<std::function<void()>>& ways) const {
    const Exec exec;
    std::vector<std::vector<double>> times(ways.size());
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        times[i].push_back(perf::seconds(exec, ways[i]));
      }
    }
    const auto size = static_cast<double>(m_shape.outer * m_shape.n * m_shape.inner);
    std::vector<double> ns(times.size());
    for (std::size_t i = 0; i < ns.size(); ++i) ns[i] = perf::median(times[i]) * 1e9 / size;
    std::printf("| (%zu, %zu, %zu) | %s | %.2f | %.2f | %.2f | %.2f |\n", m_shape.outer, m_shape.n,
                m_shape.inner, what, ns[0] / ns[1], ns[1], ns[0], ns[2]);
    std::fflush(stdout);
  }

 private:
  Shape m_shape;
};

void measure(const Shape& s) {
  const Exec exec;
  const auto cube = [&](const std::string& label) {
    return Cube(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), s.outer, s.n, s.inner);
  };
  const Cube a = cube("a"), b = cube("b"), h = cube("h"), g = cube("g");
  float* const pa = a.data();
  float* const pb = b.data();
  float* const ph = h.data();
  float* const pg = g.data();
  const auto size = static_cast<std::int64_t>(a.size());
  const auto n = static_cast<std::int64_t>(s.n), inner = static_cast<std::int64_t>(s.inner);
  Kokkos::parallel_for("fill", perf::Range<Exec>(exec, 0, size), [=](std::int64_t i) {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    pa[i] = static_cast<float>(bits >> 40) * 0x1p-24F;
    pb[i] = static_cast<float>(bits >> 20 & 0xffffff) * 0x1p-24F / static_cast<float>(n);
    ph[i] = pg[i] = 0;
  });
  const Loops loops{exec, s};
  const auto pieces = [&](const auto& f) {
    constexpr std::int64_t piece = 16384;
    Kokkos::parallel_for("move", perf::Range<Exec>(exec, 0, (size + piece - 1) / piece),
                         [=](std::int64_t i) { f(i * piece, std::min(size, (i + 1) * piece)); });
  };
  const auto move_three = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ph[i] = pa[i] + pb[i];
    });
  };
  const auto recurrence_loop = [&] {
    loops([=](std::int64_t first, std::int64_t count) {
      float state[1024] = {};
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t w = 0; w < count; ++w) {
          const std::int64_t at = first + k * inner + w;
          ph[at] = state[w] = pa[at] * state[w] + pb[at];
        }
      }
    });
  };
  const Table table(s);
  const auto along = ks::along(1);
  table.row("recurrence",
            {move_three, [&] { ks::linear_recurrence(exec, a, b, h, along); }, recurrence_loop});
  table.row("recurrence, in order",
            {move_three, [&] { ks::linear_recurrence(exec, a, b, h, along.in_order()); },
             recurrence_loop});
  const Cube& x = b;
  const auto move_two = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ph[i] = pb[i];
    });
  };
  const auto sum_loop = [&](const auto& store) {
    loops([=](std::int64_t first, std::int64_t count) {
      float sum[1024] = {};
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t w = 0; w < count; ++w) {
          const std::int64_t at = first + k * inner + w;
          store(at, sum[w] += pb[at]);
        }
      }
    });
  };
  table.row("sum", {move_two, [&] { ks::inclusive_scan(exec, x, h, along); },
                    [&] { sum_loop([=](std::int64_t i, float v) { ph[i] = v; }); }});
  const auto exponentials = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ph[i] = std::exp(-pb[i]);
    });
  };
  table.row(
      "exp(-sum), projected, of exp alone",
      {exponentials, [&] { ks::inclusive_scan(exec, x, ks::projected(h, Transmission{}), along); },
       [&] { sum_loop([=](std::int64_t i, float v) { ph[i] = std::exp(-v); }); }});
  const auto move_to_two = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        ph[i] = pb[i];
        pg[i] = 2 * pb[i];
      }
    });
  };
  table.row("sum to two Views, for_each_result",
            {move_to_two,
             [&] {
               ks::inclusive_scan(exec, x, ks::for_each_result(h, StoreTwo{h, g}), along);
             },
             [&] {
               sum_loop([=](std::int64_t i, float v) {
                 ph[i] = v;
                 pg[i] = 2 * v;
               });
             }});
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::InitializationSettings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0) {
      settings.set_num_threads(std::atoi(argument.c_str() + 10));
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of outputs.cpp\n", argv[i]);
      return 2;
    }
  }
  const Kokkos::ScopeGuard guard(settings);
  std::printf(
      "| (outer, n, inner) | what | of the bytes alone | ns an element | bytes alone | plain loop "
      "|\n|---|---|---|---|---|---|\n");
  for (const Shape& s :
       {Shape{4096, 4096, 1}, {200'000, 72, 1}, {1, 72, 200'000}, {4, 1024, 4096}}) {
    measure(s);
  }
  return 0;
}
