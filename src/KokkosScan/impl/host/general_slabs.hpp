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
#include <tuple>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Scans slabs, or strips of slabs, on one thread.
template <class P>
class General : GeneralElements<P> {
  using Elements = GeneralElements<P>;
  using Elements::begins_chunk, Elements::has_carry, Elements::has_chunks, Elements::has_tiles;
  using Elements::chunk_length, Elements::in_order, Elements::lines_at_once, Elements::row_of_chunk;
  using Elements::line_at, Elements::load, Elements::most, Elements::skips;
  using Elements::m_problem, Elements::m_slabs;
  using typename Elements::A, typename Elements::Block, typename Elements::In,
      typename Elements::Op, typename Elements::R;
  using Value = typename P::Value;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr bool is_array = !is_called<decltype(P::output)>;
  static constexpr int most_narrow = most / 2;
  /// Lines of a row whose state stays in L1. Of longer rows, four are scanned a segment at a time.
  static constexpr int most_whole = most / 2;
  static constexpr int segment = most_whole / 4;

 public:
  static constexpr int most_width = most;  ///< of a strip

  General(const P& problem, const SlabsOfRows& slabs, Destination destination, Registers registers)
      : Elements(problem, slabs),
        m_op(carrying(problem.op)),
        m_registers(registers),
        m_streams(is_array && can_stream && std::is_trivially_copyable_v<Value> &&
                  destination == Destination::memory) {}
  General(const General&) = delete;
  General& operator=(const General&) = delete;
  ~General() {
    if (m_streams) end_streaming();
  }

  /// Scans strips begin ... end - 1.
  void scan(std::int64_t begin, std::int64_t end) {
    const Batch& batch = m_problem.batch;
    const std::int64_t extent = m_slabs.dimension < 0 ? 1 : batch.extent[m_slabs.dimension];
    const std::int64_t most_slabs = m_slabs.strips > 1 ? 1 : slabs_at_once();
    int slabs = 1;
    for (std::int64_t i = begin; i < end; i += slabs) {
      const std::int64_t slab = i / m_slabs.strips;
      const std::int64_t first = i % m_slabs.strips * m_slabs.width;
      if (first >= m_slabs.row) continue;
      // Slabs that are processed together must be neighbours in one dimension of the batch.
      if (most_slabs > 1) {
        slabs = static_cast<int>(std::min({most_slabs, end - i, extent - slab % extent}));
      }
      const Coordinates c = batch.coordinates(slab * m_slabs.row + first);
      scan_slabs(c, slabs, static_cast<int>(std::min(m_slabs.row - first, m_slabs.width)));
    }
  }

 private:
  /// Rows of a block. Several slabs are taken only with all of their rows, unless they are lines.
  [[nodiscard]] std::int64_t rows_at_once() const {
    const std::int64_t width = m_slabs.width;
    if (width > most_whole) return most_whole / segment;
    if (width == 1) return most / lines_at_once;
    return std::max<std::int64_t>(1, most_narrow / width);
  }
  [[nodiscard]] std::int64_t slabs_at_once() const {
    if (m_slabs.width > most_whole) return 1;
    const std::int64_t rows = std::min(m_problem.n, rows_at_once());
    const std::int64_t slabs = most_narrow / (rows * m_slabs.width);
    // Each line waits for its last combination: only other lines hide that latency.
    if (m_slabs.width == 1) return std::max<std::int64_t>(lines_at_once, slabs);
    return rows < m_problem.n ? 1 : std::max<std::int64_t>(1, slabs);
  }

