// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of a range by the warps of a team, or by the lanes of one of its threads. Neighbouring
/// lanes have neighbouring elements, so that memory accesses coalesce. Every element is read once.
///
/// A tile is what all threads read at once: up to a few elements each. Each warp has a contiguous
/// part of it, row by row. With P the fold of all earlier tiles and warps (and of the start), q the
/// earlier rows of the warp and c the elements of the row so far,
///
///     B(k) = P * (q * c).

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/team_range/combination.hpp>
#include <KokkosScan/impl/team_range/lanes.hpp>
#include <Kokkos_Core.hpp>
#include <type_traits>

namespace KokkosScan::impl::team_range {

/// Rows that a warp reads at once, so that several loads are in flight.
template <class S>
inline constexpr int most_rows = sizeof(S) <= 8    ? 4
                                 : sizeof(S) <= 16 ? 2
                                                   : 1;

/// The part of a tile that one warp has: up to most_rows rows of one element a lane.
template <class W, class LanesOfWarp>
class Part {
  using S = typename W::S;
  using R = typename W::R;
  using Index = typename W::Index;
  static constexpr int rows = most_rows<S>;

 public:
  /// Reads the elements from `first` on, `elements` of them (0 or fewer: none).
  KOKKOS_FORCEINLINE_FUNCTION Part(const W& work, const LanesOfWarp& lanes, Index first,
                                   int elements)
      : m_work(work), m_lanes(lanes), m_first(first), m_elements(elements) {
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (place(r) < m_elements) m_value[r] = Slot<S>(work.read(first + place(r)));
    }
  }

  /// Scans each row, then the totals of the rows.
  ///
  /// \return the total, if there are elements
  KOKKOS_FORCEINLINE_FUNCTION Slot<R> scan() {
    Slot<R> total;
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (r * m_lanes.count >= m_elements) continue;  // the same for all lanes
      scan_row(m_value[r].value, place(r) < m_elements);
      const int left = m_elements - r * m_lanes.count;
      const S last =
          m_lanes.of(m_value[r].value, (left < m_lanes.count ? left : m_lanes.count) - 1);
      m_before[r] = total;
      const R last_carried = static_cast<R>(last);
      total = Slot<R>(r == 0 ? last_carried : m_work.combining(total.value, last_carried));
    }
    return total;
  }

  /// Stores the results, given the fold of everything before the part.
  KOKKOS_FORCEINLINE_FUNCTION void store(const Maybe<R>& before_part) const {
    const auto& op = m_work.combining;
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (r * m_lanes.count >= m_elements) continue;
      const auto before_and = [&](const S& value) {
        const R carried = static_cast<R>(value);
        return combine(op, before_part, r == 0 ? carried : op(m_before[r].value, carried));
      };
      if constexpr (W::result == Result::inclusive) {
        if (place(r) >= m_elements) continue;
        const R after = before_and(m_value[r].value);
        m_work.store(m_first + place(r), after, after);
      } else {
        const S neighbour = m_lanes.up(m_value[r].value, 1);
        if (place(r) >= m_elements) continue;
        const R before = m_lanes.lane > 0 ? before_and(neighbour)
                         : r > 0          ? combine(op, before_part, m_before[r].value)
                                          : m_work.or_identity(before_part);
        if constexpr (W::result == Result::exclusive) {
          m_work.store(m_first + place(r), before, before);
        } else {
          m_work.store(m_first + place(r), before, before_and(m_value[r].value));
        }
      }
    }
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int place(int row) const {
    return row * m_lanes.count + m_lanes.lane;
  }
  /// The inclusive scan of a row by the Kogge-Stone scheme (IEEE Trans. Comput. C-22, 1973).
  KOKKOS_FORCEINLINE_FUNCTION void scan_row(S& value, bool exists) const {
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
      if (distance >= m_lanes.count) break;
      const S before = m_lanes.up(value, distance);
      if constexpr (W::C::takes_any_bits) {  // without a branch, so that rows overlap
        const S both = m_work.combining.neighbours(before, value);
        value = m_lanes.lane >= distance ? both : value;
      } else {
        if (m_lanes.lane >= distance && exists) {
          value = m_work.combining.neighbours(before, value);
        }
      }
    }
  }

  const W& m_work;
  const LanesOfWarp& m_lanes;
  Index m_first;
  int m_elements;
  Slot<S> m_value[rows];
  Slot<R> m_before[rows];  ///< the earlier rows; none before the first
};

