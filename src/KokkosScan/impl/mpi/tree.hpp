// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan by a tree over the ranks.
///
/// Each rank folds its part of each line. The folds are scanned over the ranks, by doubling: in
/// round r a rank sends the fold of the 2^r ranks up to itself, 2^r ranks on, and combines what it
/// receives before what it has. After ceil(log2 P) rounds it knows what comes before its part, and
/// scans it with that as its starting values.
///
/// Lines go through this in blocks. Block b is at stage s in step b + s: it is folded at stage 0,
/// its messages travel from each stage to the next, and it is scanned at the last one. So each
/// message has the time of a fold and a scan.

#include <KokkosScan/impl/mpi/local.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace KokkosScan::impl::mpi {

/// Combines what was received before what is there.
template <class R, class Op>
struct Join {
  Op op;
  const R* received;
  R* prefix;
  R* own;  ///< null where nobody wants it any more
  bool has_prefix;
  bool has_own;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const R& before = received[line];
    prefix[line] = has_prefix ? R(op(before, prefix[line])) : before;
    if (own != nullptr) own[line] = has_own ? R(op(before, own[line])) : before;
  }
};

/// Starting values: those of the call, then what comes before this rank.
template <class P, class Op>
struct StartOfRank {
  using A = typename P::A;
  using R = typename Combination<P>::R;

  Batch batch;
  decltype(P::start) start;
  Op op;
  Array<const R> prefix;
  Array<A> result;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const Coordinates c = batch.coordinates(line);
    const Maybe<A> first = start.at(c);
    const R& before = prefix.line(c)(0);
    result.line(c)(0) =
        static_cast<A>(first.exists ? R(op(static_cast<R>(first.value), before)) : before);
  }
};

/// The memory of a call: an element a line.
template <class Exec, class P>
struct TreeArrays {
  using A = typename P::A;
  using R = typename Combination<P>::R;

  R* own;       ///< the fold of the ranks up to this one, as far as known; later the totals
  R* prefix;    ///< that of the ranks before it
  R* received;  ///< what joins them
  A* start;
  std::byte* for_fold;
  std::byte* for_scan;
  std::size_t scan_bytes;
  std::size_t bytes;
  std::size_t staging_bytes;  ///< what is sent, and what is received

  /// \param data null: only the sizes count
  /// \param n    elements of this rank's part of a line
  TreeArrays(std::byte* data, const Exec& exec, std::int64_t n, std::int64_t lines)
      : scan_bytes(n == 0 ? 0 : scan_workspace_bytes<P>(exec, n, lines)),
        staging_bytes(2 * static_cast<std::size_t>(lines) * sizeof(R)) {
    Parts parts(data);
    own = parts.take<R>(lines);
    prefix = parts.take<R>(lines);
    received = parts.take<R>(lines);
    start = parts.take<A>(lines);
    for_fold =
        parts.take<std::byte>(static_cast<std::int64_t>(fold_workspace_bytes<P>(exec, n, lines)));
    for_scan = parts.take<std::byte>(static_cast<std::int64_t>(scan_bytes));
    bytes = parts.bytes();
  }
};

/// A scan of the lines of all ranks; begun by the constructor's caller, ended by finish().
template <class Exec, class P, class TotalsView>
class Tree : LocalPart<Exec, P, TotalsView> {
  using Part = LocalPart<Exec, P, TotalsView>;
  using Part::m_blocks;
  using Part::m_position;
  using Part::m_problem;
  using Part::m_shared;
  using typename Part::A;
  using typename Part::Policy;
  using typename Part::R;
  using Op = typename Combination<P>::Wide;

 public:
  using Arrays = TreeArrays<Exec, P>;

  Tree(Shared<Exec>& shared, const P& problem, const Blocks& blocks, const Arrays& arrays,
       Direction direction, const TotalsView& totals, bool left)
      : Part(shared, problem, blocks, arrays.own, arrays.for_scan, arrays.scan_bytes, direction,
             totals, left),
        m_op(carrying(problem.op)),
        m_arrays(arrays),
        m_rounds(std::bit_width(static_cast<unsigned>(shared.comm.size() - 1))) {}

  /// Folds all blocks and sends the first messages.
  void begin() {
    for (std::int64_t b = 0; b < m_blocks.count; ++b) fold(b);
    if (m_rounds == 0) return;
    this->finish_kernels();
    for (std::int64_t b = 0; b < m_blocks.count; ++b) post(b, 0);
    m_begun = m_blocks.count;
  }

  /// Goes through all steps that are left. Results are enqueued on return.
  void finish() {
    for (std::int64_t step = 0; step < m_blocks.count + m_rounds; ++step) {
      const std::int64_t newest = std::min(step, m_blocks.count - 1);
      const std::int64_t oldest = std::max<std::int64_t>(0, step - m_rounds);
      for (std::int64_t b = oldest; b <= newest; ++b) {
        const auto stage = static_cast<int>(step - b);
        if (stage > 0) complete(b, stage - 1);
        if (stage == 0 && b >= m_begun) fold(b);
      }
      // One wait a step for all messages that are sent in it; what is scanned next runs meanwhile.
      if (newest > step - m_rounds) this->finish_kernels();
      for (std::int64_t b = oldest; b <= newest; ++b) {
        const auto stage = static_cast<int>(step - b);
        if (stage < m_rounds && (stage > 0 || b >= m_begun)) post(b, stage);
      }
      if (step >= m_rounds) scan(step - m_rounds);
    }
    if constexpr (ViewLike<TotalsView>) this->share_totals();
  }

