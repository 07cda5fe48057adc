// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The inputs of blocks of slabs: elements, starting values, and the state of lines.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/rows.hpp>
#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/small_slabs.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Prepares the inputs of the blocks of one thread.
template <class P>
class SlabInputs {
 protected:
  using Op = typename Combination<P>::Op;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;

 public:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  /// Maximum width of a strip.
  static constexpr int most_width = strip_bytes / sizeof(A);
  /// Maximum width of a row that is taken as a whole.
  static constexpr int most_whole_row = slab_bytes / sizeof(A);

  /// Strip number `index`, where each row of neighbouring lines is cut into `strips_of_row`: the
  /// coordinates of its first line, and its width.
  [[nodiscard]] std::pair<Coordinates, int> strip(std::int64_t index,
                                                  std::int64_t strips_of_row) const {
    const Batch& batch = m_problem.batch;
    if (!m_has_rows) return {batch.coordinates(index), 1};
    const std::int64_t lines_of_row = batch.extent[batch.rank - 1];
    const std::int64_t width =
        strips_of_row == 1 ? lines_of_row : cut_width(lines_of_row, strips_of_row);
    const std::int64_t first = index % strips_of_row * width;
    return {batch.coordinates(index / strips_of_row * lines_of_row + first),
            static_cast<int>(std::min(lines_of_row - first, width))};
  }

  /// The state before the strip whose first line is at `c`: starting values, or neutral ones.
  ///
  /// \param tiles  receives them in the carried type
  /// \param before receives B(0), which may have to be stored
  [[gnu::noinline]] void start(const Coordinates& c, int width, R* tiles, A* before) const {
    const P& p = m_problem;
    Coordinates line = c;
    for (int w = 0; w < width; ++w) {
      const Maybe<A> start = p.start.at(line);
      tiles[w] = start.exists ? static_cast<R>(start.value) : neutral(carrying(p.op));
      before[w] = start.exists ? start.value : p.identity.value;
      if (w + 1 < width) ++line.index[c.rank - 1];
    }
  }

 protected:
  static constexpr int spill = 32 / sizeof(A);
  static constexpr int margin = SmallSlabs<A>::margin;
  /// Maximum number of elements in a block.
  static constexpr int most_elements = std::max(pack_length * most_whole_row, most_width);
  static constexpr bool has_common_start = std::is_same_v<decltype(P::start), CommonStart<A>>;
  static constexpr bool is_array =
      std::is_same_v<std::remove_cv_t<decltype(P::input)>, Array<const A>>;
  /// Whether the input is a masked array.
  static constexpr bool is_masked_array =
      std::is_same_v<std::remove_cv_t<decltype(P::input)>,
                     Selected<A, Array<const A>, Array<const StoredBool>>>;

  SlabInputs(const P& problem, bool streams, bool has_rows)
      : m_problem(problem),
        m_streams(streams),
        m_has_rows(has_rows),
        m_dimension(problem.batch.rank - (has_rows ? 2 : 1)) {}
  SlabInputs(const SlabInputs&) = delete;
  SlabInputs& operator=(const SlabInputs&) = delete;
  ~SlabInputs() = default;

  /// Sets the state to the prefixes of a part, which are in the carried type.
  [[gnu::noinline]] void set_state(const R* tiles, int width) {
    const auto wide = carrying(m_problem.op);
    const R none = neutral(wide);
    for (int w = 0; w < width; ++w) {
      m_state.tiles()[w] = tiles[w];
      m_state.chunks()[w] = none;
      m_state.carry()[w] = static_cast<A>(wide(tiles[w], none));
    }
  }

