// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The problem that a selection backend receives: lines, without rank and layout.

#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/inputs.hpp>
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

// ---- Several arrays at once ---------------------------------------------------------------------

/// Whether T is Elements: what zipped inputs have at one place, and what zipped outputs store
/// there.
template <class T>
inline constexpr bool is_elements = false;
template <class... T>
inline constexpr bool is_elements<Elements<T...>> = true;

/// An element as it is stored: those of zipped inputs one by one where the outputs are zipped, too.
template <class Value, class Element>
KOKKOS_FORCEINLINE_FUNCTION Value stored_as(const Element& element) {
  if constexpr (std::is_same_v<Value, Element> || !is_elements<Value>) {
    return static_cast<Value>(element);
  } else {
    return {stored_as<decltype(Value::first)>(element.first),
            stored_as<decltype(Value::rest)>(element.rest)};
  }
}

/// One line of zipped outputs.
template <class Lines>
struct StoredLines {
  /// Stands for a reference to the elements at a place: assigning stores each in its own output.
  struct Place {
    const Lines& lines;
    std::int64_t i;

    template <class Value>
    KOKKOS_FORCEINLINE_FUNCTION void operator=(const Value& value) const {
      store(lines, value, i);
    }
  };

  Lines lines;

  KOKKOS_FORCEINLINE_FUNCTION Place operator()(std::int64_t i) const { return {lines, i}; }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void store(const List<>&, const Elements<>&, std::int64_t) {}
  template <class First, class... Rest, class Value>
  KOKKOS_FORCEINLINE_FUNCTION static void store(const List<First, Rest...>& lines,
                                                const Value& value, std::int64_t i) {
    lines.first(i) = value.first;
    store(lines.rest, value.rest, i);
  }
};

/// The output of a selection: an array, or several.
template <class Value>
struct SelectedOutput {
  using type = Array<Value>;
};
template <class... T>
struct SelectedOutput<Elements<T...>> {
  struct type {
    List<Array<T>...> arrays;

    template <class Place>
    KOKKOS_FUNCTION auto line(const Place& place) const {
      auto lines = arrays.line(place);
      return StoredLines<decltype(lines)>{lines};
    }
  };
};

/// A selection of elements from a batch of lines.
///
/// \tparam In     Array, Computed or ZippedInput: the elements
/// \tparam Keep_  Predicate; or Array or Computed, a mask
/// \tparam Value_ what the output stores: Elements if it is zipped
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
  typename SelectedOutput<Value>::type output;
  Array<Count> counts;
  std::int64_t capacity = n;  ///< elements of a line of the output; what is beyond is only counted
  bool is_in_place = false;   ///< whether an output is an input
};

/// What a predicate says of an element; those of zipped inputs are its arguments.
template <class Function, class Element>
KOKKOS_FORCEINLINE_FUNCTION bool ask(const Function& function, const Element& element) {
  return static_cast<bool>(function(as_argument(element)));
}
template <class Function, class... Args>
KOKKOS_FORCEINLINE_FUNCTION bool ask(const Function& function, const Elements<>&,
                                     const Args&... args) {
  return static_cast<bool>(function(as_argument(args)...));
}
template <class Function, class First, class... Rest, class... Args>
KOKKOS_FORCEINLINE_FUNCTION bool ask(const Function& function,
                                     const Elements<First, Rest...>& elements,
                                     const Args&... args) {
  return ask(function, elements.rest, args..., elements.first);
}

/// Whether an element is kept.
///
/// \param keep a line of a mask, or a predicate
template <class Keep, class Element>
KOKKOS_FORCEINLINE_FUNCTION bool is_kept(const Keep& keep, std::int64_t k, const Element& element) {
  if constexpr (is_predicate<Keep>) {
    return ask(keep.function, element);
  } else {
    return static_cast<bool>(keep(k));
  }
}

}  // namespace KokkosScan::impl
