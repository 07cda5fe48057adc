// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_in_pieces.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "convert.hpp"
#include "parse_value.hpp"
#include "progress.hpp"

namespace scan_tool {
namespace {

/// The usual maximum size of pieces. Larger ones are no faster, because the next piece is read
/// while one is scanned.
constexpr double enough_memory = 64 << 20;

// ---- Values wider than the accumulator of the file's type ---------------------------------------

template <class A>
struct Narrow {
  using type = A;
};
template <>
struct Narrow<double> {
  using type = float;
};
template <>
struct Narrow<std::complex<double>> {
  using type = std::complex<float>;
};

/// The accumulator type for A, which is the accumulator of `dtype` or the next wider type.
template <class A>
constexpr Accumulator accumulator_of() {
  if constexpr (std::is_same_v<A, std::int64_t>) return Accumulator::int64;
  if constexpr (std::is_same_v<A, std::uint64_t>) return Accumulator::uint64;
  if constexpr (std::is_same_v<A, float>) return Accumulator::float32;
  if constexpr (std::is_same_v<A, double>) return Accumulator::float64;
  if constexpr (std::is_same_v<A, std::complex<float>>) return Accumulator::complex64;
  return Accumulator::complex128;
}
template <class A>
bool is_wider_than(DType dtype) {
  return scan_tool::accumulator_of(dtype) != accumulator_of<A>();
}

constexpr std::size_t block_of_conversion = 4096;

/// Like load(), also for wider A.
template <class A>
void decode(std::span<const std::byte> bytes, DType from, DType to, std::span<A> values) {
  if (!is_wider_than<A>(to)) return load<A>(bytes, from, to, values);
  using N = typename Narrow<A>::type;
  std::vector<N> narrow(std::min(block_of_conversion, values.size()));
  while (!values.empty()) {
    const std::span<N> block(narrow.data(), std::min(narrow.size(), values.size()));
    load<N>(bytes, from, to, block);
    std::copy(block.begin(), block.end(), values.begin());
    bytes = bytes.subspan(block.size() * size_of(from));
    values = values.subspan(block.size());
  }
}

/// Like store(), also for wider A.
template <class A>
void encode(std::span<const A> values, DType to, std::span<std::byte> bytes) {
  if (!is_wider_than<A>(to)) return store<A>(values, to, bytes);
  using N = typename Narrow<A>::type;
  std::vector<N> narrow(std::min(block_of_conversion, values.size()));
  while (!values.empty()) {
    const std::span<N> block(narrow.data(), std::min(narrow.size(), values.size()));
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<N>(values[i]);
    store<N>(block, to, bytes);
    bytes = bytes.subspan(block.size() * size_of(to));
    values = values.subspan(block.size());
  }
}

template <class A>
A start_of(const ScanPlan& plan) {
  if (!is_wider_than<A>(plan.dtype)) {
    return parse_value<A>("--initial", *plan.options.initial, plan.dtype);
  }
  return A(parse_value<typename Narrow<A>::type>("--initial", *plan.options.initial, plan.dtype));
}

// ---- Pieces -------------------------------------------------------------------------------------

/// A range of lines in (outer, inner).
struct LineRange {
  std::int64_t outer, outers;
  std::int64_t inner, inners;

  [[nodiscard]] std::int64_t count() const { return outers * inners; }
};

/// Elements first ... first + count - 1 of each line.
struct Range {
  std::int64_t first, count;

  [[nodiscard]] std::int64_t end() const { return first + count; }
};

/// Part `part` of `parts` of a range, as equal as possible.
Range part_of(const Range& range, int part, int parts) {
  const auto begin = [&](int i) {
    return range.first + range.count / parts * i + range.count % parts * i / parts;
  };
  return {begin(part), begin(part + 1) - begin(part)};
}

template <class A>
class ScanInPieces {
 public:
  ScanInPieces(const ScanPlan& plan, double memory, Ranks& ranks)
      : m_plan(plan),
        m_options(plan.options),
        m_ranks(ranks),
        m_geometry(plan.geometry),
        m_extra(plan.options.include_total ? 1 : 0),
        m_in_order(plan.options.in_order && !std::is_integral_v<A> && !is_ordering(plan.operation)),
        m_tells_lines_apart(m_in_order && plan.mask != nullptr && !plan.options.initial),
        m_share_lines(ranks.size() > 1 && plan.geometry.outer < ranks.size()) {
    choose_sizes(memory);
  }