  /// Sets the starting values (or neutral ones) and B(0) of all lines.
  [[gnu::noinline]] void set_starts(const Coordinates& c, int width, int slabs) {
    const P& p = m_problem;
    const bool wants_firsts = p.form == Form::exclusive || p.extra == Extra::first;
    if constexpr (has_common_start) {
      // A common start is set only once for all strips.
      if (m_starts >= width && (!wants_firsts || m_firsts >= width)) return;
      const Maybe<A> start = p.start.at(c);
      std::fill_n(m_start + spill, width, start.exists ? start.value : neutral(p.op));
      if (wants_firsts) {
        std::fill_n(m_first + spill, width, start.exists ? start.value : p.identity.value);
      }
    } else {
      for (int s = 0; s < slabs; ++s) {
        Coordinates line = c;
        if (s > 0) line.index[m_dimension] += s;
        for (int w = 0; w < width; ++w) {
          const Maybe<A> start = p.start.at(line);
          m_start[spill + s * width + w] = start.exists ? start.value : neutral(p.op);
          m_first[spill + s * width + w] = start.exists ? start.value : p.identity.value;
          if (w + 1 < width) ++line.index[c.rank - 1];
        }
      }
    }
    m_starts = m_firsts = width;
  }

  /// Whether the lines from `c` on lie in memory as rows that can be combined in place.
  [[nodiscard]] bool has_stored_rows(const Coordinates& c) const {
    const auto& in = m_problem.input;
    if constexpr (is_masked_array) {
      return as_stored<A>(in.values, c).data != nullptr &&
             as_stored<StoredBool>(in.mask, c).data != nullptr;
    } else {
      return as_stored<A>(in, c).data != nullptr;
    }
  }

  /// The elements of a rectangle, in place or loaded.
  ///
  /// \param around     the number of elements before and behind that may be read
  /// \param takes_rows whether lines are combined row by row
  [[gnu::noinline]] SlabBlock<A, R> loaded(const Rectangle& r, const Ahead& ahead, int around,
                                           bool takes_rows) {
    SlabBlock<A, R> block = block_of(r);
    block.takes_rows = takes_rows;
    if constexpr (is_masked_array) {
      if (takes_rows && has_stored_rows(r.c)) {
        const auto& in = m_problem.input;
        const auto line = in.line(r.c);
        block.x = &line.values(r.k);
        block.x_row = line.values.stride;
        block.mask = {&line.mask(r.k), line.mask.stride, 0, in.identity};
        if (r.slabs > 1) {
          block.x_slab = in.values.strides.batch[r.dimension];
          block.mask.slab = in.mask.strides.batch[r.dimension];
        }
        block.ahead = r.slabs == 1      ? rows_ahead(ahead, r.width, block.x_row)
                      : block.x_row > 0 ? ahead.elements
                                        : r.size();
        block.caches = ahead.caches;
        return block;
      }
    }
    const std::int64_t of_slab = std::int64_t{r.rows} * r.width;
    const auto lies_at = [&](const A* lowest, int direction) {
      block.x_row = direction * r.width;
      block.x_slab = of_slab;
      block.x = direction < 0 ? lowest + (of_slab - r.width) : lowest;
    };
    const A* const run = as_stored_run<A>(m_problem.input, r);
    const int direction = direction_of_run(m_problem.input);
    const bool is_wide = r.width >= least_row<A>;
    if (run != nullptr && (is_wide || may_be_read_around(r, around))) {
      lies_at(run, direction);
      // Slabs always follow upwards, whatever the direction within each.
      block.ahead = direction > 0              ? ahead.elements
                    : r.slabs == 1             ? rows_ahead(ahead, r.width, -r.width)
                    : r.size() > most_elements ? -ahead.elements
                                               : r.size();
      block.caches = ahead.caches;
      return block;
    }
    const ArrayLine<const A> stored = as_stored<A>(m_problem.input, r.c);
    if (run == nullptr && stored.data != nullptr && r.slabs == 1 &&
        (is_wide || r.width % spill == 0)) {
      block.x = &stored(r.k);
      block.x_row = stored.stride;
      if (is_wide) {
        // Short rows are not prefetched.
        block.ahead = rows_ahead(ahead, r.width, stored.stride);
        block.caches = ahead.caches;
      }
      return block;
    }
    if constexpr (is_array) {
      if (run == nullptr && around == spill && reads_lines(r)) {
        block.x = &m_problem.input.line(r.c)(r.k);
        block.x_row = 1;
        block.x_slab = m_problem.input.strides.batch[r.dimension];
        block.ahead = ahead.elements;
        block.caches = ahead.caches;
        return block;
      }
      if (run == nullptr && around == spill && reads_rows(r)) {
        block.x = &stored(r.k);
        block.x_row = stored.stride;
        block.x_slab = r.slabs > 1 ? m_problem.input.strides.batch[r.dimension] : 0;
        block.ahead = r.slabs > 1 ? ahead.elements : rows_ahead(ahead, r.width, stored.stride);
        block.caches = ahead.caches;
        return block;
      }
    }
    const A* const values = ask_for_next<A>(m_problem.input, r, ahead);
    Rectangle narrow = r;
    narrow.is_narrow = !is_wide;
    if (load_run<most_elements>(m_problem.input, narrow, m_loaded + margin)) {
      lies_at(m_loaded + margin, direction);
      if (values != nullptr) {
        goes_on_at(values, (r.slabs == 1 ? direction : 1) * r.size(), ahead, block);
      } else if constexpr (is_array) {
        const Array<const A>& in = m_problem.input;
        goes_on_at(
            lowest_of_slab(in, r),
            r.slabs == 1 ? r.rows * in.strides.along : r.slabs * in.strides.batch[r.dimension],
            ahead, block);
      }
    } else {
      for (int s = 0; s < r.slabs; ++s) {
        Coordinates c = r.c;
        if (s > 0) c.index[r.dimension] += s;
        A* const to = m_loaded + margin + s * of_slab;
        if (r.width == 1) {
          load_along<most_elements>(m_problem.input.line(c), r.k, r.rows, to);
        } else {
          for (int i = 0; i < r.rows; ++i) {
            load_across<most_width>(m_problem.input, c, r.k + i, r.width, to + i * r.width);
          }
        }
      }
      lies_at(m_loaded + margin, 1);
    }
    return block;
  }

