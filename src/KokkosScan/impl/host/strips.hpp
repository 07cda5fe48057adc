// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans strips: neighbouring lines side by side, element after element, as their elements with the
/// same index follow each other in memory.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store.hpp>
#include <KokkosScan/impl/host/tree.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans or folds strips of up to Width neighbouring lines, on one thread.
template <class P, int Width>
class Strips {
  using Op = typename Combination<P>::Op;
  using In = decltype(P::input);
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr int segment = segment_bytes / sizeof(typename P::A);
  static constexpr int dense = dense_bytes / sizeof(typename P::A);
  static_assert(dense <= segment, "four rows that are stored together have room for four segments");

 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  using Row = Writer<A, Value, segment, std::max(segment, (pack_length + 1) * dense)>;

  Strips(const P& problem, Destination destination, Registers registers)
      : m_problem(problem),
        m_registers(registers),
        m_rows{Row(destination), Row(destination), Row(destination), Row(destination)} {}

  static constexpr int most_width = Width;

  /// Strip number `index` of those into which each row of neighbouring lines is cut: where its
  /// first line stands, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index,
                                                  std::int64_t strips_of_row) const {
    const Batch& batch = m_problem.batch;
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width = strip_width(lines_of_row, strips_of_row);
    const std::int64_t first = index % strips_of_row * width;
    return {batch.coordinates(index / strips_of_row * lines_of_row + first),
            static_cast<int>(std::min(lines_of_row - first, width))};
  }

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    R tiles[Width];
    A before[Width];
    // Through memory in one direction, which the hardware can foresee.
    const bool descends = m_problem.output.strides.along < 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [c, width] = strip(descends ? begin + (end - 1 - i) : i, strips_of_row);
      start(c, width, tiles, before);
      scan_part(c, width, 0, m_problem.n, tiles, before, usual_ahead(width));
    }
  }

  /// What precedes the strip from the line at `c` on: starting values, or what stands for none.
  ///
  /// \param tiles  receives them in the carried type
  /// \param before receives B(0), where that is stored
  void start(const Coordinates& c, int width, R* tiles, A* before) const {
    const P& p = m_problem;
    Coordinates line = c;
    for (int w = 0; w < width; ++w) {
      const Maybe<A> start = p.start.at(line);
      tiles[w] = start.exists ? static_cast<R>(start.value) : neutral(carrying(p.op));
      before[w] = start.exists ? start.value : p.identity.value;
      ++line.index[inner(c)];
    }
  }

  /// Scans elements begin ... end - 1, whole tiles except at the end of the lines.
  ///
  /// \param tiles  what comes before, the starting value included; on return, at `end`
  /// \param before B(begin); on return, B(end)
  /// \param ahead  how many rows ahead others are asked for, and where to; none where it is 0
  void scan_part(const Coordinates& c, int width, std::int64_t begin, std::int64_t end, R* tiles,
                 A* before, const Ahead& ahead) {
    const P& p = m_problem;
    const auto wide = carrying(p.op);
    const R none = neutral(wide);
    if (begin == 0 && p.extra == Extra::first) store_row(c, width, -1, before);

    R chunks[Width];
    A carry[Width];
    A folds[Width];
    for (int w = 0; w < width; ++w) {
      chunks[w] = none;
      carry[w] = static_cast<A>(wide(tiles[w], none));
      folds[w] = neutral(p.op);
    }
    const ArrayLine<const A> stored = as_stored<A>(p.input, c);
    const auto results = p.output.line(c);
    // Where rows follow each other without a gap, several are stored as one.
    const bool is_dense = width <= dense && std::abs(results.stride) == width;
    // Where segments are whole cache lines, or none of them are streamed, they need no writer.
    const bool is_aligned = !m_rows[0].streams() || (is_multiple(&results(begin), cache_line) &&
                                                     is_multiple(&results(begin + 1), cache_line));
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, pack_length));
      if (ahead.elements != 0) {
        prefetch_rows(p.input, c, k + ahead.elements, is_dense ? chunk_length : rows, width,
                      ahead.caches);
      }
      if (is_dense) {
        rows = scan_dense(c, stored, width, k, end, folds, carry, before);
        if ((k + rows) % chunk_length == 0 && k + rows < end) {
          end_chunk_of_rows(m_registers, p.op, width, (k + rows) % tile_length == 0, folds, chunks,
                            tiles, carry);
        }
      } else {
        const bool ends_chunk = (k + rows) % chunk_length == 0 && k + rows < end;
        const bool ends_tile = (k + rows) % tile_length == 0;
        for (int w = 0; w < width; w += segment) {
          const int count = std::min(width - w, segment);
          A loaded[pack_length][segment];
          with_pack_of_rows(c, stored, k, rows, w, count, loaded, [&](const auto& x) {
            if (is_aligned && Row::is_plain && rows == pack_length) {
              scan_direct(x, count, folds + w, carry + w, before + w, results, k, w);
            } else {
              scan_staged(x, count, rows, folds + w, carry + w, before + w, results, k, w,
                          is_aligned);
            }
          });
          if (ends_chunk) {
            end_chunk_of_rows(m_registers, p.op, count, ends_tile, folds + w, chunks + w, tiles + w,
                              carry + w);
          }
        }
      }
    }
    if (end < p.n) return;
    const bool has_totals = p.totals.data != nullptr;
    if (!has_totals && p.extra != Extra::last) return;
    for (int w = 0; w < width; ++w) before[w] = p.op(carry[w], folds[w]);
    if (p.extra == Extra::last) store_row(c, width, p.n, before);
    if (has_totals) {
      Coordinates line = c;
      for (int w = 0; w < width; ++w) {
        p.totals.line(line)(0) = static_cast<Total>(before[w]);
        ++line.index[inner(c)];
      }
    }
  }

  /// Folds elements begin ... end - 1 of a tile.
  ///
  /// \param chunks receives the total
  /// \param last   receives, for each line, what the last chunk left behind
  void fold(const Coordinates& c, int width, std::int64_t begin, std::int64_t end, R* chunks,
            LastChunk<A, R>* last) const {
    const P& p = m_problem;
    const auto wide = carrying(p.op);
    const ArrayLine<const A> stored = as_stored<A>(p.input, c);
    A folds[Width];
    for (int w = 0; w < width; ++w) {
      chunks[w] = neutral(wide);
      folds[w] = neutral(p.op);
    }
    int rows = 0;
    for (std::int64_t k = begin; k < end; k += rows) {
      rows = static_cast<int>(std::min<std::int64_t>(end - k, chunk_length - k % chunk_length));
      if (stored.data != nullptr && width <= dense && rows % pack_length == 0) {
        // Short rows: a call takes a chunk.
        const Rows<const A> x{{&stored(k), &stored(k + 1), &stored(k + 2), &stored(k + 3)},
                              pack_length * stored.stride};
        combine_rows<Pass::fold>(m_registers, p.op, x, width, rows / pack_length, folds,
                                 static_cast<const A*>(nullptr), Rows<A>{});
      } else {
        rows = std::min(rows, pack_length);
        for (int w = 0; w < width; w += segment) {
          const int count = std::min(width - w, segment);
          A loaded[pack_length][segment];
          with_pack_of_rows(c, stored, k, rows, w, count, loaded, [&](const auto& x) {
            combine_rows<Pass::fold>(m_registers, p.op, x, count, 1, folds + w,
                                     static_cast<const A*>(nullptr), Rows<A>{});
          });
        }
      }
      if (k + rows >= end) {
        for (int w = 0; w < width; ++w) last[w] = {chunks[w], folds[w]};
      }
      if ((k + rows) % chunk_length == 0 || k + rows >= end) {
        for (int w = 0; w < width; ++w) {
          chunks[w] = wide(chunks[w], static_cast<R>(folds[w]));
          folds[w] = neutral(p.op);
        }
      }
    }
  }

 private:
  static bool is_multiple(const void* address, int of) {
    return reinterpret_cast<std::uintptr_t>(address) % of == 0;
  }

  /// What is asked for where threads do not share lines: nothing where rows are so long that the
  /// hardware foresees the next. Elements from memory are used once; but rows of one register are
  /// no faster for it.
  [[nodiscard]] Ahead usual_ahead(int width) const {
    if (width > dense) return nothing_ahead;
    const auto bytes = static_cast<int>(width * sizeof(A));
    const bool is_used_once = m_rows[0].streams() && bytes > short_row_bytes;
    return {ahead_bytes / bytes, is_used_once ? Caches::nearest : Caches::all};
  }

  /// The dimension of the batch in which lines are neighbours.
  static int inner(const Coordinates& c) { return std::max(c.rank - 1, 0); }

  /// Scans a pack of each of `count` lines from line w of the strip on, and stores each register of
  /// results where it belongs.
  template <class X>
  void scan_direct(const X& x, int count, A* folds, const A* carry, A* before,
                   const ArrayLine<Value>& results, std::int64_t k, int w) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    Rows<A> b{};
    A first[segment];
    for (int i = 0; i < pack_length; ++i) {
      // B(k) is stored when the element in its place has been loaded, B(k+4) waits for that, too.
      const int row = is_exclusive ? i + 1 : i;
      b.row[i] = row < pack_length ? reinterpret_cast<A*>(&results(k + row) + w) : before;
    }
    if (is_exclusive) std::copy(before, before + count, first);
    if (m_rows[0].streams()) {
      combine_rows<Pass::stream>(m_registers, m_problem.op, x, count, 1, folds, carry, b,
                                 is_exclusive ? pack_length - 1 : pack_length);
    } else {
      combine_rows<Pass::scan>(m_registers, m_problem.op, x, count, 1, folds, carry, b);
    }
    if (is_exclusive) m_rows[0].store_now(first, count, &results(k) + w);
  }

  /// The same for up to four rows, of any alignment and type of results.
  template <class X>
  void scan_staged(const X& x, int count, int rows, A* folds, const A* carry, A* before,
                   const ArrayLine<Value>& results, std::int64_t k, int w, bool is_aligned) {
    Rows<A> b{};
    A staged[pack_length][segment];
    for (int i = 0; i < pack_length; ++i) {
      b.row[i] = staged[i];
      if (is_aligned) continue;
      if (i < rows) m_rows[i].seek(&results(k + i) + w, 1);
      b.row[i] = m_rows[i].next();
    }
    if (m_problem.form == Form::exclusive) {
      // B(k) is stored now; B(k+4) waits until the element in its place has been loaded.
      std::copy(before, before + count, b.row[0]);
      b = {{rows > 1 ? b.row[1] : before, rows > 2 ? b.row[2] : before,
            rows > 3 ? b.row[3] : before, before},
           0};
    }
    combine_rows<Pass::scan>(m_registers, m_problem.op, x, count, 1, folds, carry, b);
    for (int i = 0; i < rows; ++i) {
      if (is_aligned) {
        m_rows[i].store_now(staged[i], count, &results(k + i) + w);
      } else {
        m_rows[i].add(count);
      }
    }
  }

  /// Scans elements from k on of a strip whose rows of results follow each other without a gap, as
  /// many as are left of the chunk and as the writer takes; returns how many. Inclusive results
  /// that stay in the caches, or are short rows, need no writer.
  int scan_dense(const Coordinates& c, const ArrayLine<const A>& stored, int width, std::int64_t k,
                 std::int64_t end, A* folds, const A* carry, A* before) {
    const P& p = m_problem;
    const auto results = p.output.line(c);
    const int of_chunk = chunk_length - static_cast<int>(k % chunk_length);
    const int of_writer = dense / width * pack_length;
    int rows = static_cast<int>(std::min<std::int64_t>(end - k, std::min(of_chunk, of_writer)));
    if (rows > pack_length) rows -= rows % pack_length;

    A loaded[pack_length * segment];
    Rows<const A> x{};
    if (rows < pack_length) {
      x = pack_of_rows(c, stored, k, rows, 0, width,
                       reinterpret_cast<A(&)[pack_length][segment]>(loaded));
    } else if (stored.data != nullptr) {
      x = {{&stored(k), &stored(k + 1), &stored(k + 2), &stored(k + 3)}, 4 * stored.stride};
    } else {
      load_rows<segment>(p.input, c, k, rows, width, loaded);
      x = {{loaded, loaded + width, loaded + 2 * width, loaded + 3 * width}, 4 * width};
    }
    if constexpr (Row::is_plain) {
      const bool streams = m_rows[0].streams();
      auto* const to = reinterpret_cast<A*>(&results(k));
      const auto bytes = static_cast<int>(width * sizeof(A));
      const bool is_short = bytes == short_row_bytes && is_multiple(to, 16);
      const bool is_whole_lines = bytes % cache_line == 0 && is_multiple(to, cache_line);
      if (p.form == Form::inclusive && rows >= pack_length &&
          (!streams || is_short || is_whole_lines)) {
        const std::int64_t step = results.stride;
        const Rows<A> b{{to, to + step, to + 2 * step, to + 3 * step}, 4 * step};
        const int packs = rows / pack_length;
        if (!streams) {
          combine_rows<Pass::scan>(m_registers, p.op, x, width, packs, folds, carry, b);
        } else if (is_short) {
          stream_short_rows(m_registers, p.op, x, packs, folds, carry, b);
        } else {
          combine_rows<Pass::stream>(m_registers, p.op, x, width, packs, folds, carry, b,
                                     pack_length);
        }
        return rows;
      }
    }
    const bool descends = results.stride < 0;
    const int count = rows * width;
    const int step = descends ? -width : width;
    if (!descends) m_rows[0].seek(&results(k), 1);
    A* const first = descends
                         ? m_rows[0].next_below(&results(k + rows - 1), count) + (count - width)
                         : m_rows[0].next();
    // In the exclusive form B(k) comes first, and the last row is what is before the next.
    const bool is_exclusive = p.form == Form::exclusive;
    A* const to = is_exclusive ? first + step : first;
    A unused[pack_length * segment];
    Rows<A> b{{}, pack_length * step};
    for (int i = 0; i < pack_length; ++i) {
      b.row[i] = i < rows ? to + i * step : unused;
    }
    if (is_exclusive) std::copy(before, before + width, first);
    combine_rows<Pass::scan>(m_registers, p.op, x, width, std::max(1, rows / pack_length), folds,
                             carry, b);
    if (is_exclusive) {
      const A* const next = first + rows * step;
      std::copy(next, next + width, before);
    }
    descends ? m_rows[0].add_below(count) : m_rows[0].add(count);
    return rows;
  }

  /// f(x), where x are elements k ... k + rows - 1 of lines w ... w + count - 1, and neutral values
  /// in the other rows of four: as they lie in memory, also where a mask selects them, or `loaded`.
  template <class F>
  void with_pack_of_rows(const Coordinates& c, const ArrayLine<const A>& stored, std::int64_t k,
                         int rows, int w, int count, A (&loaded)[pack_length][segment],
                         const F& f) const {
    if constexpr (is_stored_selection<A, In>) {
      const auto values = as_stored<A>(m_problem.input.values, c);
      const auto selected = as_stored<bool>(m_problem.input.mask, c);
      if (rows == pack_length && values.data != nullptr && selected.data != nullptr) {
        SelectedRows<A> x{{}, {}, m_problem.input.identity};
        for (int i = 0; i < pack_length; ++i) {
          x.values.row[i] = &values(k + i) + w;
          x.selected.row[i] = &selected(k + i) + w;
        }
        return f(x);
      }
    }
    f(pack_of_rows(c, stored, k, rows, w, count, loaded));
  }

  /// Points to, or loads, elements k ... k + rows - 1 of lines w ... w + count - 1; the other rows
  /// of four are neutral.
  Rows<const A> pack_of_rows(const Coordinates& c, const ArrayLine<const A>& stored, std::int64_t k,
                             int rows, int w, int count, A (&loaded)[pack_length][segment]) const {
    const P& p = m_problem;
    Rows<const A> x{};
    for (int i = 0; i < pack_length; ++i) {
      x.row[i] = loaded[i];
      if (i >= rows) {
        for (int j = 0; j < count; ++j) loaded[i][j] = neutral(p.op);
      } else if (stored.data != nullptr) {
        x.row[i] = &stored(k + i) + w;
      } else {
        Coordinates line = c;
        line.index[inner(c)] += w;
        load_across<segment>(p.input, line, k + i, count, loaded[i]);
      }
    }
    return x;
  }

  /// Stores a row of results, element k of the output.
  void store_row(const Coordinates& c, int width, std::int64_t k, const A* values) const {
    Value* to = &m_problem.output.line(c)(k);
    for (int w = 0; w < width; ++w) to[w] = static_cast<Value>(values[w]);
  }

  const P& m_problem;
  Registers m_registers;
  Row m_rows[pack_length];
};

}  // namespace KokkosScan::impl::host
