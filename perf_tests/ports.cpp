// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_ports [--threads=T] [--json=FILE]
/// measures, on a host and with sizes of real models, the original loops of
/// examples/ocean_pressure.cpp, longwave.cpp and state_space.cpp alternately with the library calls
/// that replaced them. Prints a Markdown table. Results are compared.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.hpp"

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Layers = Kokkos::View<double**, Exec>;
using Columns = Kokkos::View<double*, Exec>;
using Numbers = Kokkos::View<int*, Exec>;
using Signal = Kokkos::View<double***, Exec>;

/// A pseudo-random number in [0, 1) for i.
KOKKOS_INLINE_FUNCTION double random(std::int64_t i) {
  return static_cast<double>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 11) * 0x1p-53;
}
template <class View, class Function>
void fill(const View& view, const Function& function) {
  auto* const to = view.data();
  Kokkos::parallel_for(
      "fill", perf::Range<Exec>(Exec(), 0, static_cast<std::int64_t>(view.size())),
      [=](std::int64_t i) { to[i] = static_cast<typename View::value_type>(function(random(i))); });
}

struct Measured {
  std::string what, size;
  double own, loop;  ///< milliseconds
};

/// Medians of seven alternating rounds. `own` and `loop` store to `found` and `expected`.
void measure(const std::string& what, const std::string& size, const std::function<void()>& own,
             const std::function<void()>& loop, const Kokkos::View<double*, Exec>& found,
             const Kokkos::View<double*, Exec>& expected, std::vector<Measured>& all) {
  const Exec exec;
  own();
  loop();
  exec.fence();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(std::fabs(found(i) - expected(i)) <= 1e-12 * std::fabs(expected(i)))) {
      throw std::runtime_error(what + ": result " + std::to_string(i) + " is " +
                               std::to_string(found(i)) + ", that of the loop " +
                               std::to_string(expected(i)));
    }
  }
  std::vector<double> times[2];
  for (int round = 0; round < 7; ++round) {
    times[0].push_back(perf::seconds(exec, own) * 1e3);
    times[1].push_back(perf::seconds(exec, loop) * 1e3);
  }
  all.push_back({what, size, perf::median(times[0]), perf::median(times[1])});
  std::printf("| %s | %s | %d | %.1f | %.1f | %.2f |\n", what.c_str(), size.c_str(),
              exec.concurrency(), all.back().loop, all.back().own,
              all.back().loop / all.back().own);
  std::fflush(stdout);
}
template <class View>
Kokkos::View<double*, Exec> flat(const View& view) {
  return Kokkos::View<double*, Exec>(view.data(), view.size());
}

// ---- Ocean pressure -----------------------------------------------------------------------------

struct Weight {
  Layers density, thickness;
  Numbers first, last;
  double gravity;
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t k) const {
    if (k < first(i) || k > last(i)) return 0;
    return gravity * density(i, k) * thickness(i, k);
  }
};
struct StorePressure {
  Weight weight;
  Layers interface, midpoint;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t k, double p) const {
    if (k < weight.first(i) || k > weight.last(i) + 1) return;
    interface(i, k) = p;
    if (k <= weight.last(i)) midpoint(i, k) = p + 0.5 * weight(i, k);
  }
};
struct PressureOfColumn {
  Weight weight;
  Columns surface;
  Layers interface, midpoint;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    interface(i, weight.first(i)) = surface(i);
    for (int k = weight.first(i); k <= weight.last(i); ++k) {
      interface(i, k + 1) = interface(i, k) + weight(i, k);
      midpoint(i, k) = interface(i, k) + 0.5 * weight(i, k);
    }
  }
};

