// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_team [--lines=100000]: running sums of many short lines inside a kernel, beside Kokkos' own
/// nested scans, a loop of one thread, one call for all lines, and a copy. Prints a Markdown table
/// of microseconds; results are compared with a loop.

#include <KokkosScan/KokkosScan.hpp>
#include <KokkosScan/team.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Policy = Kokkos::TeamPolicy<Exec>;
template <class T>
using Batch = Kokkos::View<T**, Kokkos::LayoutRight, Exec>;

enum class Scan { by_team, by_vector, kokkos_by_team, kokkos_by_vector, loop };

template <class T, Scan scan>
struct ScanLines {
  Batch<T> x, y;

  KOKKOS_FUNCTION void operator()(const Policy::member_type& member) const {
    constexpr bool is_of_thread = scan == Scan::by_vector || scan == Scan::kokkos_by_vector;
    const int i = is_of_thread ? member.league_rank() * member.team_size() + member.team_rank()
                               : member.league_rank();
    if (i >= static_cast<int>(x.extent(0))) return;
    const int n = static_cast<int>(x.extent(1));
    const auto in = Kokkos::subview(x, i, Kokkos::ALL), out = Kokkos::subview(y, i, Kokkos::ALL);
    const auto step = [&](int k, T& sum, bool is_final) {
      sum += in(k);
      if (is_final) out(k) = sum;
    };
    if constexpr (scan == Scan::by_team) {
      ks::team::inclusive_scan(Kokkos::TeamThreadRange(member, n), in, out);
    } else if constexpr (scan == Scan::by_vector) {
      ks::team::inclusive_scan(Kokkos::ThreadVectorRange(member, n), in, out);
    } else if constexpr (scan == Scan::kokkos_by_team) {
      Kokkos::parallel_scan(Kokkos::TeamThreadRange(member, n), step);
    } else if constexpr (scan == Scan::kokkos_by_vector) {
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(member, n), step);
    } else if (member.team_rank() == 0) {
      T sum = 0;
      for (int k = 0; k < n; ++k) out(k) = sum += in(k);
    }
  }
};

template <class Work>
double microseconds(const Work& work) {
  work();
  std::vector<double> times;
  for (int repetition = 0; repetition < 15; ++repetition) {
    Exec().fence();
    const Kokkos::Timer timer;
    for (int i = 0; i < 5; ++i) work();
    Exec().fence();
    times.push_back(timer.seconds() * 1e6 / 5);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class T>
class Measurement {
 public:
  Measurement(int lines, int n) : m_x("x", lines, n), m_y("y", lines, n) {
    const auto x = Kokkos::create_mirror_view(m_x);
    for (int i = 0; i < lines; ++i) {
      for (int k = 0; k < n; ++k) x(i, k) = static_cast<T>((i * 7 + k * 3) % 11 + 1);
    }
    Kokkos::deep_copy(m_x, x);
    std::printf("| %s, %d |", sizeof(T) == 4 ? "float" : "double", n);
  }
  void copy() const {
    print(microseconds([&] { Kokkos::deep_copy(Exec(), m_y, m_x); }));
  }
  void one_call() const {
    print(microseconds([&] { ks::inclusive_scan(Exec(), m_x, m_y); }));
  }
  template <Scan scan>
  void teams(int size, int length) const {
    constexpr bool is_of_thread = scan == Scan::by_vector || scan == Scan::kokkos_by_vector;
    const int lines = static_cast<int>(m_x.extent(0));
    Policy policy(is_of_thread ? (lines - 1) / size + 1 : lines, size, length);
    policy.set_scratch_size(0, Kokkos::PerTeam(ks::team::scratch_bytes<T, Exec>(size, length)));
    Kokkos::deep_copy(m_y, T(0));
    const ScanLines<T, scan> kernel{m_x, m_y};
    print(microseconds([&] { Kokkos::parallel_for(policy, kernel); }));
    const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, m_x);
    const auto y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, m_y);
    for (int i = 0; i < lines; i += 97) {
      T sum = 0;  // of whole numbers that T holds
      for (std::size_t k = 0; k < m_x.extent(1); ++k) {
        sum += x(i, k);
        if (y(i, k) != sum) {
          std::printf(" WRONG");
          return;
        }
      }
    }
  }

 private:
  static void print(double time) { std::printf(" %.1f |", time); }

  Batch<T> m_x, m_y;
};

template <class T>
void measure(int lines, int n) {
  const Measurement<T> m(lines, n);
  const bool has_warps = ks::impl::team_range::has_warps<Exec>;
  const int length = has_warps ? 32 : 1, threads = has_warps ? 4 : 1;
  m.copy();
  m.one_call();
  m.template teams<Scan::loop>(1, 1);
  m.template teams<Scan::by_team>(length, 1);
  m.template teams<Scan::kokkos_by_team>(length, 1);
  m.template teams<Scan::by_vector>(threads, length);
  m.template teams<Scan::kokkos_by_vector>(threads, length);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  int lines = 100000;
  for (int i = 1; i < argc; ++i) std::sscanf(argv[i], "--lines=%d", &lines);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  std::printf("%s, %d threads, %d lines, microseconds\n\n", Exec::name(), Exec().concurrency(),
              lines);
  std::printf(
      "| type, length | copy | one call | loop of a thread | team | Kokkos, team | vector | "
      "Kokkos, "
      "vector |\n|---|---|---|---|---|---|---|---|\n");
  for (const int n : {72, 128}) measure<float>(lines, n);
  for (const int n : {72, 128}) measure<double>(lines, n);
}