/// Scans a range.
///
/// \param scratch memory for two values a warp, where there are several
/// \return the total, in every thread
template <class W, class Threads>
KOKKOS_FUNCTION typename W::R scan_by_warps(const W& work, const Threads& threads,
                                            typename W::R* scratch) {
  using R = typename W::R;
  using Index = typename W::Index;
  Maybe<R> carry = work.start();
  const auto& lanes = threads.lanes;
  bool is_odd = false;
  for (Index tile = 0; tile < work.n;) {
    const Index left = work.n - tile;
    const Index turns = (left - 1) / threads.threads + 1;
    const int rows =
        turns < most_rows<typename W::S> ? static_cast<int>(turns) : most_rows<typename W::S>;
    const int length =
        left < rows * threads.threads ? static_cast<int>(left) : rows * threads.threads;
    const int of_warp = rows * warp_lanes;
    const int rest = length - threads.warp * of_warp;
    const int most = rows * lanes.count;
    Part<W, std::remove_cvref_t<decltype(lanes)>> part(work, lanes, tile + threads.warp * of_warp,
                                                       rest < most ? rest : most);
    const Slot<R> total = part.scan();
    Maybe<R> before = carry;
    if (threads.warps == 1) {
      carry = Maybe<R>(combine(work.combining, carry, total.value));
    } else {
      // Two sets of slots in turns: one barrier a tile is enough.
      R* const totals = scratch + (is_odd ? threads.warps : 0);
      is_odd = !is_odd;
      if (lanes.lane == 0 && rest > 0) totals[threads.warp] = total.value;
      threads.team.barrier();
      const int warps = (length - 1) / of_warp + 1;
      for (int w = 0; w < warps; ++w) {
        if (w == threads.warp) before = carry;
        carry = Maybe<R>(combine(work.combining, carry, totals[w]));
      }
    }
    part.store(before);
    tile += length;
  }
  const R total = work.or_identity(carry);
  if (threads.warp == 0 && lanes.lane == 0) work.store_total(total);
  return total;
}

/// Scans a range in order: one warp reads it row by row, and each of its lanes combines all
/// elements one after the other.
template <class W, class Threads>
KOKKOS_FUNCTION typename W::R scan_in_order_by_warp(const W& work, const Threads& threads,
                                                    typename W::R* scratch) {
  using A = typename W::A;
  using Index = typename W::Index;
  constexpr int rows = most_rows<A>;
  const auto& lanes = threads.lanes;
  Maybe<A> fold = work.start();
  if (threads.warp == 0) {
    for (Index tile = 0; tile < work.n;) {
      const Index left = work.n - tile;
      const int length = left < rows * lanes.count ? static_cast<int>(left) : rows * lanes.count;
      Slot<A> values[rows];
      bool counts[rows];
      KOKKOSSCAN_IMPL_UNROLL_ON_GPU
      for (int r = 0; r < rows; ++r) {
        const int place = r * lanes.count + lanes.lane;
        counts[r] = place < length && work.counts(tile + place);
        if (counts[r]) values[r] = Slot<A>(work.value(tile + place));
      }
      KOKKOSSCAN_IMPL_UNROLL_ON_GPU
      for (int r = 0; r < rows; ++r) {
        const int of_row = length - r * lanes.count;
        Maybe<A> before, after;
        for (int source = 0; source < lanes.count && source < of_row; ++source) {
          const A value = lanes.of(values[r].value, source);
          bool counts_now = true;
          if constexpr (W::is_masked) counts_now = lanes.of(counts[r], source);
          if (source == lanes.lane) before = fold;
          if (counts_now) fold = Maybe<A>(combine(work.combining, fold, value));
          if (source == lanes.lane) after = fold;
        }
        if (lanes.lane < of_row) {
          work.store(
              tile + (r * lanes.count + lanes.lane),
              W::result == Result::inclusive ? work.or_identity(after) : work.or_identity(before),
              work.or_identity(after));
        }
      }
      tile += length;
    }
  }
  A total = work.or_identity(fold);
  if (threads.warps > 1) {
    if (threads.warp == 0 && lanes.lane == 0) *scratch = total;
    threads.team.barrier();
    total = *scratch;
  }
  if (threads.warp == 0 && lanes.lane == 0) work.store_total(total);
  return total;
}

}  // namespace KokkosScan::impl::team_range
