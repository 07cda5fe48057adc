// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans strips: many neighbouring lines side by side, a pack of rows at a time.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/slab_rows.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans strips of up to most_width neighbouring lines, on one thread.
template <class P>
class Strips {
  using Op = typename Combination<P>::Op;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  static constexpr int most_width = strip_bytes / sizeof(A);

 private:
  static constexpr int segment = segment_bytes / sizeof(A);
  static constexpr int spill = 32 / sizeof(A);
  static constexpr int of_line = cache_line / sizeof(A);
  static constexpr bool has_common_start = std::is_same_v<decltype(P::start), CommonStart<A>>;

 public:
  Strips(const P& problem, Destination destination, Registers registers, bool)
      : m_problem(problem),
        m_registers(registers),
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory) {}
  Strips(const Strips&) = delete;
  Strips& operator=(const Strips&) = delete;
  ~Strips() {
    if (m_streams) end_streaming();
  }

  /// Scans strips begin ... end - 1 of those into which each row of neighbouring lines is cut.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    // Through memory in one direction, which the hardware can foresee.
    const bool descends = m_problem.output.strides.along < 0;
    const Batch& batch = m_problem.batch;
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width = strip_width(lines_of_row, strips_of_row);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t index = descends ? begin + (end - 1 - i) : i;
      const std::int64_t first = index % strips_of_row * width;
      if (first >= lines_of_row) continue;
      scan_strip(batch.coordinates(index / strips_of_row * lines_of_row + first),
                 static_cast<int>(std::min(lines_of_row - first, width)));
    }
  }

 private:
  void scan_strip(const Coordinates& c, int width) {
    const P& p = m_problem;
    start(c, width);
    const auto results = p.output.line(c);
    const bool is_exclusive = p.form == Form::exclusive;
    if (p.extra == Extra::first) store_row(results, -1, width);
    // Rows of whole registers go to memory as they are computed; past the caches, if all of them
    // are aligned.
    const bool is_aligned =
        is_multiple(&results(0), cache_line) && is_multiple(&results(1), cache_line);
    const bool is_direct =
        is_plain<A, Value> && !(is_exclusive && is_in_place(p.input, p.output.data));
    for (std::int64_t k = 0; k < p.n; k += pack_length) {
      const int rows = static_cast<int>(std::min<std::int64_t>(p.n - k, pack_length));
      // In the exclusive form results stand a row later; B(n) may have no place.
      const bool stores_last = !is_exclusive || k + rows < p.n || p.extra == Extra::last;
      const bool stores_now = is_direct && stores_last;
      int count = 0;
      for (int w = 0; w < width; w += count) {
        count = std::min(width - w, rows < pack_length ? pack_length / rows * segment : segment);
        const bool is_whole = count % spill == 0;
        if (m_streams && count > of_line) {
          count -= count % of_line;
        } else if (!is_whole && count > spill) {
          count -= count % spill;
        }
        SlabBlock<A, R> block = loaded(c, k, rows, w, count);
        block.begin = static_cast<int>(k % tile_length);
        block.begins_lines = k == 0;
        block.starts = m_starts + spill + (has_common_start ? 0 : w);
        block.ends_chunk = k + rows < p.n;
        const bool has_firsts = is_exclusive && (k == 0 || !is_direct);
        block.firsts = has_firsts ? m_before + spill + w : nullptr;
        if (stores_now && count % spill == 0) {
          block.b = reinterpret_cast<A*>(&results(is_exclusive && !has_firsts ? k + 1 : k) + w);
          block.b_row = results.stride;
          block.streams = m_streams && is_aligned && count % of_line == 0;
          combine_slabs(m_registers, p.op, block);
          continue;
        }
        block.b = m_staged + spill;
        block.b_row = count;
        combine_slabs(m_registers, p.op, block);
        const int first = is_exclusive && !has_firsts ? 1 : 0;
        const int stored =
            is_exclusive && is_direct ? rows + (has_firsts ? 1 : 0) - (stores_last ? 0 : 1) : rows;
        for (int i = 0; i < stored; ++i) {
          store_run(m_streams && is_aligned, block.b + i * count, count,
                    &results(k + first + i) + w);
        }
        if (is_exclusive && !is_direct) {
          const A* const next = block.b + rows * count;
          std::copy(next, next + count, m_before + spill + w);
        }
      }
    }
    const bool wants_total = p.totals.data != nullptr || (p.extra == Extra::last && !is_direct);
    for (int w = 0; wants_total && w < width; ++w) {
      m_before[spill + w] = p.op(m_state.carry()[w], m_state.folds()[w]);
    }
    if (p.extra == Extra::last && !is_direct) store_row(results, p.n, width);
    for (int w = 0; p.totals.data != nullptr && w < width; ++w) {
      Coordinates line = c;
      line.index[c.rank - 1] += w;
      p.totals.line(line)(0) = static_cast<Total>(m_before[spill + w]);
    }
  }

  static bool is_multiple(const void* address, int of) {
    return reinterpret_cast<std::uintptr_t>(address) % of == 0;
  }

  /// Starting values, or neutral ones, and B(0) of the strip from the line at `c` on.
  void start(const Coordinates& c, int width) {
    const P& p = m_problem;
    const bool wants_first = p.form == Form::exclusive || p.extra == Extra::first;
    Coordinates line = c;
    // One that all lines have is there for as many as a call takes.
    const int starts = !has_common_start ? width : m_has_starts ? 0 : pack_length * segment;
    for (int w = 0; w < starts; ++w) {
      const Maybe<A> start = p.start.at(line);
      m_starts[spill + w] = start.exists ? start.value : neutral(p.op);
      if (!has_common_start) ++line.index[c.rank - 1];
    }
    m_has_starts = true;
    line = c;
    for (int w = 0; wants_first && w < width; ++w) {
      const Maybe<A> start = p.start.at(line);
      m_before[spill + w] = start.exists ? start.value : p.identity.value;
      ++line.index[c.rank - 1];
    }
  }

  /// Elements of lines w ... w + count - 1, where they lie or loaded.
  SlabBlock<A, R> loaded(const Coordinates& c, std::int64_t k, int rows, int w, int count) {
    SlabBlock<A, R> block{};
    block.slabs = 1;
    block.rows = rows;
    block.width = count;
    block.tiles = m_state.tiles() + w;
    block.chunks = m_state.chunks() + w;
    block.carry = m_state.carry() + w;
    block.folds = m_state.folds() + w;
    const ArrayLine<const A> stored = as_stored<A>(m_problem.input, c);
    if (stored.data != nullptr && count % spill == 0) {
      block.x = &stored(k) + w;
      block.x_row = stored.stride;
      return block;
    }
    Coordinates line = c;
    line.index[c.rank - 1] += w;
    for (int i = 0; i < rows; ++i) {
      load_across<pack_length * segment>(m_problem.input, line, k + i, count,
                                         m_loaded + spill + i * count);
    }
    block.x = m_loaded + spill;
    block.x_row = count;
    return block;
  }

  void store_row(const ArrayLine<Value>& results, std::int64_t k, int width) const {
    Value* const to = &results(k);
    for (int w = 0; w < width; ++w) to[w] = static_cast<Value>(m_before[spill + w]);
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
  bool m_has_starts = false;
  SlabState<A, R, most_width> m_state;
  alignas(64) A m_starts[(has_common_start ? pack_length * segment : most_width) + 2 * spill];
  alignas(64) A m_before[most_width + 2 * spill];
  alignas(64) A m_loaded[pack_length * segment + 2 * spill];
  alignas(64) A m_staged[2 * pack_length * segment + 2 * spill];
};

}  // namespace KokkosScan::impl::host
