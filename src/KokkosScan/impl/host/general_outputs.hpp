// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results of any type in arrays, or passes them to functions, several neighbours at a time.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace KokkosScan::impl::host {

/// Calls function(index..., result) for `count` results at places that are `step` apart in one
/// dimension. The dimension is a template parameter, so the loop is one that a user would write
/// over arrays. The function's own members, such as Views, stay in registers: nothing that is
/// stored aliases them (`__restrict__`).
///
/// \param stride distance between results
template <int moving, class Function, class Result, int... D>
void call_along(const Function& __restrict__ function, const std::int64_t* index, std::int64_t step,
                int count, const Result* results, int stride, std::integer_sequence<int, D...>) {
  const std::int64_t at[] = {index[D]...};
  if (step == 1 && stride == 1) {
    for (int i = 0; i < count; ++i) function((D == moving ? at[D] + i : at[D])..., results[i]);
  } else {
    for (int i = 0; i < count; ++i) {
      function((D == moving ? at[D] + i * step : at[D])..., results[i * stride]);
    }
  }
}
template <int Rank, class Function, class Result>
void call_along(const ComputedLine<Rank, Function>& line, int moving, std::int64_t step, int count,
                const Result* results, int stride) {
  with_dimension<Rank>(moving, [&](auto dimension) {
    call_along<dimension>(line.function, line.index, step, count, results, stride,
                          std::make_integer_sequence<int, Rank>{});
  });
}

/// Stores the results of rows k, k + 1, ... of several slabs from a dense array
/// results[slab][row][line].
///
/// \param c         the first line
/// \param dimension the dimension of the batch in which slabs are neighbours
template <class Value>
void store_slabs(const Array<Value>& output, Coordinates c, int dimension, int slabs,
                 std::int64_t k, int rows, int width, const Value* results) {
  const std::int64_t stride = width > 1 ? output.strides.batch[c.rank - 1] : 0;
  const std::int64_t slab = slabs > 1 ? output.strides.batch[dimension] : 0;
  const auto line = output.line(c);
  for (int s = 0; s < slabs; ++s) {
    Value* const first = &line(k) + s * slab;
    if (width == 1 && line.stride == -1) {
      for (int i = 0; i < rows; ++i) first[-i] = results[i];
    } else if (width == 1) {
      for (int i = 0; i < rows; ++i) first[i * line.stride] = results[i];
    } else {
      for (int i = 0; i < rows; ++i) {
        Value* const to = first + i * line.stride;
        for (int w = 0; w < width; ++w) to[w * stride] = results[std::int64_t{i} * width + w];
      }
    }
    results += std::int64_t{rows} * width;
  }
}
template <class A, int Rank, class Function, class Result>
void store_slabs(const Called<A, Rank, Function>& output, Coordinates c, int dimension, int slabs,
                 std::int64_t k, int rows, int width, const Result* results) {
  const auto& indices = output.indices;
  const int axis = indices.axis;
  const Neighbours lines(indices, width > 1 ? c.rank - 1 : -1);
  const Neighbours in_slabs(indices, slabs > 1 ? dimension : -1);
  for (int s = 0; s < slabs;) {
    int count = 0;
    int together = 1;
    for (int w = 0; w < width; w += count) {
      Coordinates at = c;
      if (w > 0) at.index[c.rank - 1] += w;
      auto line = indices.line(at);
      count = width > 1 ? lines.count(indices, line, width - w) : 1;
      // Take all following slabs that differ in one index only.
      if (slabs > 1 && count == width) together = in_slabs.count(indices, line, slabs - s);
      const Result* from = results + w;
      for (int t = 0; t < together; ++t) {
        if (count >= rows) {
          for (int i = 0; i < rows; ++i) {
            line.index[axis] = line.index_along(k + i);
            call_along(line, lines.dimension, lines.step, count, from + std::int64_t{i} * width, 1);
          }
        } else {
          const std::int64_t first = width > 1 ? line.index[lines.dimension] : 0;
          for (int i = 0; i < count; ++i) {
            line.index[axis] = line.index_along(k);
            call_along(line, axis, indices.step, rows, from + i, width);
            if (width > 1) line.index[lines.dimension] += lines.step;
          }
          if (width > 1) line.index[lines.dimension] = first;
        }
        from += std::int64_t{rows} * width;
        if (slabs > 1) line.index[in_slabs.dimension] += in_slabs.step;
      }
    }
    s += together;
    results += std::int64_t{together} * rows * width;
    if (slabs > 1) c.index[dimension] += together;
  }
}

/// The address of a row of results if it is contiguous, to compute results in place; else null.
template <class Value>
Value* place_of_rows(const Array<Value>& output, const Coordinates& c, std::int64_t k, int width) {
  const auto line = output.line(c);
  const bool is_run = width == 1 ? line.stride == 1 : output.strides.batch[c.rank - 1] == 1;
  return is_run ? &line(k) : nullptr;
}
template <class A, int Rank, class Function>
std::nullptr_t place_of_rows(const Called<A, Rank, Function>&, const Coordinates&, std::int64_t,
                             int) {
  return nullptr;
}
template <class Value>
std::int64_t distance_of_rows(const Array<Value>& output, int width) {
  return width == 1 ? 1 : output.strides.along;
}
template <class A, int Rank, class Function>
std::int64_t distance_of_rows(const Called<A, Rank, Function>&, int width) {
  return width;
}
/// The distance between neighbours in a dimension of the batch.
template <class Value>
std::int64_t distance(const Array<Value>& output, int dimension) {
  return output.strides.batch[dimension];
}
template <class A, int Rank, class Function>
std::int64_t distance(const Called<A, Rank, Function>&, int) {
  return 0;
}

}  // namespace KokkosScan::impl::host
