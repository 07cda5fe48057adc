// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of a range by warps of a team, or by the lanes of one of its threads. Neighbouring lanes
/// have neighbouring elements, so that memory accesses coalesce. Every element is read once.
///
/// A warp reads a few rows of one element a lane at once. With P the fold of everything before (and
/// of the start), q the earlier of these rows and c the elements of the row so far,
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

/// Which rows may have fewer elements than lanes.
enum class Ragged { last, all };

/// Rows of neighbouring elements that a warp scans.
template <class W, class LanesOfWarp, int rows, Ragged ragged>
class Rows {
  using S = typename W::S;
  using R = typename W::R;
  using Index = typename W::Index;

 public:
  /// Reads the elements from `first` on, `elements` of them.
  KOKKOS_FORCEINLINE_FUNCTION Rows(const W& work, const LanesOfWarp& lanes, Index first,
                                   int elements)
      : m_work(work), m_lanes(lanes), m_first(first), m_elements(elements) {
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (exists(r)) m_value[r] = Slot<S>(work.read(first + place(r)));
    }
  }

  /// Scans each row, then the totals of the rows.
  ///
  /// \return the total, if there are elements
  KOKKOS_FORCEINLINE_FUNCTION Slot<S> scan() {
    Slot<S> total;
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (is_empty(r)) continue;
      scan_row(m_value[r].value, exists(r));
      const S of_row = m_lanes.of(m_value[r].value, last_lane(r));
      if (r > 0) {
        if (exists(r))
          m_value[r].value = m_work.combining.neighbours(total.value, m_value[r].value);
        m_before[r] = total;
        total.value = m_work.combining.neighbours(total.value, of_row);
      } else {
        total = Slot<S>(of_row);
      }
    }
    return total;
  }

  /// Stores the results, given the fold of everything before the rows.
  KOKKOS_FORCEINLINE_FUNCTION void store(const Maybe<R>& before_rows) const {
    const auto with_prefix = [&](const S& value) {
      return combine(m_work.combining, before_rows, static_cast<R>(value));
    };
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int r = 0; r < rows; ++r) {
      if (is_empty(r)) continue;
      if constexpr (W::result == Result::inclusive) {
        if (!exists(r)) continue;
        const R after = with_prefix(m_value[r].value);
        m_work.store(m_first + place(r), after, after);
      } else {
        const S neighbour = m_lanes.up(m_value[r].value, 1);
        if (!exists(r)) continue;
        const R before = m_lanes.lane > 0 ? with_prefix(neighbour)
                         : r > 0          ? with_prefix(m_before[r].value)
                                          : m_work.or_identity(before_rows);
        if constexpr (W::result == Result::exclusive) {
          m_work.store(m_first + place(r), before, before);
        } else {
          m_work.store(m_first + place(r), before, with_prefix(m_value[r].value));
        }
      }
    }
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int place(int row) const {
    return row * m_lanes.count + m_lanes.lane;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static constexpr bool is_full(int row) {
    return ragged == Ragged::last && row < rows - 1;
  }
  /// Whether the lane has an element of the row.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool exists(int row) const {
    return is_full(row) || place(row) < m_elements;
  }
  /// Whether no lane has one.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_empty(int row) const {
    return ragged == Ragged::all && row * m_lanes.count >= m_elements;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int last_lane(int row) const {
    const int left = m_elements - row * m_lanes.count;
    return is_full(row) || left > m_lanes.count ? m_lanes.count - 1 : left - 1;
  }
  /// The inclusive scan of a row by the Kogge-Stone scheme (IEEE Trans. Comput. C-22, 1973).
  KOKKOS_FORCEINLINE_FUNCTION void scan_row(S& value, bool exists_here) const {
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
      if (distance >= m_lanes.count) break;
      const S before = m_lanes.up(value, distance);
      if constexpr (W::C::takes_any_bits) {  // without a branch, so that rows overlap
        const S both = m_work.combining.neighbours(before, value);
        value = m_lanes.lane >= distance ? both : value;
      } else {
        if (m_lanes.lane >= distance && exists_here) {
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
  Slot<S> m_before[rows];  ///< the earlier rows; none before the first
};

/// Scans up to `rows` rows from `tile` on by one warp, and advances both arguments.
template <int rows, class W, class LanesOfWarp>
KOKKOS_FORCEINLINE_FUNCTION void scan_rows(const W& work, const LanesOfWarp& lanes, int elements,
                                           typename W::Index& tile, Maybe<typename W::R>& carry) {
  Rows<W, LanesOfWarp, rows, Ragged::last> part(work, lanes, tile, elements);
  const Slot<typename W::S> total = part.scan();
  part.store(carry);
  carry =
      Maybe<typename W::R>(combine(work.combining, carry, static_cast<typename W::R>(total.value)));
  tile += elements;
}

/// Scans a range by one warp.
///
/// \return the fold of the start and all elements, if there are any
template <class W, class LanesOfWarp>
KOKKOS_FORCEINLINE_FUNCTION Maybe<typename W::R> scan_by_warp(const W& work,
                                                              const LanesOfWarp& lanes) {
  using Index = typename W::Index;
  constexpr int rows = most_rows<typename W::S>;
  Maybe<typename W::R> carry = work.start();
  Index tile = 0;
  const int most = rows * lanes.count;
  while (work.n - tile >= most) scan_rows<rows>(work, lanes, most, tile, carry);
  int left = static_cast<int>(work.n - tile);
  if constexpr (LanesOfWarp::is_whole_warp && rows == 4) {
    if (left > 2 * lanes.count) {
      if (left > 3 * lanes.count) {
        scan_rows<4>(work, lanes, left, tile, carry);
      } else {
        scan_rows<3>(work, lanes, left, tile, carry);
      }
      return carry;
    }
  }
  if constexpr (LanesOfWarp::is_whole_warp && rows >= 2) {
    if (left > lanes.count) {
      scan_rows<2>(work, lanes, left, tile, carry);
      return carry;
    }
  }
  while (left > 0) {
    const int elements = left < lanes.count ? left : lanes.count;
    scan_rows<1>(work, lanes, elements, tile, carry);
    left -= elements;
  }
  return carry;
}

/// Scans a range by several warps: each has neighbouring rows of a tile.
///
/// \param scratch memory for two values a warp
template <class W, class Threads>
KOKKOS_FUNCTION Maybe<typename W::R> scan_by_warps(const W& work, const Threads& threads,
                                                   typename W::R* scratch) {
  using S = typename W::S;
  using R = typename W::R;
  using Index = typename W::Index;
  constexpr int rows = most_rows<S>;
  const auto& lanes = threads.lanes;
  const int of_warp = rows * lanes.count;
  Maybe<R> carry = work.start();
  bool is_odd = false;
  for (Index tile = 0; tile < work.n;) {
    const Index left = work.n - tile;
    const int length =
        left < of_warp * threads.warps ? static_cast<int>(left) : of_warp * threads.warps;
    const int rest = length - threads.warp * of_warp;
    Rows<W, std::remove_cvref_t<decltype(lanes)>, rows, Ragged::all> part(
        work, lanes, tile + threads.warp * of_warp, rest < of_warp ? rest : of_warp);
    const Slot<S> total = part.scan();
    // Two sets of slots in turns: one barrier a tile is enough.
    R* const totals = scratch + (is_odd ? threads.warps : 0);
    is_odd = !is_odd;
    if (lanes.lane == 0 && rest > 0) totals[threads.warp] = static_cast<R>(total.value);
    threads.team.barrier();
    const int warps = (length - 1) / of_warp + 1;
    Maybe<R> before = carry;
    for (int w = 0; w < warps; ++w) {
      if (w == threads.warp) before = carry;
      carry = Maybe<R>(combine(work.combining, carry, totals[w]));
    }
    part.store(before);
    tile += length;
  }
  return carry;
}

/// Scans a range in order by one warp: it reads rows, and each of its lanes combines all elements
/// one after the other.
template <class W, class LanesOfWarp>
KOKKOS_FUNCTION Maybe<typename W::R> scan_in_order_by_warp(const W& work,
                                                           const LanesOfWarp& lanes) {
  using A = typename W::A;
  using Index = typename W::Index;
  constexpr int rows = most_rows<A>;
  Maybe<A> fold = work.start();
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
  return fold;
}

/// Scans a range by one warp.
///
/// \return the total
template <class W, class LanesOfWarp>
KOKKOS_FUNCTION typename W::R scan_by_lanes(const W& work, const LanesOfWarp& lanes) {
  const auto total = [&] {
    if constexpr (W::C::in_order) {
      return work.or_identity(scan_in_order_by_warp(work, lanes));
    } else {
      return work.or_identity(scan_by_warp(work, lanes));
    }
  }();
  if (lanes.lane == 0) work.store_total(total);
  return total;
}

/// Scans a range by the warps of a team: by one of them, if it can read the range at once.
///
/// \return the total, in every thread
template <class W, class Threads>
KOKKOS_FUNCTION typename W::R scan_by_team_of_warps(const W& work, const Threads& threads,
                                                    typename W::R* scratch) {
  using R = typename W::R;
  const auto& lanes = threads.lanes;
  if constexpr (!W::C::in_order) {
    if (threads.warps > 1 && work.n > most_rows<typename W::S> * lanes.count) {
      const R total = work.or_identity(scan_by_warps(work, threads, scratch));
      if (threads.warp == 0 && lanes.lane == 0) work.store_total(total);
      return total;
    }
  }
  if (threads.threads == lanes.count) return scan_by_lanes(work, lanes);
  if (threads.warp == 0) {
    const R total = scan_by_lanes(work, lanes);
    if (lanes.lane == 0) *scratch = total;
  }
  threads.team.barrier();
  return *scratch;
}

}  // namespace KokkosScan::impl::team_range
