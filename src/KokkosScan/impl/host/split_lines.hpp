// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Several threads share a line, or a strip of lines. Each takes the next part, folds it, waits for
/// its prefix, and scans it while it is still in the cache. So each element is read from memory
/// once, and totals combine in the order of parts, whichever threads take them.

#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

/// State shared by the threads.
template <class A, class R, int Width>
struct Chain : Turns {
  PrefixOfPart<A, R, Width> prefix;  ///< of the part whose turn it is
};

/// Takes parts until none are left.
///
/// \tparam Strips  scans and folds strips of at most Width lines
template <class P, class Strips, int Width>
struct SplitLines {
  using A = typename Strips::A;
  using R = typename Strips::R;
  /// Maximum number of lines times tiles in a part.
  static constexpr int most_totals =
      std::max<int>(Width, part_bytes / (tile_length * static_cast<std::int64_t>(sizeof(A))));

  P problem;
  Destination destination;
  Registers registers;
  std::int64_t strips;         ///< in the batch
  std::int64_t strips_of_row;  ///< strips per row of neighbouring lines
  int tiles_of_part;
  bool has_rows;
  Chain<A, R, Width>* chain;

  void operator()(std::int64_t) const {
    const P& p = problem;
    const auto wide = carrying(p.op);
    const std::int64_t part_length = std::int64_t{tiles_of_part} * tile_length;
    const std::int64_t parts = (p.n + part_length - 1) / part_length;
    Strips scanner(p, destination, registers, has_rows);
    std::int64_t next = 0;
    for (std::int64_t index = chain->take(); index < strips * parts; index = next) {
      const auto [c, width] = scanner.strip(index / parts, strips_of_row);
      const std::int64_t begin = index % parts * part_length;
      const std::int64_t end = std::min(begin + part_length, p.n);

      LastChunk<A, R> last[most_totals];
      int tiles = 0;
      for (std::int64_t k = begin; k < end && end < p.n; k += tile_length) {
        scanner.fold(c, width, k, k + tile_length, last + tiles++ * width);
      }
      PrefixOfPart<A, R, Width> prefix{};
      chain->wait_for(index);
      if (begin == 0) {
        load_starts(p, c, width, prefix.tiles, prefix.before);
      } else {
        prefix = chain->prefix;
      }
      for (int w = 0; w < width && end < p.n; ++w) {
        // The same order of combination as in BlocksOfLine and scan_register().
        A carry{};
        R sum = prefix.tiles[w];
        for (int t = w; t < tiles * width; t += width) {
          carry = p.op(static_cast<A>(wide(sum, last[t].before)), last[t].total);
          sum = wide(sum, wide(last[t].before, static_cast<R>(last[t].total)));
        }
        chain->prefix.before[w] = carry;
        chain->prefix.tiles[w] = sum;
      }
      chain->end(index);
      // The next part is taken first, so that it can be prefetched during this scan. No other part
      // waits for this one any more, so there is still no deadlock.
      next = chain->take();
      const bool is_of_strip = next / parts == index / parts;
      scanner.scan_part(c, width, begin, end, prefix,
                        is_of_strip ? (next - index) * part_length : 0);
    }
    end_streaming();
  }
};

}  // namespace KokkosScan::impl::host
