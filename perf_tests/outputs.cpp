// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_outputs [--threads=T] [--json=FILE] [--cached | --seed=S --count=C]
/// measures linear recurrences, their gradients, running maxima with indices, and computing outputs
/// on a host, alternately with the fastest copy of as many bytes, a loop that moves the same
/// streams, and the plain loop over lines. Prints a Markdown table. Results are compared with those
/// of the plain loop. With --cached, arrays fit the caches. With a seed it measures recurrences and
/// for_each_result on C random shapes of about 2^22 elements, a third of them rows and a third
/// along axis 0, and ends with the worst, p10 and median of the speedup over the plain loop.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Cube = perf::Field<Exec, float>;
using Indices = perf::Field<Exec, std::int64_t>;

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
struct StoreMaximum {
  Cube values;
  Indices indices;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, std::int64_t j,
                                  const ks::Indexed<float>& x) const {
    values(i, k, j) = x.value;
    indices(i, k, j) = x.index;
  }
};
/// The gradient that a state passes to the state before it, from its gradient and its coefficient.
struct HandOn {
  KOKKOS_FUNCTION ks::AffineMap<float> operator()(float g, float a) const { return {a, a * g}; }
};
struct StoreGradients {
  Cube g, h, of_a, of_b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, std::int64_t j,
                                  const ks::AffineMap<float>& handed_on) const {
    const float of_state = g(i, k, j) + handed_on.shift;
    of_b(i, k, j) = of_state;
    of_a(i, k, j) = k > 0 ? of_state * h(i, k - 1, j) : 0;
  }
};

/// Straightforward loops over up to 1024 neighbouring lines at a time, or over one line with its
/// state in a register: step(at, i, k, j, state) also stores results.
struct Loops {
  const Exec& exec;
  Shape shape;

  template <bool is_backward = false, class State, class Step>
  void operator()(const State& first_state, const Step& step) const {
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
                             State state = first_state;
                             for (std::int64_t s = 0; s < n; ++s) {
                               const std::int64_t k = is_backward ? n - 1 - s : s;
                               step(i * n + k, i, k, std::int64_t{0}, state);
                             }
                             return;
                           }
                           State states[1024];
                           std::fill_n(states, count, first_state);
                           for (std::int64_t s = 0; s < n; ++s) {
                             const std::int64_t k = is_backward ? n - 1 - s : s;
                             for (std::int64_t w = 0; w < count; ++w) {
                               step((i * n + k) * inner + first + w, i, k, first + w, states[w]);
                             }
                           }
                         });
  }
};

/// Measured times in nanoseconds per element.
struct Measured {
  Shape shape;
  std::string what;
  double bytes;    ///< bytes per element
  double copy;     ///< a copy of as many bytes
  double streams;  ///< a loop that moves the same streams
  double own, loop;
};

class Table {
 public:
  Table(const Shape& shape, const std::vector<std::function<void()>>& copies, int repeats,
        std::vector<Measured>& all)
      : m_shape(shape), m_copies(copies), m_repeats(repeats), m_all(&all) {}

  /// The medians of five alternating rounds; throws if results are not those of the loop.
  void row(const std::string& what, double bytes, const std::vector<Cube>& to,
           const std::function<void()>& streams, const std::function<void()>& own,
           const std::function<void()>& loop) const {
    const Exec exec;
    loop();
    exec.fence();
    const std::vector<std::vector<float>> expected = values_of(to);
    for (const Cube& result : to) Kokkos::deep_copy(exec, result, -7.0F);
    own();
    exec.fence();
    compare(what, expected, values_of(to));
    std::vector<std::function<void()>> ways{streams, own, loop};
    ways.insert(ways.end(), m_copies.begin(), m_copies.end());
    std::vector<std::vector<double>> times(ways.size());
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        times[i].push_back(perf::seconds(exec, [&] {
          for (int r = 0; r < m_repeats; ++r) ways[i]();
        }));
      }
    }
    const auto size = static_cast<double>(m_shape.outer * m_shape.n * m_shape.inner) * m_repeats;
    std::vector<double> ns(times.size());
    for (std::size_t i = 0; i < ns.size(); ++i) ns[i] = perf::median(times[i]) * 1e9 / size;
    // A copy of floats moves 8 bytes an element.
    const double copy = *std::min_element(ns.begin() + 3, ns.end()) * bytes / 8;
    m_all->push_back({m_shape, what, bytes, copy, ns[0], ns[1], ns[2]});
    std::printf("| (%zu, %zu, %zu) | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
                m_shape.outer, m_shape.n, m_shape.inner, what.c_str(), copy / ns[1], ns[0] / ns[1],
                ns[2] / ns[1], ns[1], copy, ns[0], ns[2]);
    std::fflush(stdout);
  }

 private:
  static std::vector<std::vector<float>> values_of(const std::vector<Cube>& results) {
    std::vector<std::vector<float>> copies;
    for (const Cube& result : results) {
      copies.emplace_back(result.data(), result.data() + result.size());
    }
    return copies;
  }
  /// Both round, in different orders of combination.
  static void compare(const std::string& what, const std::vector<std::vector<float>>& expected,
                      const std::vector<std::vector<float>>& found) {
    for (std::size_t r = 0; r < expected.size(); ++r) {
      for (std::size_t i = 0; i < expected[r].size(); ++i) {
        const float e = expected[r][i], f = found[r][i];
        if (!(std::fabs(e - f) <= 1e-3F * std::fabs(e) + 1e-6F)) {
          throw std::runtime_error(what + ": result " + std::to_string(i) + " is " +
                                   std::to_string(f) + ", that of the loop " + std::to_string(e));
        }
      }
    }
  }

  Shape m_shape;
  std::vector<std::function<void()>> m_copies;
  int m_repeats;
  std::vector<Measured>* m_all;
};

