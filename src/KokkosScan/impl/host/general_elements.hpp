// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The elements of blocks of the general kernels.

#include <KokkosScan/affine.hpp>
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

template <class Op>
inline constexpr bool composes_maps = false;
template <class State>
inline constexpr bool composes_maps<ComposeAffine<State>> = true;
template <class State>
inline constexpr bool composes_maps<ComposeAffineOrReset<State>> = true;
template <class Op>
inline constexpr bool composes_maps<InOrder<Op>> = composes_maps<Op>;

/// Whether a problem composes maps but does not store them, nor skips any in order.
template <class P>
inline constexpr bool may_have_states =
    composes_maps<typename Combination<P>::Op> &&
    !std::is_same_v<typename P::Value, typename P::A> &&
    !(scans_in_order<P> && is_selected<std::remove_cv_t<decltype(P::input)>>);

/// Whether recurrences are scanned in order: lines that begin with a state, if the caller asks for
/// order or one thread scans a line in 0.2 ms. That takes one multiply-add an element. A tree
/// multiplies coefficients, too, and where such products are subnormal, some processors take more
/// than a hundred cycles for each. Longer lines have a tree, so that threads can share them.
template <class P>
bool scans_states_in_order(const P& p) {
  constexpr std::int64_t most = 131072;
  return may_have_states<P> && p.start.exists() && (p.n <= most || scans_in_order<P>);
}

/// What converts to a map alone, not to its state.
template <class P>
struct OnlyMap {
  operator typename P::A() const;
};
/// The types of folds and of the operator. Folds of recurrences in order are states, unless a map
/// is what a result or a total is made of.
template <class P, bool from_states, class Total = std::remove_pointer_t<decltype(P::totals.data)>,
          bool = from_states && !std::is_constructible_v<typename P::Value, OnlyMap<P>> &&
                 !std::is_constructible_v<Total, OnlyMap<P>>>
struct Folds : Combination<P> {
  using Element = typename Combination<P>::R;
};
template <class P, class Total>
struct Folds<P, true, Total, true> {
  using Element = typename P::A;
  using R = decltype(P::A::shift);
  /// The operator of maps where what precedes is a state, a constant map. Later states replace it.
  struct Wide {
    typename Combination<P>::Wide op;

    [[gnu::always_inline]] R operator()(const R& state, const Element& step) const {
      return op(Element(state), step).shift;
    }
    R operator()(const R&, const R& later) const { return later; }
  };
};

/// Loads the blocks of one thread, and tells where chunks and tiles begin.
///
/// \tparam from_states whether lines are recurrences that are scanned in order
template <class P, bool from_states>
class GeneralElements {
 protected:
  using A = typename P::A;
  using R = typename Folds<P, from_states>::R;
  using Op = typename Folds<P, from_states>::Wide;
  using In = std::remove_cv_t<decltype(P::input)>;
  /// Whether masked-out elements are skipped, not combined with an identity.
  static constexpr bool skips = scans_in_order<P> && is_selected<In>;
  /// Whether lines are scanned in order: then a line is one chunk.
  static constexpr bool in_order = scans_in_order<P> || from_states;
  /// Lines with few neighbours or none that are scanned side by side, to hide latency. Members of
  /// structs do that themselves, unless they are maps, and those of several lines exceed registers.
  static constexpr int lines_at_once =
      std::is_arithmetic_v<R> || composes_maps<typename Combination<P>::Op> ? 4 : 1;
  /// Maximum number of elements of a block, and of lines in a strip: their state fits L2.
  static constexpr int most =
      std::max<int>(16, strip_bytes / static_cast<int>(std::max(sizeof(R), sizeof(A))));

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

  [[nodiscard]] std::int64_t chunk_length() const {
    return in_order ? std::int64_t{1} << 62 : generic_tree::chunk_length;
  }
  /// The number of rows before row k in its chunk.
  [[nodiscard]] std::int64_t row_of_chunk(std::int64_t k) const {
    return in_order ? k : k % generic_tree::chunk_length;
  }
  /// Whether anything is combined before row k: in earlier tiles, or in chunks of the same tile.
  [[nodiscard]] bool has_tiles(std::int64_t k) const {
    return !in_order && (m_problem.start.exists() || k >= generic_tree::tile_length);
  }
  /// Whether a chunk begins at row k: its fold is the element there.
  [[nodiscard]] bool begins_chunk(std::int64_t k) const {
    return row_of_chunk(k) == 0 && !(in_order && m_problem.start.exists());
  }
  [[nodiscard]] bool has_chunks(std::int64_t k) const {
    return !in_order && k % generic_tree::tile_length >= generic_tree::chunk_length;
  }
  /// Whether a plain loop suffices: what scan_chunks() does per line would take most of the time.
  [[nodiscard]] bool is_plain_fold(const Block& b) const {
    constexpr std::int64_t few = lines_at_once > 1 ? 12 : generic_tree::chunk_length - 1;
    const bool has_carry = m_problem.start.exists() && !in_order;
    return m_slabs.width < wide_row && b.rows == b.n && b.n <= few && !has_carry &&
           m_problem.form != Form::exclusive;
  }
  [[nodiscard]] bool has_carry(std::int64_t k) const { return has_tiles(k) || has_chunks(k); }

  [[nodiscard]] Coordinates line_at(Coordinates c, int slab, int w) const {
    if (slab > 0) c.index[m_slabs.dimension] += slab;
    if (w > 0) c.index[c.rank - 1] += w;
    return c;
  }

  /// Loads the elements of a block.
  SlabsOf<const A> load(const Block& b) {
    const auto& in = elements();
    const int size = b.rows * b.width;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(in)>, Array<const A>>) {
      if (b.slabs == 1 && b.width > 1 && in.strides.batch[b.c.rank - 1] == 1) {
        return {&in.line(b.c)(b.k), in.strides.along, 0};
      }
      // Several long lines.
      if (b.slabs > 1 && b.width == 1 && b.rows < b.n && in.strides.along == 1) {
        return {&in.line(b.c)(b.k), 1, in.strides.batch[b.dimension]};
      }
    }
    if (b.slabs == 1 || b.rows == b.n) {
      const bool descends = direction_of_run(in) < 0;
      const A* run = as_stored_run<A>(in, b);
      if (run == nullptr && load_run<most>(in, b, m_x)) run = m_x;
      const int row = descends ? -b.width : b.width;
      if (run != nullptr) return {descends ? run + (size - b.width) : run, row, size};
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
    return {m_x, b.width, size};
  }

  /// Prefetches the next rows of a strip.
  template <class Operand>
  void prefetch_next(const Operand& in, const Block& b) const {
    if constexpr (HasParts<Operand>) {
      any_of(parts_of(in), [&](const auto& part) { return prefetch_next(part, b), false; });
    } else if constexpr (requires { in.data; }) {
      const auto line = in.line(b.c);
      for (int i = 0; i < b.rows; ++i) prefetch(&line(b.k + b.rows + i), b.width);
    }
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
