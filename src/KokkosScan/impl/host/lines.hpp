// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans line by line: lines that are contiguous in memory, or have no contiguous neighbours.

#include <KokkosScan/impl/host/blocks_of_line.hpp>
#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans or folds lines, on one thread. Its strips are single lines.
template <class P>
class Lines {
  using Op = typename Combination<P>::Op;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  static constexpr int most_width = 1;

  Lines(const P& problem, Destination destination, Registers registers, bool)
      : m_problem(problem),
        m_registers(registers),
        m_streams(may_stream<Value> && destination == Destination::memory) {}

  /// Strip number `index`: the coordinates of its first line, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index, std::int64_t) const {
    return {coordinates_of(m_problem.batch, index), 1};
  }

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t) {
    // Write memory in one direction, so that each cache line is stored once.
    const bool descends = m_problem.output.strides.along < 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Coordinates c = coordinates_of(m_problem.batch, descends ? begin + (end - 1 - i) : i);
      PrefixOfPart<A, R, 1> prefix;
      load_starts(m_problem, c, 1, prefix.tiles, prefix.before);
      scan_part(c, 1, 0, m_problem.n, prefix, ahead_bytes / sizeof(A));
    }
  }

  /// Scans elements begin ... end - 1 of a line, whole tiles except at its end.
  ///
  /// \param prefix includes the starting value
  /// \param ahead  the prefetch distance
  [[gnu::noinline]] void scan_part(const Coordinates& c, int, std::int64_t begin, std::int64_t end,
                                   const PrefixOfPart<A, R, 1>& prefix, std::int64_t ahead) {
    const P& p = m_problem;
    const auto line = p.input.line(c);
    const auto results = p.output.line(c);
    // Backward scans go downwards in memory; elements that have to be loaded are in scan order.
    const int step = results.stride == -1 && as_stored<A>(line, -1) != nullptr ? -1 : 1;
    const bool is_direct = results.stride == step && may_stream_directly(results, begin);
    const A* const stored = as_stored<A>(line, step);
    A* const home = step > 0 ? m_staged : m_staged + (most_staged - 1);
    A loaded[block_length];
    BlockOfLine<A> block{loaded, home, begin, 0, step, false, m_folds, {}};
    if (ahead != 0) add_ahead(line, ahead, block.ahead);
    A result = prefix.before[0];
    Carry<R> carry{prefix.tiles[0], neutral(carrying(p.op))};
    int waiting = 0;  // results of an incomplete cache line, which the next block completes
    for (std::int64_t k = begin; k < end; k += block.count) {
      block.begin = k;
      block.count =
          static_cast<int>(std::min<std::int64_t>(end - k, block_length - k % block_length));
      const bool stores_first = k == 0 && p.extra == Extra::first;
      const bool stores_last = k + block.count == p.n && p.extra == Extra::last;
      Value* const to = &results(stores_first ? -1 : k);
      block.streams = is_direct && block.count % chunk_length == 0 && !stores_last;
      block.b = home + waiting * step;
      if constexpr (is_plain<A, Value>) {
        if (block.streams) block.b = to;
      }
      // Exclusive results are the inclusive ones, one place later.
      if (p.form == Form::exclusive || stores_first) {
        *block.b = result;
        block.b += step;
      }
      set_elements(line, stored, k, loaded, block);
      result = scan_elements(m_registers, p.op, block, carry);
      if (block.streams) continue;
      const int staged = waiting + block.count + (stores_first || stores_last ? 1 : 0);
      const bool waits = m_streams && results.stride == step && k + block.count < end;
      waiting = store_staged(step, staged, to - waiting * results.stride, results.stride, waits);
    }
    if (end == p.n && p.totals.data != nullptr) {
      p.totals.line(c)(0) = static_cast<Total>(result);
    }
  }

  /// Folds elements begin ... end - 1 of a tile. `last` receives the last chunk.
  void fold(const Coordinates& c, int, std::int64_t begin, std::int64_t end,
            LastChunk<A, R>* last) const {
    const auto line = m_problem.input.line(c);
    BlockOfLine<A> block{};
    block.step = as_stored<A>(line, -1) == nullptr ? 1 : -1;
    const A* const stored = as_stored<A>(line, block.step);
    A loaded[block_length];
    R chunks = neutral(carrying(m_problem.op));
    for (std::int64_t k = begin; k < end; k += block_length) {
      block.count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      set_elements(line, stored, k, loaded, block);
      *last = fold_chunks(m_registers, m_problem.op, block, chunks);
    }
  }

 private:
  static constexpr int of_line = cache_line / sizeof(Value);

  /// Sets the elements of a block, number k and the following, in place or loaded.
  template <class Line>
  static void set_elements(const Line& line, const A* stored, std::int64_t k, A* loaded,
                           BlockOfLine<A>& block) {
    block.x = stored == nullptr ? loaded : stored + k * block.step;
    if (stored == nullptr) load_along<block_length>(line, k, block.count, loaded);
  }

  /// Whether the line begins with a cache line, so that registers of results fill whole ones.
  bool may_stream_directly(const ArrayLine<Value>& results, std::int64_t begin) const {
    const Value* const lowest = &results(begin) + (results.stride < 0 ? 1 : 0);
    return is_plain<A, Value> && m_streams && m_problem.form != Form::exclusive &&
           m_problem.extra != Extra::first && in_line(lowest) == 0;
  }

  /// Stores staged results, in scan order from `to` on.
  ///
  /// \param step  the order in which they are staged
  /// \param waits whether results that do not complete a cache line wait
  /// \return how many wait
  int store_staged(int step, int count, Value* to, std::int64_t stride, bool waits) {
    if (std::abs(stride) != 1) {
      for (int i = 0; i < count; ++i) to[i * stride] = static_cast<Value>(m_staged[i]);
      return 0;
    }
    if (step > 0) {
      const int waiting = waits ? in_line(to + count) : 0;
      store_run(m_streams, m_staged, count - waiting, to, static_cast<int>(stride));
      std::copy_n(m_staged + (count - waiting), waiting, m_staged);
      return waiting;
    }
    // Downwards, the lowest results wait.
    A* const lowest = m_staged + (most_staged - count);
    to -= count - 1;
    const int waiting = waits ? std::min(count, of_line - 1 - in_line(to - 1)) : 0;
    store_run(m_streams, lowest + waiting, count - waiting, to + waiting);
    std::copy_n(lowest, waiting, m_staged + (most_staged - waiting));
    return waiting;
  }
  /// The number of elements before `to` in its cache line.
  static int in_line(const Value* to) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % cache_line / sizeof(Value));
  }

  const P& m_problem;
  Registers m_registers;
  const bool m_streams;
  // Results of a block and of an incomplete cache line; whole registers exceed them on either side.
  static constexpr int most_staged = page_bytes / sizeof(A);
  static_assert(block_length + 1 + chunk_length + of_line <= most_staged);
  alignas(page_bytes) A m_staged[most_staged];
  alignas(page_bytes) A m_folds[fold_length<A>];
};

}  // namespace KokkosScan::impl::host
