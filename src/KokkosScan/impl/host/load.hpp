// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads elements of any input as accumulators, in scan order: neighbours in a line, or one element
/// of each of several neighbouring lines.

#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/compute.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/parts.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Loads `count` values at distance `stride`, converted to A.
template <class A, class T>
void load_strided(const T* from, std::int64_t stride, int count, A* x) {
  if (stride == 1) return convert(from, count, x);
  if (stride == -1) return convert<-1>(from, count, x);
  for (int i = 0; i < count; ++i) x[i] = static_cast<A>(from[i * stride]);
}

/// Rows k ... k + rows - 1 of `width` neighbouring lines, the first of which is at `c`, in each of
/// `slabs` slabs. Slabs are neighbours in dimension `dimension` of the batch and have n rows.
struct Rectangle {
  Coordinates c;
  std::int64_t n, k;
  int rows, width, slabs, dimension;

  [[nodiscard]] int size() const { return slabs * rows * width; }
};

/// The coordinates of a line. Not inlined, because the divisions take much code.
[[gnu::noinline]] inline Coordinates coordinates_of(const Batch& batch, std::int64_t line) {
  return batch.coordinates(line);
}

/// The address of a line's first element, if elements lie in memory as A, `step` apart; else null.
template <class A, class Line>
const A* as_stored([[maybe_unused]] const Line& line, [[maybe_unused]] std::int64_t step) {
  if constexpr (std::is_same_v<Line, ArrayLine<const A>>) {
    return line.stride == step ? line.data : nullptr;
  }
  return nullptr;
}
/// The line at `c` in place, if rows of it and its neighbours lie in memory as A; else no data.
template <class A, class In>
ArrayLine<const A> as_stored([[maybe_unused]] const In& in, [[maybe_unused]] const Coordinates& c) {
  if constexpr (std::is_same_v<In, Array<const A>>) {
    if (c.rank > 0 && in.strides.batch[c.rank - 1] == 1) return in.line(c);
  }
  return {nullptr, 0};
}
/// Whether results overwrite elements.
template <class In, class Value>
bool is_in_place(const In& in, const Value* out) {
  if constexpr (HasParts<In>) {
    return any_of(parts_of(in), [&](const auto& part) { return is_in_place(part, out); });
  } else if constexpr (requires { in.data; }) {
    return static_cast<const void*>(in.data) == static_cast<const void*>(out);
  }
  return false;
}

// ---- Neighbours in a line -----------------------------------------------------------------------

/// Loads elements k ... k + count - 1 of a line; `count` is at most Most.
template <int Most, class A, class T>
void load_along(const ArrayLine<T>& line, std::int64_t k, int count, A* x) {
  load_strided(&line(k), line.stride, count, x);
}
template <int Most, class A, int Rank, class Function>
void load_along(const ComputedLine<Rank, Function>& line, std::int64_t k, int count, A* x) {
  ComputedLine<Rank, Function> at = line;
  at.index[line.axis] = line.index_along(k);
  compute_along(at, line.axis, line.step, count, x);
}
template <int Most, class A, class T>
void load_along(const SameLine<T>& line, std::int64_t, int count, A* x) {
  for (int i = 0; i < count; ++i) x[i] = static_cast<A>(line.value);
}
template <int Most, class A, HasParts Line>
void load_along(const Line& line, std::int64_t k, int count, A* x) {
  const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
    if (const T* const stored = as_stored<T>(part, 1); stored != nullptr) return stored + k;
    load_along<Most>(part, k, count, to);
    return to;
  };
  load_parts<Most>(line, load, count, x);
}

/// Adds the elements from number k on to what is prefetched, as far as they are stored.
template <class Line>
void add_ahead(const Line& line, std::int64_t k, Prefetches& ahead) {
  if constexpr (HasParts<Line>) {
    any_of(parts_of(line), [&](const auto& part) { return add_ahead(part, k, ahead), false; });
  } else if constexpr (requires { line.stride; }) {
    ahead.add(&line(k), line.stride);
  }
}

// ---- Neighbouring lines -------------------------------------------------------------------------

/// Loads element k of `count` neighbouring lines (in the last dimension), the first being at `c`.
template <int Most, class A, class T>
void load_across(const Array<T>& in, const Coordinates& c, std::int64_t k, int count, A* x) {
  const std::int64_t stride = c.rank > 0 ? in.strides.batch[c.rank - 1] : 0;
  load_strided(&in.line(c)(k), stride, count, x);
}
template <int Most, class A, int Rank, class Function>
void load_across(const Computed<Rank, Function>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x) {
  const Neighbours lines(in, count > 1 ? c.rank - 1 : -1);
  Coordinates at = c;
  for (int w = 0; w < count;) {
    auto line = in.line(at);
    if (in.axis >= 0) line.index[in.axis] = line.index_along(k);  // starts have no axis
    const int together = lines.count(in, line, count - w);
    compute_along(line, lines.dimension, lines.step, together, x + w);
    w += together;
    if (w < count) at.index[c.rank - 1] += together;
  }
}
template <int Most, class A, class T>
void load_across(const ValueOfLine<T>& in, const Coordinates& c, std::int64_t, int count, A* x) {
  load_across<Most>(in.values, c, 0, count, x);
}
template <int Most, class A, HasParts In>
void load_across(const In& in, const Coordinates& c, std::int64_t k, int count, A* x) {
  const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
    if (const ArrayLine<const T> line = as_stored<T>(part, c); line.data != nullptr) {
      // Hardware prefetching does not follow, because rows are loaded a short piece at a time.
      prefetch(&line(k + 1), count);
      return &line(k);
    }
    load_across<Most>(part, c, k, count, to);
    return to;
  };
  load_parts<Most>(in, load, count, x);
}

