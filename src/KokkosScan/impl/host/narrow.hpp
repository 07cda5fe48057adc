// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of integers of 1 and 2 bytes, as scans of 4 bytes, which fill vectors.
///
/// Values are converted to the narrow type first, as if they were combined in it, and then widened.
/// Sums and products agree with those of the narrow type in all bits that it has, minima and maxima
/// are equal, and results are stored in the narrow type. So they have the same bits.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether values of type T are integers that are combined in another type.
template <class T>
inline constexpr bool is_narrow =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < sizeof(std::int32_t);

/// That type, for signed and unsigned ones.
using Wide = std::int32_t;

template <class Op>
struct WideOperator;
template <template <class> class Op, class Narrow>
struct WideOperator<Op<Narrow>> {
  using type = Op<Wide>;
};

template <class Narrow>
Maybe<Wide> widened(const Maybe<Narrow>& value) {
  return value.exists ? Maybe<Wide>(value.value) : Maybe<Wide>();
}

/// One line of values that are converted to Narrow.
template <class Narrow, class Line>
struct NarrowLine {
  Line values;
};

/// An input whose values are converted to Narrow before they are accumulators.
template <class Narrow, class In>
struct NarrowInput {
  In values;

  template <class Place>
  auto line(const Place& place) const {
    auto values_line = values.line(place);
    return NarrowLine<Narrow, decltype(values_line)>{values_line};
  }
};

template <int Most, class A, class Narrow, class Line>
void load_along(const NarrowLine<Narrow, Line>& line, std::int64_t k, int count, A* x) {
  Narrow loaded[Most];
  const Narrow* values = as_stored<Narrow>(line.values, 1);
  if (values == nullptr) load_along<Most>(line.values, k, count, loaded);
  convert(values == nullptr ? loaded : values + k, count, x);
}
template <int Most, class A, class Narrow, class In>
void load_across(const NarrowInput<Narrow, In>& in, const Coordinates& c, std::int64_t k, int count,
                 A* x) {
  Narrow loaded[Most];
  const ArrayLine<const Narrow> values = as_stored<Narrow>(in.values, c);
  if (values.data == nullptr) load_across<Most>(in.values, c, k, count, loaded);
  convert(values.data == nullptr ? loaded : &values(k), count, x);
}
template <int Most, class A, class Narrow, class In>
void load_rows(const NarrowInput<Narrow, In>& in, const Coordinates& c, std::int64_t k, int rows,
               int count, A* x) {
  Narrow loaded[pack_length * Most];
  const ArrayLine<const Narrow> values = as_stored<Narrow>(in.values, c);
  const bool is_one = values.data != nullptr && values.stride == count;
  if (!is_one) load_rows<Most>(in.values, c, k, rows, count, loaded);
  convert(is_one ? &values(k) : loaded, rows * count, x);
}
template <class Narrow, class Line>
void prefetch_along(const NarrowLine<Narrow, Line>& line, std::int64_t k, int count,
                    Caches caches) {
  prefetch_along(line.values, k, count, caches);
}
template <class Narrow, class In>
void prefetch_rows(const NarrowInput<Narrow, In>& in, const Coordinates& c, std::int64_t k,
                   int rows, int count, Caches caches) {
  prefetch_rows(in.values, c, k, rows, count, caches);
}
template <class Narrow, class In>
bool follow_each_other(const NarrowInput<Narrow, In>& in, std::int64_t n) {
  return follow_each_other(in.values, n);
}

/// A starting value for each line, which is converted to Narrow before it is an accumulator.
template <class Narrow, class T>
struct NarrowStartOfEachLine {
  StartOfEachLine<Narrow, T> values;

  template <class Place>
  Maybe<Wide> at(const Place& place) const {
    return widened(values.at(place));
  }
};

template <class Narrow>
CommonStart<Wide> widened(const CommonStart<Narrow>& start) {
  return {widened(start.value)};
}
template <class Narrow, class T>
NarrowStartOfEachLine<Narrow, T> widened(const StartOfEachLine<Narrow, T>& start) {
  return {start};
}

/// The same problem, combined in Wide; its results and totals are of type Narrow.
template <class Narrow, class Op, class In, class Start>
auto widened(const Problem<Narrow, Op, In, Narrow, Start, Narrow>& p) {
  using WideOp = typename WideOperator<Op>::type;
  using WideProblem =
      Problem<Wide, WideOp, NarrowInput<Narrow, In>, Narrow, decltype(widened(p.start)), Narrow>;
  return WideProblem{p.function,          p.n,       p.batch,  p.form,           p.extra, WideOp{},
                     widened(p.identity), {p.input}, p.output, widened(p.start), p.totals};
}

/// Whether a problem has that form.
template <class P>
inline constexpr bool can_be_widened = false;
template <class Narrow, class Op, class In, class Start>
inline constexpr bool can_be_widened<Problem<Narrow, Op, In, Narrow, Start, Narrow>> =
    is_narrow<Narrow>;

}  // namespace KokkosScan::impl::host
