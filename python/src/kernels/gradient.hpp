// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradient of a scan, as a scan the other way.
///
/// Let y(k) be the results of a line, g(k) the gradient with respect to them, p(j) what the line
/// has combined to before element x(j), the start included, and c(j) = p(j) * x(j). Then
///
///   gradient of x(j) = (d c(j) / d x(j)) * r(j),
///   r(j)             = g(of the result c(j)) + (d c(j+1) / d p(j+1)) * r(j+1).
///
/// The second line is a composition of the affine maps r -> b + a r, which is associative, so r is
/// a backward scan, and the first is applied as results are stored. p is among the results: y(j-1)
/// or, in exclusive scans, y(j). Nothing is divided, so a product's gradient is right at zeros:
///
///   operation     d c / d p        d c / d x
///   sum           1                1
///   product       x                p
///   minimum       0 at a new one   1 at a new one, else 0
///   log sum exp   exp(p - c)       exp(x - c)
///
/// where x is a new minimum (maximum) if it is not larger (smaller) than p: of equal elements the
/// last one has the gradient, as in PyTorch. A masked element has d c / d p = 1 and d c / d x = 0.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "instances.hpp"
#include "scan_kernels.hpp"
#include "stored.hpp"
#include "views.hpp"

namespace kokkos_scan_python {

/// The type in which gradients are computed: wide, as products of many factors overflow.
template <class T>
struct Wide {
  using type = double;
};
template <class T>
struct Wide<Kokkos::complex<T>> {
  using type = Kokkos::complex<double>;
};
template <class T>
using wide_t = typename Wide<T>::type;

/// A product in which 0 * infinity is 0: infinities come from products that overflow in a part of
/// a line, where the factor 0 says that they do not matter.
KOKKOS_INLINE_FUNCTION double times(double a, double b) {
  const double product = a * b;
  return product != product && a == a && b == b ? 0.0 : product;
}
KOKKOS_INLINE_FUNCTION Kokkos::complex<double> times(const Kokkos::complex<double>& a,
                                                     const Kokkos::complex<double>& b) {
  return {times(a.real(), b.real()) - times(a.imag(), b.imag()),
          times(a.real(), b.imag()) + times(a.imag(), b.real())};
}
KOKKOS_INLINE_FUNCTION double conjugate(double value) { return value; }
KOKKOS_INLINE_FUNCTION Kokkos::complex<double> conjugate(const Kokkos::complex<double>& value) {
  return {value.real(), -value.imag()};
}

/// The map r -> b + a r, and the factor of the element that was composed last.
template <class W>
struct Adjoint {
  W a;
  W b;
  W factor;
};

/// Composes maps in the order of the scan.
template <class W>
struct Compose {
  using accumulator_type = Adjoint<W>;
  KOKKOS_FUNCTION Adjoint<W> operator()(const Adjoint<W>& first, const Adjoint<W>& then) const {
    return {times(then.a, first.a), then.b + times(then.a, first.b), then.factor};
  }
};

/// A value of type T that is stored from an Adjoint: the gradient of an element.
template <DType D>
struct ElementGradient {
  stored_t<D> value;

  ElementGradient() = default;
  KOKKOS_FUNCTION explicit ElementGradient(const Adjoint<wide_t<stored_t<D>>>& adjoint)
      : value(converted<D>(times(adjoint.factor, adjoint.b))) {}
};
/// The same for the gradient of the first result of a line.
template <DType D>
struct CarriedGradient {
  stored_t<D> value;

  CarriedGradient() = default;
  KOKKOS_FUNCTION explicit CarriedGradient(const Adjoint<wide_t<stored_t<D>>>& adjoint)
      : value(converted<D>(adjoint.b)) {}
};

/// Reads the map of each element.
///
/// \tparam D     the type of all arrays
/// \tparam Rank  the number of indices
template <DType D, int Rank>
struct ReadAdjoint {
  using T = stored_t<D>;
  using W = wide_t<T>;
  /// An array and its strides by index.
  template <class Value>
  struct Source {
    const Value* data = nullptr;
    std::int64_t stride[Rank] = {};
  };

  Operation operation;
  bool is_exclusive;
  int axis;
  std::int64_t length;
  std::int64_t results;  ///< of a line: length, or one more
  Source<T> input;
  Source<bool> mask;
  Source<T> result;
  Source<T> gradient;
  Source<T> starts;  ///< not moving along the axis
  bool has_start;
  W start;

  template <class... Index>
  KOKKOS_FUNCTION Adjoint<W> operator()(Index... indices) const {
    const std::int64_t index[Rank] = {static_cast<std::int64_t>(indices)...};
    std::int64_t j = 0;
    for (int d = 0; d < Rank; ++d) j = d == axis ? index[d] : j;
    // The first composed map is applied to 0.
    const W a = j + 1 < length ? derivative_by_previous(index, j + 1) : W(0);
    const std::int64_t k = j + (is_exclusive ? 1 : 0);
    const W b = k < results ? at(gradient, index, k - j) : W(0);
    return {a, b, derivative_by_element(index, j)};
  }

