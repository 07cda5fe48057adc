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
#include <tuple>
#include <type_traits>

namespace KokkosScan::impl::host {

/// An input without its masks.
template <class In>
const auto& without_masks(const In& in) {
  if constexpr (IsMasked<In>) {
    return without_masks(in.values);
  } else {
    return in;
  }
}

/// selected[i] = selected[i] && all masks are true at element i: of neighbours in a line, or of one
/// element of each of several lines.
template <int Most, bool across, class In>
void and_masks(const In& in, const Coordinates& c, std::int64_t k, int count, bool* selected) {
  if constexpr (IsMasked<In>) {
    bool loaded[Most];
    if constexpr (across) {
      load_across<Most>(in.mask, c, k, count, loaded);
    } else {
      load_along<Most>(in.mask.line(c), k, count, loaded);
    }
    for (int i = 0; i < count; ++i) selected[i] = selected[i] && loaded[i];
    and_masks<Most, across>(in.values, c, k, count, selected);
  }
}

/// Whether neighbouring lines are closer in memory than neighbouring elements of a line.
template <class Operand>
bool has_columns([[maybe_unused]] const Operand& operand, int rank) {
  if constexpr (HasParts<Operand>) {
    return has_columns(parts_of(operand).first, rank);
  } else if constexpr (requires { operand.data; }) {
    const Strides& strides = operand.strides;
    return rank > 0 && std::abs(strides.batch[rank - 1]) < std::abs(strides.along);
  } else if constexpr (requires { operand.axis; }) {
    return rank > 0 &&
           operand.axis + 1 != static_cast<int>(std::extent_v<decltype(operand.extent)>);
  }
  return true;
}

/// Whether rows of `width` neighbours are contiguous, so that many can be loaded at once.
template <class Operand>
bool has_dense_rows([[maybe_unused]] const Operand& operand, [[maybe_unused]] int rank,
                    [[maybe_unused]] std::int64_t width) {
  if constexpr (HasParts<Operand>) {
    return !any_of(parts_of(operand),
                   [&](const auto& part) { return !has_dense_rows(part, rank, width); });
  } else if constexpr (requires { operand.data; }) {
    return operand.strides.batch[rank - 1] == 1 && operand.strides.along == width;
  }
  return is_called<Operand>;
}

/// Whether everything that is loaded can be kept in arrays.
template <class In>
inline constexpr bool is_loaded_to_arrays = std::is_default_constructible_v<element_t<In>>;
template <class A, class Values, class Mask>
inline constexpr bool is_loaded_to_arrays<Selected<A, Values, Mask>> =
    is_loaded_to_arrays<Values>&& is_loaded_to_arrays<Mask>;
template <class Function, class... Parts>
inline constexpr bool is_loaded_to_arrays<ZippedInput<Function, List<Parts...>>> =
    (is_loaded_to_arrays<Parts> && ...);

/// The rows of a rectangle in place; data is null if they must be loaded.
template <class T>
SlabsOf<const T> stored_rows(const Array<const T>& in, const Rectangle& r) {
  const ArrayLine<const T> line = in.line(r.c);
  // A single line is faster if it has been loaded as structs.
  const bool are_rows = r.width == 1 ? r.slabs > 1 : in.strides.batch[r.c.rank - 1] == 1;
  const std::int64_t slab = r.slabs > 1 ? in.strides.batch[r.dimension] : 0;
  return {are_rows ? &line(r.k) : nullptr, line.stride, slab};
}
template <class T>
SlabsOf<const T> stored_rows(const ValueOfLine<T>& in, const Rectangle& r) {
  SlabsOf<const T> rows = stored_rows<std::remove_const_t<T>>(in.values, r);
  if (rows.data != nullptr) rows.data -= r.k * rows.row;
  rows.row = 0;
  return rows;
}
template <class Function, class... Parts>
auto stored_rows(const Function& function, const List<>&, const Rectangle&, const Parts&... rows) {
  return ZippedRows<Function, Parts...>{function, {rows...}};
}
template <class Function, class First, class... Rest, class... Parts>
auto stored_rows(const Function& function, const List<First, Rest...>& parts, const Rectangle& r,
                 const Parts&... rows) {
  return stored_rows(function, parts.rest, r, rows..., stored_rows(parts.first, r));
}

template <class Function, class... Parts>
bool are_stored(const ZippedRows<Function, Parts...>& rows) {
  return std::apply([](const auto&... part) { return ((part.data != nullptr) && ...); },
                    rows.parts);
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
