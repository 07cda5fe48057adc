// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan over the ranks by a tree.
///
/// Each rank folds its part of each line. The folds are scanned over the ranks by recursive
/// doubling (Hillis and Steele): in round r a rank sends the fold of the 2^r ranks up to itself to
/// the rank 2^r further on, and combines what it receives before its own value. After ceil(log2 P)
/// rounds it knows its prefix, and scans its part with that as starting values.
///
/// Lines go through this in blocks, as a software pipeline. Block b is at stage s in step b + s: it
/// is folded at stage 0, its messages travel from each stage to the next, and it is scanned at the
/// last stage.
///
/// In each step a rank folds a block, waits for the messages of the previous step, joins them,
/// scans a block and sends. So each message has the time of a scan and a fold to arrive. Meanwhile
/// a device never idles: the host waits for what is sent after it has enqueued the scan.
///
/// Two ranks need no fold: the first one scans, and sends the totals of its scan, block by block,
/// to the second one.

#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/ranks/local.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::ranks {

/// Combines received values before the present ones.
template <class R, class Op>
struct Join {
  Op op;
  const R* received;
  R* prefix;
  R* own;  ///< null if it is no longer needed
  bool has_prefix;
  bool has_own;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const R& before = received[line];
    prefix[line] = has_prefix ? R(op(before, prefix[line])) : before;
    if (own != nullptr) own[line] = has_own ? R(op(before, own[line])) : before;
  }
};

/// Starting values: those of the call combined with the prefix of this rank.
template <class P, class Op>
struct StartOfRank {
  using A = typename P::A;
  using R = typename Combination<P>::R;

  Batch batch;
  decltype(P::start) start;
  Op op;
  bool has_start;  ///< whether the prefix is to be combined with the start
  Array<const R> prefix;
  Array<A> result;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const Coordinates c = batch.coordinates(line);
    const R& before = prefix.line(c)(0);
    const Maybe<A> first = has_start ? start.at(c) : Maybe<A>();
    result.line(c)(0) =
        static_cast<A>(first.exists ? R(op(static_cast<R>(first.value), before)) : before);
  }
};

/// The memory of a call: arrays of one value per line.
template <class Exec, class P>
struct TreeArrays : LocalArrays<Exec, P> {
  using A = typename P::A;
  using R = typename Combination<P>::R;

  // own is the fold of the ranks up to this one, as far as known.
  R* prefix;    ///< the fold of the ranks before this one, as far as known
  R* received;  ///< what joins both
  A* start;
  std::byte* for_fold;
  std::size_t staging_bytes;  ///< for values that are sent and that are received

  TreeArrays(std::byte* data, const Exec& exec, std::int64_t n, std::int64_t lines)
      : LocalArrays<Exec, P>(data, exec, n, lines),
        prefix(this->arena.template take<R>(lines)),
        received(this->arena.template take<R>(lines)),
        start(this->arena.template take<A>(lines)),
        for_fold(this->arena.template take<std::byte>(
            static_cast<std::int64_t>(fold_workspace_bytes<P>(exec, n, lines)))),
        staging_bytes(2 * static_cast<std::size_t>(lines) * sizeof(R)) {}
};

/// A scan of the lines of all ranks. The caller calls begin(), which is optional, and finish().
template <class Exec, class Exchange, class P, class TotalsView>
class Tree : public LocalPart<Exec, Exchange, P, TotalsView, TreeArrays<Exec, P>> {
  using Part = LocalPart<Exec, Exchange, P, TotalsView, TreeArrays<Exec, P>>;
  using Part::m_arrays;
  using Part::m_blocks;
  using Part::m_position;
  using Part::m_problem;
  using Part::m_shared;
  using typename Part::A;
  using typename Part::R;
  using Op = typename Combination<P>::Wide;

 public:
  using Part::Part;

  /// Folds all blocks, or scans those whose totals are sent, and sends the first messages.
  void begin() {
    for (std::int64_t b = 0; b < m_blocks.count; ++b) prepare(b);
    if (rounds() == 0) return;
    exchange().mark(0);
    exchange().wait_for_mark(0);
    exchange().begin_group();
    for (std::int64_t b = 0; b < m_blocks.count; ++b) post(b, 0);
    exchange().end_group();
    m_begun = m_blocks.count;
  }

  /// Executes all remaining steps. Results are enqueued on return.
  void finish() {
    for (std::int64_t step = 0; step < m_blocks.count + rounds(); ++step) {
      const std::int64_t newest = std::min(step, m_blocks.count - 1);
      const std::int64_t oldest = step - rounds();
      if (step < m_blocks.count && step >= m_begun) prepare(step);
      for (std::int64_t b = std::max<std::int64_t>(0, oldest); b <= newest; ++b) {
        if (step > b) complete(b, static_cast<int>(step - b) - 1);
      }
      // On hosts the scan occupies the thread that sends: send first, so that messages travel.
      if constexpr (launches_block<Exec>) post_all(step);
      const bool sends = newest > oldest;
      if (sends) exchange().mark(0);
      if (oldest >= 0 && !sends_totals()) scan(oldest);
      if (sends) exchange().wait_for_mark(0);
      if constexpr (!launches_block<Exec>) post_all(step);
    }
    if (rounds() > 0) exchange().close();
    if constexpr (ViewLike<TotalsView>) this->share_totals();
  }

