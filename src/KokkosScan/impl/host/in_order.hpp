// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans in order on a host, for any operator: several lines side by side, no line on several
/// threads. in_order_kernels.hpp combines, this file loads and stores.

#include <KokkosScan/impl/host/in_order_kernels.hpp>
#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace KokkosScan::impl::host {

// ---- Elements that count ------------------------------------------------------------------------

/// What of an input is scanned, without its masks.
template <class In>
const In& without_masks(const In& in) {
  return in;
}
template <class A, class Values, class Mask>
const auto& without_masks(const Selected<A, Values, Mask>& in) {
  return without_masks(in.values);
}

/// Loads which of `count` elements count: neighbours in a line, or one of each of several lines.
/// What is not masked leaves them as they are.
template <int Most, bool across, class In>
void load_counts(const In&, const Coordinates&, std::int64_t, int, bool*, bool) {}
template <int Most, bool across, class A, class Values, class Mask>
void load_counts(const Selected<A, Values, Mask>& in, const Coordinates& c, std::int64_t k,
                 int count, bool* selected, bool is_outermost = true) {
  bool loaded[Most];
  bool* const to = is_outermost ? selected : loaded;
  if constexpr (across) {
    load_across<Most>(in.mask, c, k, count, to);
  } else {
    load_along<Most>(in.mask.line(c), k, count, to);
  }
  if (!is_outermost) {
    for (int i = 0; i < count; ++i) selected[i] = selected[i] && loaded[i];
  }
  load_counts<Most, across>(in.values, c, k, count, selected, false);
}

/// Where it says which elements of the line at `c` count, if neighbours of it lie in memory so, or
/// `across` those of the other lines; else without data. Several masks are loaded.
template <bool across, class In>
ArrayLine<const bool> counts_as_stored(const In&, const Coordinates&) {
  return {nullptr, 0};
}
template <bool across, class A, class Values, class Mask>
ArrayLine<const bool> counts_as_stored(const Selected<A, Values, Mask>& in, const Coordinates& c) {
  if constexpr (is_selected<Values>) {
    return {nullptr, 0};
  } else if constexpr (across) {
    return as_stored<bool>(in.mask, c);
  } else {
    return {as_stored<bool>(in.mask.line(c), 1), 1};
  }
}

/// A problem that is scanned in order, as scanners of rows and of columns see it.
template <class P>
class InOrderScanner {
 public:
  using A = typename P::A;
  using Op = std::remove_cv_t<decltype(P::op)>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr bool is_masked = is_selected<std::remove_cv_t<decltype(P::input)>>;

  InOrderScanner(const P& problem, Destination destination, Registers registers)
      : m_problem(problem),
        m_registers(registers),
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory) {}
  InOrderScanner(const InOrderScanner&) = delete;
  InOrderScanner& operator=(const InOrderScanner&) = delete;
  ~InOrderScanner() {
    if (m_streams) end_streaming();
  }

 protected:
  /// Combines an element that counts.
  void add(A& fold, bool& exists, const A& x) const {
    fold = exists ? m_problem.op(fold, x) : x;
    exists = true;
  }
  /// B(k) as it is stored.
  [[nodiscard]] A result(const A& fold, bool exists) const {
    return exists ? fold : m_problem.identity.value;
  }
  /// Sets to B(0) what is known of it.
  void start(const Coordinates& c, A& fold, bool& exists) const {
    const Maybe<A> start = m_problem.start.at(c);
    exists = start.exists;
    if (exists) fold = start.value;
  }
  void store_total(const Coordinates& c, const A& fold, bool exists) const {
    if (m_problem.totals.data == nullptr) return;
    m_problem.totals.line(c)(0) = static_cast<Total>(result(fold, exists));
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
};

// ---- Rows ---------------------------------------------------------------------------------------

/// Scans lines_at_once lines at a time, a block of elements of each, on one thread.
template <class P>
class RowsInOrder : InOrderScanner<P> {
  using Base = InOrderScanner<P>;
  using Base::is_masked, Base::m_problem, Base::m_registers, Base::m_streams;
  using typename Base::A;
  using typename Base::Op;
  using typename Base::Value;

 public:
  /// Elements of a line in a block.
  static constexpr int most = std::max<int>(
      16, std::min<int>(block_length, block_length * 8 / static_cast<int>(sizeof(A)) / 2));