  /// The block of a rectangle, without its elements.
  [[nodiscard]] SlabBlock<A, R> block_of(const Rectangle& r) {
    SlabBlock<A, R> block{};
    block.slabs = r.slabs;
    block.rows = r.rows;
    block.width = r.width;
    block.tiles = m_state.tiles();
    block.chunks = m_state.chunks();
    block.carry = m_state.carry();
    block.folds = m_state.folds();
    block.pairs = m_state.pairs();
    block.thirds = m_state.thirds();
    return block;
  }

  /// The prefetch distance relative to x: whole rows, or less than one.
  static std::int64_t rows_ahead(const Ahead& ahead, int width, std::int64_t row) {
    const std::int64_t rows = ahead.elements / width;
    return rows == 0 ? ahead.elements : rows * row;
  }

  /// Lets the kernel that combines a loaded block prefetch the next one, which is `distance` from
  /// its run. Does nothing if there is no run.
  void goes_on_at(const A* run, std::int64_t distance, const Ahead& ahead,
                  SlabBlock<A, R>& block) const {
    if (run == nullptr || ahead.elements == 0) return;
    block.ahead = distance_between<A>(m_loaded + margin, run + distance);
    block.caches = ahead.caches;
  }

  /// Loads whole lines, each in scan order, the last line first.
  [[gnu::noinline]] SlabBlock<A, R> reversed(const Rectangle& r, const Ahead& ahead) {
    SlabBlock<A, R> block = block_of(r);
    block.x = m_loaded + margin;
    block.x_row = 1;
    block.x_slab = r.rows;
    A loaded[most_elements];
    const A* const values = ask_for_next<A>(m_problem.input, r, ahead);
    const A* run = nullptr;
    if (direction_of_run(m_problem.input) < 0) {
      run = as_stored_run<A>(m_problem.input, r);
      if (run == nullptr && load_run<most_elements>(m_problem.input, r, loaded)) run = loaded;
      goes_on_at(values, r.size(), ahead, block);
    }
    if (run != nullptr) {
      convert<-1>(run + (r.size() - 1), r.size(), m_loaded + margin);
      return block;
    }
    for (int s = 0; s < r.slabs; ++s) {
      Coordinates c = r.c;
      if (s > 0) c.index[r.dimension] += s;
      load_along<most_elements>(m_problem.input.line(c), r.k, r.rows,
                                m_loaded + margin + (r.slabs - 1 - s) * r.rows);
    }
    return block;
  }

