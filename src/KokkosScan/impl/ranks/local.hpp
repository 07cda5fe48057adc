// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// This rank's part of a scan over ranks: its problem in blocks of lines, its memory, and what the
/// tree and the pipeline have in common.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/impl/dispatch.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/ranks/agreement.hpp>
#include <KokkosScan/impl/ranks/exchange.hpp>
#include <KokkosScan/impl/ranks/memory.hpp>
#include <KokkosScan/impl/ranks/tuning.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace KokkosScan::impl {

// ---- The problem of this rank -------------------------------------------------------------------

namespace ranks {
/// A stand-in for a backend that keeps the problem of a call instead of scanning it.
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
}  // namespace ranks

template <class P>
inline constexpr bool takes_empty_lines<ranks::Keep<P>> = true;

namespace ranks {

template <class T, int rank>
struct PointerTo {
  using type = typename PointerTo<T, rank - 1>::type*;
};
template <class T>
struct PointerTo<T, 0> {
  using type = T;
};

/// Whether lines are numbered with their first dimension as the fastest, as in LayoutLeft. All
/// ranks number them alike, whatever their strides are.
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

/// The number of lines that share one index in the slowest dimension of extent > 1.
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

/// Lines first ... first + count - 1 of a problem, numbered as in its dense array of totals.
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

/// The same problem with other starting values.
template <class Start, class A, class Op, class In, class Value, class OldStart, class Total>
Problem<A, Op, In, Value, Start, Total> with_start(
    const Problem<A, Op, In, Value, OldStart, Total>& p, const Start& start) {
  return {p.function, p.n,     p.batch,  p.form, p.extra, p.op,
          p.identity, p.input, p.output, start,  p.totals};
}

// ---- A plan -------------------------------------------------------------------------------------

/// The state of a block.
struct Progress {
  bool has_own;      ///< whether the ranks up to this one, as far as known, have elements
  bool has_prefix;   ///< the same for the ranks before this one
  bool is_received;  ///< whether the prefix is what was received, where it was received
};

/// Shared by the calls of a plan: an instance, the exchange of messages, and reused memory.
template <class Exec, class ExchangeOf>
struct Shared {
  using Exchange = ExchangeOf;

  Exec exec;
  Settings settings;
  Exchange exchange;
  Memory<typename Exec::memory_space> memory;
  std::vector<Progress> blocks;
  bool is_busy = false;
  /// What is agreed, if the exchange is enqueued: asking again would make the host wait.
  std::vector<std::pair<Local, Agreement>> agreements;

  template <class Communicator>
  Shared(const Communicator& comm, const Exec& instance, const Settings& numbers)
      : exec(instance), settings(numbers), exchange(comm, instance, numbers) {}
  ~Shared() {
    // Kernels that use the memory may still be running.
    if (memory.data() != nullptr)
      exec.fence("KokkosScan: before memory of a plan over ranks is freed");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
};

/// A workspace size with which blocks of any number of lines are usually scanned without an
/// allocation. A scan that needs more allocates it.
template <class P, class Exec>
std::size_t scan_workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
  std::size_t most = ByDefault{}.template workspace_bytes<P>(exec, n, lines);
  for (std::int64_t some = 1; some < lines; some *= 2) {
    most = std::max(most, 2 * ByDefault{}.template workspace_bytes<P>(exec, n, some));
  }
  return most;
}

// ---- A running scan -----------------------------------------------------------------------------

/// Stores folds, numbered as in a dense array, in a View of totals.
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

/// The memory of a call that the tree and the pipeline have in common.
template <class Exec, class P>
struct LocalArrays {
  using R = typename Combination<P>::R;

  Arena arena;
  std::size_t scan_bytes;
  R* own;  ///< one value per line: the fold of this rank, on the last rank the totals
  std::byte* for_scan;