 private:
  void fold(std::int64_t b) {
    Progress& progress = m_shared.blocks[static_cast<std::size_t>(b)];
    // Nobody asks for that of the last rank.
    progress.has_own = m_problem.n > 0 && !this->is_last();
    progress.has_prefix = false;
    if (!progress.has_own) return;
    fold_by_default(m_shared.exec, this->block(b), m_arrays.for_fold);
    stage_own(b);
  }

  /// Copies what the next message of a block has to memory of the host, if that is what is sent.
  void stage_own(std::int64_t b) {
    if (!m_shared.is_staged) return;
    copy<Exec, PinnedSpace, typename Exec::memory_space>(
        m_shared.exec, m_shared.staging.data() + offset(b),
        reinterpret_cast<const std::byte*>(m_arrays.own) + offset(b), bytes(b));
  }

  [[nodiscard]] std::size_t offset(std::int64_t b) const {
    return static_cast<std::size_t>(m_blocks.begin(b)) * sizeof(R);
  }
  [[nodiscard]] std::size_t bytes(std::int64_t b) const {
    return static_cast<std::size_t>(m_blocks.size(b)) * sizeof(R);
  }
  /// Where messages are received: behind what is sent, where they are staged.
  [[nodiscard]] std::byte* received(std::int64_t b) const {
    const std::size_t all = static_cast<std::size_t>(m_blocks.lines) * sizeof(R);
    return (m_shared.is_staged ? m_shared.staging.data() + all
                               : reinterpret_cast<std::byte*>(m_arrays.received)) +
           offset(b);
  }

  /// Sends and receives the messages of a round: what is absent is a message without bytes.
  void post(std::int64_t b, int round) {
    Progress& progress = m_shared.blocks[static_cast<std::size_t>(b)];
    const Communicator& comm = m_shared.comm;
    const int distance = 1 << round;
    const int tag = static_cast<int>(b % 16384);
    const std::byte* const own = m_shared.is_staged
                                     ? m_shared.staging.data()
                                     : reinterpret_cast<const std::byte*>(m_arrays.own);
    progress.requests[0] = progress.requests[1] = MPI_REQUEST_NULL;
    if (m_position >= distance) {
      check(MPI_Irecv(received(b), static_cast<int>(bytes(b)), MPI_BYTE,
                      this->rank_at(m_position - distance), tag, comm.get(), &progress.requests[1]),
            "MPI_Irecv");
    }
    if (m_position + distance < comm.size()) {
      check(MPI_Isend(own + offset(b), progress.has_own ? static_cast<int>(bytes(b)) : 0, MPI_BYTE,
                      this->rank_at(m_position + distance), tag, comm.get(), &progress.requests[0]),
            "MPI_Isend");
    }
  }

  /// Waits for the messages of a round and joins what has arrived.
  void complete(std::int64_t b, int round) {
    Progress& progress = m_shared.blocks[static_cast<std::size_t>(b)];
    MPI_Status statuses[2];
    const int code = MPI_Waitall(2, progress.requests, statuses);
    for (const MPI_Status& status : statuses) {
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING) {
        check(status.MPI_ERROR, "MPI_Waitall");
      }
    }
    check(code, "MPI_Waitall");
    const int distance = 1 << round;
    if (m_position < distance) return;
    int arrived = 0;
    check(MPI_Get_count(&statuses[1], MPI_BYTE, &arrived), "MPI_Get_count");
    if (arrived == 0) return;

    if (m_shared.is_staged) {
      copy<Exec, typename Exec::memory_space, PinnedSpace>(
          m_shared.exec, reinterpret_cast<std::byte*>(m_arrays.received) + offset(b), received(b),
          bytes(b));
    }
    const bool wants_own = m_position + 2 * distance < m_shared.comm.size();
    const std::int64_t first = m_blocks.begin(b);
    Kokkos::parallel_for(name(m_problem.function) + " [mpi/join]",
                         light(Policy(m_shared.exec, 0, m_blocks.size(b))),
                         Join<R, Op>{m_op, m_arrays.received + first, m_arrays.prefix + first,
                                     wants_own ? m_arrays.own + first : nullptr,
                                     progress.has_prefix, progress.has_own});
    progress.has_prefix = true;
    if (!wants_own) return;
    progress.has_own = true;
    stage_own(b);
  }

  /// Scans a block with what comes before this rank.
  void scan(std::int64_t b) {
    // Without elements, there are results on the last rank alone.
    if (m_problem.n == 0 && !this->is_last()) return;
    P problem = this->block(b);
    if (!this->is_last() || !ViewLike<TotalsView>) problem.totals.data = nullptr;
    if (!m_shared.blocks[static_cast<std::size_t>(b)].has_prefix)
      return this->scan_locally(problem);

    const std::int64_t first = m_blocks.begin(b);
    const Strides& dense = problem.totals.strides;
    Kokkos::parallel_for(name(m_problem.function) + " [mpi/start]",
                         light(Policy(m_shared.exec, 0, problem.batch.count)),
                         StartOfRank<P, Op>{problem.batch, problem.start, m_op,
                                            Array<const R>{m_arrays.prefix + first, dense},
                                            Array<A>{m_arrays.start + first, dense}});
    using Start = StartOfEachLine<A, A>;
    this->scan_locally(with_start(problem, Start{Array<const A>{m_arrays.start + first, dense}}));
  }

  Op m_op;
  Arrays m_arrays;
  int m_rounds;
  std::int64_t m_begun = 0;
};

}  // namespace KokkosScan::impl::mpi
