// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_outputs [--threads=T] [--seed=S --count=C]
/// measures linear recurrences and outputs that compute on a host, beside a loop that moves the
/// same bytes and beside the plain loop over lines: a table in Markdown. With a seed it measures C
/// random shapes of about 2^22 elements, a third of them rows and a third along axis 0, recurrences
/// and for_each_result alone, and ends with the worst, the tenth and the median of how many times
/// as fast as the plain loop.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
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

/// The loops that a person would write, up to 1024 neighbouring lines at a time, or one line with
/// its state in a register: state = step(at, state), store(at, i, k, j, state).
struct Loops {
  const Exec& exec;
  Shape shape;

  template <class Step, class Store>
  void operator()(const Step& step, const Store& store) const {
    const auto n = static_cast<std::int64_t>(shape.n);
    const auto inner = static_cast<std::int64_t>(shape.inner);
    const std::int64_t width = std::min<std::int64_t>(inner, 1024);
    const std::int64_t units = (inner + width - 1) / width;
    const auto outer = static_cast<std::int64_t>(shape.outer);
    Kokkos::parallel_for("loops", perf::Range<Exec>(exec, 0, outer * units),
                         [=](std::int64_t unit) {
                           const std::int64_t i = unit / units;
                           const std::int64_t first = unit % units * width;
                           const std::int64_t count = std::min(width, inner - first);
                           if (inner == 1) {
                             float state = 0;
                             for (std::int64_t k = 0; k < n; ++k) {
                               state = step(i * n + k, state);
                               store(i * n + k, i, k, std::int64_t{0}, state);
                             }
                             return;
                           }
                           float states[1024] = {};
                           for (std::int64_t k = 0; k < n; ++k) {
                             for (std::int64_t w = 0; w < count; ++w) {
                               const std::int64_t at = (i * n + k) * inner + first + w;
                               states[w] = step(at, states[w]);
                               store(at, i, k, first + w, states[w]);
                             }
                           }
                         });
  }
};

class Table {
 public:
  Table(const Shape& shape, std::vector<double>& of_loop) : m_shape(shape), m_of_loop(&of_loop) {}

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
    std::printf("| (%zu, %zu, %zu) | %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", m_shape.outer,
                m_shape.n, m_shape.inner, what, ns[0] / ns[1], ns[2] / ns[1], ns[1], ns[0], ns[2]);
    std::fflush(stdout);
    m_of_loop->push_back(ns[2] / ns[1]);
  }

 private:
  Shape m_shape;
  std::vector<double>* m_of_loop;
};

/// Measures a shape, and adds how many times as fast as the plain loop each way was.
void measure(const Shape& s, bool all, std::vector<double>& of_loop) {
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
  const auto n = static_cast<std::int64_t>(s.n);
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
    loops([=](std::int64_t at, float state) { return pa[at] * state + pb[at]; },
          [=](std::int64_t at, std::int64_t, std::int64_t, std::int64_t, float state) {
            ph[at] = state;
          });
  };
  const Table table(s, of_loop);
  const auto along = ks::along(1);
  table.row("recurrence",
            {move_three, [&] { ks::linear_recurrence(exec, a, b, h, along); }, recurrence_loop});
  if (all) {
    table.row("recurrence, in order",
              {move_three, [&] { ks::linear_recurrence(exec, a, b, h, along.in_order()); },
               recurrence_loop});
  }
  const Cube& x = b;
  const auto move_two = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ph[i] = pb[i];
    });
  };
  const auto sum_loop = [&](const auto& store) {
    loops([=](std::int64_t at, float sum) { return sum + pb[at]; }, store);
  };
  using Index = std::int64_t;
  if (all) {
    table.row("sum",
              {move_two, [&] { ks::inclusive_scan(exec, x, h, along); },
               [&] { sum_loop([=](Index at, Index, Index, Index, float v) { ph[at] = v; }); }});
  }
  const auto exponentials = [&] {
    pieces([=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ph[i] = std::exp(-pb[i]);
    });
  };
  if (all) {
    table.row("exp(-sum), projected, of exp alone",
              {exponentials,
               [&] { ks::inclusive_scan(exec, x, ks::projected(h, Transmission{}), along); },
               [&] {
                 sum_loop([=](Index at, Index, Index, Index, float v) { ph[at] = std::exp(-v); });
               }});
  }
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
               const StoreTwo store{h, g};
               sum_loop([=](Index, Index i, Index k, Index j, float v) { store(i, k, j, v); });
             }});
}

/// Shapes of about 2^22 elements whose extents have uniform logarithms.
std::vector<Shape> random_shapes(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) {
    double bits = 22;
    const auto extent = [&](double most) {
      const double taken = most * unit(random);
      bits -= taken;
      return static_cast<std::size_t>(std::max(1.0, std::round(std::exp2(taken))));
    };
    const std::size_t outer = i % 3 == 1 ? 1 : extent(bits);
    const std::size_t inner = i % 3 == 0 ? 1 : extent(bits);
    shapes.push_back({outer, static_cast<std::size_t>(std::max(1.0, std::exp2(bits))), inner});
  }
  return shapes;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::InitializationSettings settings;
  std::uint64_t seed = 0;
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0) {
      settings.set_num_threads(std::atoi(argument.c_str() + 10));
    } else if (argument.rfind("--seed=", 0) == 0) {
      seed = std::strtoull(argument.c_str() + 7, nullptr, 10);
    } else if (argument.rfind("--count=", 0) == 0) {
      count = std::atoi(argument.c_str() + 8);
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of outputs.cpp\n", argv[i]);
      return 2;
    }
  }
  const Kokkos::ScopeGuard guard(settings);
  std::printf(
      "| (outer, n, inner) | what | of the bytes alone | times the plain loop | ns an element | "
      "bytes alone | plain loop |\n|---|---|---|---|---|---|---|\n");
  std::vector<double> of_loop;
  if (count == 0) {
    for (const Shape& s :
         {Shape{4096, 4096, 1}, {200'000, 72, 1}, {1, 72, 200'000}, {4, 1024, 4096}}) {
      measure(s, true, of_loop);
    }
    return 0;
  }
  for (const Shape& s : random_shapes(seed, count)) measure(s, false, of_loop);
  std::sort(of_loop.begin(), of_loop.end());
  std::printf("\nTimes the plain loop: worst %.2f, tenth %.2f, median %.2f\n", of_loop[0],
              of_loop[of_loop.size() / 10], of_loop[of_loop.size() / 2]);
  return 0;
}
