// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of lines whose parts lie on the ranks of a communicator.
///
/// Each rank folds its part of each line. The folds are scanned over the ranks, by doubling: in
/// round r a rank sends the fold of the 2^r ranks up to itself, 2^r ranks on, and combines what it
/// receives before what it has. After ceil(log2 P) rounds it knows what comes before its part, and
/// scans it with that as its starting values.
///
/// Lines go through this in blocks. Block b is at stage s in step b + s: it is folded at stage 0,
/// its messages travel from each stage to the next, and it is scanned at the last one. So each
/// message has the time of a fold and a scan.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/impl/dispatch.hpp>
#include <KokkosScan/impl/mpi/agreement.hpp>
#include <KokkosScan/impl/mpi/communicator.hpp>
#include <KokkosScan/impl/mpi/memory.hpp>
#include <KokkosScan/impl/mpi/tuning.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace KokkosScan::impl {

// ---- The problem of this rank -------------------------------------------------------------------

namespace mpi {
/// In place of a backend: keeps the problem of a call.
template <class P>
struct Keep {
  std::optional<P>* problem;

  template <class, class Exec>
  std::size_t workspace_bytes(const Exec&, std::int64_t, std::int64_t) const {
    return 0;
  }
  template <class Exec>
  void scan(const Exec&, const P& kept, std::byte*) const {
    problem->emplace(kept);
  }
};
}  // namespace mpi

template <class P>
inline constexpr bool takes_empty_lines<mpi::Keep<P>> = true;

namespace mpi {

template <class T, int rank>
struct PointerTo {
  using type = typename PointerTo<T, rank - 1>::type*;
};
template <class T>
struct PointerTo<T, 0> {
  using type = T;
};

/// Whether lines are counted with their first dimension as the fastest, as LayoutLeft has it. All
/// ranks count alike, whatever their strides are.
template <class Out>
inline constexpr bool counts_left = std::is_same_v<typename Out::array_layout, Kokkos::LayoutLeft>;

/// The folds of all lines: a dense array of the input's shape without the axis.
template <class Exec, class Out, class R>
using Folds =
    Kokkos::View<typename PointerTo<R, view_rank<Out> - 1>::type,
                 std::conditional_t<counts_left<Out>, Kokkos::LayoutLeft, Kokkos::LayoutRight>,
                 typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class F>
F folds_at(typename F::value_type* data, const Operand& input, int axis) {
  typename F::array_layout layout;
  for (int d = 0, at = 0; d < input.rank; ++d) {
    if (d != axis) layout.dimension[at++] = static_cast<std::size_t>(input.extent[d]);
  }
  return F(data, layout);
}

/// The lines of one index in the slowest dimension that has several.
template <bool left>
std::int64_t unit_of(const Operand& input, int axis, std::int64_t lines) {
  for (int i = 0; i < input.rank; ++i) {
    const int d = left ? input.rank - 1 - i : i;
    if (d != axis && input.extent[d] > 1) return lines / input.extent[d];
  }
  return lines;
}

// ---- Blocks of a problem ------------------------------------------------------------------------

/// Moves the first line of an operand by `by` places in dimension d of the batch.
template <class T>
void move_first(Array<T>& array, int d, std::int64_t by) {
  if (array.data != nullptr) array.data += by * array.strides.batch[d];
}
template <int Rank, class Function>
void move_first(Computed<Rank, Function>& computed, int d, std::int64_t by) {
  computed.origin += by * computed.strides.batch[d];
}
template <class A, class Values, class Mask>
void move_first(Selected<A, Values, Mask>& selected, int d, std::int64_t by) {
  move_first(selected.values, d, by);
  move_first(selected.mask, d, by);
}
template <class A>
void move_first(CommonStart<A>&, int, std::int64_t) {}
template <class A, class T>
void move_first(StartOfEachLine<A, T>& start, int d, std::int64_t by) {
  move_first(start.values, d, by);
}

/// Lines first ... first + count - 1 of a problem, which a dense array of totals counts.
template <class P>
P block_of(const P& problem, std::int64_t first, std::int64_t count) {
  if (count == problem.batch.count) return problem;
  P block = problem;
  int slowest = 0;
  const std::int64_t* const strides = problem.totals.strides.batch;
  for (int d = 1; d < problem.batch.rank; ++d) {
    if (strides[d] > strides[slowest]) slowest = d;
  }
  const std::int64_t by = first / strides[slowest];
  block.batch.extent[slowest] = count / strides[slowest];
  block.batch.count = count;
  move_first(block.input, slowest, by);
  move_first(block.output, slowest, by);
  move_first(block.start, slowest, by);
  move_first(block.totals, slowest, by);
  return block;
}

/// The same with another start.
template <class Start, class A, class Op, class In, class Value, class OldStart, class Total>
Problem<A, Op, In, Value, Start, Total> with_start(
    const Problem<A, Op, In, Value, OldStart, Total>& p, const Start& start) {
  return {p.function, p.n,     p.batch,  p.form, p.extra, p.op,
          p.identity, p.input, p.output, start,  p.totals};
}

// ---- Kernels ------------------------------------------------------------------------------------

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

/// Stores folds, counted as in a dense array, in a View of totals.
template <class R, class Total>
struct StoreTotals {
  const R* folds;
  Total* totals;
  int rank;
  bool left;
  std::int64_t extent[max_batch_rank];
  std::int64_t stride[max_batch_rank];

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    std::int64_t offset = 0;
    std::int64_t rest = line;
    for (int i = 0; i < rank; ++i) {
      const int d = left ? i : rank - 1 - i;
      const Division at(rest, extent[d]);
      offset += at.remainder * stride[d];
      rest = at.quotient;
    }
    totals[offset] = static_cast<Total>(folds[line]);
  }
};