  void run() {
    m_ranks.attempt([&] {
      if (m_options.initial) m_start = start_of<A>(m_plan);
      m_output_begin = begin(*m_plan.output, output_header(m_plan));
      if (m_plan.totals) m_totals_begin = begin(*m_plan.totals, totals_header(m_plan));
      allocate();
    });
    const Range mine = m_share_lines
                           ? Range{0, m_geometry.outer}
                           : part_of({0, m_geometry.outer}, m_ranks.rank(), m_ranks.size());
    // The elements of this rank, as an estimate for all.
    const std::int64_t elements =
        mine.count * m_geometry.length * m_geometry.inner / (m_share_lines ? m_ranks.size() : 1);
    m_progress.emplace(
        elements * info(m_plan.input.header().dtype).size,
        m_ranks.rank() == 0 ? Progress::Shown::where_stderr_is_a_terminal : Progress::Shown::never);
    const auto all = [&] {
      for (std::int64_t o = mine.first; o < mine.end(); o += m_outers) {
        for (std::int64_t i = 0; i < m_geometry.inner; i += m_inners) {
          scan_lines(
              {o, std::min(m_outers, mine.end() - o), i, std::min(m_inners, m_geometry.inner - i)});
        }
      }
    };
    // Ranks that share lines agree on errors in each piece; others only at the end.
    if (m_share_lines) all();
    m_ranks.attempt([&] {
      if (!m_share_lines) all();
      finish_writing();
      m_plan.output->finish();
      if (m_plan.totals) m_plan.totals->finish();
    });
    m_progress.reset();
  }

 private:
  /// Whether the file's values can be scanned without conversion.
  [[nodiscard]] bool is_stored(DType dtype) const {
    return dtype == m_plan.dtype && size_of(dtype) == sizeof(A) && !is_wider_than<A>(dtype);
  }
  [[nodiscard]] bool reads_values() const { return is_stored(m_plan.input.header().dtype); }
  [[nodiscard]] bool writes_values() const { return is_stored(m_plan.dtype); }
  /// Whether results overwrite the values of a piece.
  [[nodiscard]] bool is_in_place() const { return m_extra == 0 && !m_tells_lines_apart; }

  /// Chooses the size of pieces. Numbers of bytes are doubles, which cannot overflow.
  void choose_sizes(double memory) {
    const std::size_t in = reads_values() ? 0 : size_of(m_plan.input.header().dtype);
    const std::size_t out = writes_values() ? 0 : size_of(m_plan.dtype);
    // One piece is written while the next one is scanned.
    const std::size_t of_piece = std::max(in, out) + sizeof(A) * (is_in_place() ? 1 : 2);
    const auto of_element = static_cast<double>(
        2 * of_piece + (m_tells_lines_apart ? sizeof(A) : 0) + (m_plan.mask != nullptr ? 1 : 0));
    // Starts, totals, converted totals, and flags whether any element has counted.
    const auto of_line = static_cast<double>(3 * sizeof(A) + size_of(m_plan.dtype) + 1);
    const std::int64_t n = m_geometry.length;
    const std::int64_t part = m_share_lines ? n / m_ranks.size() + 1 : n;
    const auto inner = static_cast<double>(m_geometry.inner);
    const double whole = inner * (of_line + static_cast<double>(part + m_extra) * of_element);
    const auto clamped = [](double wanted, std::int64_t most) {
      return wanted < 1                           ? std::int64_t{1}
             : wanted < static_cast<double>(most) ? static_cast<std::int64_t>(wanted)
                                                  : std::max<std::int64_t>(most, 1);
    };
    const double enough = std::min(memory, enough_memory);
    if (whole <= memory) {
      m_outers = clamped(enough / whole, m_geometry.outer);
      m_inners = std::max<std::int64_t>(m_geometry.inner, 1);
      m_length = std::max<std::int64_t>(part, 1);
      return;
    }
    // Pieces of neighbouring lines have rows as long as memory allows, and at least a few rows.
    const auto rows = static_cast<double>(std::min<std::int64_t>(part, 16));
    m_outers = 1;
    m_inners = clamped(memory / (of_line + (rows + 1) * of_element), m_geometry.inner);
    const auto of_row = static_cast<double>(m_inners) * of_element;
    m_length = clamped(
        std::max(rows, (enough - static_cast<double>(m_inners) * of_line) / of_row - 1), part);
  }