void ocean_pressure(std::vector<Measured>& all) {
  const Exec exec;
  const std::int64_t columns = 65536, layers = 80;
  const Layers density("density", columns, layers), thickness("thickness", columns, layers);
  const Numbers first("first", columns), last("last", columns);
  const Columns surface("surface", columns);
  fill(density, [](double x) { return 1025 + 10 * x; });
  fill(thickness, [](double x) { return 1 + 50 * x; });
  fill(first, [](double x) { return 3 * x; });
  fill(last, [=](double x) { return static_cast<double>(layers) / 2 * (1 + x); });
  fill(surface, [](double x) { return 1e5 + 1e3 * x; });
  const Layers interface("interface", columns, layers + 1), midpoint("midpoint", columns, layers);
  const Layers by_loop("interface", columns, layers + 1), mid_by_loop("mid", columns, layers);
  const Weight weight{density, thickness, first, last, 9.81};
  measure(
      "ocean pressure", std::to_string(columns) + " columns of 80",
      [=] {
        ks::exclusive_scan(
            exec, ks::elementwise({columns, layers}, weight),
            ks::for_each_result({columns, layers + 1}, StorePressure{weight, interface, midpoint}),
            ks::along(1).starting_at(surface));
      },
      [=] {
        Kokkos::parallel_for("loop", perf::Range<Exec>(exec, 0, columns),
                             PressureOfColumn{weight, surface, by_loop, mid_by_loop});
      },
      flat(midpoint), flat(mid_by_loop), all);
}

// ---- Longwave transport -------------------------------------------------------------------------

struct AtSurface {
  Columns albedo, arriving, emitted;
  KOKKOS_FUNCTION double operator()(std::int64_t i) const {
    return albedo(i) * arriving(i) + emitted(i);
  }
};
struct TransportOfColumn {
  Layers transmission, emitted_down, emitted_up, down, up;
  Columns incident, albedo, emitted_by_surface;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int layers = static_cast<int>(transmission.extent(1));
    down(i, 0) = incident(i);
    for (int k = 0; k < layers; ++k) {
      down(i, k + 1) = transmission(i, k) * down(i, k) + emitted_down(i, k);
    }
    up(i, layers) = albedo(i) * down(i, layers) + emitted_by_surface(i);
    for (int k = layers - 1; k >= 0; --k) {
      up(i, k) = transmission(i, k) * up(i, k + 1) + emitted_up(i, k);
    }
  }
};

void longwave(std::vector<Measured>& all) {
  const Exec exec;
  const std::int64_t columns = 65536, layers = 72;
  const Layers transmission("transmission", columns, layers), emitted_down("down", columns, layers),
      emitted_up("up", columns, layers);
  const Columns incident("incident", columns), albedo("albedo", columns),
      emitted("emitted", columns), arriving("arriving", columns);
  fill(transmission, [](double x) { return 0.5 + 0.5 * x; });
  fill(emitted_down, [](double x) { return 10 * x; });
  fill(emitted_up, [](double x) { return 9 * x; });
  fill(incident, [](double x) { return x; });
  fill(albedo, [](double x) { return 0.1 * x; });
  fill(emitted, [](double x) { return 300 + 100 * x; });
  const Layers down("down", columns, layers + 1), up("up", columns, layers + 1);
  const Layers down_by_loop("down", columns, layers + 1), up_by_loop("up", columns, layers + 1);
  measure(
      "longwave", std::to_string(columns) + " columns of 72",
      [=] {
        const ks::ComposeAffine<double> transport;
        ks::exclusive_scan(exec, ks::zip(transmission, emitted_down), down,
                           ks::along(1).starting_at(incident).totals(arriving), transport);
        const auto from_surface = ks::elementwise({columns}, AtSurface{albedo, arriving, emitted});
        ks::exclusive_scan(exec, ks::zip(transmission, emitted_up), up,
                           ks::along(1).backward().starting_at(from_surface), transport);
      },
      [=] {
        Kokkos::parallel_for("loop", perf::Range<Exec>(exec, 0, columns),
                             TransportOfColumn{transmission, emitted_down, emitted_up, down_by_loop,
                                               up_by_loop, incident, albedo, emitted});
      },
      flat(up), flat(up_by_loop), all);
}

// ---- State space --------------------------------------------------------------------------------