/// Whether all lines have the same starting value, or none.
template <class P>
inline constexpr bool has_common_start =
    std::is_same_v<decltype(P::start), CommonStart<typename P::A>>;

/// The maximum number of starting values that are loaded at a time.
template <class A>
inline constexpr int most_starts = strip_bytes / sizeof(A);

/// Loads the starting values of `count` neighbouring lines, the first being at `c`.
///
/// \param starts receives them in the carried type, or neutral values if there are none
/// \param before receives B(0), which may have to be stored
template <class P, class R>
[[gnu::noinline]] void load_starts(const P& p, const Coordinates& c, int count, R* starts,
                                   typename P::A* before) {
  if constexpr (has_common_start<P>) {
    const auto& start = p.start.value;
    std::fill_n(starts, count,
                start.exists ? static_cast<R>(start.value) : neutral(carrying(p.op)));
    std::fill_n(before, count, start.exists ? start.value : p.identity.value);
  } else {
    load_across<most_starts<typename P::A>>(p.start.values, c, 0, count, before);
    std::copy_n(before, count, starts);
  }
}

// ---- Slabs --------------------------------------------------------------------------------------

/// The direction of the rows of an input, or of its first part, in memory.
template <class In>
int direction_of_run(const In& in) {
  if constexpr (HasParts<In>) {
    return direction_of_run(parts_of(in).first);
  } else if constexpr (requires { in.data; }) {
    return in.strides.along < 0 ? -1 : 1;
  }
  return 1;
}
/// The lowest address of the rows in a rectangle's first slab.
template <class T>
T* lowest_of_slab(const Array<T>& array, const Rectangle& r) {
  const auto line = array.line(r.c);
  return &line(array.strides.along < 0 ? r.k + r.rows - 1 : r.k);
}
/// The lowest address of a rectangle whose elements are contiguous, in scan order or with the rows
/// of each slab reversed; else null.
template <class T>
T* as_run(const Array<T>& array, const Rectangle& r) {
  const std::int64_t along = array.strides.along;
  if (r.width > 1 && array.strides.batch[r.c.rank - 1] != 1) return nullptr;
  if (r.rows > 1 && along != r.width && along != -r.width) return nullptr;
  if (r.slabs > 1 && array.strides.batch[r.dimension] != r.n * r.width) return nullptr;
  return lowest_of_slab(array, r);
}
/// The same if the elements are stored as A; else null.
template <class A, class In>
const A* as_stored_run([[maybe_unused]] const In& in, [[maybe_unused]] const Rectangle& r) {
  if constexpr (std::is_same_v<In, Array<const A>>) return as_run(in, r);
  return nullptr;
}

/// Loads a rectangle of up to Most elements in memory order, without gaps, if rows are contiguous
/// and all operands have the same direction.
template <int Most, class A, class T>
bool load_run(const Array<T>& in, const Rectangle& r, A* x) {
  if (const T* const run = as_run(in, r); run != nullptr) {
    convert(run, r.size(), x);
    return true;
  }
  if (r.width > 1 ? in.strides.batch[r.c.rank - 1] != 1 : r.slabs == 1) return false;
  const T* const lowest = lowest_of_slab(in, r);
  const std::int64_t row = std::abs(in.strides.along);
  const std::int64_t slab = r.slabs > 1 ? in.strides.batch[r.dimension] : 0;
  const int of_slab = r.rows * r.width;
  const bool are_runs = row == r.width;  // slabs without gaps
  convert_rows(SlabsOf<const T>{lowest, row, slab}, r.slabs, are_runs ? 1 : r.rows,
               are_runs ? of_slab : r.width, SlabsOf<A>{x, r.width, of_slab});
  return true;
}
template <int Most, class A, class In>
bool load_run([[maybe_unused]] const In& in, [[maybe_unused]] const Rectangle& r,
              [[maybe_unused]] A* x) {
  if constexpr (HasParts<In>) {
    const int direction = direction_of_run(in);
    const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
      if (direction_of_run(part) != direction) return nullptr;
      const T* const stored = as_stored_run<T>(part, r);
      return stored == nullptr && load_run<Most>(part, r, to) ? to : stored;
    };
    return load_parts<Most>(in, load, r.size(), x);
  }
  return false;
}

}  // namespace KokkosScan::impl::host
