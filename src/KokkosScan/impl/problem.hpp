// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The problem that a backend receives: a batch of lines, without rank, layout, axis or direction.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/arithmetic.hpp>
#include <KokkosScan/impl/stored_bool.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

/// The maximum rank of a batch of lines: that of a View, without the axis.
inline constexpr int max_batch_rank = 7;

/// The public functions. Messages, labels and some checks depend on them.
enum class Function {
  inclusive_scan,
  exclusive_scan,
  linear_recurrence,
  workspace_bytes,
  select,
  select_workspace_bytes
};

/// Distances between the elements of one operand, in elements.
struct Strides {
  std::int64_t along;                  ///< between neighbours in a line, in scan order
  std::int64_t batch[max_batch_rank];  ///< between neighbours in each dimension of the batch
};

/// Quotient and remainder.
struct Division {
  std::int64_t quotient, remainder;

  /// a and b must not be negative. Most are small, and GPUs divide 32-bit integers much faster.
  KOKKOS_INLINE_FUNCTION Division(std::int64_t a, std::int64_t b) {
    if (a < b) {
      quotient = 0;
      remainder = a;
    } else if (a <= UINT32_MAX) {
      quotient = static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
      remainder = static_cast<std::uint32_t>(a) % static_cast<std::uint32_t>(b);
    } else {
      quotient = a / b;
      remainder = a % b;
    }
  }
};

/// The position of a line in the batch: one index for each dimension of the batch.
struct Coordinates {
  int rank;
  std::int64_t index[max_batch_rank];  ///< 0 from the rank on

  /// The distance from the first line to this one in an operand.
  KOKKOS_FUNCTION std::int64_t offset(const Strides& strides) const {
    std::int64_t sum = index[0] * strides.batch[0];
    if (rank <= 1) return sum;  // nearly every problem, once dimensions are merged
    for (int d = 1; d < max_batch_rank; ++d) sum += index[d] * strides.batch[d];
    return sum;
  }
};

/// The lines of a problem: their number, and the dimensions that are left after merging.
struct Batch {
  std::int64_t count;
  int rank;
  std::int64_t extent[max_batch_rank];

  /// The coordinates of line number `line`; the last dimension varies fastest.
  KOKKOS_FUNCTION Coordinates coordinates(std::int64_t line) const {
    Coordinates c{rank, {}};
    // A loop bound known at compile time keeps the arrays in registers. The first dimension needs
    // no division.
    if (rank > 1) {
      for (int d = max_batch_rank - 1; d > 0; --d) {
        if (d >= rank) continue;
        const Division at(line, extent[d]);
        c.index[d] = at.remainder;
        line = at.quotient;
      }
    }
    c.index[0] = line;
    return c;
  }
};

/// One line of an array: element k in scan order.
template <class T>
struct ArrayLine {
  T* data;
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION T& operator()(std::int64_t k) const { return data[k * stride]; }
};

/// An array operand. `data` points to the first element, in scan order, of the first line.
template <class T>
struct Array {
  T* data;
  Strides strides;

  /// \tparam Place Coordinates, or another type with a member offset(strides)
  template <class Place>
  KOKKOS_FUNCTION ArrayLine<T> line(const Place& place) const {
    return {data + place.offset(strides), strides.along};
  }
};

/// One line of a computed input.
template <int Rank, class Function>
struct ComputedLine {
  const Function& function;
  std::int64_t index[Rank];  // the entry of the axis is unused: each element has its own
  int axis;
  std::int64_t first;
  std::int64_t step;

  KOKKOS_FORCEINLINE_FUNCTION auto operator()(std::int64_t k) const { return at(index_along(k)); }
  /// The index along the axis of element k in scan order.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_along(std::int64_t k) const {
    return first + step * k;
  }
  /// The value at an index along the axis.
  KOKKOS_FORCEINLINE_FUNCTION auto at(std::int64_t along) const {
    return call(along, std::make_integer_sequence<int, Rank>{});
  }

 private:
  template <int... D>
  KOKKOS_FORCEINLINE_FUNCTION auto call(std::int64_t along,
                                        std::integer_sequence<int, D...>) const {
    return rounded(function((D == axis ? along : index[D])...));
  }
};

