// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// In-order scans on hosts, for any operator. Each line is scanned by one thread, which takes
/// several lines side by side. in_order_kernels.hpp combines, the scanners load and store.

#include <KokkosScan/impl/host/in_order_lines.hpp>
#include <KokkosScan/impl/host/in_order_strips.hpp>
#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

// ---- The backend --------------------------------------------------------------------------------

/// Scans the lines, or strips, of one unit, on one thread.
template <class P>
struct UnitsOfLines {
  P problem;
  Destination destination;
  Registers registers;
  std::int64_t units;

  void operator()(std::int64_t unit) const {
    const std::int64_t lines = problem.batch.count;
    LinesInOrder<P>(problem, destination, registers)
        .scan(lines / units * unit + std::min(unit, lines % units),
              lines / units * (unit + 1) + std::min(unit + 1, lines % units));
  }
};
template <class P>
struct UnitsOfStrips {
  P problem;
  Destination destination;
  Registers registers;
  std::int64_t strips;
  std::int64_t strips_of_row;
  std::int64_t units;

  void operator()(std::int64_t unit) const {
    StripsInOrder<P>(problem, destination, registers)
        .scan(strips / units * unit + std::min(unit, strips % units),
              strips / units * (unit + 1) + std::min(unit + 1, strips % units), strips_of_row);
  }
};

/// The in-order kernels. The members exist for tests: results do not depend on them.
struct InOrderBackend {
  Destination destination = Destination::automatic;
  Registers registers = widest_registers();

  /// Whether a type of problem is supported: accumulators that can be kept in arrays.
  template <class P>
  static constexpr bool supports =
      !is_called<decltype(P::output)> && std::is_default_constructible_v<typename P::A> &&
      sizeof(typename P::A) <= 64;

  /// Scans a problem of at least one line and one element.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    const Batch& batch = p.batch;
    const Destination results_go = destination_of(p, destination);
    const std::int64_t threads = exec.concurrency();
    const std::int64_t row = batch.rank > 0 ? batch.extent[batch.rank - 1] : 1;
    const bool has_strips = batch.rank > 0 && p.output.strides.batch[batch.rank - 1] == 1 &&
                            row * static_cast<std::int64_t>(sizeof(typename P::A)) >= cache_line;
    if (has_strips) {
      // Strips of at most most_width lines, but enough strips to keep all threads busy.
      constexpr std::int64_t most = StripsInOrder<P>::most_width;
      const std::int64_t rows = batch.count / row;
      std::int64_t strips = (row + most - 1) / most;
      if (rows * strips < 4 * threads) strips = (strips + threads - 1) / threads * threads;
      strips = (row + strip_width(row, strips) - 1) / strip_width(row, strips);
      const std::int64_t units =
          units_of_work(rows * strips, p.n * strip_width(row, strips), threads);
      for_each_index(exec, label_of(p.function, "in_order_strips"), units,
                     UnitsOfStrips<P>{p, results_go, registers, rows * strips, strips, units});
      return;
    }
    // Units of lines_at_once lines, or fewer if some threads would be idle.
    const std::int64_t lines_of_unit =
        std::clamp<std::int64_t>(batch.count / threads, 1, lines_at_once);
    const std::int64_t units = units_of_work((batch.count + lines_of_unit - 1) / lines_of_unit,
                                             p.n * lines_of_unit, threads);
    for_each_index(exec, label_of(p.function, "in_order_lines"), units,
                   UnitsOfLines<P>{p, results_go, registers, units});
  }
};

}  // namespace KokkosScan::impl::host