  using Base::Base;

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end) {
    const int extra = m_problem.extra == Extra::none ? 0 : 1;
    if (m_problem.n + extra <= most / 2 && results_follow_each_other(extra)) {
      scan_short(begin, end, static_cast<int>(m_problem.n) + extra);
      return;
    }
    // As many lines at once as there are, in shares that are alike.
    const std::int64_t turns = (end - begin + lines_at_once - 1) / lines_at_once;
    for (std::int64_t i = 0; i < turns; ++i) {
      const std::int64_t first = begin + (end - begin) * i / turns;
      scan_together(first, static_cast<int>(begin + (end - begin) * (i + 1) / turns - first),
                    m_staged + front, pitch, true);
    }
  }

 private:
  /// Whether the results of a line are followed by those of the next.
  [[nodiscard]] bool results_follow_each_other(int extra) const {
    const P& p = m_problem;
    return p.batch.rank == 1 && p.output.strides.along == 1 &&
           p.output.strides.batch[0] == p.n + extra;
  }
  /// Scans short lines, the results of many of which are stored together.
  ///
  /// \param results of a line
  void scan_short(std::int64_t begin, std::int64_t end, int results) {
    const P& p = m_problem;
    const int shift = p.extra == Extra::first ? 1 : 0;
    const int lines_of_block = lines_at_once * pitch / (lines_at_once * results) * lines_at_once;
    for (std::int64_t first = begin; first < end; first += lines_of_block) {
      const int lines = static_cast<int>(std::min<std::int64_t>(end - first, lines_of_block));
      for (int l = 0; l < lines; l += lines_at_once) {
        scan_together(first + l, std::min(lines - l, lines_at_once), m_staged + l * results + shift,
                      results, false);
      }
      store_run(m_streams, m_staged, lines * results,
                &p.output.line(p.batch.coordinates(first))(-shift));
    }
  }

  /// Scans up to lines_at_once lines.
  ///
  /// \param staged where the results of the first line's block come to be, `distance` before those
  ///               of the next
  /// \param stores whether they are stored
  void scan_together(std::int64_t first, int lines, A* staged, int distance, bool stores) {
    const P& p = m_problem;
    // Not kept in an array: an element of it would be stored in words and read in registers, which
    // waits for the stores (10 ns a line).
    const auto place = [&](int l) { return p.batch.coordinates(first + l); };
    Rows<A> rows{{}, {}, m_folds, 0, p.form, {}};
    for (int l = 0; l < lines_at_once; ++l) {
      rows.y[l] = staged + l * distance;
      if (l >= lines) continue;
      this->start(place(l), m_folds[l], m_exist[l]);
      if (p.extra == Extra::first) rows.y[l][-1] = this->result(m_folds[l], m_exist[l]);
    }
    for (std::int64_t k = 0; k < p.n; k += most) {
      rows.count = static_cast<int>(std::min<std::int64_t>(p.n - k, most));
      for (int l = 0; l < lines; ++l) {
        rows.x[l] = load(place(l), k, rows.count, rows.y[l]);
        if constexpr (is_masked) {
          const bool* const stored = counts_as_stored<false>(p.input, place(l)).data;
          rows.counts[l] = stored == nullptr ? m_counts + l * most : stored + k;
          if (stored == nullptr) {
            load_counts<most, false>(p.input, place(l), k, rows.count, m_counts + l * most);
          }
        }
      }
      combine(lines, rows);
      const bool is_last = k + rows.count == p.n;
      for (int l = 0; l < lines; ++l) {
        if (is_last && p.extra == Extra::last) {
          rows.y[l][rows.count] = this->result(m_folds[l], m_exist[l]);
        }
        if (stores) store(place(l), k, rows.count, rows.y[l]);
      }
    }
    for (int l = 0; p.totals.data != nullptr && l < lines; ++l) {
      this->store_total(place(l), m_folds[l], m_exist[l]);
    }
  }

  /// Where elements of a line are: in memory, or else loaded.
  const A* load(const Coordinates& c, std::int64_t k, int count, A* staged) {
    const auto line = without_masks(m_problem.input).line(c);
    const A* const stored = as_stored<A>(line, 1);
    if (stored != nullptr) return stored + k;
    load_along<most>(line, k, count, staged);
    return staged;
  }

  void combine(int lines, Rows<A>& rows) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    if constexpr (combines_registers<Op, A>) {
      const A neutral = host::neutral(p.op.op);
      for (int l = 0; l < lines; ++l) {
        if (!m_exist[l]) m_folds[l] = neutral;
      }
      // Where there are fewer lines the first is combined once more.
      std::fill(rows.x + lines, rows.x + lines_at_once, rows.x[0]);
      std::fill(rows.counts + lines, rows.counts + lines_at_once, rows.counts[0]);
      std::fill(m_folds + lines, m_folds + lines_at_once, m_folds[0]);
      if (lines > 1) {
        combine_rows<is_masked>(m_registers, p.op, rows);
      } else {
        if constexpr (is_masked) {
          select(rows.counts[0], rows.x[0], neutral, rows.count, rows.y[0]);
          rows.x[0] = rows.y[0];
        }
        combine_row(p.op, rows);  // which waits for itself, whatever is done beside it
      }
      for (int l = 0; l < lines; ++l) {
        if (m_exist[l]) continue;
        // What precedes the first element that counts has become the neutral value.
        int before = 0;
        if constexpr (is_masked) {
          const bool* const counts = rows.counts[l];
          before = static_cast<int>(std::find(counts, counts + rows.count, true) - counts);
        }
        m_exist[l] = before < rows.count;
        std::fill_n(rows.y[l], std::min(rows.count, before + (is_exclusive ? 1 : 0)),
                    p.identity.value);
      }
    } else if (!is_masked && lines == lines_at_once && m_exist[0]) {
      combine_rows<false>(m_registers, p.op, rows);
    } else {
      for (int l = 0; l < lines; ++l) {
        for (int k = 0; k < rows.count; ++k) {
          const A next = rows.x[l][k];
          A& y = rows.y[l][k];
          if (is_exclusive) y = this->result(m_folds[l], m_exist[l]);
          if (!is_masked || rows.counts[l][k]) this->add(m_folds[l], m_exist[l], next);
          if (!is_exclusive) y = this->result(m_folds[l], m_exist[l]);
        }
      }
    }
  }

  void store(const Coordinates& c, std::int64_t k, int count, const A* staged) {
    const P& p = m_problem;
    const auto results = p.output.line(c);
    const int before = k == 0 && p.extra == Extra::first ? 1 : 0;
    const int behind = k + count == p.n && p.extra == Extra::last ? 1 : 0;
    const A* const from = staged - before;
    count += before + behind;
    Value* const to = &results(k - before);
    if (results.stride == 1) return store_run(m_streams, from, count, to);
    if (results.stride == -1) {
      std::reverse_copy(from, from + count, m_reversed);
      return store_run(m_streams, m_reversed, count, to - (count - 1));
    }
    for (int i = 0; i < count; ++i) to[i * results.stride] = static_cast<Value>(from[i]);
  }

  static constexpr int front = std::max<int>(1, 64 / sizeof(A));
  // Not a multiple of 4096 bytes: the blocks of all lines would share some sets of L1.
  static constexpr int pitch = most + 2 * front;
  alignas(cache_line) A m_staged[lines_at_once * pitch];
  alignas(cache_line) A m_folds[lines_at_once];
  bool m_exist[lines_at_once];
  A m_reversed[most + 1];
  bool m_counts[is_masked ? lines_at_once * most : 1];
};

