// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The elements of blocks of the general kernels.

#include <KokkosScan/impl/generic_tree.hpp>
#include <KokkosScan/impl/host/general_inputs.hpp>
#include <KokkosScan/impl/host/general_kernels.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Slabs of rows of neighbouring lines. A row may be cut into strips; if lines are not neighbours
/// in memory, a row is a single line.
struct SlabsOfRows {
  std::int64_t row;     ///< lines per row
  std::int64_t width;   ///< lines per strip
  std::int64_t strips;  ///< strips per row
  std::int64_t slabs;   ///< in the batch
  int dimension;        ///< of the batch, in which slabs are neighbours; -1 if there is one slab
};

/// Loads the blocks of one thread, and tells where chunks and tiles begin.
template <class P>
class GeneralElements {
 protected:
  using A = typename P::A;
  using R = typename Combination<P>::R;
  using In = std::remove_cv_t<decltype(P::input)>;
  static constexpr bool in_order = scans_in_order<P>;
  static constexpr std::int64_t endless = std::int64_t{1} << 62;
  static constexpr std::int64_t chunk_length = in_order ? endless : generic_tree::chunk_length;
  static constexpr std::int64_t tile_length = in_order ? endless : generic_tree::tile_length;
  /// Whether masked-out elements are skipped, not combined with an identity.
  static constexpr bool skips = in_order && is_selected<In>;
  /// Long lines that are scanned in order side by side.
  static constexpr int lines_at_once = 4;
  /// Maximum number of elements of a block, and of lines in a strip: their state fits L2.
  static constexpr int most = std::max<int>(16, strip_bytes / static_cast<int>(sizeof(R)));

  /// Elements that are scanned at a time.
  struct Block : Rectangle {
    int lane;  ///< the place of the first line in arrays of one value a line

    [[nodiscard]] Block of_slab(int s) const {
      Block slab = *this;
      if (s > 0) slab.c.index[dimension] += s;
      slab.slabs = 1;
      slab.lane += s * width;
      return slab;
    }
  };

  GeneralElements(const P& problem, const SlabsOfRows& slabs)
      : m_problem(problem), m_slabs(slabs) {}

  /// Whether anything is combined before row k: in earlier tiles, or in chunks of the same tile.
  [[nodiscard]] bool has_tiles(std::int64_t k) const {
    return !in_order && (m_problem.start.exists() || k >= tile_length);
  }
  /// Whether a chunk begins at row k: its fold is the element there.
  [[nodiscard]] bool begins_chunk(std::int64_t k) const {
    return k % chunk_length == 0 && !(in_order && m_problem.start.exists());
  }
  static bool has_chunks(std::int64_t k) { return k % tile_length >= chunk_length; }
  [[nodiscard]] bool has_carry(std::int64_t k) const { return has_tiles(k) || has_chunks(k); }

  [[nodiscard]] Coordinates line_at(Coordinates c, int slab, int w) const {
    if (slab > 0) c.index[m_slabs.dimension] += slab;
    if (w > 0) c.index[c.rank - 1] += w;
    return c;
  }

  /// Loads the elements of a block.
  Runs<A> load(const Block& b) {
    const auto& in = elements();
    const int size = b.rows * b.width;
    if (b.slabs == 1 || b.rows == b.n) {
      const bool descends = direction_of_run(in) < 0;
      const A* run = as_stored_run<A>(in, b);
      if (run != nullptr) prefetch(descends ? run - b.size() : run + b.size(), b.size());
      if (run == nullptr && load_run<most>(in, b, m_x)) run = m_x;
      if (run != nullptr && descends) return {run + (size - b.width), size, -b.width, b.width};
      if (run != nullptr) return {run, size, b.width, b.width};
    }
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(in)>, Array<const A>>) {
      // Several long lines, or rows with gaps.
      if (b.slabs > 1 && b.width == 1 && in.strides.along == 1) {
        const Runs<A> lines{&in.line(b.c)(b.k), in.strides.batch[b.dimension], 1, 1};
        for (int s = 0; s < b.slabs; ++s) prefetch(lines.data + s * lines.run + b.rows, b.rows);
        return lines;
      }
      if (b.slabs == 1 && b.width > 1 && in.strides.batch[b.c.rank - 1] == 1) {
        return {&in.line(b.c)(b.k), 0, in.strides.along, b.width};
      }
    }
    for (int s = 0; s < b.slabs; ++s) {
      const Coordinates first = b.of_slab(s).c;
      A* const x = m_x + s * size;
      if (b.width == 1) {
        load_along<most>(in.line(first), b.k, b.rows, x);
        continue;
      }
      for (int i = 0; i < b.rows; ++i) {
        load_across<most>(in, first, b.k + i, b.width, x + i * b.width);
      }
    }
    return {m_x, size, b.width, b.width};
  }

  /// The elements, without a mask that is skipped.
  [[nodiscard]] const auto& elements() const {
    if constexpr (skips) {
      return without_masks(m_problem.input);
    } else {
      return m_problem.input;
    }
  }

  const P& m_problem;
  const SlabsOfRows& m_slabs;

 private:
  alignas(cache_line) A m_x[most];
};

}  // namespace KokkosScan::impl::host