  /// \param data null to compute only the sizes
  /// \param n    elements in this rank's part of a line
  LocalArrays(std::byte* data, const Exec& exec, std::int64_t n, std::int64_t lines)
      : arena(data),
        scan_bytes(n == 0 ? 0 : scan_workspace_bytes<P>(exec, n, lines)),
        own(arena.take<R>(lines)),
        for_scan(arena.take<std::byte>(static_cast<std::int64_t>(scan_bytes))) {}
  [[nodiscard]] std::size_t bytes() const { return arena.bytes(); }
};

/// The base class of the tree and the pipeline.
///
/// \tparam Exchange   carries its messages
/// \tparam P          this rank's problem; its totals are a dense array
/// \tparam TotalsView the caller's totals, or None
/// \tparam ArraysOf   the memory of a call
template <class Exec, class Exchange, class P, class TotalsView, class ArraysOf>
class LocalPart {
 public:
  using Arrays = ArraysOf;

  LocalPart(Shared<Exec, Exchange>& shared, const P& problem, const Blocks& blocks,
            const Arrays& arrays, Direction direction, const TotalsView& totals, bool left)
      : m_shared(shared),
        m_problem(problem),
        m_blocks(blocks),
        m_arrays(arrays),
        m_is_forward(direction == Direction::forward),
        m_position(rank_at(shared.exchange.rank())),
        m_totals(totals),
        m_left(left) {
    m_shared.blocks.resize(static_cast<std::size_t>(blocks.count));
  }
  LocalPart(const LocalPart&) = delete;
  LocalPart& operator=(const LocalPart&) = delete;

 protected:
  using A = typename P::A;
  using R = typename Combination<P>::R;

  ~LocalPart() = default;

  /// The rank at a position in scan order, and the reverse.
  [[nodiscard]] int rank_at(int position) const {
    return m_is_forward ? position : m_shared.exchange.size() - 1 - position;
  }
  [[nodiscard]] bool is_last() const { return m_position == m_shared.exchange.size() - 1; }

  [[nodiscard]] Progress& progress(std::int64_t b) const {
    return m_shared.blocks[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] const Exec& exec() const { return m_shared.exec; }

  /// The label of a kernel.
  [[nodiscard]] std::string label(const char* kernel) const {
    return impl::name(m_problem.function) + " [" + Exchange::name + "/" + kernel + "]";
  }

  [[nodiscard]] P block(std::int64_t b) const {
    return block_of(m_problem, m_blocks.begin(b), m_blocks.size(b));
  }

  template <class Q>
  void scan_locally(const Q& problem) {
    if (problem.n > 0) {
      const std::size_t needed =
          ByDefault{}.template workspace_bytes<Q>(exec(), problem.n, problem.batch.count);
      return scan_by_default(exec(), problem,
                             needed > m_arrays.scan_bytes ? nullptr : m_arrays.for_scan);
    }
    auto output = problem.output;
    if (problem.extra == Extra::none) output.data = nullptr;
    if (problem.extra == Extra::first) output.data -= output.strides.along;
    if (output.data == nullptr && problem.totals.data == nullptr) return;
    empty_lines(
        exec(), name(problem.function),
        EmptyLines<A, R, decltype(Q::start), std::remove_pointer_t<decltype(output.data)>, R>{
            problem.batch, problem.identity, problem.start, output, problem.totals});
  }

  /// Broadcasts the totals, which are stored on the last rank.
  void share_totals() {
    if (m_shared.exchange.size() > 1) {
      m_shared.exchange.share({reinterpret_cast<std::byte*>(m_arrays.own), 0},
                              static_cast<std::size_t>(m_blocks.lines) * sizeof(R),
                              rank_at(m_shared.exchange.size() - 1));
    }
    using Total = value_of<TotalsView>;
    StoreTotals<R, Total> store{
        m_arrays.own, m_totals.data(), view_rank<TotalsView>, m_left, {}, {}};
    for (std::size_t d = 0; d < TotalsView::rank(); ++d) {
      store.extent[d] = static_cast<std::int64_t>(m_totals.extent(d));
      store.stride[d] = static_cast<std::int64_t>(m_totals.stride(d));
    }
    for_each_index(exec(), label("totals"), m_blocks.lines, store);
  }

  Shared<Exec, Exchange>& m_shared;
  P m_problem;
  Blocks m_blocks;
  Arrays m_arrays;
  bool m_is_forward;
  int m_position;
  TotalsView m_totals;
  bool m_left;
};

}  // namespace ranks
}  // namespace KokkosScan::impl
