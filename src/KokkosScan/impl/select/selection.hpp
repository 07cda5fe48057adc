// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The problem that a selection backend receives: lines, without rank and layout.

#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

/// Takes the place of a mask: a function of the value.
template <class Function>
struct Predicate {
  Function function;

  /// A predicate has no lines: it is the same for all.
  template <class Place>
  KOKKOS_FUNCTION const Predicate& line(const Place&) const {
    return *this;
  }
};
template <class Keep>
inline constexpr bool is_predicate = false;
template <class Function>
inline constexpr bool is_predicate<Predicate<Function>> = true;

/// The position of a line in the batch. Inputs have at most two dimensions, so one number suffices.
struct LineOfBatch {
  std::int64_t line;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(const Strides& strides) const {
    return line * strides.batch[0];
  }
};

/// A selection of elements from a batch of lines.
///
/// \tparam In    Array or Computed: the elements
/// \tparam Keep_ Predicate; or Array or Computed, a mask
template <class In, class Keep_, class Value_, class Count_>
struct Selection {
  using Keep = Keep_;
  using Value = Value_;
  using Count = Count_;
  /// The type of an element, which is the argument of the predicate.
  using Element = std::remove_cvref_t<decltype(std::declval<const In&>().line(
      std::declval<const LineOfBatch&>())(std::int64_t{}))>;

  std::int64_t n;  ///< elements of a line
  Batch batch;
  In input;
  Keep keep;
  Array<Value> output;
  Array<Count> counts;
};

/// Whether an element is kept.
///
/// \param keep a line of a mask, or a predicate
template <class Keep, class Element>
KOKKOS_FORCEINLINE_FUNCTION bool is_kept(const Keep& keep, std::int64_t k, const Element& element) {
  if constexpr (is_predicate<Keep>) {
    return static_cast<bool>(keep.function(as_argument(element)));
  } else {
    return static_cast<bool>(keep(k));
  }
}

}  // namespace KokkosScan::impl