/// Measures a shape.
///
/// \param all     whether all kinds of scans are measured
/// \param repeats of each measurement, for small arrays
void measure(const Shape& s, bool all, int repeats, std::vector<Measured>& measured) {
  const Exec exec;
  const auto cube = [&](const std::string& label) {
    return Cube(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), s.outer, s.n, s.inner);
  };
  const Cube a = cube("a"), b = cube("b"), h = cube("h"), g = cube("g"), e = cube("e");
  const Indices where(Kokkos::view_alloc("indices", Kokkos::WithoutInitializing), all ? s.outer : 0,
                      s.n, s.inner);
  float* const pa = a.data();
  float* const pb = b.data();
  float* const ph = h.data();
  float* const pg = g.data();
  float* const pe = e.data();
  std::int64_t* const pi = where.data();
  const auto size = static_cast<std::int64_t>(a.size());
  const auto n = static_cast<std::int64_t>(s.n);
  const auto inner = static_cast<std::int64_t>(s.inner);
  Kokkos::parallel_for("fill", perf::Range<Exec>(exec, 0, size), [=](std::int64_t i) {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    pa[i] = static_cast<float>(bits >> 40) * 0x1p-24F;
    pb[i] = static_cast<float>(bits >> 20 & 0xffffff) * 0x1p-24F / static_cast<float>(n);
    ph[i] = pg[i] = pe[i] = 0;
    if (all) pi[i] = 0;
  });
  const Loops loops{exec, s};
  const auto pieces = [&](const auto& f) {
    constexpr std::int64_t piece = 16384;
    Kokkos::parallel_for("move", perf::Range<Exec>(exec, 0, (size + piece - 1) / piece),
                         [=](std::int64_t i) {
                           const std::int64_t end = std::min(size, (i + 1) * piece);
                           for (std::int64_t at = i * piece; at < end; ++at) f(at);
                         });
  };
  using Index = std::int64_t;
  const auto move_three = [&] { pieces([=](Index i) { ph[i] = pa[i] + pb[i]; }); };
  const auto recurrence_loop = [&] {
    loops(0.0F, [=](Index at, Index, Index, Index, float& state) {
      ph[at] = state = pa[at] * state + pb[at];
    });
  };
  const auto copies = perf::copies(exec, a, e);
  const Table table(s, copies, repeats, measured);
  const auto along = ks::along(1);
  table.row(
      "recurrence", 12, {h}, move_three, [&] { ks::linear_recurrence(exec, a, b, h, along); },
      recurrence_loop);
  if (all) {
    table.row(
        "recurrence, in order", 12, {h}, move_three,
        [&] { ks::linear_recurrence(exec, a, b, h, along.in_order()); }, recurrence_loop);
    table.row(
        "gradients of a recurrence, for_each_result", 20, {g, e},
        [&] {
          pieces([=](Index i) {
            pg[i] = pa[i] + pb[i];
            pe[i] = ph[i];
          });
        },
        [&] {
          ks::exclusive_scan(exec, ks::zip_transform(HandOn{}, b, a),
                             ks::for_each_result(h, StoreGradients{b, h, e, g}),
                             along.backward().starting_at(ks::AffineMap<float>(0.0F)),
                             ks::ComposeAffine<float>{});
        },
        [&] {
          loops.operator()<true>(0.0F, [=](Index at, Index, Index k, Index, float& handed_on) {
            const float of_state = pb[at] + handed_on;
            pg[at] = of_state;
            pe[at] = k > 0 ? of_state * ph[at - inner] : 0;
            handed_on = pa[at] * of_state;
          });
        });
  }
  const Cube& x = b;
  const auto sum_loop = [&](const auto& store) {
    loops(0.0F, [=](Index at, Index i, Index k, Index j, float& sum) {
      sum += pb[at];
      store(at, i, k, j, sum);
    });
  };
  if (all) {
    table.row(
        "sum", 8, {h}, [&] { pieces([=](Index i) { ph[i] = pb[i]; }); },
        [&] { ks::inclusive_scan(exec, x, h, along); },
        [&] { sum_loop([=](Index at, Index, Index, Index, float v) { ph[at] = v; }); });
    // The streams include the necessary computations.
    table.row(
        "exp(-sum), projected", 8, {h}, [&] { pieces([=](Index i) { ph[i] = std::exp(-pb[i]); }); },
        [&] { ks::inclusive_scan(exec, x, ks::projected(h, Transmission{}), along); },
        [&] { sum_loop([=](Index at, Index, Index, Index, float v) { ph[at] = std::exp(-v); }); });
    table.row(
        "maxima and int64 indices, for_each_result", 16, {h},
        [&] {
          pieces([=](Index i) {
            ph[i] = pb[i];
            pi[i] = i;
          });
        },
        [&] {
          ks::inclusive_scan(exec, ks::indexed(x, 1),
                             ks::for_each_result(h, StoreMaximum{h, where}), along,
                             ks::ArgMax<ks::Ties::last>{});
        },
        [&] {
          loops(ks::Indexed<float>{-HUGE_VALF, 0},
                [=](Index at, Index, Index k, Index, ks::Indexed<float>& best) {
                  if (pb[at] >= best.value) best = {pb[at], k};
                  ph[at] = best.value;
                  pi[at] = best.index;
                });
        });
  }
  table.row(
      "sum to two Views, for_each_result", 12, {h, g},
      [&] {
        pieces([=](Index i) {
          ph[i] = pb[i];
          pg[i] = 2 * pb[i];
        });
      },
      [&] {
        ks::inclusive_scan(exec, x, ks::for_each_result(h, StoreTwo{h, g}), along);
      },
      [&] {
        const StoreTwo store{h, g};
        sum_loop([=](Index, Index i, Index k, Index j, float v) { store(i, k, j, v); });
      });
}