// ---- Columns ------------------------------------------------------------------------------------

/// Scans strips of neighbouring lines, some rows at a time, on one thread.
template <class P>
class ColumnsInOrder : InOrderScanner<P> {
  using Base = InOrderScanner<P>;
  using Base::is_masked, Base::m_problem, Base::m_registers, Base::m_streams;
  using typename Base::A;
  using typename Base::Op;
  using typename Base::Value;

 public:
  /// A multiple of narrow_strip, to which strip_width() rounds up.
  static constexpr int most_width =
      std::max<int>(1, strip_bytes / sizeof(A) / narrow_strip) * narrow_strip;

  using Base::Base;

  /// Scans strips begin ... end - 1 of those into which each row of neighbouring lines is cut.
  void scan(std::int64_t begin, std::int64_t end, std::int64_t strips_of_row) {
    const Batch& batch = m_problem.batch;
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width = strip_width(lines_of_row, strips_of_row);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % strips_of_row * width;
      if (first >= lines_of_row) continue;
      scan_strip(batch.coordinates(i / strips_of_row * lines_of_row + first),
                 static_cast<int>(std::min(lines_of_row - first, width)));
    }
  }

 private:
  static constexpr int segment = std::max<int>(16, segment_bytes / sizeof(A));

  void scan_strip(const Coordinates& c, int width) {
    const P& p = m_problem;
    for (int w = 0; w < width; ++w) this->start(line_at(c, w), m_folds[w], m_exist[w]);
    if constexpr (is_masked && combines_registers<Op, A>) {
      const A none = neutral(p.op.op);
      for (int w = 0; w < width; ++w) {
        if (!m_exist[w]) m_folds[w] = none;
      }
    }
    const auto results = p.output.line(c);
    if (p.extra == Extra::first) store_folds(results, -1, width);
    const auto is_aligned = [&](std::int64_t k) {
      return reinterpret_cast<std::uintptr_t>(&results(k)) % cache_line == 0;
    };
    m_streams_rows = m_streams && is_aligned(0) && is_aligned(1);
    std::int64_t k = 0;
    if (!is_masked && !m_exist[0]) {
      scan_first(c, results, width);
      k = 1;
    }
    for (; k < p.n; k += rows_at_once) {
      const int rows = static_cast<int>(std::min<std::int64_t>(p.n - k, rows_at_once));
      for (int w = 0; w < width; w += segment) {
        scan_segment(c, results, k, rows, w, std::min(width - w, segment));
      }
    }
    if (p.extra == Extra::last) store_folds(results, p.n, width);
    for (int w = 0; p.totals.data != nullptr && w < width; ++w) {
      this->store_total(line_at(c, w), m_folds[w], m_exist[w]);
    }
  }

  static Coordinates line_at(Coordinates c, int w) {
    c.index[c.rank - 1] += w;
    return c;
  }

  /// Stores B(k) of all lines.
  void store_folds(const ArrayLine<Value>& results, std::int64_t k, int width) const {
    for (int w = 0; w < width; ++w) {
      (&results(k))[w] = static_cast<Value>(this->result(m_folds[w], m_exist[w]));
    }
  }

  /// Takes the first elements as they are.
  void scan_first(const Coordinates& c, const ArrayLine<Value>& results, int width) {
    for (int w = 0; w < width; w += segment) {
      load_across<segment>(without_masks(m_problem.input), line_at(c, w), 0,
                           std::min(width - w, segment), m_folds + w);
    }
    if (m_problem.form == Form::exclusive) store_folds(results, 0, width);
    std::fill_n(m_exist, width, true);
    if (m_problem.form == Form::inclusive) store_folds(results, 0, width);
  }

  /// Scans elements k ... k + rows - 1 of lines w ... w + width - 1.
  void scan_segment(const Coordinates& c, const ArrayLine<Value>& results, std::int64_t k, int rows,
                    int w, int width) {
    const P& p = m_problem;
    Columns<A> block{m_x, segment, m_x, segment, m_folds + w, rows, width, p.form, false};
    const auto& values = without_masks(p.input);
    const ArrayLine<const A> stored = as_stored<A>(values, c);
    constexpr bool is_staged = is_masked && !combines_registers<Op, A>;
    if (stored.data != nullptr && !is_staged) {
      block.x = &stored(k) + w;
      block.x_row = stored.stride;
    } else {
      for (int i = 0; i < rows; ++i) {
        load_across<segment>(values, line_at(c, w), k + i, width, m_x + i * segment);
      }
    }
    if constexpr (std::is_same_v<A, Value> && !is_staged) {
      block.y = &results(k) + w;
      block.y_row = results.stride;
      block.streams = m_streams_rows;
    }
    if constexpr (is_masked) {
      CountsOfColumns<A> counts{m_counts, segment, nullptr, p.identity.value};
      const ArrayLine<const bool> stored_counts = counts_as_stored<true>(p.input, c);
      if (stored_counts.data != nullptr) {
        counts.counts = &stored_counts(k) + w;
        counts.row = stored_counts.stride;
      } else {
        for (int i = 0; i < rows; ++i) {
          load_counts<segment, true>(p.input, line_at(c, w), k + i, width, m_counts + i * segment);
        }
      }
      bool* const exist = m_exist + w;
      if constexpr (is_staged) {
        combine_masked(counts, rows, w, width);
      } else if (std::memchr(exist, 0, static_cast<std::size_t>(width)) != nullptr) {
        counts.exist = exist;
        combine_columns(m_registers, p.op, block, counts);
        for (int i = 0; i < rows; ++i) {
          const bool* const of_row = counts.counts + i * counts.row;
          for (int j = 0; j < width; ++j) exist[j] = exist[j] | of_row[j];
        }
      } else {
        combine_columns(m_registers, p.op, block, counts);
      }
    } else {
      combine_columns(m_registers, p.op, block);
    }
    if constexpr (!std::is_same_v<A, Value> || is_staged) store(results, k, rows, w, width);
  }

  /// Combines staged elements of lines that may not have a fold yet.
  void combine_masked(const CountsOfColumns<A>& counts, int rows, int w, int width) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    for (int i = 0; i < rows; ++i) {
      A* const x = m_x + i * segment;
      for (int j = 0; j < width; ++j) {
        A& fold = m_folds[w + j];
        bool& exists = m_exist[w + j];
        const A next = x[j];
        if (is_exclusive) x[j] = this->result(fold, exists);
        if (counts.counts[i * counts.row + j]) this->add(fold, exists, next);
        if (!is_exclusive) x[j] = this->result(fold, exists);
      }
    }
  }

  /// Stores staged results.
  void store(const ArrayLine<Value>& results, std::int64_t k, int rows, int w, int width) const {
    for (int i = 0; i < rows; ++i) {
      store_run(m_streams_rows, m_x + i * segment, width, &results(k + i) + w);
    }
  }

  bool m_streams_rows = false;
  alignas(cache_line) A m_folds[most_width];
  bool m_exist[most_width];
  alignas(cache_line) A m_x[rows_at_once * segment];
  bool m_counts[is_masked ? rows_at_once * segment : 1];
};

