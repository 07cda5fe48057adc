// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Before anything is written, ranks compare their arguments in one reduction. If something is
/// wrong on any rank, all throw the same exception.

#include <KokkosScan/impl/problem.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace KokkosScan::impl::ranks {

/// The facts that must be the same on all ranks.
struct Facts {
  enum {
    function,
    direction,
    rank,
    axis,
    extents,
    has_start = extents + max_batch_rank + 1,
    has_totals,
    accumulator,
    grouping,
    order,
    block_bytes,
    least_lines,
    element_size,
    count
  };

  std::array<std::int64_t, count> value{};

  friend bool operator==(const Facts&, const Facts&) = default;

  static std::string name(int fact) {
    switch (fact) {
      case function:
        return "the function (0: inclusive_scan, 1: exclusive_scan)";
      case direction:
        return "the direction (0: forward, 1: backward)";
      case rank:
        return "the rank of the input";
      case axis:
        return "the axis";
      case has_start:
        return "the number of starting values";
      case has_totals:
        return "the number of totals";
      case accumulator:
        return "the size of an accumulator";
      case grouping:
        return "the order of combination (0: by a tree, 1: in order, 2: in order with a mask and "
               "without starting values)";
      case order:
        return "the layout of the output";
      case block_bytes:
        return "the number of bytes of a block";
      case least_lines:
        return "the least number of lines of a block";
      case element_size:
        return "the size of an element of the output";
      default:
        return "extent " + std::to_string(fact - extents);
    }
  }
};

/// The arguments of one rank.
struct Local {
  Facts facts;
  std::int64_t length = 0;           ///< of this rank's part of the lines
  bool has_misplaced_extra = false;  ///< has the extra element, but the scan ends on another rank

  friend bool operator==(const Local&, const Local&) = default;
};

/// The name of a public function, for messages.
template <class Exchange>
std::string name_with_ranks(Function function) {
  return std::string("KokkosScan::") + Exchange::name +
         (function == Function::inclusive_scan ? "::inclusive_scan" : "::exclusive_scan");
}

/// The lowest rank for which something holds, from the maximum of the marks; -1 for none.
template <class Exchange>
std::int64_t mark(const Exchange& comm, bool holds) {
  return holds ? comm.size() - comm.rank() : 0;
}
template <class Exchange>
int rank_of_mark(const Exchange& comm, std::int64_t largest) {
  return largest == 0 ? -1 : static_cast<int>(comm.size() - largest);
}

/// Throws the error of rank `failed` on all ranks.
template <class Exchange>
[[noreturn]] void throw_together(Exchange& comm, int failed, std::string what) {
  std::int64_t length = static_cast<std::int64_t>(what.size());
  comm.broadcast(&length, sizeof length, failed);
  what.resize(static_cast<std::size_t>(length));
  comm.broadcast(what.data(), what.size(), failed);
  throw std::invalid_argument("rank " + std::to_string(failed) + ": " + what);
}

/// Throws an error that names the fact, and the first rank on which it differs from rank 0.
template <class Exchange>
[[noreturn]] void throw_difference(Exchange& comm, Function function, int fact, std::int64_t mine) {
  std::int64_t first = mine;
  comm.broadcast(&first, sizeof first, 0);
  std::int64_t largest = mark(comm, mine != first);
  comm.reduce_to_largest(&largest, 1);
  const int other = rank_of_mark(comm, largest);
  std::int64_t differing = mine;
  comm.broadcast(&differing, sizeof differing, other);
  throw std::invalid_argument(name_with_ranks<Exchange>(function) + ": " + Facts::name(fact) +
                              " is " + std::to_string(differing) + " on rank " +
                              std::to_string(other) + ", but " + std::to_string(first) +
                              " on rank 0.");
}

/// What ranks have agreed on.
struct Agreement {
  std::int64_t longest = 0;           ///< the length of the longest part of the lines
  std::vector<std::int64_t> lengths;  ///< those of all ranks, where the exchange is enqueued
};

/// Checks that all ranks agree.
///
/// \param local null if this rank refuses the call
/// \param what  the reason for the refusal
/// \throws std::invalid_argument on all ranks, if one refuses or their facts differ
template <class Exchange>
Agreement agree(Exchange& comm, Function function, const Local* local, const std::string& what) {
  constexpr std::size_t failed = 2 * Facts::count;
  constexpr std::size_t misplaced = failed + 1;
  constexpr std::size_t length = misplaced + 1;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::size_t parts = Exchange::is_enqueued ? static_cast<std::size_t>(comm.size()) : 0;
  std::vector<std::int64_t> most(length + 1 + parts);
  for (std::size_t i = 0; i < Facts::count; ++i) {
    most[2 * i] = local == nullptr ? least : local->facts.value[i];
    most[2 * i + 1] = local == nullptr ? least : -most[2 * i];
  }
  most[failed] = mark(comm, local == nullptr);
  most[misplaced] = mark(comm, local != nullptr && local->has_misplaced_extra);
  most[length] = local == nullptr ? 0 : local->length;
  if (parts > 0) most[length + 1 + static_cast<std::size_t>(comm.rank())] = most[length];
  comm.reduce_to_largest(most.data(), static_cast<int>(most.size()));

  if (most[failed] != 0) throw_together(comm, rank_of_mark(comm, most[failed]), what);
  for (std::size_t i = 0; i < Facts::count; ++i) {
    if (most[2 * i] == -most[2 * i + 1]) continue;
    throw_difference(comm, function, static_cast<int>(i), local->facts.value[i]);
  }
  if (most[misplaced] != 0) {
    const bool is_forward = local->facts.value[Facts::direction] == 0;
    throw std::invalid_argument(name_with_ranks<Exchange>(function) +
                                ": the output holds one element more than the input on rank " +
                                std::to_string(rank_of_mark(comm, most[misplaced])) +
                                ", but the scan ends on rank " +
                                std::to_string(is_forward ? comm.size() - 1 : 0) + ".");
  }
  return {most[length], {most.begin() + static_cast<std::ptrdiff_t>(length + 1), most.end()}};
}

}  // namespace KokkosScan::impl::ranks