// ---- A plan -------------------------------------------------------------------------------------

/// A block on its way.
struct Progress {
  MPI_Request requests[2];  ///< of the message that is sent and of the one that is received
  bool has_own;             ///< whether the ranks up to this one, as far as known, have elements
  bool has_prefix;          ///< the same for those before it
};

/// What calls share: a communicator, an instance, and memory that is kept between them.
template <class Exec>
struct Shared {
  const Communicator& comm;
  Exec exec;
  Settings settings;
  bool is_staged;
  Memory<typename Exec::memory_space> memory;
  Memory<PinnedSpace> staging;
  std::vector<Progress> blocks;
  bool is_busy = false;

  Shared(const Communicator& communicator, const Exec& instance, const Settings& numbers)
      : comm(communicator),
        exec(instance),
        settings(numbers),
        is_staged(numbers.staging == Staging::automatic ? !takes_memory_of<Exec>()
                                                        : numbers.staging == Staging::always) {}
  ~Shared() {
    // Kernels that use the memory may still be under way.
    if (memory.data() != nullptr) exec.fence("KokkosScan::mpi: before a plan's memory is freed");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
};

/// The memory of a call: an element a line.
template <class A, class R>
struct Arrays {
  R* own;       ///< the fold of the ranks up to this one, as far as known; later the totals
  R* prefix;    ///< that of the ranks before it
  R* received;  ///< what joins them
  A* start;
  std::byte* for_fold;
  std::byte* for_scan;
  std::size_t bytes;

