// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Folds of whole lines, without results: the first step of a scan over ranks (impl/mpi/scan.hpp).
/// If there are fewer lines than threads, lines are cut into parts, whose totals combine left to
/// right. Everything is combined in the carried type.

#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/team/line.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace KokkosScan::impl::team {

/// The minimum number of elements in a part.
inline constexpr std::int64_t least_part = 2048;

/// The number of parts per line with which `work` lines, or strips of lines, keep threads busy.
inline std::int64_t parts_of_line(std::int64_t n, std::int64_t work, std::int64_t threads) {
  if (work >= threads) return 1;
  return std::max<std::int64_t>(1, std::min(divide_up(threads, work), n / least_part));
}

/// The destination of folds: the problem's totals, or an array with the totals of parts.
template <class P>
struct FoldResults {
  using R = typename Combination<P>::R;

  std::int64_t width;  ///< lines per strip
  std::int64_t parts;
  R* of_parts;

  KOKKOS_FUNCTION void store(const P& problem, const Coordinates& c, std::int64_t line,
                             std::int64_t part, const R& fold) const {
    if (parts == 1) {
      problem.totals.line(c)(0) = fold;
    } else {
      of_parts[part * problem.batch.count + line] = fold;
    }
  }
};

/// Each thread folds a part of a line; neighbouring threads take neighbouring lines.
template <class P>
struct FoldLines {
  using Op = typename Line<P>::Op;

  P problem;
  Op op;
  FoldResults<P> results;

  static constexpr int most_width = 1;

  static std::int64_t width(const P&, std::int64_t) { return 1; }
  static std::int64_t work(const P& problem, std::int64_t) { return problem.batch.count; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t part = index / problem.batch.count;
    const std::int64_t line = index % problem.batch.count;
    const std::int64_t length = divide_up(problem.n, results.parts);
    const std::int64_t begin = part * length;
    const std::int64_t end = begin + length < problem.n ? begin + length : problem.n;
    results.store(problem, problem.batch.coordinates(line), line, part,
                  Line<P>(problem, op, line).fold(begin, end));
  }
};

/// Combines the parts of each line.
template <class P>
struct JoinParts {
  using Op = typename Line<P>::Op;
  using R = typename Line<P>::R;

  P problem;
  Op op;
  FoldResults<P> results;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    R fold = results.of_parts[line];
    for (std::int64_t part = 1; part < results.parts; ++part) {
      fold = op(fold, results.of_parts[part * problem.batch.count + line]);
    }
    problem.totals.line(problem.batch.coordinates(line))(0) = fold;
  }
};

/// Stores the fold of each line in the problem's totals.
///
/// \tparam Folds FoldLines, or another class that folds strips of width(problem, threads) lines;
///               its index runs over work(problem, width) strips times the number of parts
template <class Folds>
struct LineFold {
  /// An upper bound of the bytes that fold() needs for up to this many lines.
  template <class P, class Exec>
  static std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
    const std::int64_t threads = exec.concurrency();
    if (parts_of_line(n, 1, threads) == 1) return 0;
    return static_cast<std::size_t>(threads * Folds::most_width + lines) *
           sizeof(typename Combination<P>::R);
  }

  /// \param workspace workspace_bytes() bytes
  template <class Exec, class P>
  static void fold(const Exec& exec, const P& problem, std::byte* workspace) {
    using R = typename Combination<P>::R;
    const std::int64_t width = Folds::width(problem, exec.concurrency());
    const std::int64_t work = Folds::work(problem, width);
    std::int64_t parts = parts_of_line(problem.n, work, exec.concurrency());
    // Rounding up may leave empty parts at the end: drop them.
    parts = divide_up(problem.n, divide_up(problem.n, parts));
    const FoldResults<P> results{width, parts, reinterpret_cast<R*>(workspace)};
    const auto op = carrying(problem.op);
    const std::string label = name(problem.function);
    for_each_index(exec, label + " [fold]", work * parts, Folds{problem, op, results});
    if (parts == 1) return;
    for_each_index(exec, label + " [fold join]", problem.batch.count,
                   JoinParts<P>{problem, op, results});
  }
};

}  // namespace KokkosScan::impl::team
