// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans lines one after another, each from its first element to its last: lines that are
/// contiguous in memory, and any that have no contiguous neighbours.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store.hpp>
#include <KokkosScan/impl/host/tree.hpp>
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

  Lines(const P& problem, Destination destination) : m_problem(problem), m_results(destination) {}

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
      scan_part(c, 1, 0, m_problem.n, &tiles, &before);
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
  void scan_part(const Coordinates& c, int, std::int64_t begin, std::int64_t end, const R* tiles,
                 const A* before) {
    const P& p = m_problem;
    const auto wide = carrying(p.op);
    const auto line = p.input.line(c);
    const A* stored = as_stored<A>(line);
    const auto results = p.output.line(c);
    const bool stores_first = p.extra == Extra::first && begin == 0;
    // Exclusive results are the inclusive ones, each a place later: one waits for its place.
    const int waiting = p.form == Form::exclusive ? 1 : 0;
    m_results.seek(&results(stores_first ? -1 : begin), results.stride);
    if (waiting == 1 || stores_first) *m_results.next() = *before;
    if (stores_first) m_results.add(1);

    A total{};
    Carry<R> carry{*tiles, neutral(wide)};
    for (std::int64_t k = begin; k < end;) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      A loaded[block_length];
      A* b = m_results.next() + waiting;
      combine_chunks<Pass::scan>(p.op, load(line, stored, k, count, loaded), count, carry, b);
      total = b[count - 1];
      m_results.add(count);
      k += count;
      if (k % tile_length == 0) carry = {wide(carry.tiles, carry.chunks), neutral(wide)};
    }
    if (end < p.n) return;
    if (p.extra == Extra::last) m_results.add(1);
    if (p.totals.data != nullptr) p.totals.line(c)(0) = static_cast<Total>(total);
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives what the last chunk left behind
  void fold(const Coordinates& c, int, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) const {
    const auto line = m_problem.input.line(c);
    const A* stored = as_stored<A>(line);
    const R none = neutral(carrying(m_problem.op));
    Carry<R> carry{none, none};
    for (std::int64_t k = begin; k < end; k += block_length) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      A loaded[block_length];
      *last = combine_chunks<Pass::fold>(m_problem.op, load(line, stored, k, count, loaded), count,
                                         carry, static_cast<A*>(nullptr));
    }
    *chunks = carry.chunks;
  }

 private:
  /// Elements k ... k + count - 1: where they lie, or `loaded`.
  template <class Line>
  static const A* load(const Line& line, const A* stored, std::int64_t k, int count,
                       A (&loaded)[block_length]) {
    if (stored != nullptr) return stored + k;
    load_along<block_length>(line, k, count, loaded);
    return loaded;
  }

  const P& m_problem;
  Writer<A, Value, block_length, block_length> m_results;
};

}  // namespace KokkosScan::impl::host
