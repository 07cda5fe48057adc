// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Before anything is written, ranks compare their arguments in one reduction. If something is
/// wrong on any rank, all throw the same exception.

#include <KokkosScan/impl/mpi/communicator.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace KokkosScan::impl::mpi {

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
};

/// The name of a public function, for messages.
inline std::string name_with_ranks(Function function) {
  return function == Function::inclusive_scan ? "KokkosScan::mpi::inclusive_scan"
                                              : "KokkosScan::mpi::exclusive_scan";
}

inline void reduce_to_largest(const Communicator& comm, std::int64_t* values, int count) {
  check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, comm.get()),
        "MPI_Allreduce");
}

/// The lowest rank for which something holds, from the maximum of the marks; -1 for none.
inline std::int64_t mark(const Communicator& comm, bool holds) {
  return holds ? comm.size() - comm.rank() : 0;
}
inline int rank_of_mark(const Communicator& comm, std::int64_t largest) {
  return largest == 0 ? -1 : static_cast<int>(comm.size() - largest);
}

/// Throws the error of rank `failed` on all ranks.
[[noreturn]] inline void throw_together(const Communicator& comm, int failed, std::string what) {
  std::int64_t length = static_cast<std::int64_t>(what.size());
  check(MPI_Bcast(&length, 1, MPI_INT64_T, failed, comm.get()), "MPI_Bcast");
  what.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(what.data(), static_cast<int>(length), MPI_CHAR, failed, comm.get()),
        "MPI_Bcast");
  throw std::invalid_argument("rank " + std::to_string(failed) + ": " + what);
}

/// Throws an error that names the fact, and the first rank on which it differs from rank 0.
[[noreturn]] inline void throw_difference(const Communicator& comm, Function function, int fact,
                                          std::int64_t mine) {
  std::int64_t first = mine;
  check(MPI_Bcast(&first, 1, MPI_INT64_T, 0, comm.get()), "MPI_Bcast");
  std::int64_t largest = mark(comm, mine != first);
  reduce_to_largest(comm, &largest, 1);
  const int other = rank_of_mark(comm, largest);
  std::int64_t differing = mine;
  check(MPI_Bcast(&differing, 1, MPI_INT64_T, other, comm.get()), "MPI_Bcast");
  throw std::invalid_argument(name_with_ranks(function) + ": " + Facts::name(fact) + " is " +
                              std::to_string(differing) + " on rank " + std::to_string(other) +
                              ", but " + std::to_string(first) + " on rank 0.");
}

/// Checks that all ranks agree, and returns the length of the longest part of the lines.
///
/// \param local null if this rank refuses the call
/// \param what  the reason for the refusal
/// \throws std::invalid_argument on all ranks, if one refuses or their facts differ
inline std::int64_t agree(const Communicator& comm, Function function, const Local* local,
                          const std::string& what) {
  constexpr int failed = 2 * Facts::count;
  constexpr int misplaced = failed + 1;
  constexpr int length = misplaced + 1;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most[length + 1];
  for (int i = 0; i < Facts::count; ++i) {
    most[2 * i] = local == nullptr ? least : local->facts.value[static_cast<std::size_t>(i)];
    most[2 * i + 1] = local == nullptr ? least : -most[2 * i];
  }
  most[failed] = mark(comm, local == nullptr);
  most[misplaced] = mark(comm, local != nullptr && local->has_misplaced_extra);
  most[length] = local == nullptr ? 0 : local->length;
  reduce_to_largest(comm, most, length + 1);

  if (most[failed] != 0) throw_together(comm, rank_of_mark(comm, most[failed]), what);
  for (int i = 0; i < Facts::count; ++i) {
    if (most[2 * i] == -most[2 * i + 1]) continue;
    throw_difference(comm, function, i, local->facts.value[static_cast<std::size_t>(i)]);
  }
  if (most[misplaced] != 0) {
    const bool is_forward = local->facts.value[Facts::direction] == 0;
    throw std::invalid_argument(
        name_with_ranks(function) + ": the output holds one element more than the input on rank " +
        std::to_string(rank_of_mark(comm, most[misplaced])) + ", but the scan ends on rank " +
        std::to_string(is_forward ? comm.size() - 1 : 0) + ".");
  }
  return most[length];
}

}  // namespace KokkosScan::impl::mpi