  Arrays(std::byte* data, std::int64_t lines, std::size_t fold_bytes, std::size_t scan_bytes) {
    Parts parts(data);
    own = parts.take<R>(lines);
    prefix = parts.take<R>(lines);
    received = parts.take<R>(lines);
    start = parts.take<A>(lines);
    for_fold = parts.take<std::byte>(static_cast<std::int64_t>(fold_bytes));
    for_scan = parts.take<std::byte>(static_cast<std::int64_t>(scan_bytes));
    bytes = parts.bytes();
  }
};

/// The least workspace with which blocks of any number of lines are scanned without an allocation;
/// should it be more for some number, that scan allocates.
template <class P, class Exec>
std::size_t scan_workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
  std::size_t most = ByDefault{}.template workspace_bytes<P>(exec, n, lines);
  for (std::int64_t some = 1; some < lines; some *= 2) {
    most = std::max(most, 2 * ByDefault{}.template workspace_bytes<P>(exec, n, some));
  }
  return most;
}

// ---- A scan under way ---------------------------------------------------------------------------

/// A scan of the lines of all ranks; begun by the constructor's caller, ended by finish().
///
/// \tparam P          this rank's problem; its totals are Arrays::own
/// \tparam TotalsView where the caller wants totals, or None
template <class Exec, class P, class TotalsView>
class Run {
  using A = typename P::A;
  using Op = typename Combination<P>::Wide;
  using R = typename Combination<P>::R;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

 public:
  Run(Shared<Exec>& shared, const P& problem, const Blocks& blocks, const Arrays<A, R>& arrays,
      std::size_t scan_bytes, Direction direction, const TotalsView& totals, bool left)
      : m_shared(shared),
        m_problem(problem),
        m_op(carrying(problem.op)),
        m_blocks(blocks),
        m_arrays(arrays),
        m_scan_bytes(scan_bytes),
        m_is_forward(direction == Direction::forward),
        m_position(rank_at(shared.comm.rank())),
        m_rounds(std::bit_width(static_cast<unsigned>(shared.comm.size() - 1))),
        m_totals(totals),
        m_left(left) {
    m_shared.blocks.resize(static_cast<std::size_t>(blocks.count));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Folds all blocks and sends the first messages.
  void begin() {
    for (std::int64_t b = 0; b < m_blocks.count; ++b) fold(b);
    if (m_rounds == 0) return;
    finish_kernels();
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
      if (newest > step - m_rounds) finish_kernels();
      for (std::int64_t b = oldest; b <= newest; ++b) {
        const auto stage = static_cast<int>(step - b);
        if (stage < m_rounds && (stage > 0 || b >= m_begun)) post(b, stage);
      }
      if (step >= m_rounds) scan(step - m_rounds);
    }
    if constexpr (ViewLike<TotalsView>) share_totals();
  }

 private:
  /// From the position in scan order to the rank, and back.
  [[nodiscard]] int rank_at(int position) const {
    return m_is_forward ? position : m_shared.comm.size() - 1 - position;
  }
  [[nodiscard]] bool is_last() const { return m_position == m_shared.comm.size() - 1; }

  void finish_kernels() const {
    if constexpr (!launches_block<Exec>) {
      m_shared.exec.fence("KokkosScan::mpi: before values are sent");
    }
  }

  [[nodiscard]] P block(std::int64_t b) const {
    return block_of(m_problem, m_blocks.begin(b), m_blocks.size(b));
  }

