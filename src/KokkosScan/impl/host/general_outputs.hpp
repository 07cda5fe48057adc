// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results of any type, in an array or by a function, some neighbours at a time.

#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace KokkosScan::impl::host {

/// Calls function(index..., result) for `count` results, whose places are `step` apart in one
/// dimension. The dimension is known where it is compiled: the loop is that of a user, who walks
/// through arrays in it.
template <int moving, class Function, class Result, int... D>
void call_along(const Function& function, const std::int64_t* index, std::int64_t step, int count,
                const Result* results, std::integer_sequence<int, D...>) {
  const std::int64_t at[] = {index[D]...};
  if (step == 1) {
    for (int i = 0; i < count; ++i) function((D == moving ? at[D] + i : at[D])..., results[i]);
  } else {
    for (int i = 0; i < count; ++i) {
      function((D == moving ? at[D] + i * step : at[D])..., results[i]);
    }
  }
}
template <class Function, class Result, int... D>
void call_along(const Function& function, const std::int64_t* index, int moving, std::int64_t step,
                int count, const Result* results, std::integer_sequence<int, D...> dimensions) {
  ((D == moving ? call_along<D>(function, index, step, count, results, dimensions) : void()), ...);
}

/// Stores rows of results, compact, of neighbouring lines from the line at `c` on, in the places of
/// elements k, k + 1, ...
template <class Value>
void store_rows(const Array<Value>& output, const Coordinates& c, std::int64_t k, int rows,
                int width, const Value* results) {
  const auto line = output.line(c);
  if (width == 1) {
    Value* const to = &line(k);
    if (line.stride == 1) {
      std::copy_n(results, rows, to);
    } else if (line.stride == -1) {
      std::reverse_copy(results, results + rows, to - (rows - 1));
    } else {
      for (int i = 0; i < rows; ++i) to[i * line.stride] = results[i];
    }
    return;
  }
  const std::int64_t stride = output.strides.batch[c.rank - 1];
  for (int i = 0; i < rows; ++i) {
    Value* const to = &line(k + i);
    for (int w = 0; w < width; ++w) to[w * stride] = results[i * width + w];
  }
}
template <class A, int Rank, class Function, class Result>
void store_rows(const Called<A, Rank, Function>& output, Coordinates c, std::int64_t k, int rows,
                int width, const Result* results) {
  const auto dimensions = std::make_integer_sequence<int, Rank>{};
  const auto& indices = output.indices;
  const int axis = indices.axis;
  if (width == 1) {
    auto line = indices.line(c);
    line.index[axis] = line.index_along(k);
    call_along(indices.function, line.index, axis, indices.step, rows, results, dimensions);
    return;
  }
  // Neighbours differ in one dimension, until its extent ends.
  int moving = axis == Rank - 1 ? Rank - 2 : Rank - 1;
  std::int64_t step = indices.strides.batch[c.rank - 1];
  const int outermost = axis == 0 ? 1 : 0;
  while (moving > outermost && step % indices.extent[moving] == 0) {
    step /= indices.extent[moving];
    moving -= moving - 1 == axis ? 2 : 1;
  }
  int count = 0;
  for (int w = 0; w < width; w += count) {
    auto line = indices.line(c);
    const std::int64_t left = indices.extent[moving] - 1 - line.index[moving];
    count = step > 0 ? static_cast<int>(std::min<std::int64_t>(width - w, left / step + 1)) : 1;
    for (int i = 0; i < rows; ++i) {
      line.index[axis] = line.index_along(k + i);
      call_along(indices.function, line.index, moving, step, count,
                 results + std::int64_t{i} * width + w, dimensions);
    }
    c.index[c.rank - 1] += count;
  }
}

/// Where rows of neighbouring results can be computed, as their places follow each other; else
/// null.
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
/// Between neighbours in a dimension of the batch.
template <class Value>
std::int64_t distance(const Array<Value>& output, int dimension) {
  return output.strides.batch[dimension];
}
template <class A, int Rank, class Function>
std::int64_t distance(const Called<A, Rank, Function>&, int) {
  return 0;
}

}  // namespace KokkosScan::impl::host
