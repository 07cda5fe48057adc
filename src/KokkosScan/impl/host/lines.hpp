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
  using Results = Writer<A, Value, block_length, block_length + 1>;
  static constexpr int most_width = 1;

  Lines(const P& problem, Destination destination, Registers registers)
      : m_problem(problem), m_registers(registers), m_results(destination) {}

  /// Strip number `index`: where its first line stands, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index, std::int64_t) const {
    return {m_problem.batch.coordinates(index), 1};
  }

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t) {
    if (m_problem.n <= block_length && results_follow_each_other()) return scan_short(begin, end);
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
  void scan_part(const Coordinates& c, int, std::int64_t begin, std::int64_t end, const R* tiles,
                 const A* before, const Ahead& ahead) {
    const P& p = m_problem;
    const auto line = p.input.line(c);
    const auto results = p.output.line(c);
    A result = *before;
    const R none = neutral(carrying(p.op));
    Carry<R> carry{*tiles, none};
    if constexpr (Results::is_plain) {
      if (m_results.streams() && results.stride == 1) {
        stream_part(line, results, begin, end, ahead, carry, result);
        store_total(c, end, result);
        return;
      }
    }
    if (p.extra == Extra::first && begin == 0) {
      m_results.seek(&results(-1), results.stride);
      *m_results.next() = *before;
      m_results.add(1);
    }
    std::int64_t k = begin;
    if (p.form == Form::inclusive && m_results.may_bypass(&results(begin), results.stride)) {
      const std::int64_t whole = begin + (end - begin) / chunk_length * chunk_length;
      if (results.stride == 1) {
        k = whole;
        scan_chunks<Way{Pass::scan, 1}>(line, &results(begin), begin, k, ahead, carry, result);
      } else if (elements_of<A>(line, -1)) {
        k = whole;
        Value* const to = &results(begin);
        m_results.streams()
            ? scan_chunks<Way{Pass::stream, -1}>(line, to, begin, k, ahead, carry, result)
            : scan_chunks<Way{Pass::scan, -1}>(line, to, begin, k, ahead, carry, result);
      }
    }
    // Exclusive results are the inclusive ones, each a place later: one waits for its place.
    const int waiting = p.form == Form::exclusive ? 1 : 0;
    const auto stored = elements_of<A>(line, 1);
    if (k < end || p.extra == Extra::last) m_results.seek(&results(k), results.stride);
    *m_results.next() = result;
    while (k < end) {
      const int count = static_cast<int>(std::min<std::int64_t>(end - k, block_length));
      with_elements(line, stored, k, count, ahead, [&](const auto& x, const Ahead& ahead_of_x) {
        combine_chunks<Way{Pass::scan}>(m_registers, p.op, x, count, ahead_of_x, carry,
                                        m_results.next() + waiting, result);
      });
      if (waiting == 1) m_results.next()[count] = result;
      m_results.add(count);
      k += count;
      end_tile(k, carry);
    }
    if (end == p.n && p.extra == Extra::last) m_results.add(1);
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
        *last = combine_chunks<Way{Pass::fold}>(m_registers, m_problem.op, x, count, ahead, carry,
                                                static_cast<A*>(nullptr), unused);
      });
    }
    *chunks = carry.chunks;
  }

 private:
  static constexpr bool has_common_start = std::is_same_v<decltype(P::start), CommonStart<A>>;
  using InputLine = decltype(std::declval<P>().input.line(std::declval<Coordinates>()));

  /// Elements from memory are used once. Where results stay in the caches, elements may as well.
  [[nodiscard]] Ahead usual_ahead() const {
    return {ahead_bytes / sizeof(A), m_results.streams() ? Caches::nearest : Caches::all};
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

  /// Scans whole chunks and stores each result where it belongs, or `way.shift` places before the
  /// last of them.
  ///
  /// \param to        where the result of element k goes
  /// \param ahead     of the elements, others that are asked for
  /// \param last_pack as combine_chunks() has it
  template <Way way>
  void scan_chunks(const InputLine& line, Value* to, std::int64_t k, std::int64_t end,
                   const Ahead& ahead, Carry<R>& carry, A& result, A* last_pack = nullptr) const {
    const auto stored = elements_of<A>(line, way.step);
    while (k < end) {
      const int count = static_cast<int>(std::min(end - k, block_length - k % block_length));
      const auto combine_elements = [&](const auto& x, const Ahead& ahead_of_x) {
        combine_chunks<way>(m_registers, m_problem.op, x, count, ahead_of_x, carry,
                            reinterpret_cast<A*>(to), result, last_pack);
      };
      if constexpr (way.step == 1) {
        with_elements(line, stored, k, count, ahead, combine_elements);
      } else {
        combine_elements(stored + k * way.step, ahead);
      }
      k += count;
      to += count * way.step;
      end_tile(k, carry);
    }
  }
  /// The same for a shift that is known when it runs.
  template <int... Shift>
  void stream_chunks(std::integer_sequence<int, Shift...>, int shift, const InputLine& line,
                     Value* to, std::int64_t begin, std::int64_t end, const Ahead& ahead,
                     Carry<R>& carry, A& result, A* last_pack) const {
    ((shift == Shift ? scan_chunks<Way{Pass::stream, 1, Shift}>(line, to, begin, end, ahead, carry,
                                                                result, last_pack)
                     : void()),
     ...);
  }

  /// Scans elements begin ... end - 1 of a line whose results follow each other upwards, and stores
  /// them past the caches, 16 bytes as soon as they are there. The fewer at the ends go the same
  /// way: the processor joins them with what follows or precedes them.
  void stream_part(const InputLine& line, const ArrayLine<Value>& results, std::int64_t begin,
                   std::int64_t end, const Ahead& ahead, Carry<R>& carry, A& result) const {
    const P& p = m_problem;
    const auto stored = elements_of<A>(line, 1);
    const bool is_exclusive = p.form == Form::exclusive;
    const bool stores_first = p.extra == Extra::first && begin == 0;
    A some[2 * chunk_length + pack_length];
    int count = 0;
    if (is_exclusive || stores_first) some[count++] = result;
    auto* to = reinterpret_cast<A*>(stores_first ? &results(-1) : &results(begin));

    std::int64_t k = begin;
    const auto scan_some = [&](std::int64_t up_to) {
      const int of_line = static_cast<int>(std::min(up_to, end) - k);
      if (of_line > 0) {
        with_elements(line, stored, k, of_line, ahead, [&](const auto& x, const Ahead& ahead_of_x) {
          combine_chunks<Way{Pass::scan}>(m_registers, p.op, x, of_line, ahead_of_x, carry,
                                          some + count, result);
        });
      }
      count += of_line;
      k += of_line;
      end_tile(k, carry);
    };
    scan_some(k + chunk_length);
    // In the exclusive form the last result is not that of an element here, and none is stored
    // before the element in its place has been loaded: so one at least is held back.
    const int held = is_exclusive ? 1 : 0;
    const std::int64_t whole = k + (end - k - held) / chunk_length * chunk_length;
    if (k < whole) {
      constexpr int lanes = Pack<A>::lanes;
      const int done = stream_aligned(some, count - held, to);
      const int shift = count - done;
      A last_pack[pack_length] = {};
      std::copy(some + done, some + count, last_pack + (pack_length - shift));
      stream_chunks(std::make_integer_sequence<int, lanes + 1>{}, shift, line,
                    reinterpret_cast<Value*>(to + count), k, whole, ahead, carry, result,
                    last_pack);
      to += done + (whole - k);
      k = whole;
      count = shift;
      std::copy(last_pack + (pack_length - shift), last_pack + pack_length, some);
    }
    scan_some(end);
    if (is_exclusive && !(end == p.n && p.extra == Extra::last)) --count;
    const int done = stream_aligned(some, count, to);
    for (int i = done; i < count; ++i) stream_value(to + i, some[i]);
  }

  /// Whether the results of neighbouring lines follow each other, in scan order, in memory.
  [[nodiscard]] bool results_follow_each_other() const {
    const P& p = m_problem;
    const std::int64_t extent = p.n + (p.extra == Extra::none ? 0 : 1);
    return p.batch.rank == 1 && p.output.strides.batch[0] == extent &&
           (p.output.strides.along == 1 || p.output.strides.along == -1);
  }

  /// Scans lines begin ... end - 1, which follow each other, several at a time.
  void scan_short(std::int64_t begin, std::int64_t end) {
    const P& p = m_problem;
    const int n = static_cast<int>(p.n);
    const bool stores_first = p.extra == Extra::first || p.form == Form::exclusive;
    const int extent = n + (p.extra == Extra::none ? 0 : 1);
    const bool descends = p.output.strides.along < 0;
    const auto line_at = [&](std::int64_t i) {
      return Coordinates{1, {descends ? begin + (end - 1 - i) : i}};
    };
    // One at a time where loads of two would wait.
    const bool waits_for_loads =
        m_results.streams() && n * static_cast<int>(sizeof(A)) >= apart_bytes && !descends &&
        begin < end && as_stored<A>(p.input.line(line_at(begin)), 1) != nullptr;
    constexpr auto lengths = std::make_integer_sequence<int, chunk_length + 1>{};
    // Where registers of results can be stored as they are, they need no writer.
    Value* const results = &p.output.line(line_at(begin))(0);
    const bool is_direct =
        has_common_start && p.totals.data == nullptr && !stores_first && extent == n &&
        p.output.strides.along == 1 &&
        (!m_results.streams() ||
         (n % pack_length == 0 && reinterpret_cast<std::uintptr_t>(results) % 16 == 0));
    // What goes through the writer is no faster for it.
    const Ahead ahead = is_direct ? usual_ahead() : Ahead{usual_ahead().elements, Caches::all};
    const int lines_at_once = waits_for_loads ? 1 : std::max(1, block_length / extent);
    m_results.seek(&p.output.line(line_at(begin))(p.extra == Extra::first ? -1 : 0),
                   p.output.strides.along);
    for (std::int64_t i = begin; i < end;) {
      const int lines = static_cast<int>(std::min<std::int64_t>(end - i, lines_at_once));
      const auto first = p.input.line(line_at(i));
      prefetch_along(first, descends ? -ahead.elements : ahead.elements, lines * n, ahead.caches);
      A loaded[block_length];
      const A* x = as_stored<A>(first, 1);
      std::int64_t stride = n;
      if (x != nullptr && !descends) {
        stride = stride_of_lines(p.input);
      } else {
        x = loaded;
        if (follow_each_other(p.input, n)) {
          load_along<block_length>(first, 0, lines * n, loaded);
        } else {
          for (int l = 0; l < lines; ++l) {
            load_along<block_length>(p.input.line(line_at(i + l)), 0, n, loaded + l * n);
          }
        }
      }
      R tiles;
      A before;
      if constexpr (Results::is_plain) {
        if (is_direct) {
          start(line_at(i), 1, &tiles, &before);
          A* const to = reinterpret_cast<A*>(results + (i - begin) * n);
          constexpr const A* none = nullptr;
          m_results.streams() ? combine_lines<Pass::stream>(lengths, m_registers, p.op, x, stride,
                                                            n, lines, tiles, none, to, n)
                              : combine_lines<Pass::scan>(lengths, m_registers, p.op, x, stride, n,
                                                          lines, tiles, none, to, n);
          i += lines;
          continue;
        }
      }
      A* b = m_results.next();
      if (has_common_start && p.totals.data == nullptr) {
        start(line_at(i), 1, &tiles, &before);
        combine_lines<Pass::scan>(lengths, m_registers, p.op, x, stride, n, lines, tiles,
                                  stores_first ? &before : nullptr, b, extent);
      } else {
        for (int l = 0; l < lines; ++l, x += stride, b += extent) {
          const Coordinates c = line_at(i + l);
          start(c, 1, &tiles, &before);
          if (stores_first) *b = before;
          Carry<R> carry{tiles, neutral(carrying(p.op))};
          combine_chunks<Way{Pass::scan}>(m_registers, p.op, x, n, nothing_ahead, carry,
                                          b + (stores_first ? 1 : 0), before);
          if (p.totals.data != nullptr) p.totals.line(c)(0) = static_cast<Total>(before);
        }
      }
      m_results.add(lines * extent);
      i += lines;
    }
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
  Results m_results;
};

}  // namespace KokkosScan::impl::host