  /// Scans `slabs` slabs of `width` lines.
  void scan_slabs(const Coordinates& c, int slabs, int width) {
    const P& p = m_problem;
    for (int lane = 0; lane < slabs * width && (skips || p.start.exists()); ++lane) {
      const Maybe<A> start = p.start.at(line_at(c, lane / width, lane % width));
      (in_order() ? m_last : m_tiles)[lane] = m_carry[lane] = static_cast<R>(start.value);
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

  /// B(k) at the beginning or the end of a line.
  [[nodiscard]] R bound(int lane, std::int64_t k) const {
    if (in_order()) {
      bool exists = k > 0 || m_problem.start.exists();
      if constexpr (skips) exists = m_exist[lane];
      return exists ? m_last[lane] : static_cast<R>(m_problem.identity.value);
    }
    const bool is_in_chunk = row_of_chunk(k) > 0;
    if (is_in_chunk) return has_carry(k) ? R(m_op(m_carry[lane], m_last[lane])) : m_last[lane];
    return k > 0 || has_carry(k) ? m_carry[lane] : static_cast<R>(m_problem.identity.value);
  }
  /// Stores B(0) before the first results of lines, or B(n) behind the last.
  void store_bounds(const Coordinates& c, int slabs, int width, std::int64_t k) {
    const std::int64_t place = k == 0 ? -1 : k;
    for (int lane = 0; lane < slabs * width; ++lane) {
      const auto line = m_problem.output.line(line_at(c, lane / width, lane % width));
      line(place) = static_cast<Value>(bound(lane, k));
    }
  }

  void scan_block(const Block& b) {
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
    if constexpr (skips) return scan_skipping(y, b);
    if (m_slabs.width < wide_row) return scan_narrow(y, b);
    for (int s = 0; s < b.slabs; ++s) {
      const Block of_slab = b.of_slab(s);
      const SlabsOf<Value> to{y.data + s * y.slab, y.row, 0};
      if constexpr (is_zipped_of_arrays<A, In>) {
        const auto& in = m_problem.input;
        const auto x = stored_rows(in.function, in.parts, of_slab.c, b.k);
        if (are_stored(x)) {
          scan_wide(x, to, of_slab);
          continue;
        }
      }
      const Runs<A> x = load(of_slab);
      scan_wide(StoredRows<A>{x.data, x.row}, to, of_slab);
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
      const Runs<A> x = load(of_slab);
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
          const R before = exists ? fold : none;
          if (counted[b.width == 1 ? i : w]) {
            const R next = static_cast<R>(x.data[i * x.row + w]);
            fold = exists ? R(m_op(fold, next)) : next;
            exists = true;
          }
          y.data[s * y.slab + i * y.row + w] = static_cast<Value>(is_exclusive ? before
                                                                  : exists     ? fold
                                                                               : none);
        }
      }
    }
  }

  /// Calls f, compiled for wide registers if R is arithmetic. Structs gain nothing from them, as
  /// their members would have to be transposed into registers.
  template <class F>
  [[gnu::always_inline]] void with_registers(const F& f) const {
    if constexpr (std::is_arithmetic_v<R>) {
      call_with(
          m_registers, [&](auto) __attribute__((always_inline)) { f(); });
    } else {
      f();
    }
  }

  /// Scans rows of one chunk with many lines.
  template <class X>
  void scan_wide(const X& x, const SlabsOf<Value>& y, const Block& b) {
    with_registers([&]() __attribute__((always_inline)) {
      const int width = b.width;
      const bool is_exclusive = m_problem.form == Form::exclusive;
      const bool begins = begins_chunk(b.k);
      const bool ends_chunk = row_of_chunk(b.k + b.rows) == 0;
      const int first = begins ? 1 : 0;
      const int behind = ends_chunk && !is_exclusive ? b.rows - 1 : b.rows;
      const R* const carry = has_carry(b.k) ? m_carry + b.lane : nullptr;
      R* const last = m_last + b.lane;
      if (begins) {
        for (int i = 0; i < width; ++i) last[i] = static_cast<R>(static_cast<A>(x(0, i)));
        if (is_exclusive) {
          store_carry(carry, width, y.data);
        } else if (behind > 0) {
          combine_row(carry, last, width, y.data);
        }
      }
      WideRows<X, R, Value> rest{x, y.data + first * y.row, y.row, last, carry, width};
      rest.x.skip(first);
      scan_wide_rows<A>(m_op, rest, behind - first, is_exclusive, m_slabs.width > most_whole);
      if (!ends_chunk) return;
      if (!is_exclusive) {
        for (int i = 0; i < width && behind >= first; ++i) {
          last[i] = m_op(last[i], static_cast<R>(static_cast<A>(x(behind, i))));
        }
      }
      add_chunk(b.k, b.lane, width, last);
      if (!is_exclusive) store_carry(m_carry + b.lane, width, y.data + behind * y.row);
    });
  }
  /// Stores the carry, or the identity if there is none.
  [[gnu::always_inline]] void store_carry(const R* carry, int width, Value* to) const {
    for (int i = 0; i < width; ++i) {
      to[i] = static_cast<Value>(carry == nullptr ? static_cast<R>(m_problem.identity.value)
                                                  : carry[i]);
    }
  }
  [[gnu::always_inline]] void combine_row(const R* carry, const R* fold, int width,
                                          Value* to) const {
    for (int i = 0; i < width; ++i) {
      to[i] = static_cast<Value>(carry == nullptr ? fold[i] : R(m_op(carry[i], fold[i])));
    }
  }