// ---- The backend --------------------------------------------------------------------------------

/// Units of work in turn, each by one thread.
template <class P>
struct UnitsOfRows {
  P problem;
  Destination destination;
  Registers registers;
  std::int64_t units;

  void operator()(std::int64_t unit) const {
    const std::int64_t lines = problem.batch.count;
    RowsInOrder<P>(problem, destination, registers)
        .scan(lines / units * unit + std::min(unit, lines % units),
              lines / units * (unit + 1) + std::min(unit + 1, lines % units));
  }
};
template <class P>
struct UnitsOfColumns {
  P problem;
  Destination destination;
  Registers registers;
  std::int64_t strips;
  std::int64_t strips_of_row;
  std::int64_t units;

  void operator()(std::int64_t unit) const {
    ColumnsInOrder<P>(problem, destination, registers)
        .scan(strips / units * unit + std::min(unit, strips % units),
              strips / units * (unit + 1) + std::min(unit + 1, strips % units), strips_of_row);
  }
};

/// The host backend for scans in order. Its members are for tests: results do not depend on them.
struct InOrderBackend {
  Destination destination = Destination::automatic;
  Registers registers = widest_registers();

  /// Whether a type of problem is taken: accumulators that can be kept in arrays.
  template <class P>
  static constexpr bool supports =
      !is_called<decltype(P::output)> && std::is_default_constructible_v<typename P::A> &&
      sizeof(typename P::A) <= 64;