/// An input that a function computes from indices. It is treated as a dense row-major array of its
/// extents without the axis; `strides` address that array, and line() splits a line's offset in it
/// into indices. So its dimensions merge like those of an array, and the function still receives
/// its own indices.
template <int Rank, class Function>
struct Computed {
  Function function;
  std::int64_t extent[Rank];
  int axis;
  std::int64_t first;  ///< index along the axis of the element that is scanned first
  std::int64_t step;   ///< 1 or -1
  Strides strides;
  std::int64_t origin = 0;  ///< offset in that array of the first line of the batch

  /// The index along the axis of element k of a line in scan order.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_along(std::int64_t k) const {
    return first + step * k;
  }
  template <class Place>
  KOKKOS_FUNCTION ComputedLine<Rank, Function> line(const Place& place) const {
    ComputedLine<Rank, Function> line{function, {}, axis, first, step};
    std::int64_t offset = origin + place.offset(strides);
    const int outermost = axis == 0 ? 1 : 0;
    for (int d = Rank - 1; d >= 0; --d) {
      line.index[d] = 0;
      if (d == axis) continue;
      if (d == outermost) {  // the remaining offset is its index
        line.index[d] = offset;
        continue;
      }
      const Division at(offset, extent[d]);
      line.index[d] = at.remainder;
      offset = at.quotient;
    }
    return line;
  }
};

/// One line of an input with one value per line.
template <class T>
struct SameLine {
  T value;

  KOKKOS_FORCEINLINE_FUNCTION const T& operator()(std::int64_t) const { return value; }
};

/// An input with one value per line, broadcast along it: an array whose lines have one element.
template <class T>
struct ValueOfLine {
  Array<T> values;

  template <class Place>
  KOKKOS_FUNCTION SameLine<std::remove_const_t<T>> line(const Place& place) const {
    return {values.line(place)(0)};
  }
};

/// The components of a zipped input, or their lines.
template <class... T>
struct List;
template <class First, class... Rest>
KOKKOS_FUNCTION List<First, Rest...> with_first(const First& first, const List<Rest...>& rest) {
  return {first, rest};
}
template <>
struct List<> {
  template <class Place>
  KOKKOS_FUNCTION List line(const Place&) const {
    return {};
  }
  template <class Function, class... Args>
  KOKKOS_FORCEINLINE_FUNCTION auto call(const Function& function, std::int64_t,
                                        const Args&... args) const {
    return function(as_argument(args)...);
  }
};
template <class First, class... Rest>
struct List<First, Rest...> {
  First first;
  List<Rest...> rest;

  /// The line of each component at a place.
  template <class Place>
  KOKKOS_FUNCTION auto line(const Place& place) const {
    auto line_of_first = first.line(place);
    auto lines_of_rest = rest.line(place);
    return with_first(line_of_first, lines_of_rest);
  }
  /// function(args..., element k of each line).
  template <class Function, class... Args>
  KOKKOS_FORCEINLINE_FUNCTION auto call(const Function& function, std::int64_t k,
                                        const Args&... args) const {
    return rest.call(function, k, args..., first(k));
  }
};

/// One line of a zipped input.
template <class Function, class Lines>
struct ZippedLine {
  const Function& function;
  Lines lines;

  KOKKOS_FORCEINLINE_FUNCTION auto operator()(std::int64_t k) const {
    return rounded(lines.call(function, k));
  }
};

/// An input that is a function of the elements of several inputs.
///
/// \tparam Parts a List of inputs
template <class Function, class Parts>
struct ZippedInput {
  Function function;
  Parts parts;

  template <class Place>
  KOKKOS_FUNCTION auto line(const Place& place) const {
    auto lines = parts.line(place);
    return ZippedLine<Function, decltype(lines)>{function, lines};
  }
};

