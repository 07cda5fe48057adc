// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans with one thread per line: there are more lines than threads, or lines are short.

#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/team/line.hpp>
#include <Kokkos_Core.hpp>
#include <string>

namespace KokkosScan::impl::team {

template <class P>
struct ThreadPerLine {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const Line<P> line(problem, op, index);
    const std::int64_t n = problem.n;
    Prefix<R> prefix{line.start(), {}};
    for (std::int64_t begin = 0; begin < n; begin += chunk_length) {
      const std::int64_t end = begin + chunk_length < n ? begin + chunk_length : n;
      const R chunk = line.scan_chunk(begin, end, prefix);
      prefix.add_chunk(op, chunk);
      if (end % tile_length == 0) prefix.add_tile(op);
    }
  }
};

template <class Exec, class P>
void thread_per_line(const Exec& exec, const std::string& label, const P& problem) {
  for_each_index(exec, label + " [team/thread_per_line]", problem.batch.count,
                 ThreadPerLine<P>{problem, carrying(problem.op)});
}

}  // namespace KokkosScan::impl::team
