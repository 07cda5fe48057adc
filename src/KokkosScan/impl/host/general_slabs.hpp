// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The general host kernels: scans with any operator, type and output, along the tree of the
/// generic backend (generic_tree.hpp), or in order: then a line is one chunk, which begins with the
/// start. They process blocks of elements in memory order: rows of neighbouring lines, and of
/// several slabs if slabs are small.

#include <KokkosScan/impl/host/general_elements.hpp>
#include <KokkosScan/impl/host/general_kernels.hpp>
#include <KokkosScan/impl/host/general_outputs.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Scans slabs, or strips of slabs, on one thread.
template <class P, bool from_states>
class General : GeneralElements<P, from_states> {
  using Elements = GeneralElements<P, from_states>;
  using Elements::begins_chunk, Elements::has_carry, Elements::has_chunks, Elements::has_tiles;
  using Elements::chunk_length, Elements::in_order, Elements::lines_at_once, Elements::row_of_chunk;
  using Elements::is_plain_fold, Elements::line_at, Elements::load, Elements::skips;
  using Elements::m_problem, Elements::m_slabs;
  using typename Elements::A, typename Elements::Block, typename Elements::In,
      typename Elements::Op, typename Elements::R;
  using Value = typename P::Value;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  template <class X, class OfSlabs>
  using LinesOf = LinesOfRows<A, typename Folds<P, from_states>::Element, X, R, Value, OfSlabs>;
  static constexpr bool is_array = !is_called<decltype(P::output)>;
  /// Lines of a row whose state stays in L1. Of longer rows, four are scanned a segment at a time.
  static constexpr int most_whole = Elements::most / 2;
  static constexpr int segment = most_whole / 4;

 public:
  using Elements::most;  ///< lines of a strip

