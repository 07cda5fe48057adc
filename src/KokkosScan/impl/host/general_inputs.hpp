// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Properties of inputs for the general kernels: how lines lie in memory, and where rows are.

#include <KokkosScan/impl/host/general_kernels.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace KokkosScan::impl::host {

/// An input without its masks.
template <class In>
const In& without_masks(const In& in) {
  return in;
}
template <class A, class Values, class Mask>
const auto& without_masks(const Selected<A, Values, Mask>& in) {
  return without_masks(in.values);
}

/// Loads the mask of `count` elements: neighbours in a line, or one of each of several lines.
/// Nested masks are combined; an input without a mask changes nothing.
template <int Most, bool across, class In>
void load_counts(const In&, const Coordinates&, std::int64_t, int, bool*, bool) {}
template <int Most, bool across, class A, class Values, class Mask>
void load_counts(const Selected<A, Values, Mask>& in, const Coordinates& c, std::int64_t k,
                 int count, bool* selected, bool is_outermost = true) {
  bool loaded[Most];
  bool* const to = is_outermost ? selected : loaded;
  if constexpr (across) {
    load_across<Most>(in.mask, c, k, count, to);
  } else {
    load_along<Most>(in.mask.line(c), k, count, to);
  }
  if (!is_outermost) {
    for (int i = 0; i < count; ++i) selected[i] = selected[i] && loaded[i];
  }
  load_counts<Most, across>(in.values, c, k, count, selected, false);
}

/// Whether neighbouring lines are closer in memory than neighbouring elements of a line.
inline bool has_columns(const Strides& strides, int rank) {
  return rank > 0 && std::abs(strides.batch[rank - 1]) < std::abs(strides.along);
}
template <class T>
bool has_columns(const Array<T>& array, int rank) {
  return has_columns(array.strides, rank);
}
template <int Rank, class Function>
bool has_columns(const Computed<Rank, Function>& computed, int rank) {
  return rank > 0 && computed.axis != Rank - 1;
}
template <class In>
bool has_columns(const In&, int) {
  return true;
}
template <class Function, class Parts>
bool has_columns(const ZippedInput<Function, Parts>& in, int rank);
template <class A, class Values, class Mask>
bool has_columns(const Selected<A, Values, Mask>& in, int rank) {
  return has_columns(in.values, rank);
}
template <class Function, class Parts>
bool has_columns(const ZippedInput<Function, Parts>& in, int rank) {
  return has_columns(in.parts.first, rank);
}

/// Whether rows of `width` neighbours are contiguous, so that many can be loaded at once.
template <class T>
bool has_dense_rows(const Array<T>& array, int rank, std::int64_t width) {
  return array.strides.batch[rank - 1] == 1 && array.strides.along == width;
}
template <class In>
bool has_dense_rows(const In&, int, std::int64_t) {
  return false;
}
template <class A, int Rank, class Function>
bool has_dense_rows(const Called<A, Rank, Function>&, int, std::int64_t) {
  return true;
}
template <class Function, class Parts>
bool has_dense_rows(const ZippedInput<Function, Parts>& in, int rank, std::int64_t width);
template <class A, class Values, class Mask>
bool has_dense_rows(const Selected<A, Values, Mask>& in, int rank, std::int64_t width) {
  return has_dense_rows(in.values, rank, width) && has_dense_rows(in.mask, rank, width);
}
template <class Function, class Parts>
bool has_dense_rows(const ZippedInput<Function, Parts>& in, int rank, std::int64_t width) {
  return !for_each_part(in.parts,
                        [&](const auto& part) { return !has_dense_rows(part, rank, width); });
}

/// Whether everything that is loaded can be kept in arrays.
template <class In>
inline constexpr bool is_loaded_to_arrays = std::is_default_constructible_v<value_of_input<In>>;
template <class A, class Values, class Mask>
inline constexpr bool is_loaded_to_arrays<Selected<A, Values, Mask>> =
    is_loaded_to_arrays<Values>&& is_loaded_to_arrays<Mask>;
template <class Function, class... Parts>
inline constexpr bool is_loaded_to_arrays<ZippedInput<Function, List<Parts...>>> = false;
template <class Function>
inline constexpr bool is_loaded_to_arrays<ZippedInput<Function, List<>>> = true;
template <class Function, class First, class... Rest>
inline constexpr bool is_loaded_to_arrays<ZippedInput<Function, List<First, Rest...>>> =
    is_loaded_to_arrays<First>&& is_loaded_to_arrays<ZippedInput<Function, List<Rest...>>>;

/// Rows k, k + 1, ... of the lines from `c` on, in place; data is null if they must be loaded.
template <class T>
StoredRows<T> stored_rows(const Array<const T>& in, const Coordinates& c, std::int64_t k) {
  const ArrayLine<const T> line = as_stored<T>(in, c);
  return {line.data == nullptr ? nullptr : &line(k), line.stride};
}
template <class T>
StoredRows<std::remove_const_t<T>> stored_rows(const ValueOfLine<T>& in, const Coordinates& c,
                                               std::int64_t) {
  return {as_stored<std::remove_const_t<T>>(in.values, c).data, 0};
}
template <class Function, class... Parts>
auto stored_rows(const Function& function, const List<>&, const Coordinates&, std::int64_t,
                 const Parts&... rows) {
  return ZippedRows<Function, Parts...>{function, {rows...}};
}
template <class Function, class First, class... Rest, class... Parts>
auto stored_rows(const Function& function, const List<First, Rest...>& parts, const Coordinates& c,
                 std::int64_t k, const Parts&... rows) {
  return stored_rows(function, parts.rest, c, k, rows..., stored_rows(parts.first, c, k));
}

/// Whether an input zips arrays to a struct, which need not be stored before it is combined.
/// (Numbers must be stored, or products could be contracted with the operator to an FMA.)
template <class A, class In>
inline constexpr bool is_zipped_of_arrays = false;
template <class T>
inline constexpr bool has_stored_rows = false;
template <class T>
inline constexpr bool has_stored_rows<Array<const T>> = true;
template <class T>
inline constexpr bool has_stored_rows<ValueOfLine<T>> = true;
template <class A, class Function, class... Parts>
inline constexpr bool is_zipped_of_arrays<A, ZippedInput<Function, List<Parts...>>> =
    std::is_class_v<A> && (has_stored_rows<Parts> && ...);

}  // namespace KokkosScan::impl::host