 private:
  [[nodiscard]] Exchange& exchange() const { return m_shared.exchange; }
  [[nodiscard]] int rounds() const {
    return std::bit_width(static_cast<unsigned>(exchange().size() - 1));
  }
  /// Whether nothing is folded: what is sent are totals of scans.
  [[nodiscard]] bool is_chain() const {
    return exchange().size() == 2 && m_blocks.count >= least_blocks_of_chain;
  }
  [[nodiscard]] bool sends_totals() const { return is_chain() && m_position == 0; }

  /// Computes what is sent in the first round.
  void prepare(std::int64_t b) {
    Progress& progress = this->progress(b);
    // The fold of the last rank is not needed.
    progress.has_own = m_problem.n > 0 && !this->is_last();
    progress.has_prefix = progress.is_received = false;
    if (sends_totals()) {
      scan(b);
    } else if (progress.has_own) {
      fold_by_default(this->exec(), this->block(b), m_arrays.for_fold);
    }
    if (progress.has_own) exchange().stage(own(b), bytes(b));
  }

  [[nodiscard]] std::size_t bytes(std::int64_t b) const {
    return static_cast<std::size_t>(m_blocks.size(b)) * sizeof(R);
  }
  [[nodiscard]] Place own(std::int64_t b) const {
    const std::size_t offset = static_cast<std::size_t>(m_blocks.begin(b)) * sizeof(R);
    return {reinterpret_cast<std::byte*>(m_arrays.own) + offset, offset};
  }
  /// The receive buffer. In staging memory it follows the values that are sent.
  [[nodiscard]] Place received(std::int64_t b) const {
    const std::size_t offset = static_cast<std::size_t>(m_blocks.begin(b)) * sizeof(R);
    return {reinterpret_cast<std::byte*>(m_arrays.received) + offset,
            static_cast<std::size_t>(m_blocks.lines) * sizeof(R) + offset};
  }

  /// Posts the messages of all blocks that are under way in a step.
  void post_all(std::int64_t step) {
    const std::int64_t newest = std::min(step, m_blocks.count - 1);
    exchange().begin_group();
    for (std::int64_t b = std::max<std::int64_t>(0, step - rounds() + 1); b <= newest; ++b) {
      if (step > b || b >= m_begun) post(b, static_cast<int>(step - b));
    }
    exchange().end_group();
  }

  /// Sends and receives the messages of a round. Ranks without a value send an empty message.
  void post(std::int64_t b, int round) {
    const int distance = 1 << round;
    if (m_position >= distance) {
      exchange().receive(b, received(b), bytes(b), this->rank_at(m_position - distance),
                         this->rank_at(std::max(0, m_position - 2 * distance + 1)));
    }
    if (m_position + distance < exchange().size()) {
      exchange().send(b, own(b), this->progress(b).has_own ? bytes(b) : 0,
                      this->rank_at(m_position + distance));
    }
  }

  /// Waits for the messages of a round and joins the received values.
  void complete(std::int64_t b, int round) {
    Progress& progress = this->progress(b);
    const int distance = 1 << round;
    const bool has_values = m_position >= distance && exchange().finish_receive(b);
    if (m_position + distance < exchange().size()) exchange().finish_send(b);
    if (!has_values) return;

    exchange().unstage(received(b), bytes(b));
    const bool wants_own = m_position + 2 * distance < exchange().size();
    if (!progress.has_prefix && !wants_own && m_position < 2 * distance) {
      progress.has_prefix = progress.is_received = true;
      return;
    }
    const std::int64_t first = m_blocks.begin(b);
    for_each_index(this->exec(), this->label("join"), m_blocks.size(b),
                   Join<R, Op>{carrying(m_problem.op), m_arrays.received + first,
                               m_arrays.prefix + first, wants_own ? m_arrays.own + first : nullptr,
                               progress.has_prefix, progress.has_own});
    progress.has_prefix = true;
    if (!wants_own) return;
    progress.has_own = true;
    exchange().stage(own(b), bytes(b));
  }

  /// Scans a block with the prefix of this rank.
  void scan(std::int64_t b) {
    P problem = this->block(b);
    if (!sends_totals() && (!this->is_last() || !ViewLike<TotalsView>)) {
      problem.totals.data = nullptr;
    }
    // Without elements, only the last rank may have results.
    if (problem.n == 0 && problem.extra == Extra::none && problem.totals.data == nullptr) return;
    if (!this->progress(b).has_prefix) return this->scan_locally(problem);

    const std::int64_t first = m_blocks.begin(b);
    const Strides& dense = problem.totals.strides;
    const R* const prefix =
        (this->progress(b).is_received ? m_arrays.received : m_arrays.prefix) + first;
    const bool has_start = !is_chain() && problem.start.exists();
    using Start = StartOfEachLine<A, A>;
    if constexpr (std::is_same_v<A, R>) {
      if (!has_start) {
        return this->scan_locally(with_start(problem, Start{Array<const A>{prefix, dense}}));
      }
    }
    A* const start = m_arrays.start + first;
    for_each_index(
        this->exec(), this->label("start"), problem.batch.count,
        StartOfRank<P, Op>{problem.batch, problem.start, carrying(m_problem.op), has_start,
                           Array<const R>{prefix, dense}, Array<A>{start, dense}});
    this->scan_locally(with_start(problem, Start{Array<const A>{start, dense}}));
  }

  std::int64_t m_begun = 0;
};

}  // namespace KokkosScan::impl::ranks