  void fold(std::int64_t b) {
    Progress& progress = m_shared.blocks[static_cast<std::size_t>(b)];
    // Nobody asks for that of the last rank.
    progress.has_own = m_problem.n > 0 && !is_last();
    progress.has_prefix = false;
    if (!progress.has_own) return;
    fold_by_default(m_shared.exec, block(b), m_arrays.for_fold);
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
                      rank_at(m_position - distance), tag, comm.get(), &progress.requests[1]),
            "MPI_Irecv");
    }
    if (m_position + distance < comm.size()) {
      check(MPI_Isend(own + offset(b), progress.has_own ? static_cast<int>(bytes(b)) : 0, MPI_BYTE,
                      rank_at(m_position + distance), tag, comm.get(), &progress.requests[0]),
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
    P problem = block(b);
    if (!is_last() || !ViewLike<TotalsView>) problem.totals.data = nullptr;
    if (!m_shared.blocks[static_cast<std::size_t>(b)].has_prefix) return scan_locally(problem);

    const std::int64_t first = m_blocks.begin(b);
    const Strides& dense = problem.totals.strides;
    Kokkos::parallel_for(name(m_problem.function) + " [mpi/start]",
                         light(Policy(m_shared.exec, 0, problem.batch.count)),
                         StartOfRank<P, Op>{problem.batch, problem.start, m_op,
                                            Array<const R>{m_arrays.prefix + first, dense},
                                            Array<A>{m_arrays.start + first, dense}});
    using Start = StartOfEachLine<A, A>;
    scan_locally(with_start(problem, Start{Array<const A>{m_arrays.start + first, dense}}));
  }

  template <class Q>
  void scan_locally(const Q& problem) {
    if (problem.n > 0) {
      const std::size_t needed =
          ByDefault{}.template workspace_bytes<Q>(m_shared.exec, problem.n, problem.batch.count);
      return scan_by_default(m_shared.exec, problem,
                             needed > m_scan_bytes ? nullptr : m_arrays.for_scan);
    }
    auto output = problem.output;
    if (problem.extra == Extra::none) output.data = nullptr;
    if (problem.extra == Extra::first) output.data -= output.strides.along;
    if (output.data == nullptr && problem.totals.data == nullptr) return;
    empty_lines(
        m_shared.exec, name(problem.function),
        EmptyLines<A, R, decltype(Q::start), std::remove_pointer_t<decltype(output.data)>, R>{
            problem.batch, problem.identity, problem.start, output, problem.totals});
  }

  /// Totals are those that the last rank has stored.
  void share_totals() {
    if (m_shared.comm.size() > 1) {
      const std::size_t all = static_cast<std::size_t>(m_blocks.lines) * sizeof(R);
      auto* const own = reinterpret_cast<std::byte*>(m_arrays.own);
      if (is_last() && m_shared.is_staged) {
        copy<Exec, PinnedSpace, typename Exec::memory_space>(m_shared.exec, m_shared.staging.data(),
                                                             own, all);
      }
      finish_kernels();
      std::byte* const values = m_shared.is_staged ? m_shared.staging.data() : own;
      constexpr std::size_t most = std::size_t{1} << 30;
      for (std::size_t at = 0; at < all; at += most) {
        check(MPI_Bcast(values + at, static_cast<int>(std::min(most, all - at)), MPI_BYTE,
                        rank_at(m_shared.comm.size() - 1), m_shared.comm.get()),
              "MPI_Bcast");
      }
      if (!is_last() && m_shared.is_staged) {
        copy<Exec, typename Exec::memory_space, PinnedSpace>(m_shared.exec, own, values, all);
      }
    }
    using Total = value_of<TotalsView>;
    StoreTotals<R, Total> store{
        m_arrays.own, m_totals.data(), view_rank<TotalsView>, m_left, {}, {}};
    for (std::size_t d = 0; d < TotalsView::rank(); ++d) {
      store.extent[d] = static_cast<std::int64_t>(m_totals.extent(d));
      store.stride[d] = static_cast<std::int64_t>(m_totals.stride(d));
    }
    Kokkos::parallel_for(name(m_problem.function) + " [mpi/totals]",
                         light(Policy(m_shared.exec, 0, m_blocks.lines)), store);
  }

  Shared<Exec>& m_shared;
  P m_problem;
  Op m_op;
  Blocks m_blocks;
  Arrays<A, R> m_arrays;
  std::size_t m_scan_bytes;
  bool m_is_forward;
  int m_position;
  int m_rounds;
  TotalsView m_totals;
  bool m_left;
  std::int64_t m_begun = 0;
};

// ---- A call -------------------------------------------------------------------------------------

