// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The generic backend: written against Kokkos policies, for any execution space, type and
/// operator. It is the reference for the other backends, and their fallback.

#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/team/choose.hpp>
#include <KokkosScan/impl/team/in_order.hpp>
#include <KokkosScan/impl/team/split_lines.hpp>
#include <KokkosScan/impl/team/team_per_line.hpp>
#include <KokkosScan/impl/team/thread_per_line.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace KokkosScan::impl::team {

/// The numbers of threads and teams that run concurrently on an instance.
template <class Exec>
Parallelism parallelism(const Exec& exec) {
  const std::int64_t threads = exec.concurrency();
  // On hosts Kokkos recommends teams of one thread; on devices about this many.
  constexpr bool is_host = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;
  constexpr std::int64_t threads_of_team = is_host ? 1 : chunks_of_tile;
  return {threads, threads / threads_of_team};
}

/// The generic backend. Its members exist for tests: results do not depend on them.
struct Backend {
  Regime regime = Regime::automatic;
  int team_size = 0;  ///< 0: the size that Kokkos recommends

  /// Bytes that a scan of `lines` lines of n elements needs, for problems of type P.
  template <class P, class Exec>
  std::size_t workspace_bytes([[maybe_unused]] const Exec& exec, [[maybe_unused]] std::int64_t n,
                              [[maybe_unused]] std::int64_t lines) const {
    if constexpr (scans_in_order<P>) {
      return 0;
    } else {
      return chosen(exec, n, lines) == Regime::split_lines
                 ? Totals<typename Line<P>::R>::bytes(n, lines)
                 : 0;
    }
  }

  /// Enqueues the scan of non-empty lines. `workspace` has workspace_bytes() bytes, or is null.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& problem, [[maybe_unused]] std::byte* workspace) const {
    if constexpr (scans_in_order<P>) {
      scan_in_order(exec, name(problem.function), problem);
    } else {
      scan_by_tree(exec, problem, workspace);
    }
  }

 private:
  template <class Exec, class P>
  void scan_by_tree(const Exec& exec, const P& problem, std::byte* workspace) const {
    const std::string label = name(problem.function);
    const std::int64_t lines = problem.batch.count;
    switch (chosen(exec, problem.n, lines)) {
      case Regime::thread_per_line:
        thread_per_line(exec, label, problem);
        break;
      case Regime::team_per_line:
        team_per_line(exec, label, problem, team_size);
        break;
      default:
        if (workspace != nullptr) {
          split_lines(exec, label, problem, team_size, workspace);
        } else {
          const Temporary<Exec> memory(exec, Totals<typename Line<P>::R>::bytes(problem.n, lines));
          split_lines(exec, label, problem, team_size, memory.data());
        }
    }
  }

  template <class Exec>
  Regime chosen(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    return regime == Regime::automatic ? choose(n, lines, parallelism(exec)) : regime;
  }
};

}  // namespace KokkosScan::impl::team
