// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads elements of any input, as accumulators in scan order: neighbours in a line, or one element
/// of each of several neighbouring lines.

#include <KokkosScan/impl/host/simd.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Stores `count` values that lie `stride` apart, as A.
template <class A, class T>
void load_strided(const T* from, std::int64_t stride, int count, A* x) {
  if (stride == 1) {
    for (int i = 0; i < count; ++i) x[i] = static_cast<A>(from[i]);
    return;
  }
  int i = 0;
  if constexpr (std::is_same_v<A, T> && is_vectorized<A>) {
    if (stride == -1) {
      for (; i + pack_length <= count; i += pack_length) {
        store(x + i, reverse(load(from - i - (pack_length - 1))));
      }
    }
  }
  for (; i < count; ++i) x[i] = static_cast<A>(from[i * stride]);
}

template <class A>
void select(const bool* selected, const A& identity, int count, A* x) {
  for (int i = 0; i < count; ++i) x[i] = selected[i] ? x[i] : identity;
}

// ---- Neighbours in a line -----------------------------------------------------------------------

/// Loads elements k ... k + count - 1 of a line; `count` is at most Most.
template <int Most, class A, class T>
void load_along(const ArrayLine<T>& line, std::int64_t k, int count, A* x) {
  load_strided(&line(k), line.stride, count, x);
}
template <int Most, class A, int Rank, class Function>
void load_along(const ComputedLine<Rank, Function>& line, std::int64_t k, int count, A* x) {
  for (int i = 0; i < count; ++i) x[i] = static_cast<A>(line(k + i));
}
template <int Most, class A, class Values, class Mask>
void load_along(const SelectedLine<A, Values, Mask>& line, std::int64_t k, int count, A* x) {
  bool selected[Most];
  load_along<Most>(line.values, k, count, x);
  load_along<Most>(line.mask, k, count, selected);
  select(selected, line.identity, count, x);
}

/// Where elements lie in memory as a scan wants them; null for any other line.
template <class A, class T>
const A* as_stored(const ArrayLine<T>& line) {
  if constexpr (std::is_same_v<const A, T>) return line.stride == 1 ? line.data : nullptr;
  return nullptr;
}
template <class A, class Line>
const A* as_stored(const Line&) {
  return nullptr;
}

// ---- Neighbouring lines -------------------------------------------------------------------------

/// Loads element k of `count` lines from the line at `c` on: neighbours in the last dimension of
/// the batch, which has that many.
template <int Most, class A, class T>
void load_across(const Array<T>& in, const Coordinates& c, std::int64_t k, int count, A* x) {
  const std::int64_t stride = c.rank > 0 ? in.strides.batch[c.rank - 1] : 0;
  load_strided(&in.line(c)(k), stride, count, x);
}
template <int Most, class A, int Rank, class Function>
void load_across(const Computed<Rank, Function>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x) {
  auto line = in.line(c);
  for (int i = 0; i < count; ++i) {
    x[i] = static_cast<A>(line(k));
    // The indices of the next line: those of an array without the axis, row-major.
    for (std::int64_t step = in.strides.batch[c.rank - 1], d = Rank - 1; d >= 0 && step != 0; --d) {
      if (d == in.axis) continue;
      line.index[d] += step;
      step = 0;
      if (line.index[d] >= in.extent[d]) {
        step = line.index[d] / in.extent[d];
        line.index[d] %= in.extent[d];
      } else if (line.index[d] < 0) {
        step = -((in.extent[d] - 1 - line.index[d]) / in.extent[d]);
        line.index[d] -= step * in.extent[d];
      }
    }
  }
}
template <int Most, class A, class Values, class Mask>
void load_across(const Selected<A, Values, Mask>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x) {
  bool selected[Most];
  load_across<Most>(in.values, c, k, count, x);
  load_across<Most>(in.mask, c, k, count, selected);
  select(selected, in.identity, count, x);
}

/// The line at `c`, if it and its neighbours lie in memory as a scan wants them; else without data.
template <class A, class T>
ArrayLine<const A> as_stored(const Array<T>& in, const Coordinates& c) {
  if constexpr (std::is_same_v<const A, T>) {
    if (c.rank > 0 && in.strides.batch[c.rank - 1] == 1) return in.line(c);
  }
  return {nullptr, 0};
}
template <class A, class In>
ArrayLine<const A> as_stored(const In&, const Coordinates&) {
  return {nullptr, 0};
}

}  // namespace KokkosScan::impl::host