  void allocate() {
    const std::int64_t lines =
        std::min(m_outers, m_geometry.outer) * std::min(m_inners, m_geometry.inner);
    const std::int64_t elements = lines * (m_length + m_extra);
    const std::size_t in = reads_values() ? 0 : size_of(m_plan.input.header().dtype);
    const std::size_t out = writes_values() ? 0 : size_of(m_plan.dtype);
    for (Piece* const piece : {&m_piece, &m_written}) {
      piece->bytes = Buffer<std::byte>(elements * static_cast<std::int64_t>(std::max(in, out)));
      piece->values = Buffer<A>(elements);
      if (!is_in_place()) piece->results = Buffer<A>(elements);
    }
    if (m_tells_lines_apart) m_other_results = Buffer<A>(elements);
    if (m_plan.mask != nullptr) m_mask = Buffer<std::uint8_t>(elements);
    m_starts = Buffer<A>(lines);
    m_totals = Buffer<A>(lines);
    m_other_totals = Buffer<A>(lines);
    m_have_counted = Buffer<std::uint8_t>(lines);
  }

  /// Writes a header. \return its size
  std::int64_t begin(NpyOutput& file, const NpyHeader& header) const {
    if (m_ranks.rank() == 0) file.write_header(header);
    return static_cast<std::int64_t>(format_npy_header(header).size());
  }

  /// Calls f(offset in the file, offset in the piece, count) for each contiguous run of a piece in
  /// an array whose lines have `length` elements.
  template <class F>
  void for_each_run(const LineRange& lines, const Range& range, std::int64_t length,
                    const F& f) const {
    const std::int64_t inner = m_geometry.inner;
    if (lines.inners == inner && range.count == length) {
      return f(lines.outer * length * inner, std::int64_t{0}, lines.outers * length * inner);
    }
    for (std::int64_t o = 0; o < lines.outers; ++o) {
      const std::int64_t first = ((lines.outer + o) * length + range.first) * inner + lines.inner;
      const std::int64_t place = o * range.count * lines.inners;
      if (lines.inners == inner) {
        f(first, place, range.count * inner);
        continue;
      }
      for (std::int64_t k = 0; k < range.count; ++k) {
        f(first + k * inner, place + k * lines.inners, lines.inners);
      }
    }
  }

  /// Scans all elements of some lines in rounds of pieces: one piece for each rank that shares
  /// them.
  void scan_lines(const LineRange& lines) {
    const int parts = m_share_lines ? m_ranks.size() : 1;
    const int part = m_share_lines ? m_ranks.rank() : 0;
    const std::int64_t n = m_geometry.length;
    const std::int64_t of_round = m_length * parts;
    const auto count = static_cast<std::size_t>(lines.count());
    const bool has_start = m_start.has_value() || !m_in_order;
    std::fill_n(m_starts.data(), count,
                m_start ? *m_start : identity<A>(m_plan.operation, m_plan.dtype));
    std::fill_n(m_have_counted.data(), count, has_start ? 1 : 0);

    for (std::int64_t done = 0; done == 0 || done < n; done += of_round) {
      const std::int64_t of_this = std::min(of_round, n - done);
      const Range all{m_options.reverse ? n - done - of_this : done, of_this};
      const Range mine = part_of(all, part, parts);
      const bool is_last = done + of_this >= n;
      const int last = m_options.reverse ? 0 : parts - 1;
      const bool has_extra = m_extra > 0 && is_last && part == last;
      attempt([&] { read(lines, mine); });
      scan_piece(lines, mine, all.count, has_extra);
      attempt([&] { begin_writing(lines, mine, has_extra); });
      m_progress->add(lines.count() * mine.count * info(m_plan.input.header().dtype).size);
      std::swap(m_starts, m_totals);
    }
    if (!m_plan.totals) return;
    attempt([&] {
      if (part == 0) write_totals(lines);
    });
  }

  /// Calls a function that may fail, collectively if ranks share the lines.
  template <class F>
  void attempt(const F& f) {
    m_share_lines ? m_ranks.attempt(f) : f();
  }