/// One line of an output that is a function.
template <class Value, int Rank, class Function>
struct CalledLine {
  using Result = Value;

  /// Stands for a reference to element k: assigning a result calls the function.
  struct Place {
    const CalledLine& line;
    std::int64_t k;

    KOKKOS_FORCEINLINE_FUNCTION void operator=(const Value& result) const {
      line.call_at(line.of_indices.index_along(k), result);
    }
  };

  ComputedLine<Rank, Function> of_indices;

  KOKKOS_FORCEINLINE_FUNCTION Place operator()(std::int64_t k) const { return {*this, k}; }
  /// Calls the function for the result at an index along the axis.
  KOKKOS_FORCEINLINE_FUNCTION void call_at(std::int64_t along, const Value& result) const {
    call(along, result, std::make_integer_sequence<int, Rank>{});
  }

 private:
  template <int... D>
  KOKKOS_FORCEINLINE_FUNCTION void call(std::int64_t along, const Value& result,
                                        std::integer_sequence<int, D...>) const {
    of_indices.function((D == of_indices.axis ? along : of_indices.index[D])..., result);
  }
};

/// An output that is a function of indices and a result, the counterpart of the input Computed.
///
/// \tparam Value the type to which results are converted
template <class Value, int Rank, class Function>
struct Called {
  Computed<Rank, Function> indices;
  bool exists = true;  ///< for arrays, a null pointer says this

  template <class Place>
  KOKKOS_FUNCTION CalledLine<Value, Rank, Function> line(const Place& place) const {
    return {indices.line(place)};
  }
};

/// A stored T whose constructor applies a function to a result. Every kernel ends in a conversion
/// to the stored type, so the function fuses with it. The function has no state and nothing of it
/// is stored, so an array of these is an array of T.
template <class T, class A, class Function>
struct
#if defined(__GNUC__)
    [[gnu::may_alias]]
#endif
    ProjectedValue {
  T value;

  ProjectedValue() = default;
  template <class R>
  KOKKOS_FORCEINLINE_FUNCTION explicit ProjectedValue(const R& result)
      : value(static_cast<T>(Function{}(rounded(static_cast<A>(result))))) {}
};

/// The type of an output: an array of T, or a function. Value is the type to which kernels convert
/// results (Problem::Value).
template <class T>
struct OutputOf {
  using Value = T;
  using type = Array<T>;
};
template <class A, int Rank, class Function>
struct OutputOf<Called<A, Rank, Function>> {
  using Value = A;
  using type = Called<A, Rank, Function>;
};
template <class T>
using output_of_t = typename OutputOf<T>::type;

/// Whether an output is a function.
template <class Output>
inline constexpr bool is_called = false;
template <class A, int Rank, class Function>
inline constexpr bool is_called<Called<A, Rank, Function>> = true;

template <class T>
KOKKOS_FUNCTION bool exists(const Array<T>& output) {
  return output.data != nullptr;
}
template <class A, int Rank, class Function>
KOKKOS_FUNCTION bool exists(const Called<A, Rank, Function>& output) {
  return output.exists;
}
template <class T>
void leave_out(Array<T>& output) {
  output.data = nullptr;
}
template <class A, int Rank, class Function>
void leave_out(Called<A, Rank, Function>& output) {
  output.exists = false;
}
/// Whether scan order runs against memory order.
template <class T>
KOKKOS_FUNCTION bool is_backward(const Array<T>& output) {
  return output.strides.along < 0;
}
template <class A, int Rank, class Function>
KOKKOS_FUNCTION bool is_backward(const Called<A, Rank, Function>& output) {
  return output.indices.step < 0;
}
/// Moves element 0 of an output's lines by `by` elements, in scan order.
template <class T>
void move_along(Array<T>& output, std::int64_t by) {
  output.data += by * output.strides.along;
}
template <class A, int Rank, class Function>
void move_along(Called<A, Rank, Function>& output, std::int64_t by) {
  output.indices.first += by * output.indices.step;
}

