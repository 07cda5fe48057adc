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
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (m_streams) end_streaming();
  }

  /// Strip number `index`: the coordinates of its first line, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index, std::int64_t) const {
    return {m_problem.batch.coordinates(index), 1};
  }

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t) {
    // Write memory in one direction, so that each cache line is stored once.
    const bool descends = m_problem.output.strides.along < 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Coordinates c = m_problem.batch.coordinates(descends ? begin + (end - 1 - i) : i);
      R tiles;
      A before;
      start(c, 1, &tiles, &before);
      scan_part(c, 1, 0, m_problem.n, &tiles, &before, usual_ahead);
    }
  }

  /// The state before the line at `c`: the starting value, or a neutral value if there is none.
  ///
  /// \param tiles  receives it in the carried type
  /// \param before receives B(0), which may have to be stored
  void start(const Coordinates& c, int, R* tiles, A* before) const {
    const Maybe<A> start = m_problem.start.at(c);
    *tiles = start.exists ? static_cast<R>(start.value) : neutral(carrying(m_problem.op));
    *before = start.exists ? start.value : m_problem.identity.value;
  }

  /// Scans elements begin ... end - 1 of a line, whole tiles except at its end.
  ///
  /// \param tiles  the prefix, including the starting value
  /// \param before B(begin)
  /// \param ahead  the prefetch distance
  [[gnu::noinline]] void scan_part(const Coordinates& c, int, std::int64_t begin, std::int64_t end,
                                   const R* tiles, const A* before, std::int64_t ahead) {
    const P& p = m_problem;
    const auto line = p.input.line(c);
    const auto results = p.output.line(c);
    const bool is_exclusive = p.form == Form::exclusive;
    const A* const stored = as_stored<A>(line, 1);
    A result = *before;
    A loaded[block_length];
    Carry<R> carry{*tiles, neutral(carrying(p.op))};
    int count = 0;
    int waiting = 0;  // results of an incomplete cache line, which the next block completes
    for (std::int64_t k = begin; k < end; k += count) {
      count = static_cast<int>(std::min<std::int64_t>(end - k, block_length - k % block_length));
      const bool stores_first = k == 0 && p.extra == Extra::first;
      const bool stores_last = k + count == p.n && p.extra == Extra::last;
      A* b = m_staged + waiting;
      // Exclusive results are the inclusive ones, one place later.
      if (is_exclusive || stores_first) *b++ = result;
      const A* const x = elements_at(line, stored, k, count, loaded);
      // Hardware prefetching follows loads that do nothing else.
      const std::int64_t ahead_of_x = stored == nullptr ? 0 : ahead;
      result = scan_elements(m_registers, p.op, x, k, count, ahead_of_x, carry, b, m_folds);
      const int staged = waiting + count + (stores_first || stores_last ? 1 : 0);
      Value* const to = &results(stores_first ? -1 : k) - waiting * results.stride;
      waiting = k + count < end && m_streams && results.stride == 1 ? left_of_line(to + staged) : 0;
      store_block(staged - waiting, to, results.stride);
      std::copy_n(m_staged + (staged - waiting), waiting, m_staged);
    }
    if (end == p.n && p.totals.data != nullptr) {
      p.totals.line(c)(0) = static_cast<Total>(result);
    }
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives the last chunk
  void fold(const Coordinates& c, int, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) const {
    const auto line = m_problem.input.line(c);
    const A* const stored = as_stored<A>(line, 1);
    A loaded[block_length];
    *chunks = neutral(carrying(m_problem.op));
    for (std::int64_t k = begin; k < end; k += block_length) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      const A* const x = elements_at(line, stored, k, count, loaded);
      *last = fold_chunks<A>(m_registers, m_problem.op, x, count, *chunks);
    }
  }

 private:
  static constexpr std::int64_t usual_ahead = ahead_bytes / sizeof(A);

  /// The number of elements before `to` in its cache line.
  static int left_of_line(const Value* to) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % cache_line / sizeof(Value));
  }
  /// Stores the staged results, in scan order from `to` on.
  void store_block(int count, Value* to, std::int64_t stride) {
    const A* const b = m_staged;
    if (stride == 1 || stride == -1) {
      return store_run(m_streams, b, count, to, static_cast<int>(stride));
    }
    for (int i = 0; i < count; ++i) to[i * stride] = static_cast<Value>(b[i]);
  }

  /// Elements k ... k + count - 1, in place or loaded.
  template <class Line>
  static const A* elements_at(const Line& line, const A* stored, std::int64_t k, int count,
                              A* loaded) {
    if (stored != nullptr) return stored + k;
    load_along<block_length>(line, k, count, loaded);
    return loaded;
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
  static constexpr int page = page_bytes / sizeof(A);
  static_assert(block_length + 1 + chunk_length + cache_line / sizeof(A) <= page);
  alignas(page_bytes) A m_staged[page];  ///< results
  alignas(page_bytes) A m_folds[fold_length<A>];
};

}  // namespace KokkosScan::impl::host
