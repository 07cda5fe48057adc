// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of a range by the threads of a host: a loop, or a chunk of neighbouring elements for each
/// thread of a team. Every element is read once.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/team/tile.hpp>
#include <KokkosScan/impl/team_range/combination.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace KokkosScan::impl::team_range {

/// Scans elements of a range by one thread.
///
/// \param fold that of everything before
/// \param read read(i) is element i
/// \return the fold of everything up to the last
template <class W, class Read>
KOKKOS_FORCEINLINE_FUNCTION Maybe<typename W::R> scan_by_thread(const W& work,
                                                                Maybe<typename W::R> fold,
                                                                typename W::Index first,
                                                                typename W::Index end,
                                                                const Read& read) {
  using R = typename W::R;
  using Index = typename W::Index;
  if (first >= end) return fold;
  // The first element is combined before the loop, which then need not ask whether there is a fold.
  R after = static_cast<R>(read(first));
  R before = after;
  if constexpr (W::result != Result::inclusive) before = work.or_identity(fold);
  if (fold.exists) after = work.combining(fold.value, after);
  work.store(first, before, after);
  for (Index i = first + 1; i < end; ++i) {
    before = after;
    after = work.combining(before, static_cast<R>(read(i)));
    work.store(i, before, after);
  }
  return Maybe<R>(after);
}

/// Scans a whole range by one thread.
template <class W>
KOKKOS_FORCEINLINE_FUNCTION typename W::R scan_by_one_thread(const W& work) {
  using R = typename W::R;
  using Index = typename W::Index;
  Maybe<R> fold = work.start();
  if constexpr (W::C::in_order && W::is_masked) {
    for (Index i = 0; i < work.n; ++i) {
      const Maybe<R> before = fold;
      if (work.counts(i)) fold = Maybe<R>(combine(work.combining, fold, work.value(i)));
      work.store(i,
                 W::result == Result::inclusive ? work.or_identity(fold) : work.or_identity(before),
                 work.or_identity(fold));
    }
  } else {
    fold = scan_by_thread(work, fold, Index(0), work.n, [&](Index i) { return work.read(i); });
  }
  const R total = work.or_identity(fold);
  work.store_total(total);
  return total;
}

/// Elements that a thread keeps between reading and storing them.
template <class R>
inline constexpr int most_kept = sizeof(R) <= 16    ? 128
                                 : sizeof(R) <= 128 ? 2048 / sizeof(R)
                                                    : 16;

/// Scans a range by a team of several threads.
///
/// \param scratch memory for one value a thread
template <class W, class Member>
KOKKOS_FUNCTION typename W::R scan_by_threads(const W& work, const Member& member,
                                              typename W::R* scratch) {
  using R = typename W::R;
  using Index = typename W::Index;
  const int threads = member.team_size();
  Slot<R> kept[most_kept<R>];
  team::Prefix<R> carry{{}, work.start()};
  for (Index tile = 0; tile < work.n;) {
    const Index left = work.n - tile;
    const Index share = (left - 1) / threads + 1;
    const int length = share < most_kept<R> ? static_cast<int>(share) : most_kept<R>;
    const int chunks =
        left / length < threads ? static_cast<int>((left - 1) / length + 1) : threads;
    const Index of_tile = left < Index(chunks) * length ? left : Index(chunks) * length;
    const auto end_of = [&](std::int64_t chunk) {
      const Index end = static_cast<Index>(chunk + 1) * length;
      return end < of_tile ? end : of_tile;
    };
    team::for_each_chunk(
        member, work.combining, 0, chunks, scratch, carry,
        [&](std::int64_t chunk) {
          const Index first = static_cast<Index>(chunk) * length;
          R total = static_cast<R>(work.read(tile + first));
          kept[0] = Slot<R>(total);
          for (Index i = first + 1; i < end_of(chunk); ++i) {
            kept[i - first] = Slot<R>(static_cast<R>(work.read(tile + i)));
            total = work.combining(total, kept[i - first].value);
          }
          return total;
        },
        [&](std::int64_t chunk, const team::Prefix<R>& before) {
          const Index first = static_cast<Index>(chunk) * length;
          const auto store = [&](const R& none_before, const auto& with_prefix) {
            R last = none_before;
            R c = kept[0].value;
            for (Index i = first;;) {
              const R after = with_prefix(c);
              work.store(tile + i, last, after);
              if (++i >= end_of(chunk)) break;
              last = after;
              c = work.combining(c, kept[i - first].value);
            }
          };
          // The fold of the chunk is combined with that before it, as its total is.
          if (before.chunks.exists) {
            const R prefix = before.chunks.value;
            store(prefix, [&](const R& c) { return work.combining(prefix, c); });
          } else {
            store(work.or_identity({}), [](const R& c) { return c; });
          }
        });
    tile += of_tile;
  }
  const R total = work.or_identity(carry.chunks);
  if (member.team_rank() == 0) work.store_total(total);
  return total;
}

}  // namespace KokkosScan::impl::team_range
