// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans inside a kernel: which threads take part, their memory, and the choice of the scan.

#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/team_range/combination.hpp>
#include <KokkosScan/impl/team_range/lanes.hpp>
#include <KokkosScan/impl/team_range/scan_by_threads.hpp>
#include <KokkosScan/impl/team_range/scan_by_warps.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::team_range {

// ---- Ranges -------------------------------------------------------------------------------------

/// The threads of a range: those of a team, or the vector lanes of one of them.
enum class Level { none, team, thread };

/// What the first argument of a scan says.
template <class T>
struct RangeTraits {
  static constexpr Level level = Level::none;
};
/// A member is the range of a whole input.
template <class T>
requires requires(const T& member) {
  member.team_barrier();
  member.league_rank();
}
struct RangeTraits<T> {
  using Member = T;
  using Index = std::int64_t;
  static constexpr Level level = Level::team;
  static constexpr bool is_member = true;
};
template <class I, class M, Level level_>
struct TraitsOfRange {
  using Member = M;
  /// int where it holds every index: GPUs compute with it faster.
  using Index = std::conditional_t<(sizeof(I) < sizeof(int)) ||
                                       (sizeof(I) == sizeof(int) && std::is_signed_v<I>),
                                   int, std::int64_t>;
  static constexpr Level level = level_;
  static constexpr bool is_member = false;
};
template <class I, class M>
struct RangeTraits<Kokkos::Impl::TeamThreadRangeBoundariesStruct<I, M>>
    : TraitsOfRange<I, M, Level::team> {};
template <class I, class M>
struct RangeTraits<Kokkos::Impl::TeamVectorRangeBoundariesStruct<I, M>>
    : TraitsOfRange<I, M, Level::team> {};
template <class I, class M>
struct RangeTraits<Kokkos::Impl::ThreadVectorRangeBoundariesStruct<I, M>>
    : TraitsOfRange<I, M, Level::thread> {};

/// Whether the teams of a space are threads of a host.
template <class Exec>
inline constexpr bool has_host_teams =
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// Whether the teams of a space are blocks of warps.
template <class Exec>
inline constexpr bool has_warps = false;
#if defined(KOKKOS_ENABLE_CUDA)
template <>
inline constexpr bool has_warps<Kokkos::Cuda> = true;
#endif
#if defined(KOKKOS_ENABLE_HIP)
template <>
inline constexpr bool has_warps<Kokkos::HIP> = true;
#endif

template <class Index>
struct Interval {
  Index begin, end;
};

/// The team of a range. Kokkos 4 names it otherwise on hosts.
template <class Range>
KOKKOS_FORCEINLINE_FUNCTION const auto& member_of(const Range& range) {
  if constexpr (requires { range.member; }) {
    return range.member;
  } else {
    return range.thread;
  }
}

/// The whole of a range.
template <class Range>
KOKKOS_FORCEINLINE_FUNCTION auto interval_of(const Range& range) {
  using Traits = RangeTraits<Range>;
  using Index = typename Traits::Index;
  Interval<Index> interval{static_cast<Index>(range.start), static_cast<Index>(range.end)};
  // On hosts, the range of a team holds the thread's own part: the first begins where the range
  // does, the last ends there.
  if constexpr (Traits::level == Level::team &&
                has_host_teams<typename Traits::Member::execution_space>) {
    const auto& member = member_of(range);
    const int threads = member.team_size();
    if (threads > 1) {
      member.team_broadcast(interval.begin, 0);
      member.team_broadcast(interval.end, threads - 1);
    }
  }
  return interval;
}

// ---- Memory -------------------------------------------------------------------------------------

/// The values of type R that a team needs.
template <class Exec>
KOKKOS_FUNCTION constexpr int slots(int threads) {
  if constexpr (has_warps<Exec>) {
    const int warps = (threads - 1) / warp_lanes + 1;
    return warps > 1 ? 2 * warps : 0;
  } else {
    return threads > 1 ? threads : 0;
  }
}

/// Bytes for one value: the largest type in which values of T are carried.
template <class T>
constexpr std::size_t bytes_of_slot() {
  using A = accumulator_t<T>;
  return std::max({sizeof(A), sizeof(carried_t<Sum<A>, A>), sizeof(carried_t<LogSumExp<A>, A>)});
}

