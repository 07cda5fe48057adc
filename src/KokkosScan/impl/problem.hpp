// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a backend is given: a batch of lines, without rank, layout, axis or direction.

#include <KokkosScan/impl/accumulate.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

/// The most dimensions that a batch of lines can have: those of a View, without the axis.
inline constexpr int max_batch_rank = 7;

/// The public functions, for messages, labels and what they may ask of an operator.
enum class Function {
  inclusive_scan,
  exclusive_scan,
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

  /// Of numbers that are not negative: nearly all are small, and GPUs divide those much faster.
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

/// Where a line stands in the batch: one index for each dimension of the batch.
struct Coordinates {
  int rank;
  std::int64_t index[max_batch_rank];  ///< 0 from the rank on

  /// The distance from the first line to this one in an operand.
  KOKKOS_FUNCTION std::int64_t offset(const Strides& strides) const {
    std::int64_t sum = index[0] * strides.batch[0];
    if (rank <= 1) return sum;  // nearly every problem, where dimensions have merged
    for (int d = 1; d < max_batch_rank; ++d) sum += index[d] * strides.batch[d];
    return sum;
  }
};

/// The lines of a problem: their number, and the dimensions that could not be merged into one.
struct Batch {
  std::int64_t count;
  int rank;
  std::int64_t extent[max_batch_rank];

  /// The coordinates of line number `line`; neighbours in the last dimension follow each other.
  KOKKOS_FUNCTION Coordinates coordinates(std::int64_t line) const {
    Coordinates c{rank, {}};
    // Bounds known at compile time keep the arrays in registers; the first dimension needs no
    // division.
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

/// An array that is an operand. `data` is the first element of the first line, in scan order.
template <class T>
struct Array {
  T* data;
  Strides strides;

  /// \tparam Place Coordinates, or whatever else knows a line's offset
  template <class Place>
  KOKKOS_FUNCTION ArrayLine<T> line(const Place& place) const {
    return {data + place.offset(strides), strides.along};
  }
};

/// One line of a computed input.
template <int Rank, class Function>
struct ComputedLine {
  const Function& function;
  std::int64_t index[Rank];  // that of the axis is filled in for each element
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

/// An input that a function computes from indices. Its strides address a dense array of its
/// extents without the axis, row-major, in which a line's offset says where the line stands. So its
/// dimensions merge as those of an array do, and the function still receives its own indices.
template <int Rank, class Function>
struct Computed {
  Function function;
  std::int64_t extent[Rank];
  int axis;
  std::int64_t first;  ///< index of the element that is scanned first
  std::int64_t step;   ///< 1 or -1
  Strides strides;
  std::int64_t origin = 0;  ///< in that array, of the first line of the batch

  template <class Place>
  KOKKOS_FUNCTION ComputedLine<Rank, Function> line(const Place& place) const {
    ComputedLine<Rank, Function> line{function, {}, axis, first, step};
    std::int64_t offset = origin + place.offset(strides);
    const int outermost = axis == 0 ? 1 : 0;
    for (int d = Rank - 1; d >= 0; --d) {
      line.index[d] = 0;
      if (d == axis) continue;
      if (d == outermost) {  // what is left is its index
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
    // A table instead of a branch: a random mask makes a branch cost more than all else.
    KOKKOS_IF_ON_HOST((const A choice[] = {identity, value}; return choice[selected];))
  }
};

/// An input whose elements are the identity where a mask is false.
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

/// Where the starting values of lines come from: an array of T, or a function.
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

/// Which folds of a line are stored. B(k) is the fold of the starting value and the first k
/// elements, 0 <= k <= n; element k of the output is B(k + 1) or B(k).
enum class Form { inclusive, exclusive };

/// Whether the output holds one element more than the line, and which: B(0) before the results of
/// the inclusive form, or B(n) after those of the exclusive form. Both give the n+1 values
/// B(0) ... B(n). Which one is taken decides where a line may stand in its own output.
enum class Extra { none, first, last };

/// A scan of a batch of lines: everything a backend needs to know.
///
/// \tparam A_  the accumulator
/// \tparam Op  a callable (A, A) -> A
/// \tparam In  Array, Computed or Selected: the elements; they are converted to A
/// \tparam Start CommonStart or StartOfEachLine
template <class A_, class Op, class In, class OutValue, class Start, class Total>
struct Problem {
  using A = A_;

  Function function;
  std::int64_t n;  ///< elements of a line
  Batch batch;
  Form form;
  Extra extra;
  Op op;
  Maybe<A> identity;
  In input;
  Array<OutValue>
      output;  ///< its element 0 is that of the first result, Extra::first stands before
  Start start;
  Array<Total> totals;  ///< data is null where none are wanted
};

/// What combines in a scan: the operator in the accumulator A and in the carried type R.
template <class P>
struct Combination {
  using A = typename P::A;
  using Op = std::remove_cv_t<decltype(P::op)>;
  using R = carried_t<Op, A>;
  using Wide = std::remove_cvref_t<decltype(carrying(std::declval<Op>()))>;
};

}  // namespace KokkosScan::impl
