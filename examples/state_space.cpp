// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The forward pass of a selective state-space layer, as in Mamba: each channel d of each sequence s
// has several states, which decay and are fed at rates that depend on the input. Neither the decays
// nor the states are stored.
//
// Replaces, for each sequence s and channel d, with state x(n) = 0 in the beginning:
//   for (int t = 0; t < steps; ++t) {
//     double sum = skip(d) * u(s, t, d);
//     for (int n = 0; n < states; ++n) {
//       x(n) = exp(delta(s, t, d) * rate(d, n)) * x(n) + delta(s, t, d) * in(s, t, n) * u(s, t, d);
//       sum += out(s, t, n) * x(n);
//     }
//     y(s, t, d) = sum;
//   }
//
// Prints:
//   y of channel 0: 4.000 5.250 5.812 6.078
//   y of channel 1: 8.000 9.250 9.531 9.598
//   The loop is off by less than 1e-14.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;

using Signal = Kokkos::View<double***>;
using Rates = Kokkos::View<double**>;

//! [functions]
struct Decay {
  Signal delta;
  Rates rate;
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
//! [functions]

/// The loop.
struct ChannelByLoop {
  Decay decay;
  Feed feed;
  Signal out, y;
  KOKKOS_FUNCTION void operator()(int d) const {
    double x[8] = {};
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(y.extent(1)); ++t) {
      for (std::int64_t n = 0; n < static_cast<std::int64_t>(out.extent(2)); ++n) {
        x[n] = decay(0, t, d, n) * x[n] + feed(0, t, d, n);
        y(0, t, d) += out(0, t, n) * x[n];
      }
    }
  }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int sequences = 1, steps = 4, channels = 2, states = 2;
  const Signal u("u", sequences, steps, channels), delta("delta", sequences, steps, channels);
  const Signal in("in", sequences, steps, states), out("out", sequences, steps, states);
  const Signal y("y", sequences, steps, channels), by_loop("y", sequences, steps, channels);
  const Rates rate("rate", channels, states);

  const auto u_host = Kokkos::create_mirror_view(u);
  const auto delta_host = Kokkos::create_mirror_view(delta);
  const auto in_host = Kokkos::create_mirror_view(in);
  const auto out_host = Kokkos::create_mirror_view(out);
  const auto y_host = Kokkos::create_mirror_view(y);
  const auto rate_host = Kokkos::create_mirror_view(rate);
  const double skip = 1;
  for (int t = 0; t < steps; ++t) {
    for (int d = 0; d < channels; ++d) {
      u_host(0, t, d) = d + 1;
      delta_host(0, t, d) = 1;
      y_host(0, t, d) = skip * u_host(0, t, d);
    }
    for (int n = 0; n < states; ++n) {
      in_host(0, t, n) = 1;
      out_host(0, t, n) = 2 - n;
    }
  }
  for (int d = 0; d < channels; ++d) {
    for (int n = 0; n < states; ++n) rate_host(d, n) = -(d + n + 1) * std::log(2.0);
  }
  Kokkos::deep_copy(u, u_host);
  Kokkos::deep_copy(delta, delta_host);
  Kokkos::deep_copy(in, in_host);
  Kokkos::deep_copy(out, out_host);
  Kokkos::deep_copy(y, y_host);
  Kokkos::deep_copy(by_loop, y_host);
  Kokkos::deep_copy(rate, rate_host);

  const Decay decay{delta, rate};
  const Feed feed{delta, in, u};
  //! [scan]
  // y holds skip * u in the beginning.
  ks::linear_recurrence(exec, ks::elementwise({sequences, steps, channels, states}, decay),
                        ks::elementwise({sequences, steps, channels, states}, feed),
                        ks::for_each_result({sequences, steps, channels, states}, Read{out, y}), 1);
  //! [scan]
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultExecutionSpace>(exec, 0, channels),
                       ChannelByLoop{decay, feed, out, by_loop});

  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  const auto loop = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, by_loop);
  double difference = 0;
  for (int d = 0; d < channels; ++d) {
    std::printf("y of channel %d:", d);
    for (int t = 0; t < steps; ++t) {
      std::printf(" %.3f", result(0, t, d));
      difference = std::fmax(difference, std::fabs(result(0, t, d) - loop(0, t, d)));
    }
    std::printf("\n");
  }
  std::printf("The loop is off by %s.\n", difference < 1e-14 ? "less than 1e-14" : "more");
}