  void read(const LineRange& lines, const Range& range) {
    const NpyInput& input = m_plan.input;
    const auto size = info(input.header().dtype).size;
    std::byte* const bytes =
        reads_values() ? reinterpret_cast<std::byte*>(m_piece.values.data()) : m_piece.bytes.data();
    for_each_run(
        lines, range, m_geometry.length,
        [&](std::int64_t first, std::int64_t place, std::int64_t count) {
          input.read(first, {bytes + place * size, static_cast<std::size_t>(count * size)});
          if (m_plan.mask == nullptr) return;
          m_plan.mask->read(first, {reinterpret_cast<std::byte*>(m_mask.data()) + place,
                                    static_cast<std::size_t>(count)});
        });
    // In most cases the next piece follows in the file: read it ahead while this piece is scanned.
    const std::int64_t first = (lines.outer * m_geometry.length + range.first) * m_geometry.inner;
    const std::int64_t count = lines.outers * range.count * m_geometry.inner;
    if (lines.inners == m_geometry.inner) {
      const int parts = m_share_lines ? m_ranks.size() : 1;
      input.expect(first + (m_options.reverse ? -parts : parts) * count, count);
    }
    if (reads_values()) return;
    const auto values = static_cast<std::size_t>(lines.count() * range.count);
    decode<A>({m_piece.bytes.data(), values * static_cast<std::size_t>(size)}, input.header().dtype,
              m_plan.dtype, {m_piece.values.data(), values});
  }

  /// Scans the piece, from m_starts to m_totals.
  ///
  /// \param all number of elements per line on all ranks in this round
  void scan_piece(const LineRange& lines, const Range& range, std::int64_t all, bool has_extra) {
    ScanProblem<A> problem;
    problem.operation = m_plan.operation;
    problem.mode = m_options.exclusive ? Mode::exclusive : Mode::inclusive;
    problem.direction = m_options.reverse ? Direction::backward : Direction::forward;
    if (m_in_order) problem.grouping = Grouping::in_order;
    problem.outer = lines.outers;
    problem.length = range.count;
    problem.inner = lines.inners;
    problem.output_length = range.count + (has_extra ? 1 : 0);
    problem.input = m_piece.values.data();
    if (m_plan.mask != nullptr) problem.mask = m_mask.data();
    problem.output = is_in_place() ? m_piece.values.data() : m_piece.results.data();
    problem.totals = m_totals.data();

    const std::span<std::uint8_t> counted(m_have_counted.data(),
                                          static_cast<std::size_t>(lines.count()));
    const auto is_zero = [](std::uint8_t flag) { return flag == 0; };
    const bool some_begin = std::any_of(counted.begin(), counted.end(), is_zero);
    const bool all_begin = std::all_of(counted.begin(), counted.end(), is_zero);
    if (!all_begin) problem.starts = m_starts.data();
    scan_together(problem);
    if (!some_begin) return;
    if (!all_begin) {
      // Lines in which no element has counted yet have no start: take the results without a start.
      problem.starts = nullptr;
      problem.output = m_other_results.data();
      problem.totals = m_other_totals.data();
      scan_together(problem);
      take_other_results(lines, problem.output_length, counted);
    }
    note_what_counts(lines, range, all, counted);
  }

  void scan_together(const ScanProblem<A>& problem) const {
    if (m_share_lines) {
      scan_over_ranks(problem, m_options.space);
    } else {
      scan(problem, m_options.space);
    }
  }

  void take_other_results(const LineRange& lines, std::int64_t length,
                          std::span<const std::uint8_t> counted) {
    for (std::int64_t o = 0; o < lines.outers; ++o) {
      for (std::int64_t i = 0; i < lines.inners; ++i) {
        const std::int64_t line = o * lines.inners + i;
        if (counted[static_cast<std::size_t>(line)] != 0) continue;
        m_totals.data()[line] = m_other_totals.data()[line];
        for (std::int64_t k = 0; k < length; ++k) {
          const std::int64_t at = (o * length + k) * lines.inners + i;
          m_piece.results.data()[at] = m_other_results.data()[at];
        }
      }
    }
  }

  /// Sets the flags of lines in which an element has counted in this round.
  void note_what_counts(const LineRange& lines, const Range& range, std::int64_t all,
                        std::span<std::uint8_t> counted) {
    if (m_plan.mask == nullptr) {
      if (all > 0) std::fill(counted.begin(), counted.end(), std::uint8_t{1});
      return;
    }
    for (std::int64_t o = 0; o < lines.outers; ++o) {
      for (std::int64_t k = 0; k < range.count; ++k) {
        const std::uint8_t* const row = m_mask.data() + (o * range.count + k) * lines.inners;
        for (std::int64_t i = 0; i < lines.inners; ++i) {
          if (row[i] != 0) counted[static_cast<std::size_t>(o * lines.inners + i)] = 1;
        }
      }
    }
    if (m_share_lines) m_ranks.unite(counted);
  }

