// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans lines one after another, each from its first element to its last: lines that are
/// contiguous in memory, and any that have no contiguous neighbours.

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
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (m_streams) end_streaming();
  }

  /// Strip number `index`: where its first line stands, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index, std::int64_t) const {
    return {m_problem.batch.coordinates(index), 1};
  }

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t) {
    // Results go through memory in one direction, so that each cache line is stored once.
    const bool descends = m_problem.output.strides.along < 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Coordinates c = m_problem.batch.coordinates(descends ? begin + (end - 1 - i) : i);
      R tiles;
      A before;
      start(c, 1, &tiles, &before);
      scan_part(c, 1, 0, m_problem.n, &tiles, &before, usual_ahead());
    }
  }

  /// What precedes the line at `c`: the starting value, or what stands for none.
  ///
  /// \param tiles  receives it in the carried type
  /// \param before receives B(0), where that is stored
  void start(const Coordinates& c, int, R* tiles, A* before) const {
    const Maybe<A> start = m_problem.start.at(c);
    *tiles = start.exists ? static_cast<R>(start.value) : neutral(carrying(m_problem.op));
    *before = start.exists ? start.value : m_problem.identity.value;
  }

  /// Scans elements begin ... end - 1 of a line, whole tiles except at its end.
  ///
  /// \param tiles  what comes before, the starting value included
  /// \param before B(begin)
  /// \param ahead  how many elements ahead others are asked for, and where to
  [[gnu::noinline]] void scan_part(const Coordinates& c, int, std::int64_t begin, std::int64_t end,
                                   const R* tiles, const A* before, const Ahead& ahead) {
    const P& p = m_problem;
    const auto line = p.input.line(c);
    const auto results = p.output.line(c);
    A result = *before;
    const R none = neutral(carrying(p.op));
    Carry<R> carry{*tiles, none};
    std::int64_t k = begin;
    if (p.form == Form::inclusive && !(p.extra == Extra::first && begin == 0) &&
        may_be_direct(&results(begin), results.stride)) {
      const std::int64_t whole = begin + (end - begin) / chunk_length * chunk_length;
      Value* const to = &results(begin);
      if (results.stride == 1) {
        k = whole;
        scan_chunks<1>(line, to, begin, k, ahead, carry, result);
      } else if (elements_of<A>(line, -1)) {
        k = whole;
        scan_chunks<-1>(line, to, begin, k, ahead, carry, result);
      }
    }
    scan_staged(line, results, k, end, ahead, carry, result);
    store_total(c, end, result);
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives what the last chunk left behind
  void fold(const Coordinates& c, int, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) const {
    const auto line = m_problem.input.line(c);
    const auto stored = elements_of<A>(line, 1);
    const R none = neutral(carrying(m_problem.op));
    Carry<R> carry{none, none};
    A unused{};
    for (std::int64_t k = begin; k < end; k += block_length) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      with_elements(line, stored, k, count, nothing_ahead, [&](const auto& x, const Ahead& ahead) {
        *last = combine_chunks<1>(m_registers, Pass::fold, m_problem.op, x, count, ahead, carry,
                                  static_cast<A*>(nullptr), unused);
      });
    }
    *chunks = carry.chunks;
  }

 private:
  using InputLine = decltype(std::declval<P>().input.line(std::declval<Coordinates>()));

  /// Elements from memory are used once. Where results stay in the caches, elements may as well.
  [[nodiscard]] Ahead usual_ahead() const {
    return {ahead_bytes / sizeof(A), m_streams ? Caches::nearest : Caches::all};
  }

  /// Whether whole chunks of results may be stored at `to` and on as they are combined.
  [[nodiscard]] bool may_be_direct(const Value* to, std::int64_t stride) const {
    if (!is_plain<A, Value> || (stride != 1 && stride != -1)) return false;
    const Value* aligned = stride == 1 ? to : to + 1;
    return !m_streams || reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0;
  }

  /// Goes on to the next tile where elements up to k end one.
  void end_tile(std::int64_t k, Carry<R>& carry) const {
    const auto wide = carrying(m_problem.op);
    if (k % tile_length == 0) carry = {wide(carry.tiles, carry.chunks), neutral(wide)};
  }

  /// Stores the total of the line at `c` if it ends at `end`.
  void store_total(const Coordinates& c, std::int64_t end, const A& total) const {
    const P& p = m_problem;
    if (end == p.n && p.totals.data != nullptr) p.totals.line(c)(0) = static_cast<Total>(total);
  }

  /// Scans whole chunks and stores each result where it belongs.
  ///
  /// \param to    where the result of element k goes
  /// \param ahead of the elements, others that are asked for
  template <int step>
  void scan_chunks(const InputLine& line, Value* to, std::int64_t k, std::int64_t end,
                   const Ahead& ahead, Carry<R>& carry, A& result) const {
    const Pass pass = m_streams ? Pass::stream : Pass::scan;
    const auto stored = elements_of<A>(line, step);
    while (k < end) {
      const int count = static_cast<int>(std::min(end - k, block_length - k % block_length));
      const auto combine_elements = [&](const auto& x, const Ahead& ahead_of_x) {
        combine_chunks<step>(m_registers, pass, m_problem.op, x, count, ahead_of_x, carry,
                             reinterpret_cast<A*>(to), result);
      };
      if constexpr (step == 1) {
        with_elements(line, stored, k, count, ahead, combine_elements);
      } else {
        combine_elements(stored + k * step, ahead);
      }
      k += count;
      to += count * step;
      end_tile(k, carry);
    }
  }

  /// Scans elements begin ... end - 1 of a line, some at a time, and stores them from L1: results
  /// of any type and stride.
  void scan_staged(const InputLine& line, const ArrayLine<Value>& results, std::int64_t begin,
                   std::int64_t end, const Ahead& ahead, Carry<R>& carry, A& result) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    const auto stored = elements_of<A>(line, 1);
    // Elements in memory that become results past the caches are no blocks.
    const bool stages = is_plain<A, Value> && stored && m_streams && std::abs(results.stride) == 1;
    const int most = stages ? staged_length : block_length;
    int count = 0;
    for (std::int64_t k = begin; k < end; k += count) {
      count = static_cast<int>(std::min<std::int64_t>(end - k, most - k % most));
      const bool stores_first = k == 0 && p.extra == Extra::first;
      const bool stores_last = k + count == p.n && p.extra == Extra::last;
      const int of_block = count + (stores_first || stores_last ? 1 : 0);
      Value* const to = &results(stores_first ? -1 : k);
      A* b = m_staged + pack_length;
      StreamedRun<A> staged;
      if constexpr (is_plain<A, Value>) {
        if (stages) staged = {b, of_block, to, static_cast<int>(results.stride)};
      }
      // Exclusive results are the inclusive ones, each a place later.
      if (is_exclusive || stores_first) *b++ = result;
      with_elements(line, stored, k, count, ahead, [&](const auto& x, const Ahead& ahead_of_x) {
        combine_chunks<1>(m_registers, stages ? Pass::stage : Pass::scan, p.op, x, count,
                          ahead_of_x, carry, b, result, staged);
      });
      end_tile(k + count, carry);
      if (!stages) store_block(of_block, to, results.stride);
    }
  }

  /// Stores the staged results, in scan order from `to` on.
  void store_block(int count, Value* to, std::int64_t stride) {
    const A* const b = m_staged + pack_length;
    if (stride == 1 || stride == -1) {
      return store_run(m_streams, b, count, to, static_cast<int>(stride));
    }
    for (int i = 0; i < count; ++i) to[i * stride] = static_cast<Value>(b[i]);
  }

  /// f(x, ahead_of_x), where x are elements k ... k + count - 1, as they lie in memory, or loaded,
  /// which asks for what is ahead of them; else ahead_of_x says that this is still to be done.
  template <class Stored, class F>
  void with_elements(const InputLine& line, const Stored& stored, std::int64_t k, int count,
                     const Ahead& ahead, const F& f) const {
    if (stored) return f(stored + k, ahead);
    prefetch_along(line, k + ahead.elements, count, ahead.caches);
    A loaded[block_length];
    load_along<block_length>(line, k, count, loaded);
    f(static_cast<const A*>(loaded), nothing_ahead);
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
  static constexpr int staged_length = tile_length;
  alignas(cache_line) A m_staged[staged_length + 3 * pack_length];
};

}  // namespace KokkosScan::impl::host