  /// Whether whole lines with gaps are read in place: registers behind them read other lines.
  [[nodiscard]] bool reads_lines(const Rectangle& r) const {
    const Array<const A>& in = m_problem.input;
    return r.width == 1 && r.slabs > 1 && r.rows == r.n && r.n > 1 && in.strides.along == 1 &&
           m_problem.output.strides.along == 1 && in.strides.batch[r.dimension] > r.n &&
           r.c.index[r.dimension] + r.slabs < m_problem.batch.extent[r.dimension] &&
           !is_in_place(in, m_problem.output.data);
  }

  /// Whether rows of neighbouring lines with gaps between them are read in place: the memory that
  /// registers read before and behind them exists.
  [[nodiscard]] bool reads_rows(const Rectangle& r) const {
    const Array<const A>& in = m_problem.input;
    const std::int64_t row = std::abs(in.strides.along);
    if (r.width == 1 || row <= r.width || in.strides.batch[r.c.rank - 1] != 1 ||
        is_in_place(in, m_problem.output.data)) {
      return false;
    }
    if (r.rows < r.n) return r.k * row >= spill && (r.n - r.k - r.rows) * row >= spill;
    return r.dimension >= 0 && r.c.index[r.dimension] > 0 &&
           r.c.index[r.dimension] + r.slabs < m_problem.batch.extent[r.dimension] &&
           in.strides.batch[r.dimension] >= r.n * row && r.n * row >= spill;
  }

  /// Whether the memory around a contiguous run exists, and other threads do not write there.
  [[nodiscard]] bool may_be_read_around(const Rectangle& r, int around) const {
    const P& p = m_problem;
    if (around == spill && r.width % spill == 0) return true;
    const std::int64_t of_slab = r.n * r.width;
    const std::int64_t slabs_before = r.rows < r.n || r.dimension < 0 ? 0 : r.c.index[r.dimension];
    const std::int64_t slabs_behind =
        r.rows < r.n || r.dimension < 0 ? 0 : p.batch.extent[r.dimension] - r.slabs - slabs_before;
    std::int64_t before = slabs_before * of_slab, behind = slabs_behind * of_slab;
    if (r.rows < r.n) {
      before = r.k * r.width;
      behind = (r.n - r.k - r.rows) * r.width;
    }
    if (p.output.strides.along < 0 && r.rows < r.n) std::swap(before, behind);
    return before >= around && behind >= around && !is_in_place(p.input, p.output.data);
  }

  /// How many slabs or rows of a rectangle that exceeds a block can be taken as a single block,
  /// because elements are combined in place. Less than two means none.
  [[gnu::noinline]] [[nodiscard]] std::int64_t most_in_place(Rectangle r) const {
    const bool are_slabs = r.slabs > 1;
    const int of_one = are_slabs ? r.rows * r.width : r.width;
    int& count = are_slabs ? r.slabs : r.rows;
    count = std::min(count, (1 << 30) / of_one);
    // If registers would read too far behind the last one, leave that for another block.
    for (int i = 0; i < 2; ++i) {
      if (as_stored_run<A>(m_problem.input, r) != nullptr && may_be_read_around(r, spill)) {
        return count;
      }
      count -= (spill + of_one - 1) / of_one;
      if (!are_slabs) count = count / chunk_length * chunk_length;
      if (count < 2) break;
    }
    return 0;
  }

  /// Elements are used once, so they only need L1; if results stay in the caches, elements may too.
  [[nodiscard]] Ahead usual_ahead() const {
    return {ahead_bytes / sizeof(A), m_streams ? Caches::nearest : Caches::all};
  }

  const P& m_problem;
  const bool m_streams;   ///< whether results are written with non-temporal stores
  const bool m_has_rows;  ///< whether lines have neighbours in memory
  /// The dimension of the batch in which slabs are neighbours; negative if there is one slab.
  const int m_dimension;
  int m_starts = 0;  ///< the number of lines with a valid m_start
  int m_firsts = 0;  ///< the number of lines with a valid m_first
  static constexpr int most_starts = std::max(most_width, most_elements) + 2 * spill;
  SlabState<A, R, most_width> m_state;
  alignas(64) A m_start[most_starts];
  alignas(64) A m_first[most_starts];
  alignas(64) A m_loaded[most_elements + 2 * margin];
};

}  // namespace KokkosScan::impl::host
