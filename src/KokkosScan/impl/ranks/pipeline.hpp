// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// An in-order scan over the ranks: a pipeline that passes blocks of lines from rank to rank.
///
/// A rank receives the folds of a block of lines up to its part, scans its part in order with them
/// as starting values, and sends the totals on. Each element is read once, and the operator is
/// applied exactly as in a serial loop, however the line is cut into parts.
///
/// While a rank scans one block, the rank before it scans the next. A rank without elements
/// forwards messages. If all ranks before it have no elements, a rank receives empty messages, and
/// its lines begin with the starting values of the call. In a masked input without starting values
/// this can hold for single lines: then a message has a flag for each line, whether any of its
/// elements has counted.

#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/ranks/local.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::ranks {

/// Starting values for those lines in which an element has counted.
template <class A>
struct StartOfSomeLines {
  Array<const A> values;
  Array<const std::uint8_t> flags;

  [[nodiscard]] KOKKOS_FUNCTION bool exists() const { return true; }
  template <class Place>
  KOKKOS_FUNCTION Maybe<A> at(const Place& place) const {
    return flags.line(place)(0) != 0 ? Maybe<A>(values.line(place)(0)) : Maybe<A>();
  }
};

/// Records in which lines an element has counted, here or on earlier ranks.
template <class In>
struct FlagLines {
  Batch batch;
  In input;
  std::int64_t n;
  Array<const std::uint8_t> before;  ///< data is null if nothing comes before
  Array<std::uint8_t> flags;

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const Coordinates at = batch.coordinates(line);
    const auto elements = input.line(at);
    bool any = before.data != nullptr && before.line(at)(0) != 0;
    for (std::int64_t k = 0; k < n && !any; ++k) any = counts(elements, k);
    flags.line(at)(0) = any ? 1 : 0;
  }
};

/// The messages of all blocks, one after the other: a value for each line, then a flag for each.
template <class A, bool has_flags>
struct Messages {
  std::byte* data;

  static constexpr std::size_t bytes_of_line = sizeof(A) + (has_flags ? 1 : 0);
  static constexpr std::size_t alignment = 64;
  static_assert(alignof(A) <= alignment);

  /// The size of the messages for `lines` lines in at most most_blocks blocks.
  static std::size_t bytes_of_all(std::int64_t lines) {
    return static_cast<std::size_t>(lines) * bytes_of_line + alignment * (most_blocks + 1);
  }
  static std::size_t bytes(const Blocks& blocks, std::int64_t b) {
    return static_cast<std::size_t>(blocks.size(b)) * bytes_of_line;
  }
  static std::size_t offset(const Blocks& blocks, std::int64_t b) {
    const std::size_t before = static_cast<std::size_t>(blocks.begin(b)) * bytes_of_line;
    return (before + alignment - 1) / alignment * alignment +
           static_cast<std::size_t>(b) * alignment;
  }
  [[nodiscard]] std::byte* at(const Blocks& blocks, std::int64_t b) const {
    return data + offset(blocks, b);
  }
  [[nodiscard]] A* values(const Blocks& blocks, std::int64_t b) const {
    return reinterpret_cast<A*>(at(blocks, b));
  }
  [[nodiscard]] std::uint8_t* flags(const Blocks& blocks, std::int64_t b) const {
    return reinterpret_cast<std::uint8_t*>(values(blocks, b) + blocks.size(b));
  }
};

/// The memory of a call.
template <class Exec, class P, bool has_flags>
struct PipelineArrays : LocalArrays<Exec, P> {
  using OfBlocks = Messages<typename P::A, has_flags>;

  OfBlocks received, sent;
  std::size_t staging_bytes;  ///< for messages that are sent and that are received

  PipelineArrays(std::byte* data, const Exec& exec, std::int64_t n, std::int64_t lines)
      : LocalArrays<Exec, P>(data, exec, n, lines),
        staging_bytes(2 * OfBlocks::bytes_of_all(lines)) {
    const auto bytes = static_cast<std::int64_t>(OfBlocks::bytes_of_all(lines));
    received.data = this->arena.template take<std::byte>(bytes);
    sent.data = this->arena.template take<std::byte>(bytes);
  }
};