  /// Lets another thread write the piece, after it has finished the previous one, whose memory is
  /// reused for the next piece.
  void begin_writing(const LineRange& lines, const Range& range, bool has_extra) {
    finish_writing();
    std::swap(m_piece, m_written);
    m_writing = std::async(std::launch::async,
                           [this, lines, range, has_extra] { write(lines, range, has_extra); });
  }
  /// \throws the writer's exception
  void finish_writing() {
    if (m_writing.valid()) m_writing.get();
  }
  void write(const LineRange& lines, const Range& range, bool has_extra) {
    // Backward, the total is the first element.
    const std::int64_t shift = m_options.reverse && !has_extra ? m_extra : 0;
    const Range results{range.first + shift, range.count + (has_extra ? 1 : 0)};
    const A* const values = is_in_place() ? m_written.values.data() : m_written.results.data();
    const auto count = static_cast<std::size_t>(lines.count() * results.count);
    const std::byte* bytes = reinterpret_cast<const std::byte*>(values);
    if (!writes_values()) {
      encode<A>({values, count}, m_plan.dtype, m_written.bytes.span());
      bytes = m_written.bytes.data();
    }
    const auto size = info(m_plan.dtype).size;
    for_each_run(lines, results, m_geometry.length + m_extra,
                 [&](std::int64_t first, std::int64_t place, std::int64_t run) {
                   m_plan.output->write_at(
                       m_output_begin + first * size,
                       {bytes + place * size, static_cast<std::size_t>(run * size)});
                 });
  }

  void write_totals(const LineRange& lines) {
    const auto size = info(m_plan.dtype).size;
    // After the last piece the totals are in m_starts.
    for (std::int64_t o = 0; o < lines.outers; ++o) {
      const std::span<const A> row(m_starts.data() + o * lines.inners,
                                   static_cast<std::size_t>(lines.inners));
      const std::int64_t first = (lines.outer + o) * m_geometry.inner + lines.inner;
      std::vector<std::byte> bytes(row.size() * static_cast<std::size_t>(size));
      encode<A>(row, m_plan.dtype, bytes);
      m_plan.totals->write_at(m_totals_begin + first * size, bytes);
    }
  }

  const ScanPlan& m_plan;
  const ScanOptions& m_options;
  Ranks& m_ranks;
  Geometry m_geometry;
  std::int64_t m_extra;
  bool m_in_order;
  bool m_tells_lines_apart;  ///< whether flags say in which lines an element has counted
  bool m_share_lines;        ///< whether each rank has a part of each line, not some whole lines
  std::optional<A> m_start;
  // The shape and the buffers of a piece.
  std::int64_t m_outers = 1;
  std::int64_t m_inners = 1;
  std::int64_t m_length = 1;
  struct Piece {
    Buffer<std::byte> bytes;  ///< in the file's type, if that has to be converted
    Buffer<A> values, results;
  };
  Piece m_piece, m_written;
  Buffer<A> m_other_results;
  Buffer<std::uint8_t> m_mask;
  Buffer<A> m_starts, m_totals, m_other_totals;
  Buffer<std::uint8_t> m_have_counted;
  std::optional<Progress> m_progress;
  // Offsets of the data in files.
  std::int64_t m_output_begin = 0;
  std::int64_t m_totals_begin = 0;
  std::future<void> m_writing;  ///< writes m_written, which must outlive it
};

}  // namespace

void scan_in_pieces(const ScanPlan& plan, std::int64_t memory, Ranks& ranks) {
  const bool is_wide = !plan.options.in_order && !is_ordering(plan.operation);
  const auto scan = [&]<class A>(A) {
    ScanInPieces<A>(plan, static_cast<double>(memory), ranks).run();
  };
  switch (accumulator_of(plan.dtype)) {
    case Accumulator::int64:
      return scan(std::int64_t{});
    case Accumulator::uint64:
      return scan(std::uint64_t{});
    case Accumulator::float32:
      return is_wide ? scan(double{}) : scan(float{});
    case Accumulator::float64:
      return scan(double{});
    case Accumulator::complex64:
      return is_wide ? scan(std::complex<double>{}) : scan(std::complex<float>{});
    case Accumulator::complex128:
      return scan(std::complex<double>{});
  }
}

}  // namespace scan_tool