  General(const P& problem, const SlabsOfRows& slabs, Destination destination, Registers registers)
      : Elements(problem, slabs),
        m_op{carrying(problem.op)},
        m_registers(registers),
        m_streams(is_array && can_stream && std::is_trivially_copyable_v<Value> &&
                  destination == Destination::memory) {}

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end) {
    const Batch& batch = m_problem.batch;
    const std::int64_t extent = m_slabs.dimension < 0 ? 1 : batch.extent[m_slabs.dimension];
    const std::int64_t most_slabs = m_slabs.strips > 1 ? 1 : slabs_at_once();
    int slabs = 1;
    for (std::int64_t i = begin; i < end; i += slabs) {
      const std::int64_t slab = i / m_slabs.strips;
      const std::int64_t first = i % m_slabs.strips * m_slabs.width;
      // Slabs that are processed together must be neighbours in one dimension of the batch.
      if (most_slabs > 1) {
        slabs = static_cast<int>(std::min({most_slabs, end - i, extent - slab % extent}));
      }
      const Coordinates c = coordinates_of(batch, slab * m_slabs.row + first);
      scan_slabs(c, slabs, static_cast<int>(std::min(m_slabs.row - first, m_slabs.width)));
    }
  }

 private:
  /// Rows of a block. Several slabs are taken only with all of their rows, unless they are lines.
  /// Elements and results of a block of a long line of structs fit L1 together.
  [[nodiscard]] std::int64_t rows_at_once() const {
    const std::int64_t width = m_slabs.width;
    if (width > most_whole) return most_whole / segment;
    if (width == 1)
      return lines_at_once > 1 || m_problem.n <= most ? most / lines_at_once : most_whole;
    return std::max<std::int64_t>(1, most_whole / width);
  }
  [[nodiscard]] std::int64_t slabs_at_once() const {
    if (m_slabs.width > most_whole) return 1;
    const std::int64_t rows = std::min(m_problem.n, rows_at_once());
    const std::int64_t slabs = most_whole / (rows * m_slabs.width);
    // Each line waits for its last combination: only other lines hide that latency.
    if (m_slabs.width == 1) return std::max<std::int64_t>(1, slabs / lines_at_once) * lines_at_once;
    return rows < m_problem.n ? 1 : std::max<std::int64_t>(1, slabs);
  }

  /// Scans `slabs` slabs of `width` lines.
  void scan_slabs(const Coordinates& c, int slabs, int width) {
    const P& p = m_problem;
    for (int lane = 0; lane < slabs * width && (skips || p.start.exists()); ++lane) {
      const Maybe<A> start = start_of(c, lane, width);
      (in_order ? m_last : m_tiles)[lane] = m_carry[lane] = static_cast<R>(start.value);
      if constexpr (skips) m_exist[lane] = start.exists;
    }
    if (p.extra == Extra::first) store_bounds(c, slabs, width, 0);
    const std::int64_t most_rows = rows_at_once();
    for (std::int64_t k = 0; k < p.n;) {
      std::int64_t rows = std::min(p.n - k, most_rows);
      // A block of wide rows is in one chunk.
      if (m_slabs.width >= wide_row) rows = std::min(rows, chunk_length() - row_of_chunk(k));
      const int most_lines = m_slabs.width > most_whole ? segment : width;
      for (int w = 0; w < width; w += most_lines) {
        scan_block({{line_at(c, 0, w), p.n, k, static_cast<int>(rows),
                     std::min(width - w, most_lines), slabs, m_slabs.dimension},
                    w});
      }
      k += rows;
    }
    if (p.extra == Extra::last) store_bounds(c, slabs, width, p.n);
    for (int lane = 0; lane < slabs * width && p.totals.data != nullptr; ++lane) {
      p.totals.line(line_at(c, lane / width, lane % width))(0) =
          static_cast<Total>(bound(lane, p.n));
    }
  }

  [[nodiscard]] Maybe<A> start_of(const Coordinates& c, int lane, int width) const {
    if constexpr (has_common_start<P>) return m_problem.start.value;
    return m_problem.start.at(line_at(c, lane / width, lane % width));
  }
  /// B(k) at the beginning or the end of a line.
  [[nodiscard]] R bound(int lane, std::int64_t k) const {
    if (in_order) {
      bool exists = k > 0 || m_problem.start.exists();
      if constexpr (skips) exists = m_exist[lane];
      return exists ? m_last[lane] : static_cast<R>(m_problem.identity.value);
    }
    if (row_of_chunk(k) > 0)
      return has_carry(k) ? R(m_op(m_carry[lane], m_last[lane])) : m_last[lane];
    return k > 0 || has_carry(k) ? m_carry[lane] : static_cast<R>(m_problem.identity.value);
  }
  /// Stores B(0) before the first results of lines, or B(n) behind the last.
  void store_bounds(const Coordinates& c, int slabs, int width, std::int64_t k) {
    for (int lane = 0; lane < slabs * width; ++lane) {
      const auto line = m_problem.output.line(line_at(c, lane / width, lane % width));
      line(k == 0 ? -1 : k) = static_cast<Value>(bound(lane, k));
    }
  }

  void scan_block(const Block& b) {
    // Hardware prefetching follows long rows, and rows without gaps.
    if (m_slabs.strips > 1 && m_slabs.width <= most_whole) this->prefetch_next(m_problem.input, b);
    const int size = b.rows * b.width;
    if constexpr (is_array) {
      const Array<Value>& output = m_problem.output;
      const auto line = output.line(b.c);
      const std::int64_t row = b.width == 1 ? 1 : line.stride;
      const std::int64_t slab = b.slabs == 1 ? 0 : output.strides.batch[b.dimension];
      if ((b.width == 1 ? line.stride : output.strides.batch[b.c.rank - 1]) == 1) {
        if (!m_streams) return scan_to({&line(b.k), row, slab}, b);
        row < 0 ? scan_to({m_y + size - b.width, -b.width, size}, b)
                : scan_to({m_y, b.width, size}, b);
        return store_rows(true, DenseRows<Value>{m_y, size, b.slabs, b.rows, b.width}, slab, row,
                          &line(row < 0 ? b.k + b.rows - 1 : b.k));
      }
    }
    scan_to({m_y, b.width, size}, b);
    store_slabs(m_problem.output, b, m_y);
  }
  void scan_to(const SlabsOf<Value>& y, const Block& b) {
    if constexpr (skips) {
      return scan_skipping(y, b);
    } else {
      if constexpr (is_zipped_of_arrays<A, In>) {
        const auto& in = m_problem.input;
        const auto x = stored_rows(in.function, in.parts, b);
        if (are_stored(x)) return scan_side_by_side(x, y, b);
      }
      scan_side_by_side(load(b), y, b);
    }
  }

  /// Scans rows in order and skips masked-out elements.
  void scan_skipping(const SlabsOf<Value>& y, const Block& b) {
    const P& p = m_problem;
    const bool is_exclusive = p.form == Form::exclusive;
    const R none = p.identity.exists ? static_cast<R>(p.identity.value) : R();
    bool counted[most];
    for (int s = 0; s < b.slabs; ++s) {
      const Block of_slab = b.of_slab(s);
      const SlabsOf<const A> x = load(of_slab);
      std::fill_n(counted, b.rows, true);
      if (b.width == 1) and_masks<most, false>(p.input, of_slab.c, b.k, b.rows, counted);
      for (int i = 0; i < b.rows; ++i) {
        if (b.width > 1) {
          std::fill_n(counted, b.width, true);
          and_masks<most, true>(p.input, of_slab.c, b.k + i, b.width, counted);
        }
        for (int w = 0; w < b.width; ++w) {
          R& fold = m_last[of_slab.lane + w];
          bool& exists = m_exist[of_slab.lane + w];
          R result = exists ? fold : none;
          if (counted[b.width == 1 ? i : w]) {
            const R next = static_cast<R>(x.data[i * x.row + w]);
            fold = exists ? R(m_op(fold, next)) : next;
            exists = true;
          }
          if (!is_exclusive) result = exists ? fold : none;
          y.data[s * y.slab + i * y.row + w] = static_cast<Value>(result);
        }
      }
    }
  }

  /// Scans rows of many neighbours all together, and otherwise some lines side by side: neighbours
  /// in a row, or single lines of several slabs.
  template <class X>
  void scan_side_by_side(const X& x, const SlabsOf<Value>& y, const Block& b) {
    const auto scan_all = [&](auto) __attribute__((always_inline)) {
      const bool is_plain = is_plain_fold(b);
      const bool is_line = b.width == 1, has_start = m_problem.start.exists();
      if (is_plain && is_line) {
        const LinesOf<X, std::true_type> lines{x, y, nullptr, nullptr, b.slabs, {}};
        return fold_lines(m_op, lines, b.rows, has_start, m_last + b.lane);
      }
      if (m_slabs.width >= wide_row || is_plain) {
        LinesOf<X, std::false_type> lines{x, y, nullptr, nullptr, b.width, {}};
        for (int s = 0, lane = b.lane; s < b.slabs; ++s, lane += b.width) {
          is_plain ? fold_lines(m_op, lines, b.rows, has_start, m_last + lane)
                   : scan_chunks<0>(lines, b, lane);
          lines.move(1, 0);
        }
        return;
      }
      const int count = is_line ? b.slabs : b.width;
      for (int slab = 0; slab < (is_line ? 1 : b.slabs); ++slab) {
        LinesOf<X, std::true_type> lines{x, y, nullptr, nullptr, lines_at_once, {}};
        lines.move(slab, 0);
        if (!is_line) lines.take_neighbours();
        const auto scan_next = [&](int j, auto together) __attribute__((always_inline)) {
          lines.count = together;
          scan_chunks<together>(lines, b, b.lane + slab * b.width + j);
          lines.move(together, 0);
        };
        int j = 0;
        constexpr int many = lines_at_once;
        for (; j + many <= count; j += many) scan_next(j, constant<many>);
        if constexpr (many > 2) {
          for (; j + 2 <= count; j += 2) scan_next(j, constant<2>);
          if (j < count) scan_next(j, constant<1>);
        }
      }
    };
    call_for<R>(m_registers, scan_all);
  }
  /// Scans lines chunk by chunk.
  ///
  /// \tparam together the number of lines whose state is kept in registers, or 0: rows are scanned
  ///                  one by one, in the order of memory, which prefetching follows, or four at a
  ///                  time in a segment of longer rows, so that folds are moved once
  template <int together, class Lines>
  [[gnu::always_inline]] void scan_chunks(Lines lines, const Block& b, int lane) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    R* const last = lines.last = m_last + lane;
    for (Span rows{0, 0}; rows.begin < b.rows; rows.begin = rows.end) {
      const std::int64_t k = b.k + rows.begin;
      rows.end = static_cast<int>(
          std::min<std::int64_t>(b.rows, rows.begin + chunk_length() - row_of_chunk(k)));
      const bool ends_chunk = row_of_chunk(b.k + rows.end) == 0;
      lines.carry = has_carry(k) ? m_carry + lane : nullptr;
      Span inner = rows;
      if (begins_chunk(k)) {
        ++inner.begin;
        for (int j = 0; j < lines.count; ++j)
          last[j] = static_cast<R>(lines.element(rows.begin, j));
        if (is_exclusive) store_carry(lines, rows.begin);
        for (int j = 0; j < lines.count && !is_exclusive; ++j) {
          const bool is_first = lines.carry == nullptr;
          lines.store(rows.begin, j, is_first ? last[j] : R(m_op(lines.carry[j], last[j])));
        }
      }
      // At the end of a chunk, B is the carry into the next.
      if (ends_chunk && !is_exclusive) --inner.end;
      if (lines.carry == nullptr) {
        is_exclusive ? scan_within_chunk<together, false, true>(lines, inner)
                     : scan_within_chunk<together, false, false>(lines, inner);
      } else {
        is_exclusive ? scan_within_chunk<together, true, true>(lines, inner)
                     : scan_within_chunk<together, true, false>(lines, inner);
      }
      if (!ends_chunk) continue;
      for (int j = 0; j < lines.count && !is_exclusive; ++j) {
        last[j] = m_op(last[j], lines.element(inner.end, j));
      }
      add_chunk(k, lane, lines.count, last);
      lines.carry = m_carry + lane;
      if (!is_exclusive) store_carry(lines, inner.end);
    }
  }
  template <int together, bool has_carry, bool is_exclusive, class Lines>
  [[gnu::always_inline]] void scan_within_chunk(const Lines& lines, Span rows) const {
    if constexpr (together > 0) {
      scan_lines<together, has_carry, is_exclusive>(m_op, lines, rows);
    } else {
      int i = rows.begin;
      for (; m_slabs.width > most_whole && i + 4 <= rows.end; i += 4) {
        scan_rows<4, has_carry, is_exclusive>(m_op, lines, i);
      }
      for (; i < rows.end; ++i) scan_rows<1, has_carry, is_exclusive>(m_op, lines, i);
    }
  }
  /// Stores the carry, or the identity if there is none.
  template <class Lines>
  [[gnu::always_inline]] void store_carry(const Lines& lines, int row) const {
    const R none = static_cast<R>(m_problem.identity.value);
    for (int j = 0; j < lines.count; ++j) {
      lines.store(row, j, lines.carry == nullptr ? none : lines.carry[j]);
    }
  }

  /// Ends the chunk of row k: its total joins the earlier chunks.
  [[gnu::always_inline]] void add_chunk(std::int64_t k, int lane, int width, const R* total) {
    R* const chunks = m_chunks + lane;
    R* const tiles = m_tiles + lane;
    R* const carry = m_carry + lane;
    const std::int64_t before = k - row_of_chunk(k);
    if (has_chunks(before)) {
      for (int i = 0; i < width; ++i) chunks[i] = m_op(chunks[i], total[i]);
    } else {
      std::copy_n(total, width, chunks);
    }
    if (has_tiles(before)) {
      for (int i = 0; i < width; ++i) carry[i] = m_op(tiles[i], chunks[i]);
    } else {
      std::copy_n(chunks, width, carry);
    }
    const bool ends_tile = (before + chunk_length()) % generic_tree::tile_length == 0;
    if (ends_tile) std::copy_n(carry, width, tiles);
  }

  const Op m_op;
  const Registers m_registers;
  const bool m_streams;
  // For each line the fold of earlier tiles, of the tile's chunks, of both, and within the chunk.
  alignas(cache_line) R m_tiles[most];
  alignas(cache_line) R m_chunks[most];
  alignas(cache_line) R m_carry[most];
  alignas(cache_line) R m_last[most];
  bool m_exist[skips ? most : 1];  ///< whether anything has been combined
  alignas(cache_line) Value m_y[most];
};

}  // namespace KokkosScan::impl::host
