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
  /// Elements of a block.
  static constexpr int most = std::max<int>(
      16, std::min<int>(block_length, block_length * 8 / static_cast<int>(sizeof(A)) / 2));

  using Base::Base;

  /// Scans lines begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end) {
    // As many lines at once as there are, in shares that are alike.
    const std::int64_t turns = (end - begin + lines_at_once - 1) / lines_at_once;
    for (std::int64_t i = 0; i < turns; ++i) {
      const std::int64_t first = begin + (end - begin) * i / turns;
      scan_together(first, static_cast<int>(begin + (end - begin) * (i + 1) / turns - first));
    }
  }

 private:
  void scan_together(std::int64_t first, int lines) {
    const P& p = m_problem;
    Coordinates c[lines_at_once];
    for (int l = 0; l < lines; ++l) {
      c[l] = p.batch.coordinates(first + l);
      this->start(c[l], m_folds[l], m_exist[l]);
    }
    for (std::int64_t k = 0; k < p.n; k += most) {
      const int count = static_cast<int>(std::min<std::int64_t>(p.n - k, most));
      for (int l = 0; l < lines; ++l) load(c[l], l, k, count);
      combine(lines, count);
      for (int l = 0; l < lines; ++l) store(c[l], l, k, count);
    }
    for (int l = 0; l < lines; ++l) this->store_total(c[l], m_folds[l], m_exist[l]);
  }

  /// The elements of a line's block; before the first is the place of the result before it.
  [[nodiscard]] A* staged(int l) { return m_staged + l * pitch + front; }

  void load(const Coordinates& c, int l, std::int64_t k, int count) {
    const auto line = without_masks(m_problem.input).line(c);
    load_along<most>(line, k, count, staged(l));
    if (k + count < m_problem.n) prefetch_along(line, k + count, most, Caches::all);
    if constexpr (is_masked) {
      load_counts<most, false>(m_problem.input, c, k, count, m_counts + l * most);
    }
    // What there is before the block; nobody asks for it where it does not exist.
    if (m_exist[l]) {
      staged(l)[-1] = m_folds[l];
    } else if (m_problem.identity.exists) {
      staged(l)[-1] = m_problem.identity.value;
    }
  }

  void combine(int lines, int count) {
    const P& p = m_problem;
    int begin = 0;
    if constexpr (is_masked && combines_registers<Op, A>) {
      const A neutral = host::neutral(p.op.op);
      for (int l = 0; l < lines; ++l) {
        select(m_counts + l * most, staged(l), neutral, count, staged(l));
        if (!m_exist[l]) m_folds[l] = neutral;
      }
      combine_rows(m_registers, p.op, staged(0), pitch, 0, count, m_folds);
      for (int l = 0; l < lines; ++l) {
        if (m_exist[l]) continue;
        // What precedes the first element that counts has become the neutral value.
        const bool* const counts = m_counts + l * most;
        const auto before = static_cast<int>(std::find(counts, counts + count, true) - counts);
        std::fill_n(staged(l), before, p.identity.value);
        m_exist[l] = before < count;
      }
      return;
    } else if constexpr (is_masked) {
      for (int l = 0; l < lines; ++l) {
        A* const x = staged(l);
        for (int k = 0; k < count; ++k) {
          if (m_counts[l * most + k]) this->add(m_folds[l], m_exist[l], x[k]);
          x[k] = this->result(m_folds[l], m_exist[l]);
        }
      }
      return;
    } else if (!m_exist[0]) {
      // The first element is taken as it is.
      for (int l = 0; l < lines; ++l) m_folds[l] = staged(l)[0];
      std::fill_n(m_exist, lines, true);
      begin = 1;
    }
    // One line alone waits for itself, whatever else is done beside it.
    if (lines > 1 && (combines_registers<Op, A> || lines == lines_at_once)) {
      combine_rows(m_registers, p.op, staged(0), pitch, begin, count, m_folds);
    } else {
      for (int l = 0; l < lines; ++l) {
        A* const x = staged(l);
        A fold = m_folds[l];
        for (int k = begin; k < count; ++k) x[k] = fold = p.op(fold, x[k]);
        m_folds[l] = fold;
      }
    }
  }

  void store(const Coordinates& c, int l, std::int64_t k, int count) {
    const P& p = m_problem;
    const auto results = p.output.line(c);
    const bool is_exclusive = p.form == Form::exclusive;
    const bool stores_first = k == 0 && p.extra == Extra::first;
    const bool stores_last = k + count == p.n && p.extra == Extra::last;
    const A* const from = staged(l) - (is_exclusive || stores_first ? 1 : 0);
    count += stores_first || stores_last ? 1 : 0;
    Value* const to = &results(stores_first ? -1 : k);
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
  alignas(cache_line) A m_staged[lines_at_once * pitch] = {};
  alignas(cache_line) A m_folds[lines_at_once] = {};
  bool m_exist[lines_at_once] = {};
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
  static constexpr int most_width = std::max<int>(64, strip_bytes / sizeof(A));

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
    if (stored.data != nullptr && !is_masked) {
      block.x = &stored(k) + w;
      block.x_row = stored.stride;
    } else {
      for (int i = 0; i < rows; ++i) {
        load_across<segment>(values, line_at(c, w), k + i, width, m_x + i * segment);
      }
    }
    if constexpr (is_masked) {
      for (int i = 0; i < rows; ++i) {
        load_counts<segment, true>(p.input, line_at(c, w), k + i, width, m_counts + i * segment);
      }
      if (!combines_registers<Op, A> ||
          std::memchr(m_exist + w, 0, static_cast<std::size_t>(width)) != nullptr) {
        combine_masked(rows, w, width);
        return store(results, k, rows, w, width);
      }
      if constexpr (combines_registers<Op, A>) {
        for (int i = 0; i < rows; ++i) {
          A* const x = m_x + i * segment;
          select(m_counts + i * segment, x, neutral(p.op.op), width, x);
        }
      }
    }
    if constexpr (std::is_same_v<A, Value>) {
      block.y = &results(k) + w;
      block.y_row = results.stride;
      block.streams = m_streams_rows;
      combine_columns(m_registers, p.op, block);
    } else {
      combine_columns(m_registers, p.op, block);
      store(results, k, rows, w, width);
    }
  }

  /// Combines staged elements of lines that may not have a fold yet.
  void combine_masked(int rows, int w, int width) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    for (int i = 0; i < rows; ++i) {
      A* const x = m_x + i * segment;
      for (int j = 0; j < width; ++j) {
        A& fold = m_folds[w + j];
        bool& exists = m_exist[w + j];
        const A next = x[j];
        if (is_exclusive) x[j] = this->result(fold, exists);
        if (m_counts[i * segment + j]) this->add(fold, exists, next);
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
  static constexpr bool supports = std::is_default_constructible_v<typename P::A> &&
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
