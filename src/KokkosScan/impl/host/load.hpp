// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads elements of any input as accumulators, in scan order: neighbours in a line, or one element
/// of each of several neighbouring lines.

#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/host/compute.hpp>
#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// Loads `count` values at distance `stride`, converted to A.
template <class A, class T>
void load_strided(const T* from, std::int64_t stride, int count, A* x) {
  if (stride == 1) return convert(from, count, x);
  if (stride == -1) return convert<-1>(from, count, x);
  for (int i = 0; i < count; ++i) x[i] = static_cast<A>(from[i * stride]);
}

/// Blends values and `identity` by a mask, without branches, which random masks would mispredict.
template <class A>
void blend(const StoredBool* selected, const A* values, A identity, int count, A* x) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        const StoredBool* const mask = selected;
        const A* const from = values;
        A* const to = x;
        const int n = count;
        if constexpr (std::is_arithmetic_v<A> && (sizeof(A) == 4 || sizeof(A) == 8)) {
          using Bits = wrapping_lane_t<A>;
          Bits other;
          __builtin_memcpy(&other, &identity, sizeof other);
          for (int i = 0; i < n; ++i) {
            Bits bits;
            __builtin_memcpy(&bits, from + i, sizeof bits);
            const Bits truth = Bits{0} - static_cast<Bits>(static_cast<bool>(mask[i]));
            bits = other ^ ((other ^ bits) & truth);  // compilers vectorise this
            __builtin_memcpy(to + i, &bits, sizeof bits);
          }
        } else {
          for (int i = 0; i < n; ++i) {
            const A choice[] = {identity, from[i]};
            to[i] = choice[static_cast<bool>(mask[i])];
          }
        }
      });
}

/// Rows k ... k + rows - 1 of `width` neighbouring lines, the first of which is at `c`, in each of
/// `slabs` slabs. Slabs are neighbours in dimension `dimension` of the batch and have n rows.
struct Rectangle {
  Coordinates c;
  std::int64_t n, k;
  int rows, width, slabs, dimension;

  [[nodiscard]] int size() const { return slabs * rows * width; }
};

// ---- Zipped inputs ------------------------------------------------------------------------------

/// The type of the elements of an input, or of a line.
template <class Line>
using value_of_line = std::remove_cvref_t<decltype(std::declval<const Line&>()(0))>;
template <class In>
using value_of_input = value_of_line<decltype(std::declval<const In&>().line(Coordinates{}))>;

// Components of an input may be zipped inputs, so these are declared before their callers.
template <int Most, class A, class Function, class Lines>
void load_along(const ZippedLine<Function, Lines>& line, std::int64_t k, int count, A* x);
template <class Function, class Lines>
void add_ahead(const ZippedLine<Function, Lines>& line, std::int64_t k, Prefetches& ahead);
template <int Most, class A, class Function, class Parts>
void load_across(const ZippedInput<Function, Parts>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x);
template <class Function, class Parts, class Value>
bool is_in_place(const ZippedInput<Function, Parts>& in, const Value* out);
template <class Function, class Parts>
int direction_of_run(const ZippedInput<Function, Parts>& in);
template <int Most, class A, class Function, class Parts>
bool load_run(const ZippedInput<Function, Parts>& in, const Rectangle& r, A* x);

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
/// The address of the first element, if elements lie in memory as A, `step` apart; else null.
template <class A, class T>
const A* as_stored(const ArrayLine<T>& line, std::int64_t step) {
  if constexpr (std::is_same_v<const A, T>) return line.stride == step ? line.data : nullptr;
  return nullptr;
}
template <class A, class Line>
const A* as_stored(const Line&, std::int64_t) {
  return nullptr;
}

template <int Most, class A, class Values, class Mask>
void load_along(const SelectedLine<A, Values, Mask>& line, std::int64_t k, int count, A* x) {
  bool loaded[Most];
  const StoredBool* selected = as_stored<StoredBool>(line.mask, 1);
  const A* values = as_stored<A>(line.values, 1);
  if (selected == nullptr) load_along<Most>(line.mask, k, count, loaded);
  if (values == nullptr) load_along<Most>(line.values, k, count, x);
  blend(selected == nullptr ? as_stored_bools(loaded) : selected + k,
        values == nullptr ? x : values + k, line.identity, count, x);
}