/// The types of a call.
template <class Exec, class In, class Out, class LinesOrAxis, class OpOrTransparent>
struct Types {
  using L = LinesTraits<lines_of_t<LinesOrAxis>>;
  using Totals = typename L::Totals;
  using A = accumulator_of_t<OpOrTransparent, value_of<Out>>;
  using R = carried_t<bound_t<OpOrTransparent, A>, A>;
  using OwnFolds = Folds<Exec, Out, R>;
  using OwnLines = Along<typename L::Start, OwnFolds, None>;
  using P = typename ProblemOf<In, Out, LinesTraits<OwnLines>, OpOrTransparent>::type;
  using Run = mpi::Run<Exec, P, Totals>;
};

/// Checks a call, agrees on it with the other ranks, and makes a run of it, unless there are no
/// lines. What is wrong on one rank is thrown on all.
template <class Exec, class In, class Out, class LinesOrAxis, class OpOrTransparent, class Run>
void prepare(std::optional<Run>& run, Shared<Exec>& shared, Function function, const In& in,
             const Out& out, const LinesOrAxis& lines_or_axis, const OpOrTransparent& op) {
  using T = Types<Exec, In, Out, LinesOrAxis, OpOrTransparent>;
  using P = typename T::P;
  using A = typename T::A;
  using R = typename T::R;
  using Bound = bound_t<OpOrTransparent, A>;
  const auto& lines = lines_of(lines_or_axis);
  const bool is_forward = lines.direction() == Direction::forward;
  constexpr bool has_start = !std::is_same_v<typename T::L::Start, None>;
  constexpr bool has_totals = ViewLike<typename T::Totals>;

  std::optional<Local> local;
  std::string refusal;
  std::optional<Operands<In, typename T::L>> operands;
  std::int64_t count = 0;
  std::size_t fold_bytes = 0;
  std::size_t scan_bytes = 0;
  try {
    if (shared.is_busy) {
      throw std::logic_error(name_with_ranks(function) +
                             ": the plan's last scan is not finished yet.");
    }
    operands.emplace(function, in, out, lines);
    const int axis = operands->axis();
    const std::int64_t n = operands->length();
    check_memory(function, operands->all());
    check_overlaps(function, operands->all(), axis, operands->has_extra());
    count = count_lines(operands->input(), axis);
    fold_bytes = fold_workspace_bytes<P>(shared.exec, n, count);
    scan_bytes = n == 0 ? 0 : scan_workspace_bytes<P>(shared.exec, n, count);
    shared.memory.reserve(shared.exec, Arrays<A, R>(nullptr, count, fold_bytes, scan_bytes).bytes);
    if (shared.is_staged) {
      shared.staging.reserve(shared.exec, 2 * static_cast<std::size_t>(count) * sizeof(R));
    }

    local.emplace();
    const int last = is_forward ? shared.comm.size() - 1 : 0;
    local->length = n;
    local->has_misplaced_extra = operands->has_extra() && shared.comm.rank() != last;
    auto& facts = local->facts.value;
    const Operand& input = operands->input();
    facts[Facts::function] = function == Function::inclusive_scan ? 0 : 1;
    facts[Facts::direction] = is_forward ? 0 : 1;
    facts[Facts::rank] = input.rank;
    facts[Facts::axis] = axis;
    for (int d = 0; d < input.rank; ++d) {
      facts[static_cast<std::size_t>(Facts::extents + d)] = d == axis ? 0 : input.extent[d];
    }
    facts[Facts::has_start] = has_start ? 1 : 0;
    facts[Facts::has_totals] = has_totals ? 1 : 0;
    facts[Facts::accumulator] = sizeof(R);
    facts[Facts::order] = counts_left<Out> ? 1 : 0;
    facts[Facts::block_bytes] = shared.settings.block_bytes;
    facts[Facts::least_lines] = shared.settings.least_lines;
    facts[Facts::element_size] = sizeof(value_of<Out>);
  } catch (const std::exception& e) {
    local.reset();
    refusal = e.what();
  }
  const std::int64_t longest = agree(shared.comm, function, local ? &*local : nullptr, refusal);
  if (count == 0) return;

  const int axis = operands->axis();
  if (has_totals && longest == 0 && !has_start && !HasIdentity<Bound, A>) {
    throw std::invalid_argument(
        name_with_ranks(function) +
        ": totals of empty lines need an identity of the operator or a starting value.");
  }
  const std::int64_t unit = unit_of<counts_left<Out>>(operands->input(), axis, count);
  constexpr bool on_host = launches_block<Exec>;
  const std::int64_t block_bytes =
      shared.settings.block_bytes > 0 ? shared.settings.block_bytes : default_block_bytes<on_host>;
  constexpr auto element_size = static_cast<std::int64_t>(sizeof(value_of<Out>));
  const int fastest = counts_left<Out> ? 0 : operands->input().rank - 1;
  const std::int64_t least_lines = shared.settings.least_lines > 0
                                       ? shared.settings.least_lines
                                       : default_least_lines(axis == fastest, element_size);
  Blocks blocks = cut_into_blocks(count, unit, longest * element_size, block_bytes, least_lines);
  if (shared.comm.size() == 1) blocks = {count, count, 1};
  if (blocks.lines_of_block > std::numeric_limits<int>::max() / static_cast<int>(sizeof(R))) {
    throw std::invalid_argument(name_with_ranks(function) + ": a message of " +
                                std::to_string(blocks.lines_of_block) +
                                " values would have more bytes than an int counts.");
  }
  const Arrays<A, R> arrays(shared.memory.data(), count, fold_bytes, scan_bytes);
  const typename T::OwnLines own_lines(
      lines.axis(), lines.direction(), lines.start(),
      folds_at<typename T::OwnFolds>(arrays.own, operands->input(), axis), None{});
  std::optional<P> problem;
  impl::scan(function, shared.exec, in, out, own_lines, op, Keep<P>{&problem});
  run.emplace(shared, *problem, blocks, arrays, scan_bytes, lines.direction(), lines.totals(),
              counts_left<Out>);
}

