// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The launch of a scan on a host: how results are stored, and the number of units of work.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace KokkosScan::impl::host {

/// How results are stored if that is left to the backend.
template <class P>
Destination destination_of(const P& p, Destination wanted) {
  if (wanted != Destination::automatic) return wanted;
  const auto bytes = static_cast<double>(p.n) * static_cast<double>(p.batch.count) *
                     static_cast<double>(sizeof(*p.output.data));
  // In place, the cache lines are in the cache already.
  const bool passes = bytes > streaming_bytes && !is_in_place(p.input, p.output.data);
  return passes ? Destination::memory : Destination::caches;
}

/// The label of a kernel, which shows the path that was taken.
[[gnu::noinline]] inline std::string label_of(Function function, const char* path,
                                              const char* end = "]") {
  return name(function) + " [host/" + path + end;
}

/// Calls work(begin, end) for all pieces of work, several in a call, but at least one call for each
/// thread.
template <class Exec, class Work>
void for_each_unit(const Exec& exec, const std::string& label, std::int64_t pieces,
                   std::int64_t elements_of_piece, const Work& work) {
  const std::int64_t units =
      std::clamp(pieces / std::max<std::int64_t>(1, unit_elements / elements_of_piece),
                 std::min<std::int64_t>(exec.concurrency(), pieces), pieces);
  const auto begin_of = [=](std::int64_t unit) {
    return pieces / units * unit + std::min(unit, pieces % units);
  };
  for_each_index(exec, label, units, [=](std::int64_t unit) {
    work(begin_of(unit), begin_of(unit + 1));
    end_streaming();
  });
}

/// The turns of threads that share work. They take parts in order, and a part only waits for
/// earlier parts, so there is no deadlock, however few threads run.
struct Turns {
  alignas(64) std::atomic<std::int64_t> next_part = 0;  ///< the first that nobody has taken
  alignas(64) std::atomic<std::int64_t> turn = 0;       ///< the part whose prefix is known

  std::int64_t take() { return next_part.fetch_add(1, std::memory_order_relaxed); }
  void wait_for(std::int64_t part) const {
    for (int spins = 0; turn.load(std::memory_order_acquire) != part; ++spins) {
      // There may be more threads than cores: let others run.
      if (spins > 1000) std::this_thread::yield();
    }
  }
  void end(std::int64_t part) { turn.store(part + 1, std::memory_order_release); }
};

/// Whether whole strips keep threads busy for three quarters of the time.
constexpr bool shares_evenly(std::int64_t strips, std::int64_t threads) {
  const std::int64_t rounds = (strips + threads - 1) / threads;
  return 4 * strips >= 3 * rounds * threads;
}

/// Whether several threads share a line. Results do not depend on it.
enum class Sharing { automatic, whole_lines, split_lines };

}  // namespace KokkosScan::impl::host