/// One line of a masked input.
template <class A, class Values, class Mask>
struct SelectedLine {
  Values values;
  Mask mask;
  A identity;

  KOKKOS_FORCEINLINE_FUNCTION A operator()(std::int64_t k) const {
    const bool selected = static_cast<bool>(mask(k));
    const A value = static_cast<A>(values(k));
    KOKKOS_IF_ON_DEVICE((return selected ? value : identity;))
    // A table instead of a branch, which random masks would make unpredictable.
    KOKKOS_IF_ON_HOST((const A choice[] = {identity, value}; return choice[selected];))
  }
};

/// A masked input: elements are the identity where the mask is false.
template <class A, class Values, class Mask>
struct Selected {
  Values values;
  Mask mask;
  A identity;

  template <class Place>
  KOKKOS_FUNCTION auto line(const Place& place) const {
    auto values_line = values.line(place);
    auto mask_line = mask.line(place);
    return SelectedLine<A, decltype(values_line), decltype(mask_line)>{values_line, mask_line,
                                                                       identity};
  }
};

/// The same starting value for all lines, or none.
template <class A>
struct CommonStart {
  Maybe<A> value;

  [[nodiscard]] KOKKOS_FUNCTION bool exists() const { return value.exists; }
  template <class Place>
  KOKKOS_FUNCTION Maybe<A> at(const Place&) const {
    return value;
  }
};

/// The source of starting values, one per line: an array of T, or a function.
template <class T>
struct StartingValues {
  using type = Array<const T>;
};
template <int Rank, class Function>
struct StartingValues<Computed<Rank, Function>> {
  using type = Computed<Rank, Function>;
};

/// A starting value for each line.
///
/// \tparam T the type of an array's elements, or Computed
template <class A, class T>
struct StartOfEachLine {
  typename StartingValues<T>::type values;

  [[nodiscard]] KOKKOS_FUNCTION bool exists() const { return true; }
  template <class Place>
  KOKKOS_FUNCTION Maybe<A> at(const Place& place) const {
    return Maybe<A>(static_cast<A>(values.line(place)(0)));
  }
};

/// Which folds of a line are stored: element k of the output is B(k + 1) or B(k), where B(k), with
/// 0 <= k <= n, is the fold of the starting value and the first k elements.
enum class Form { inclusive, exclusive };

/// Whether the output has one element more than the line, and which: B(0) before the results of the
/// inclusive form, or B(n) after those of the exclusive form. Both give the n+1 values B(0) ...
/// B(n), but they differ in where a line may lie within its own output.
enum class Extra { none, first, last };

/// A scan of a batch of lines: everything a backend needs to know.
///
/// \tparam A_  the accumulator
/// \tparam Op  a callable (A, A) -> A
/// \tparam In  Array, Computed, Selected or ZippedInput: the elements, which are converted to A
/// \tparam Out the parameter of OutputOf: the type of an array's elements, or Called
/// \tparam Start CommonStart or StartOfEachLine
template <class A_, class Op, class In, class Out_, class Start, class Total>
struct Problem {
  using A = A_;
  using Out = Out_;
  using Value = typename OutputOf<Out>::Value;  ///< the type to which results are converted

  Function function;
  std::int64_t n;  ///< elements of a line
  Batch batch;
  Form form;
  Extra extra;
  Op op;
  Maybe<A> identity;
  In input;
  output_of_t<Out> output;  ///< element 0 is the first result; Extra::first is stored at element -1
  Start start;
  Array<Total> totals;  ///< data is null if no totals are wanted
};

/// How a problem combines: its operator in the accumulator A and in the carried type R.
template <class P>
struct Combination {
  using A = typename P::A;
  using Op = std::remove_cv_t<decltype(P::op)>;
  using R = carried_t<Op, A>;
  using Wide = std::remove_cvref_t<decltype(carrying(std::declval<Op>()))>;
};

}  // namespace KokkosScan::impl
