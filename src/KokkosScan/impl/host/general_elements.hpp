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
  /// Elements of a block; with their prefixes they take a quarter to a half of L1.
  static constexpr int most = std::max<int>(16, 8192 / static_cast<int>(sizeof(R)));

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

  [[nodiscard]] Coordinates slab_at(Coordinates c, int slab) const {
    if (slab > 0) c.index[m_slabs.dimension] += slab;
    return c;
  }
  [[nodiscard]] Coordinates line_at(Coordinates c, int slab, int w) const {
    if (slab > 0) c.index[m_slabs.dimension] += slab;
    if (w > 0) c.index[c.rank - 1] += w;
    return c;
  }

  /// Loads elements of `width` lines; the first line is at `c`.
  Runs<A> load(const Coordinates& c, int slabs, std::int64_t k, int rows, int width) {
    const P& p = m_problem;
    const auto& in = elements();
    const std::int64_t size = std::int64_t{rows} * width;
    if (slabs == 1 || rows == p.n) {
      const Rectangle r{c, p.n, k, rows, width, slabs, m_slabs.dimension};
      const bool descends = direction_of_run(in) < 0;
      const A* run = as_stored_run<A>(in, r);
      if (run != nullptr) prefetch(descends ? run - r.size() : run + r.size(), r.size());
      if (run == nullptr && load_run<most>(in, r, m_x)) run = m_x;
      if (run != nullptr && descends) return {run + (rows - 1) * std::int64_t{width}, size, -width};
      if (run != nullptr) return {run, size, width};
    }
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(in)>, Array<const A>>) {
      // Several long lines.
      if (slabs > 1 && width == 1 && in.strides.along == 1) {
        const Runs<A> lines{&in.line(c)(k), in.strides.batch[m_slabs.dimension], 1};
        for (int s = 0; s < slabs; ++s) prefetch(lines.data + s * lines.run + rows, rows);
        return lines;
      }
    }
    if (slabs == 1 && width > 1) {
      const ArrayLine<const A> stored = as_stored<A>(in, c);
      if (stored.data != nullptr) return {&stored(k), 0, stored.stride};
    }
    for (int s = 0; s < slabs; ++s) {
      const Coordinates first = slab_at(c, s);
      A* const x = m_x + s * size;
      if (width == 1) {
        load_along<most>(in.line(first), k, rows, x);
      } else {
        for (int i = 0; i < rows; ++i) {
          load_across<most>(in, first, k + i, width, x + std::int64_t{i} * width);
        }
      }
    }
    return {m_x, size, width};
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