  /// Scans a problem of at least one line and one element.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    const Batch& batch = p.batch;
    const std::string label = name(p.function) + " [host/in_order_";
    const Destination results_go = destination_of(p, destination);
    const std::int64_t threads = exec.concurrency();
    const std::int64_t row = batch.rank > 0 ? batch.extent[batch.rank - 1] : 1;
    const bool has_columns = batch.rank > 0 && p.output.strides.batch[batch.rank - 1] == 1 &&
                             row * static_cast<std::int64_t>(sizeof(typename P::A)) >= cache_line;
    if (has_columns) {
      // Strips of at most most_width, and as many as keep all threads busy.
      constexpr std::int64_t most = ColumnsInOrder<P>::most_width;
      const std::int64_t rows = batch.count / row;
      std::int64_t strips = (row + most - 1) / most;
      if (rows * strips < 4 * threads) strips = (strips + threads - 1) / threads * threads;
      strips = (row + strip_width(row, strips) - 1) / strip_width(row, strips);
      const std::int64_t units =
          units_of_work(rows * strips, p.n * strip_width(row, strips), threads);
      Kokkos::parallel_for(
          label + "columns]", Policy(exec, 0, units),
          UnitsOfColumns<P>{p, results_go, registers, rows * strips, strips, units});
      return;
    }
    // A unit is as many lines as are combined at once, or fewer where threads would have none.
    const std::int64_t lines_of_unit =
        std::clamp<std::int64_t>(batch.count / threads, 1, lines_at_once);
    const std::int64_t units = units_of_work((batch.count + lines_of_unit - 1) / lines_of_unit,
                                             p.n * lines_of_unit, threads);
    Kokkos::parallel_for(label + "rows]", Policy(exec, 0, units),
                         UnitsOfRows<P>{p, results_go, registers, units});
  }
};

}  // namespace KokkosScan::impl::host
