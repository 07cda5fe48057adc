// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans slabs of a few elements, many at a time, and stores their results and totals.

#include <KokkosScan/impl/host/slab_block.hpp>
#include <KokkosScan/impl/host/small_slabs.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/problem.hpp>

namespace KokkosScan::impl::host {

/// \param elements    whole slabs, the first of which is at `c`; their lines have a common start
/// \param are_dense   whether their results are contiguous
/// \param streams     whether results are written with non-temporal stores
/// \param dimension   the dimension of the batch in which slabs are neighbours
/// \param second_rows cached between calls
/// \param results     buffers and stores results
template <class P, class A, class R, class Results>
[[gnu::noinline]] void scan_small_slabs(const P& p, const Coordinates& c,
                                        const SlabBlock<A, R>& elements, bool are_dense,
                                        bool streams, int dimension, SecondRows<A>& second_rows,
                                        Results& results) {
  const int n = elements.rows, width = elements.width, slabs = elements.slabs;
  const int of_slab = n * width;
  const bool descends = p.output.strides.along < 0;
  if (second_rows.period != of_slab) second_rows.prepare(n, width, descends ? -1 : 1);
  const Maybe<A> starting = p.start.at(c);
  auto* const to = &p.output.line(c)(descends ? n - 1 : 0);
  SmallSlabs<A> block{};
  block.second_rows = &second_rows;
  block.x = elements.x_row < 0 ? elements.x - (of_slab - width) : elements.x;
  block.b = results.values();
  block.width = width;
  block.count = slabs * of_slab;
  block.direction = descends ? -1 : 1;
  block.ahead = elements.ahead;
  block.is_exclusive = p.form == Form::exclusive;
  block.start = starting.exists ? starting.value : neutral(p.op);
  block.first = starting.exists ? starting.value : p.identity.value;
  const bool is_copy = n == 1 && !starting.exists && !block.is_exclusive;
  const A* const values = is_copy ? block.x : block.b;
  const bool is_stored = !is_copy && are_dense && results.stream(block.run, 0, block.count, to, 1);
  if (!is_copy) combine_small_slabs(p.op, block);
  for (int s = 0; p.totals.data != nullptr && s < slabs; ++s) {
    A totals[most_small_width];
    const int last = s * of_slab + (descends ? 0 : of_slab - width);
    const int row_before = descends ? width : -width;
    for (int w = 0; w < width; ++w) {
      totals[w] = values[last + w];
      if (!block.is_exclusive) continue;
      const A* const x = block.x + last + w;
      const A fold = n > 1 ? p.op(x[row_before], *x) : *x;
      totals[w] = starting.exists ? p.op(starting.value, fold) : fold;
    }
    Coordinates line = c;
    if (s > 0) line.index[dimension] += s;
    results.store_totals(line, width, totals);
  }
  if (is_stored) return;
  if (are_dense) return store_run(streams, values, block.count, to);
  results.store_slabs(values, of_slab, slabs, n, width, to, p.output.strides.batch[dimension]);
}

}  // namespace KokkosScan::impl::host