void write_json(const std::string& name, const std::vector<Measured>& measured) {
  std::ofstream file(name);
  file << "{\"threads\": " << Exec().concurrency() << ", \"unit\": \"ns an element\", \"cases\": [";
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Measured& m = measured[i];
    file << (i == 0 ? "\n" : ",\n") << "  {\"shape\": [" << m.shape.outer << ", " << m.shape.n
         << ", " << m.shape.inner << "], \"what\": \"" << m.what << "\", \"bytes\": " << m.bytes
         << ", \"scan\": " << m.own << ", \"copy\": " << m.copy << ", \"streams\": " << m.streams
         << ", \"plain\": " << m.loop << '}';
  }
  file << "\n]}\n";
  if (!file) throw std::runtime_error("cannot write " + name);
}

/// Shapes of about 2^22 elements with log-uniform extents.
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
  bool is_cached = false;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    if (const char* const threads = perf::value_of(argv[i], "--threads=")) {
      settings.set_num_threads(std::atoi(threads));
    } else if (const char* const seed_of_shapes = perf::value_of(argv[i], "--seed=")) {
      seed = std::strtoull(seed_of_shapes, nullptr, 10);
    } else if (const char* const shapes = perf::value_of(argv[i], "--count=")) {
      count = std::atoi(shapes);
    } else if (const char* const file = perf::value_of(argv[i], "--json=")) {
      json = file;
    } else if (std::strcmp(argv[i], "--cached") == 0) {
      is_cached = true;
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of outputs.cpp\n", argv[i]);
      return 2;
    }
  }
  const Kokkos::ScopeGuard guard(settings);
  std::printf(
      "| (outer, n, inner) | what | of the best copy | of its streams | times the plain loop | ns "
      "an "
      "element | best copy | streams | plain loop |\n|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Measured> measured;
  if (is_cached) {
    for (const Shape& s : {Shape{32, 512, 1}, {256, 64, 1}, {1, 64, 256}, {4, 128, 32}}) {
      measure(s, true, 64, measured);
    }
  } else if (count == 0) {
    for (const Shape& s :
         {Shape{4096, 4096, 1}, {200'000, 72, 1}, {1, 72, 200'000}, {4, 1024, 4096}}) {
      measure(s, true, 1, measured);
    }
  }
  for (const Shape& s : random_shapes(seed, count)) measure(s, false, 1, measured);
  if (count > 0) {
    std::vector<double> of_loop;
    for (const Measured& m : measured) of_loop.push_back(m.loop / m.own);
    std::sort(of_loop.begin(), of_loop.end());
    std::printf("\nTimes the plain loop: worst %.2f, tenth %.2f, median %.2f\n", of_loop[0],
                of_loop[of_loop.size() / 10], of_loop[of_loop.size() / 2]);
  }
  if (!json.empty()) write_json(json, measured);
  return 0;
}