/// Adds the elements from number k on to what is prefetched, as far as they are stored.
template <class Line>
void add_ahead(const Line&, std::int64_t, Prefetches&) {}
template <class T>
void add_ahead(const ArrayLine<T>& line, std::int64_t k, Prefetches& ahead) {
  ahead.add(&line(k), line.stride);
}
template <class A, class Values, class Mask>
void add_ahead(const SelectedLine<A, Values, Mask>& line, std::int64_t k, Prefetches& ahead) {
  add_ahead(line.values, k, ahead);
  add_ahead(line.mask, k, ahead);
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
    line.index[in.axis] = line.index_along(k);
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
/// The line at `c` in place, if rows of it and its neighbours lie in memory as A; else no data.
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

template <int Most, class A, class Values, class Mask>
void load_across(const Selected<A, Values, Mask>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x) {
  bool loaded[Most];
  const ArrayLine<const StoredBool> selected = as_stored<StoredBool>(in.mask, c);
  const ArrayLine<const A> values = as_stored<A>(in.values, c);
  if (selected.data == nullptr) load_across<Most>(in.mask, c, k, count, loaded);
  if (values.data == nullptr) load_across<Most>(in.values, c, k, count, x);
  // Hardware prefetching does not follow, because rows are loaded a short piece at a time.
  if (selected.data != nullptr) prefetch(&selected(k + 1), count);
  if (values.data != nullptr) prefetch(&values(k + 1), count);
  blend(selected.data == nullptr ? as_stored_bools(loaded) : &selected(k),
        values.data == nullptr ? x : &values(k), in.identity, count, x);
}

/// Whether results overwrite the elements.
template <class T, class Value>
bool is_in_place(const Array<T>& in, const Value* out) {
  return static_cast<const void*>(in.data) == static_cast<const void*>(out);
}
template <class In, class Value>
bool is_in_place(const In&, const Value*) {
  return false;
}
template <class A, class Values, class Mask, class Value>
bool is_in_place(const Selected<A, Values, Mask>& in, const Value* out) {
  return is_in_place(in.values, out);
}

// ---- Slabs --------------------------------------------------------------------------------------

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
template <class A, class T>
const A* as_stored_run(const Array<T>& in, const Rectangle& r) {
  if constexpr (std::is_same_v<const A, T>) return as_run(in, r);
  return nullptr;
}
template <class A, class In>
const A* as_stored_run(const In&, const Rectangle&) {
  return nullptr;
}

/// The direction of the rows of an array in memory.
template <class T>
int direction_of_run(const Array<T>& in) {
  return in.strides.along < 0 ? -1 : 1;
}
template <class In>
int direction_of_run(const In&) {
  return 1;
}
template <class A, class Values, class Mask>
int direction_of_run(const Selected<A, Values, Mask>& in) {
  return direction_of_run(in.values);
}

/// Loads a rectangle of up to Most elements in memory order, without gaps, if rows are contiguous
/// and all operands have the same direction.
template <int Most, class A, class T>
bool load_run(const Array<T>& in, const Rectangle& r, A* x) {
  if (const T* const run = as_run(in, r); run != nullptr) {
    convert(run, r.size(), x);
    return true;
  }
  if (r.width > 1 && in.strides.batch[r.c.rank - 1] != 1) return false;
  if (r.width == 1 && r.slabs == 1) return false;
  const T* const lowest = lowest_of_slab(in, r);
  const std::int64_t row = std::abs(in.strides.along);
  const std::int64_t slab = r.slabs > 1 ? in.strides.batch[r.dimension] : 0;
  const int of_slab = r.rows * r.width;
  if (row == r.width) {  // slabs without gaps
    convert_rows(lowest, {slab, 0}, r.slabs, 1, of_slab, x, {of_slab, 0});
  } else {
    convert_rows(lowest, {slab, row}, r.slabs, r.rows, r.width, x, {of_slab, r.width});
  }
  return true;
}
template <int Most, class A, class In>
bool load_run(const In&, const Rectangle&, A*) {
  return false;
}
template <int Most, class A, class Values, class Mask>
bool load_run(const Selected<A, Values, Mask>& in, const Rectangle& r, A* x) {
  if (direction_of_run(in.values) != direction_of_run(in.mask)) return false;
  bool loaded[Most];
  const StoredBool* selected = as_stored_run<StoredBool>(in.mask, r);
  if (selected == nullptr) {
    if (!load_run<Most>(in.mask, r, loaded)) return false;
    selected = as_stored_bools(loaded);
  }
  const A* values = as_stored_run<A>(in.values, r);
  if (values == nullptr) {
    if (!load_run<Most>(in.values, r, x)) return false;
    values = x;
  }
  blend(selected, values, in.identity, r.size(), x);
  return true;
}

}  // namespace KokkosScan::impl::host

#include <KokkosScan/impl/host/load_zipped.hpp>  // IWYU pragma: export