/// Memory of a team for `count` values of type R, which it gives back at once: a copy of the handle
/// does the counting.
template <class R, class Member>
KOKKOS_FUNCTION R* scratch_of(const Member& member, int level, int count) {
  if (count == 0) return nullptr;
  const auto scratch = member.team_scratch(level);
  const auto bytes = static_cast<std::ptrdiff_t>(count) * static_cast<std::ptrdiff_t>(sizeof(R));
  auto* const values = static_cast<R*>(
      scratch.get_shmem_aligned(bytes, static_cast<std::ptrdiff_t>(alignof(R)), level));
#if !defined(NDEBUG) || defined(KOKKOS_ENABLE_DEBUG)
  if (values == nullptr) {
    std::ptrdiff_t available = bytes - 1;
    while (available > 0 && scratch.get_shmem_aligned(available, 1, level) == nullptr) --available;
    Kokkos::printf(
        "KokkosScan: a team's scan needs %ld bytes of scratch memory of level %d, but %ld are "
        "left: set_scratch_size(level, Kokkos::PerTeam(ks::team::scratch_bytes<T>(...))).\n",
        static_cast<long>(bytes), level, static_cast<long>(available));
    Kokkos::abort("KokkosScan: a team's scan has too little scratch memory.");
  }
#endif
  return values;
}

// ---- The scan -----------------------------------------------------------------------------------

template <class Member>
struct BarrierOf {
  const Member& member;
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const { member.team_barrier(); }
};
/// Scans a range by the threads of a team. Every thread gets the total; ends with a team barrier.
template <class W, class Member>
KOKKOS_FUNCTION typename W::R scan_by_team(const W& work, const Member& member, int level) {
  using Exec = typename Member::execution_space;
  using R = typename W::R;
  if constexpr (has_warps<Exec>) {
    const PlaceInBlock place;
    R* const scratch = scratch_of<R>(member, level, slots<Exec>(place.threads));
    const auto scan_by = [&](const auto& lanes, int warps) {
      const Warps<std::remove_cvref_t<decltype(lanes)>, BarrierOf<Member>> threads{
          lanes, place.thread / warp_lanes, warps, place.threads, {member}};
      return scan_by_team_of_warps(work, threads, scratch);
    };
    const R total =
        place.threads >= warp_lanes
            ? scan_by(Lanes<WholeWarp>({place.thread % warp_lanes}), place.threads / warp_lanes)
            : scan_by(Lanes<SomeLanes>({place.thread, place.threads, 0}), 1);
    member.team_barrier();
    return total;
  } else {
    const int threads = member.team_size();
    if (threads == 1) return scan_by_one_thread(work);
    R* const scratch = scratch_of<R>(member, level, slots<Exec>(threads));
    if constexpr (W::C::in_order) {
      if (member.team_rank() == 0) *scratch = scan_by_one_thread(work);
      member.team_barrier();
      const R total = *scratch;
      member.team_barrier();
      return total;
    } else {
      const R total = scan_by_threads(work, member, scratch);
      member.team_barrier();
      return total;
    }
  }
}

/// Scans a range by the vector lanes of one thread.
template <class Exec, class W>
KOKKOS_FUNCTION typename W::R scan_by_vector(const W& work) {
  if constexpr (has_warps<Exec>) {
    const PlaceInBlock place;
    const auto scan_by = [&](const auto& lanes) {
      const auto total = scan_by_lanes(work, lanes);
      lanes.barrier();
      return total;
    };
    if (place.vector_length == warp_lanes) return scan_by(Lanes<WholeWarp>({place.lane}));
    const int first = (place.thread - place.lane) % warp_lanes;
    return scan_by(Lanes<SomeLanes>({place.lane, place.vector_length, first}));
  } else {
    return scan_by_one_thread(work);
  }
}

/// Scans a range; its total, in every thread.
template <class C, Result result, class Range, class In, class Out, class Options>
KOKKOS_FUNCTION typename C::A scan(const Range& range, const In& x, const Out& y,
                                   const Options& options, const C& combining) {
  using Traits = RangeTraits<Range>;
  using Index = typename Traits::Index;
  using Exec = typename Traits::Member::execution_space;
  using W = Work<C, result, In, Out, std::remove_cvref_t<decltype(options.start())>, Index>;
  Interval<Index> interval{};
  Extra extra = options.extra();
  if constexpr (Traits::is_member) {
    interval.end = static_cast<Index>(extent_of(x));
    if constexpr (Kokkos::is_view<Out>::value) {
      if (static_cast<Index>(y.extent(0)) == interval.end + 1) extra = Extra::last;
    }
  } else {
    interval = interval_of(range);
  }
  const Index n = interval.end > interval.begin ? interval.end - interval.begin : 0;
  const W work{x, y, combining, options.start(), options.direction(), extra, interval.begin, n};
  if constexpr (Traits::level == Level::thread) {
    return static_cast<typename C::A>(scan_by_vector<Exec>(work));
  } else if constexpr (Traits::is_member) {
    return static_cast<typename C::A>(scan_by_team(work, range, options.scratch_level()));
  } else {
    return static_cast<typename C::A>(
        scan_by_team(work, member_of(range), options.scratch_level()));
  }
}

}  // namespace KokkosScan::impl::team_range