struct Decay {
  Signal delta;
  Layers rate;
  KOKKOS_FUNCTION double operator()(std::int64_t s, std::int64_t t, std::int64_t d,
                                    std::int64_t n) const {
    return Kokkos::exp(delta(s, t, d) * rate(d, n));
  }
};
struct Feed {
  Signal delta, in, u;
  KOKKOS_FUNCTION double operator()(std::int64_t s, std::int64_t t, std::int64_t d,
                                    std::int64_t n) const {
    return delta(s, t, d) * in(s, t, n) * u(s, t, d);
  }
};
struct Read {
  Signal out, y;
  KOKKOS_FUNCTION void operator()(std::int64_t s, std::int64_t t, std::int64_t d, std::int64_t n,
                                  double x) const {
    Kokkos::atomic_add(&y(s, t, d), out(s, t, n) * x);
  }
};
struct ChannelByLoop {
  Decay decay;
  Feed feed;
  Signal out, y;
  KOKKOS_FUNCTION void operator()(std::int64_t unit) const {
    const auto channels = static_cast<std::int64_t>(y.extent(2));
    const std::int64_t s = unit / channels, d = unit % channels;
    double x[16] = {};
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(y.extent(1)); ++t) {
      double sum = y(s, t, d);
      for (std::int64_t n = 0; n < static_cast<std::int64_t>(out.extent(2)); ++n) {
        x[n] = decay(s, t, d, n) * x[n] + feed(s, t, d, n);
        sum += out(s, t, n) * x[n];
      }
      y(s, t, d) = sum;
    }
  }
};

void state_space(std::vector<Measured>& all) {
  const Exec exec;
  const std::int64_t sequences = 2, steps = 512, channels = 256, states = 16;
  const Signal u("u", sequences, steps, channels), delta("delta", sequences, steps, channels);
  const Signal in("in", sequences, steps, states), out("out", sequences, steps, states);
  const Signal y("y", sequences, steps, channels), by_loop("y", sequences, steps, channels);
  const Layers rate("rate", channels, states);
  fill(u, [](double x) { return x + 0.1; });
  fill(delta, [](double x) { return 0.1 * x; });
  fill(in, [](double x) { return x; });
  fill(out, [](double x) { return x; });
  fill(rate, [](double x) { return -10 * x; });
  const Decay decay{delta, rate};
  const Feed feed{delta, in, u};
  measure(
      "state space", "2 sequences of 512 steps, 256 channels of 16 states",
      [=] {
        Kokkos::deep_copy(exec, y, u);
        ks::linear_recurrence(
            exec, ks::elementwise({sequences, steps, channels, states}, decay),
            ks::elementwise({sequences, steps, channels, states}, feed),
            ks::for_each_result({sequences, steps, channels, states}, Read{out, y}), 1);
      },
      [=] {
        Kokkos::deep_copy(exec, by_loop, u);
        Kokkos::parallel_for("loop", perf::Range<Exec>(exec, 0, sequences * channels),
                             ChannelByLoop{decay, feed, out, by_loop});
      },
      flat(y), flat(by_loop), all);
}

void write_json(const std::string& name, const std::vector<Measured>& all) {
  std::ofstream file(name);
  file << "{\"threads\": " << Exec().concurrency() << ", \"unit\": \"ms\", \"cases\": [";
  for (std::size_t i = 0; i < all.size(); ++i) {
    file << (i == 0 ? "\n" : ",\n") << "  {\"what\": \"" << all[i].what << "\", \"size\": \""
         << all[i].size << "\", \"scan\": " << all[i].own << ", \"loop\": " << all[i].loop << '}';
  }
  file << "\n]}\n";
  if (!file) throw std::runtime_error("cannot write " + name);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::InitializationSettings settings;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    if (const char* const threads = perf::value_of(argv[i], "--threads=")) {
      settings.set_num_threads(std::atoi(threads));
    } else if (const char* const file = perf::value_of(argv[i], "--json=")) {
      json = file;
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of ports.cpp\n", argv[i]);
      return 2;
    }
  }
  const Kokkos::ScopeGuard guard(settings);
  std::printf(
      "| port | size | threads | loop, ms | scans, ms | times the loop "
      "|\n|---|---|---|---|---|---|\n");
  std::vector<Measured> all;
  ocean_pressure(all);
  longwave(all);
  state_space(all);
  if (!json.empty()) write_json(json, all);
  return 0;
}