/// A whole call.
template <class Exec, class In, class Out, class Lines, class Op>
void scan(Shared<Exec>& shared, Function function, const In& in, const Out& out, const Lines& lines,
          const Op& op) {
  const Kokkos::Profiling::ScopedRegion region(name_with_ranks(function));
  std::optional<typename Types<Exec, In, Out, Lines, Op>::Run> run;
  prepare(run, shared, function, in, out, lines, op);
  if (run) run->finish();
}

/// Whether the types of a call are right; fails to compile, with one sentence, where they are not.
template <Function function, class Exec, class In, class Out, class Lines, class Op>
constexpr bool are_right() {
  constexpr Refusal refusal = refusal_of<function, Exec, In, Out, Lines, Op>();
  explain<refusal>();
  constexpr bool stores = ViewLike<Out>;
  static_assert(refusal != Refusal::none || stores,
                "KokkosScan: the results of a scan over ranks are stored in a Kokkos View as they "
                "are.");
  constexpr bool zips = is_zipped<In>;
  static_assert(refusal != Refusal::none || !zips,
                "KokkosScan: a scan over ranks does not take zipped inputs.");
  if constexpr (refusal == Refusal::none && stores && !zips) {
    constexpr bool lends =
        !std::is_same_v<typename LinesTraits<lines_of_t<Lines>>::Workspace, None>;
    static_assert(!lends,
                  "KokkosScan: a scan over ranks takes no workspace; an mpi::Plan keeps memory.");
    constexpr bool is_in_order = LinesTraits<lines_of_t<Lines>>::grouping == Grouping::in_order;
    static_assert(!is_in_order, "KokkosScan: a scan over ranks combines by a tree, not in order.");
    return !lends && !is_in_order;
  }
  return false;
}

}  // namespace mpi
}  // namespace KokkosScan::impl