  /// Scans rows with few lines.
  void scan_narrow(const SlabsOf<Value>& y, const Block& b) {
    if constexpr (is_zipped_of_arrays<A, In>) {
      const auto& in = m_problem.input;
      const auto rows_of = [&](int s) {
        return stored_rows(in.function, in.parts, b.of_slab(s).c, b.k);
      };
      if (are_stored(rows_of(0))) return scan_narrow(rows_of, y, b);
    }
    const Runs<A> x = load(b);
    scan_narrow([&](int s) { return StoredRows<A>{x.data + s * x.run, x.row}; }, y, b);
  }
  template <class RowsOf>
  void scan_narrow(const RowsOf& rows_of, const SlabsOf<Value>& y, const Block& b) {
    with_registers([&]() __attribute__((always_inline)) {
      using X = decltype(rows_of(0));
      // Single lines of several slabs are scanned side by side, or the lines of each slab.
      const bool is_line = b.width == 1;
      const int count = is_line ? b.slabs : b.width;
      for (int slab = 0; slab < (is_line ? 1 : b.slabs); ++slab) {
        const auto line_of = [&](int i) __attribute__((always_inline)) {
          const int s = is_line ? i : slab, w = is_line ? 0 : i;
          return LineOfRows<A, X, Value>{rows_of(s), w, y.data + s * y.slab + w, y.row};
        };
        const auto scan_next = [&]<int... j>(int i, std::integer_sequence<int, j...>)
            __attribute__((always_inline)) {
          const LineOfRows<A, X, Value> lines[] = {line_of(i + j)...};
          scan_lines_of(lines, b, b.lane + slab * b.width + i);
        };
        int i = 0;
        for (; i + lines_at_once <= count; i += lines_at_once) {
          scan_next(i, std::make_integer_sequence<int, lines_at_once>{});
        }
        for (; i + 2 <= count; i += 2) scan_next(i, std::make_integer_sequence<int, 2>{});
        if (i < count) scan_next(i, std::make_integer_sequence<int, 1>{});
      }
    });
  }
  /// Scans the rows of several lines, chunk by chunk.
  template <class Line, std::size_t count>
  [[gnu::always_inline]] void scan_lines_of(const Line (&lines)[count], const Block& b, int lane) {
    const bool is_exclusive = m_problem.form == Form::exclusive;
    R* const last = m_last + lane;
    for (Span rows{0, 0}; rows.begin < b.rows; rows.begin = rows.end) {
      const std::int64_t k = b.k + rows.begin;
      rows.end = static_cast<int>(
          std::min<std::int64_t>(b.rows, rows.begin + chunk_length() - row_of_chunk(k)));
      const bool ends_chunk = row_of_chunk(b.k + rows.end) == 0;
      const R* const carry = has_carry(k) ? m_carry + lane : nullptr;
      Span inner = rows;
      if (begins_chunk(k)) {
        ++inner.begin;
        for (std::size_t j = 0; j < count; ++j) {
          last[j] = static_cast<R>(lines[j].element(rows.begin));
          Value* const to = lines[j].y + rows.begin * lines[j].y_row;
          if (is_exclusive) {
            store_carry(carry == nullptr ? nullptr : carry + j, 1, to);
          } else {
            combine_row(carry == nullptr ? nullptr : carry + j, last + j, 1, to);
          }
        }
      }
      if (ends_chunk && !is_exclusive) --inner.end;
      if (carry == nullptr) {
        is_exclusive ? scan_lines<false, true>(m_op, lines, inner, last, carry)
                     : scan_lines<false, false>(m_op, lines, inner, last, carry);
      } else {
        is_exclusive ? scan_lines<true, true>(m_op, lines, inner, last, carry)
                     : scan_lines<true, false>(m_op, lines, inner, last, carry);
      }
      if (!ends_chunk) continue;
      for (std::size_t j = 0; j < count && !is_exclusive; ++j) {
        last[j] = m_op(last[j], static_cast<R>(lines[j].element(inner.end)));
      }
      add_chunk(k, lane, count, last);
      for (std::size_t j = 0; j < count && !is_exclusive; ++j) {
        lines[j].store(inner.end, m_carry[lane + static_cast<int>(j)]);
      }
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
  const bool m_streams;  ///< whether results are written with non-temporal stores
  // For each line the fold of earlier tiles, of the tile's chunks, of both, and within the chunk.
  alignas(cache_line) R m_tiles[most_width];
  alignas(cache_line) R m_chunks[most_width];
  alignas(cache_line) R m_carry[most_width];
  alignas(cache_line) R m_last[most_width];
  bool m_exist[skips ? most_width : 1];  ///< whether anything has been combined
  alignas(cache_line) Value m_y[most];
};

}  // namespace KokkosScan::impl::host
