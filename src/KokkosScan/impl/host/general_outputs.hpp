// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results of any type in arrays, or passes them to functions, several neighbours at a time.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>
#include <utility>

namespace KokkosScan::impl::host {

/// Calls the line's function for `count` results, `stride` apart, at places that are `step` apart
/// in dimension `moving`. The dimension is a template parameter of the loop, so that it is one that
/// a user would write over arrays.
template <int Rank, class Function, class Result>
void call_along(const ComputedLine<Rank, Function>& line, int moving, std::int64_t step, int count,
                const Result* results, int stride) {
  // The function's members, such as Views, stay in registers: nothing that is stored aliases them.
  const auto call = [&]<int... D>(const Function& __restrict__ function, auto dimension,
                                  std::integer_sequence<int, D...>) {
    const std::int64_t at[] = {line.index[D]...};
    if (step == 1 && stride == 1) {
      for (int i = 0; i < count; ++i) function((D == dimension ? at[D] + i : at[D])..., results[i]);
    } else {
      for (int i = 0; i < count; ++i) {
        function((D == dimension ? at[D] + i * step : at[D])..., results[i * stride]);
      }
    }
  };
  with_dimension<Rank>(moving, [&](auto dimension) {
    call(line.function, dimension, std::make_integer_sequence<int, Rank>{});
  });
}

/// Stores the results of a rectangle from a dense array results[slab][row][line].
template <class Value>
void store_slabs(const Array<Value>& output, const Rectangle& r, const Value* results) {
  const std::int64_t across = r.width > 1 ? output.strides.batch[r.c.rank - 1] : 0;
  const std::int64_t slab = r.slabs > 1 ? output.strides.batch[r.dimension] : 0;
  const auto line = output.line(r.c);
  for (int s = 0; s < r.slabs; ++s) {
    Value* const first = &line(r.k) + s * slab;
    if (r.width == 1 && line.stride == -1) {
      for (int i = 0; i < r.rows; ++i) first[-i] = results[i];
    } else if (r.width == 1) {
      for (int i = 0; i < r.rows; ++i) first[i * line.stride] = results[i];
    } else {
      for (int i = 0; i < r.rows; ++i) {
        Value* const to = first + i * line.stride;
        for (int w = 0; w < r.width; ++w) to[w * across] = results[i * r.width + w];
      }
    }
    results += std::int64_t{r.rows} * r.width;
  }
}
template <class A, int Rank, class Function, class Result>
void store_slabs(const Called<A, Rank, Function>& output, const Rectangle& r,
                 const Result* results) {
  const auto& indices = output.indices;
  const int axis = indices.axis, width = r.width, rows = r.rows;
  const Neighbours lines(indices, width > 1 ? r.c.rank - 1 : -1);
  const Neighbours in_slabs(indices, r.slabs > 1 ? r.dimension : -1);
  Coordinates c = r.c;
  for (int s = 0; s < r.slabs;) {
    int count = 0;
    int together = 1;
    for (int w = 0; w < width; w += count) {
      Coordinates at = c;
      if (w > 0) at.index[c.rank - 1] += w;
      auto line = indices.line(at);
      count = width > 1 ? lines.count(indices, line, width - w) : 1;
      // Take all following slabs that differ in one index only.
      if (r.slabs > 1 && count == width) together = in_slabs.count(indices, line, r.slabs - s);
      const Result* from = results + w;
      for (int t = 0; t < together; ++t) {
        if (count >= rows) {
          for (int i = 0; i < rows; ++i) {
            line.index[axis] = line.index_along(r.k + i);
            call_along(line, lines.dimension, lines.step, count, from + i * width, 1);
          }
        } else {
          const std::int64_t first = line.index[lines.dimension];
          line.index[axis] = line.index_along(r.k);
          for (int i = 0; i < count; ++i) {
            call_along(line, axis, indices.step, rows, from + i, width);
            line.index[lines.dimension] += lines.step;
          }
          line.index[lines.dimension] = first;
        }
        from += rows * width;
        line.index[in_slabs.dimension] += in_slabs.step;
      }
    }
    s += together;
    results += std::int64_t{together} * rows * width;
    if (r.slabs > 1) c.index[r.dimension] += together;
  }
}

}  // namespace KokkosScan::impl::host
