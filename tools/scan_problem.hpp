// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan with the types and shapes that are compiled: the interface between files and Kokkos.

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scan_tool {

enum class Operation { sum, prod, min, max, logsumexp };
enum class Mode { inclusive, exclusive };
enum class Direction { forward, backward };
enum class Grouping { by_tree, in_order };

/// One scan of contiguous host memory. Arrays of any rank and order become (outer, length, inner),
/// with the last index fastest, scanned along the middle.
template <class A>
struct ScanProblem {
  Operation operation = Operation::sum;
  Mode mode = Mode::inclusive;
  Direction direction = Direction::forward;
  Grouping grouping = Grouping::by_tree;
  std::int64_t outer = 0;
  std::int64_t length = 0;
  std::int64_t inner = 0;
  /// `length` or `length + 1`.
  std::int64_t output_length = 0;
  /// Combined before the first element. With a start, and in order, totals must be provided.
  std::optional<A> start;
  /// A start for each line, (outer, inner), to continue the scan of parts of lines.
  const A* starts = nullptr;
  const A* input = nullptr;
  /// The mask; null if there is none.
  const std::uint8_t* mask = nullptr;
  /// May alias the input if the lengths are equal.
  A* output = nullptr;
  /// (outer, inner), written if has_totals().
  A* totals = nullptr;

  [[nodiscard]] bool has_totals() const {
    return start || starts != nullptr || grouping == Grouping::in_order;
  }
};

/// Scans on the named space, and waits. Compiled for the types of AccumulatorType.
template <class A>
void scan(const ScanProblem<A>& problem, std::string_view space);

extern template void scan(const ScanProblem<std::int64_t>&, std::string_view);
extern template void scan(const ScanProblem<std::uint64_t>&, std::string_view);
extern template void scan(const ScanProblem<float>&, std::string_view);
extern template void scan(const ScanProblem<double>&, std::string_view);
extern template void scan(const ScanProblem<std::complex<float>>&, std::string_view);
extern template void scan(const ScanProblem<std::complex<double>>&, std::string_view);

/// The same for lines of which each MPI rank has a part, in rank order; collective. The scan must
/// be in order, or have `starts`.
template <class A>
void scan_over_ranks(const ScanProblem<A>& problem, std::string_view space);

extern template void scan_over_ranks(const ScanProblem<std::int64_t>&, std::string_view);
extern template void scan_over_ranks(const ScanProblem<std::uint64_t>&, std::string_view);
extern template void scan_over_ranks(const ScanProblem<float>&, std::string_view);
extern template void scan_over_ranks(const ScanProblem<double>&, std::string_view);
extern template void scan_over_ranks(const ScanProblem<std::complex<float>>&, std::string_view);
extern template void scan_over_ranks(const ScanProblem<std::complex<double>>&, std::string_view);

}  // namespace scan_tool