 private:
  static constexpr bool is_ordered = !is_complex<T>;

  template <class Value>
  KOKKOS_FUNCTION std::int64_t offset(const Source<Value>& source, const std::int64_t* index,
                                      std::int64_t shift) const {
    std::int64_t sum = 0;
    for (int d = 0; d < Rank; ++d) {
      sum += (index[d] + (d == axis ? shift : 0)) * source.stride[d];
    }
    return sum;
  }
  /// The element `shift` places further along the line.
  KOKKOS_FUNCTION W at(const Source<T>& source, const std::int64_t* index,
                       std::int64_t shift) const {
    const T value = source.data[offset(source, index, shift)];
    if constexpr (is_complex<T>) {
      return {value.real(), value.imag()};
    } else if constexpr (is_16_bit_float<T>) {
      return static_cast<float>(value);
    } else {
      return static_cast<W>(value);
    }
  }
  KOKKOS_FUNCTION bool is_chosen(const std::int64_t* index, std::int64_t shift) const {
    return mask.data == nullptr || mask.data[offset(mask, index, shift)];
  }
  /// What the line has combined to before element j, which is `shift` places behind the index.
  KOKKOS_FUNCTION W before(const std::int64_t* index, std::int64_t j, std::int64_t shift) const {
    if (is_exclusive) return at(result, index, shift);
    if (j > 0) return at(result, index, shift - 1);
    return starts.data != nullptr ? at(starts, index, 0) : start;
  }
  /// Whether element j is a new minimum (maximum).
  KOKKOS_FUNCTION bool is_new(const std::int64_t* index, std::int64_t j, std::int64_t shift) const {
    if constexpr (is_ordered) {
      if (j == 0 && !has_start) return true;
      const W x = at(input, index, shift);
      const W p = before(index, j, shift);
      if (p != p) return false;  // the first NaN stays
      return operation == Operation::min ? !(x > p) : !(x < p);
    }
    return false;
  }
  /// exp(a - c) where c = log(exp(a) + exp(b)); 0 where both are -infinity.
  KOKKOS_FUNCTION static W weight(const W& a, const W& b) {
    if constexpr (is_ordered) {
      if (a == b && a - b != 0) return W(a < 0 ? 0 : a - b);
      return 1 / (1 + Kokkos::exp(b - a));
    }
    return W(0);
  }
  KOKKOS_FUNCTION W derivative_by_previous(const std::int64_t* index, std::int64_t j) const {
    if (!is_chosen(index, 1) || operation == Operation::sum) return W(1);
    if (operation == Operation::prod) return conjugate(at(input, index, 1));
    if (operation == Operation::logsumexp) {
      return weight(before(index, j, 1), at(input, index, 1));
    }
    return W(is_new(index, j, 1) ? 0 : 1);
  }
  KOKKOS_FUNCTION W derivative_by_element(const std::int64_t* index, std::int64_t j) const {
    if (!is_chosen(index, 0)) return W(0);
    if (operation == Operation::sum) return W(1);
    if (operation == Operation::prod) return conjugate(before(index, j, 0));
    if (operation == Operation::logsumexp) {
      return j == 0 && !has_start ? W(1) : weight(at(input, index, 0), before(index, j, 0));
    }
    return W(is_new(index, j, 0) ? 1 : 0);
  }
};

/// The dimensions of a request, with neighbours merged that all arrays store like one, so that few
/// indices are multiplied for each element.
struct MergedShape {
  int rank = 0;
  int axis = 0;
  std::int64_t extent[max_rank];
  /// Which dimension of the request gives the stride.
  int dimension[max_rank];
};

/// \param arrays whose strides must merge
inline MergedShape merged(const GradientRequest& request,
                          std::initializer_list<const Array*> arrays) {
  MergedShape shape;
  bool may_merge = false;
  for (int d = 0; d < request.rank; ++d) {
    if (d == request.axis) {
      shape.axis = shape.rank;
    } else if (request.extent[d] == 1) {
      continue;
    } else if (may_merge && std::all_of(arrays.begin(), arrays.end(), [&](const Array* array) {
                 const int before = shape.dimension[shape.rank - 1];
                 return !array->exists ||
                        array->stride[before] == array->stride[d] * request.extent[d];
               })) {
      shape.extent[shape.rank - 1] *= request.extent[d];
      shape.dimension[shape.rank - 1] = d;
      continue;
    }
    may_merge = d != request.axis;
    shape.extent[shape.rank] = request.extent[d];
    shape.dimension[shape.rank++] = d;
  }
  return shape;
}

/// Views of the two ranks for which gradients are compiled, and of their lines.
template <class T, int Rank>
struct AnyData;
template <class T>
struct AnyData<T, 2> {
  using type = T**;
};
template <class T>
struct AnyData<T, 3> {
  using type = T***;
};
template <class T>
struct AnyData<T, 7> {
  using type = T*******;
};
template <class T>
struct AnyData<T, 8> {
  using type = T********;
};
template <class T, int Rank, class Exec>
using AnyView = Kokkos::View<typename AnyData<T, Rank>::type, Kokkos::LayoutStride,
                             typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// \tparam Rank at least the rank of the shape; further dimensions have extent 1
template <DType D, int Rank>
void gradient_of_rank(const GradientRequest& request, const MergedShape& shape,
                      const Array& starts) {
  using T = stored_t<D>;
  using Read = ReadAdjoint<D, Rank>;
  const std::int64_t length = request.extent[request.axis];
  // A backward scan is a forward one of everything reversed, its gradient a forward scan.
  const bool is_backward = request.direction == Direction::backward;
  const auto moved = [&](const Array& array, std::int64_t extent) {
    Array result = array;
    if (!array.exists || !is_backward) return result;
    const std::int64_t stride = array.stride[request.axis];
    result.data =
        static_cast<std::byte*>(array.data) + (extent - 1) * stride * info(array.dtype).size;
    result.stride[request.axis] = -stride;
    return result;
  };
  const auto source = [&]<class Value>(const Array& array, const Value*) {
    typename Read::template Source<Value> result;
    result.data = array.exists ? static_cast<const Value*>(array.data) : nullptr;
    for (int d = 0; d < shape.rank; ++d) result.stride[d] = array.stride[shape.dimension[d]];
    return result;
  };
  Read read{};
  read.operation = request.operation;
  read.is_exclusive = request.form == Form::exclusive;
  read.axis = shape.axis;
  read.length = length;
  read.results = request.output_length;
  const T* const of_values = nullptr;
  const bool* const of_bool = nullptr;
  read.input = source(moved(request.input, length), of_values);
  read.mask = source(moved(request.mask, length), of_bool);
  read.result = source(moved(request.result, request.output_length), of_values);
  read.gradient = source(moved(request.gradient_of_result, request.output_length), of_values);
  read.starts = source(starts, of_values);
  // In exclusive scans the results say what is before the first element.
  read.has_start = read.is_exclusive || request.start.exists || starts.exists;
  read.start =
      request.start.exists ? typename Read::W(value_of<D>(request.start)) : typename Read::W(1);

  std::array<std::int64_t, Rank> extents;
  extents.fill(1);
  std::copy_n(shape.extent, shape.rank, extents.begin());
  Kokkos::LayoutStride out_layout;
  Kokkos::LayoutStride carried_layout;
  for (int d = 0; d < max_rank; ++d) {
    out_layout.dimension[d] = carried_layout.dimension[d] = 1;
    out_layout.stride[d] = carried_layout.stride[d] = 1;
  }
  const Array out = moved(request.gradient_of_input, length);
  for (int d = 0, next = 0; d < shape.rank; ++d) {
    out_layout.dimension[d] = static_cast<std::size_t>(shape.extent[d]);
    out_layout.stride[d] = static_cast<std::size_t>(out.stride[shape.dimension[d]]);
    if (d == shape.axis) continue;
    const int of_lines = shape.dimension[d] - (shape.dimension[d] > request.axis ? 1 : 0);
    carried_layout.dimension[next] = static_cast<std::size_t>(shape.extent[d]);
    carried_layout.stride[next++] = static_cast<std::size_t>(request.carried.stride[of_lines]);
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  on_instance(request.place, elements, [&]<class Exec>(const Exec& exec) {
    const AnyView<ElementGradient<D>, Rank, Exec> to(static_cast<ElementGradient<D>*>(out.data),
                                                     out_layout);
    const auto lines = KokkosScan::along(shape.axis).backward();
    const auto in = KokkosScan::elementwise(extents, read);
    const Compose<typename Read::W> compose;
    if (request.carried.exists) {
      const AnyView<CarriedGradient<D>, Rank - 1, Exec> carried(
          static_cast<CarriedGradient<D>*>(request.carried.data), carried_layout);
      KokkosScan::inclusive_scan(exec, in, to, lines.totals(carried), compose);
    } else {
      KokkosScan::inclusive_scan(exec, in, to, lines, compose);
    }
  });
}

/// The gradient for one type. Nearly all arrays merge to three dimensions or fewer.
template <DType D>
void gradient_of(const GradientRequest& request) {
  // Starting values as an array that does not move along the axis.
  Array starts = request.starts;
  for (int d = request.rank - 1, from = request.rank - 2; d >= 0; --d) {
    starts.stride[d] = d == request.axis ? 0 : request.starts.stride[from--];
  }
  Array carried = request.carried;
  for (int d = request.rank - 1, from = request.rank - 2; d >= 0; --d) {
    carried.stride[d] = d == request.axis ? 0 : request.carried.stride[from--];
  }
  const MergedShape shape =
      merged(request, {&request.input, &request.mask, &request.result, &starts, &carried,
                       &request.gradient_of_result, &request.gradient_of_input});
  if (shape.rank <= 3) {
    gradient_of_rank<D, 3>(request, shape, starts);
  } else {
    gradient_of_rank<D, max_rank>(request, shape, starts);
  }
}

}  // namespace kokkos_scan_python
