// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host backend's vector kernels: which problems they take, and how threads share the work.

#include <KokkosScan/impl/host/columns.hpp>
#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/host/lines.hpp>
#include <KokkosScan/impl/host/split_lines.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/host/widen.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The vector kernels. The members exist for tests: results do not depend on them.
struct Backend {
  Sharing sharing = Sharing::automatic;
  Destination destination = Destination::automatic;
  Registers registers = widest_registers();

  /// Whether a type of problem is supported: a built-in operator on a type of 4 or 8 bytes.
  template <class P>
  static constexpr bool supports =
      !is_called<decltype(P::output)> && (is_vectorized<typename P::A> || can_be_widened<P>)&&  //
      is_built_in<typename Combination<P>::Op>;

  /// Scans a problem of at least one line and one element.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    if constexpr (can_be_widened<P>) {
      scan(exec, widened(p));
    } else {
      scan_vectorized(exec, p);
    }
  }

 private:
  template <class Exec, class P>
  void scan_vectorized(const Exec& exec, const P& p) const {
    const Batch& batch = p.batch;
    const bool has_neighbours = batch.rank > 0 && p.output.strides.batch[batch.rank - 1] == 1;
    if (!has_neighbours) {
      const bool is_short =
          p.n <= tile_length && (p.n == 1 || std::abs(p.output.strides.along) == 1);
      if (is_short) return scan_with<Columns<P>>(exec, p, "short_lines", batch.count, 1);
      return scan_with<Lines<P>>(exec, p, "lines", batch.count, 1);
    }

    // Cut rows into strips so that all threads are busy; if strips get too narrow, threads share.
    constexpr std::int64_t most = Columns<P>::most_width;
    const std::int64_t row = batch.extent[batch.rank - 1];
    const std::int64_t rows = batch.count / row;
    const std::int64_t threads = exec.concurrency();
    // Strips of few rows are taken as a whole.
    const std::int64_t cut =
        p.n > 8 ? most
                : std::max<std::int64_t>(Columns<P>::most_of_block / p.n / narrow_strip, 1) *
                      narrow_strip;
    std::int64_t strips = row <= cut ? 1 : (row + cut - 1) / cut;
    if (!shares_evenly(rows * strips, threads)) strips = (strips + threads - 1) / threads * threads;
    strips = (row + cut_width(row, strips) - 1) / cut_width(row, strips);
    constexpr int size = sizeof(typename P::A);
    const bool is_cut = (strips == 1 || row / strips * size >= least_cut_bytes) &&
                        shares_evenly(rows * strips, threads);
    // Otherwise threads share strips, if these have enough parts.
    constexpr std::int64_t most_shared = most_shared_width<Columns<P>>;
    const std::int64_t shared = (row + most_shared - 1) / most_shared;
    const bool has_parts =
        p.n >= 4 * tile_length && rows * shared * (p.n / tile_length) >= 4 * threads;
    if ((threads > 1 && !is_cut && has_parts) || sharing == Sharing::split_lines) {
      return scan_with<Columns<P>>(exec, p, "strips", rows * shared, shared, true);
    }
    scan_with<Columns<P>>(exec, p, "strips", rows * strips, strips, true);
  }

  template <class Scanner, class Exec, class P>
  void scan_with(const Exec& exec, const P& p, const char* path, std::int64_t strips,
                 std::int64_t strips_of_row, bool has_rows = false) const {
    using A = typename P::A;
    constexpr int width = most_shared_width<Scanner>;
    const std::int64_t threads = exec.concurrency();
    const Destination results_go = destination_of(p, destination);

    const std::int64_t elements_of_strip = p.n * (p.batch.count / strips + 1);
    const bool is_long = p.n >= 4 * tile_length && elements_of_strip >= 4 * unit_elements;
    const bool splits = sharing == Sharing::automatic
                            ? threads > 1 && is_long && !shares_evenly(strips, threads)
                            : sharing == Sharing::split_lines;
    if (splits && p.batch.count / strips <= width) {
      const std::int64_t lines = std::min<std::int64_t>(width, p.batch.count / strips);
      const int tiles = static_cast<int>(std::max<std::int64_t>(
          1, part_bytes / (tile_length * static_cast<std::int64_t>(sizeof(A)) * lines)));
      Chain<A, typename Scanner::R, width> chain;
      return for_each_index(exec, label_of(p.function, path, " split]"), threads,
                            SplitLines<P, Scanner, width>{p, results_go, registers, strips,
                                                          strips_of_row, tiles, has_rows, &chain});
    }
    for_each_unit(exec, label_of(p.function, path), strips, elements_of_strip,
                  [=, in = registers](std::int64_t begin, std::int64_t end) {
                    Scanner(p, results_go, in, has_rows).scan(begin, end, strips_of_row);
                  });
  }

  /// The maximum width of a strip that threads share.
  template <class Scanner>
  static constexpr int most_shared_width = std::min<int>(
      Scanner::most_width, shared_strip_bytes / static_cast<int>(sizeof(typename Scanner::A)));
};

}  // namespace KokkosScan::impl::host