/// A scan of the lines of all ranks. The caller calls begin(), which is optional, and finish().
///
/// \tparam has_flags whether messages contain a flag for each line
template <class Exec, class Exchange, class P, class TotalsView, bool has_flags>
class Pipeline
    : public LocalPart<Exec, Exchange, P, TotalsView, PipelineArrays<Exec, P, has_flags>> {
  using Part = LocalPart<Exec, Exchange, P, TotalsView, PipelineArrays<Exec, P, has_flags>>;
  using Part::m_arrays;
  using Part::m_blocks;
  using Part::m_position;
  using Part::m_problem;
  using Part::m_shared;
  using typename Part::A;
  using Flags = Array<const std::uint8_t>;
  using OfBlocks = Messages<A, has_flags>;

 public:
  using Part::Part;

  /// Posts receives. The rank on which the scan begins scans its part and sends its messages.
  void begin() {
    // Kernels of an earlier call may still read the receive buffers.
    if (exchange().size() > 1) {
      exchange().mark(0);
      exchange().wait_for_mark(0);
    }
    for (std::int64_t b = 0; b < m_blocks.count; ++b) this->progress(b) = {};
    // Where messages are enqueued they wait for each other, so that each has its turn.
    post_receives(Exchange::is_enqueued ? 1 : m_blocks.count);
    m_has_begun = true;
    if (m_position == 0) pass_all();
  }

  /// Receives, scans and sends. Results are enqueued on return.
  void finish() {
    if (!m_has_begun) begin();
    if (m_position > 0) pass_all();
    if (!this->is_last()) {
      for (std::int64_t b = 0; b < m_blocks.count; ++b) exchange().finish_send(b);
    }
    if (exchange().size() > 1) exchange().close();
    if constexpr (ViewLike<TotalsView>) this->share_totals();
  }

 private:
  static constexpr std::int64_t none = -1;

  [[nodiscard]] Exchange& exchange() const { return m_shared.exchange; }
  [[nodiscard]] std::size_t bytes(std::int64_t b) const { return OfBlocks::bytes(m_blocks, b); }
  [[nodiscard]] Place sent(std::int64_t b) const {
    return {m_arrays.sent.at(m_blocks, b), OfBlocks::offset(m_blocks, b)};
  }
  [[nodiscard]] Place received(std::int64_t b) const {
    return {m_arrays.received.at(m_blocks, b),
            OfBlocks::bytes_of_all(m_blocks.lines) + OfBlocks::offset(m_blocks, b)};
  }

  /// Posts the receives of blocks before `end`.
  void post_receives(std::int64_t end) {
    if (m_position == 0) return;
    for (; m_posted < std::min(end, m_blocks.count); ++m_posted) {
      exchange().receive(m_posted, received(m_posted), bytes(m_posted),
                         this->rank_at(m_position - 1), this->rank_at(0));
    }
  }

  /// Passes all blocks through this rank. Devices scan a block while the one before it is sent.
  void pass_all() {
    for (std::int64_t b = 0; b < m_blocks.count; ++b) {
      if (m_position > 0) wait_for(b);
      post_receives(b + 2);
      if (m_problem.n > 0 || this->is_last()) scan(b);
      if (this->is_last()) continue;
      exchange().mark(static_cast<int>(b % 2));
      constexpr bool waits = !launches_block<Exec> && !Exchange::is_enqueued;
      if constexpr (waits) send_unsent();
      m_unsent = b;
      if constexpr (!waits) send_unsent();
    }
    send_unsent();
  }

  void wait_for(std::int64_t b) {
    // The next rank is idle until it receives the block before this one: send that first.
    if (!exchange().is_here(b)) send_unsent();
    const bool has_prefix = exchange().finish_receive(b);
    this->progress(b).has_prefix = has_prefix;
    // A rank without elements forwards the message.
    if (has_prefix && (m_problem.n > 0 || this->is_last())) {
      exchange().unstage(received(b), bytes(b));
    }
  }

  /// Scans a block, and prepares the message for the next rank.
  void scan(std::int64_t b) {
    const bool has_prefix = this->progress(b).has_prefix;
    P problem = this->block(b);
    const Strides& dense = problem.totals.strides;
    const Flags before{has_prefix && has_flags ? m_arrays.received.flags(m_blocks, b) : nullptr,
                       dense};
    if (!this->is_last()) {
      problem.totals.data = m_arrays.sent.values(m_blocks, b);
    } else if constexpr (!ViewLike<TotalsView>) {
      problem.totals.data = nullptr;
    }
    // Before the scan, which may overwrite the input.
    if constexpr (has_flags) {
      if (!this->is_last()) {
        for_each_index(this->exec(), this->label("flags"), problem.batch.count,
                       FlagLines<decltype(P::input)>{
                           problem.batch, problem.input, problem.n, before,
                           Array<std::uint8_t>{m_arrays.sent.flags(m_blocks, b), dense}});
      }
    }
    const Array<const A> values{m_arrays.received.values(m_blocks, b), dense};
    if (!has_prefix) {
      this->scan_locally(problem);
    } else if constexpr (has_flags) {
      this->scan_locally(with_start(problem, StartOfSomeLines<A>{values, before}));
    } else {
      this->scan_locally(with_start(problem, StartOfEachLine<A, A>{values}));
    }
    if (!this->is_last()) {
      exchange().stage(sent(b), bytes(b));
    }
  }

  /// Sends the block that was scanned last, if it has not been sent.
  void send_unsent() {
    if (m_unsent == none) return;
    const std::int64_t b = m_unsent;
    m_unsent = none;
    const bool has_elements = m_problem.n > 0;
    if (has_elements) exchange().wait_for_mark(static_cast<int>(b % 2));
    exchange().send(b, has_elements ? sent(b) : received(b),
                    has_elements || this->progress(b).has_prefix ? bytes(b) : 0,
                    this->rank_at(m_position + 1));
  }

  std::int64_t m_posted = 0;
  std::int64_t m_unsent = none;
  bool m_has_begun = false;
};

}  // namespace KokkosScan::impl::ranks
