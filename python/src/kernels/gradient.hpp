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
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "instances.hpp"
#include "scan_kernels.hpp"
#include "stored.hpp"
#include "three.hpp"

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

}  // namespace kokkos_scan_python

#if defined(KOKKOS_ENABLE_CUDA)
// They may be given any bits, as other operators may not: kernels then need no branches.
template <class W>
inline constexpr bool KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::Compose<W>> = true;
#endif

namespace kokkos_scan_python {

/// Reads the map of each element: arrays are (batch, line, batch).
///
/// \tparam D  the type of all arrays
template <DType D>
struct ReadAdjoint {
  using T = stored_t<D>;
  using W = wide_t<T>;

  Operation operation;
  bool is_exclusive;
  std::int64_t length;
  std::int64_t results;  ///< of a line: length, or one more
  Three<const T> input;
  Three<const bool> mask;
  Three<const T> result;
  Three<const T> gradient;
  Three<const T> starts;  ///< not moving along the lines
  bool has_start;
  W start;

  KOKKOS_FUNCTION Adjoint<W> operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    // The first composed map is applied to 0.
    const W a = k + 1 < length ? derivative_by_previous(i, k + 1, j) : W(0);
    const std::int64_t own = k + (is_exclusive ? 1 : 0);
    const W b = own < results ? wide(gradient(i, own, j)) : W(0);
    return {a, b, derivative_by_element(i, k, j)};
  }

 private:
  static constexpr bool is_ordered = !is_complex<T>;

  KOKKOS_FUNCTION static W wide(const T& value) {
    if constexpr (is_complex<T>) {
      return {value.real(), value.imag()};
    } else {
      return wide_value(value);
    }
  }
  KOKKOS_FUNCTION bool is_chosen(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return mask.data == nullptr || mask(i, k, j);
  }
  /// What the line has combined to before element k.
  KOKKOS_FUNCTION W before(std::int64_t i, std::int64_t k, std::int64_t j) const {
    if (is_exclusive) return wide(result(i, k, j));
    if (k > 0) return wide(result(i, k - 1, j));
    return starts.data != nullptr ? wide(starts(i, k, j)) : start;
  }
  /// Whether element k is a new minimum (maximum).
  KOKKOS_FUNCTION bool is_new(std::int64_t i, std::int64_t k, std::int64_t j) const {
    if constexpr (is_ordered) {
      if (k == 0 && !has_start) return true;
      const W x = wide(input(i, k, j));
      const W p = before(i, k, j);
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
  KOKKOS_FUNCTION W derivative_by_previous(std::int64_t i, std::int64_t k, std::int64_t j) const {
    if (!is_chosen(i, k, j) || operation == Operation::sum) return W(1);
    if (operation == Operation::prod) return conjugate(wide(input(i, k, j)));
    if (operation == Operation::logsumexp) return weight(before(i, k, j), wide(input(i, k, j)));
    return W(is_new(i, k, j) ? 0 : 1);
  }
  KOKKOS_FUNCTION W derivative_by_element(std::int64_t i, std::int64_t k, std::int64_t j) const {
    if (!is_chosen(i, k, j)) return W(0);
    if (operation == Operation::sum) return W(1);
    if (operation == Operation::prod) return conjugate(before(i, k, j));
    if (operation == Operation::logsumexp) {
      return k == 0 && !has_start ? W(1) : weight(wide(input(i, k, j)), before(i, k, j));
    }
    return W(is_new(i, k, j) ? 1 : 0);
  }
};

/// The gradient for arrays of the dimensions (line, batch, batch), of which the last may be
/// missing. Starts and what is carried do not move along the lines.
template <DType D>
void gradient_of_lines(const GradientRequest& request) {
  using T = stored_t<D>;
  using W = wide_t<T>;
  // The lines between the dimensions of the batch, as everywhere in arrays of three dimensions.
  const auto three = [&](const Array& array) {
    Array result = array;
    result.stride[0] = request.rank > 1 ? array.stride[1] : 0;
    result.stride[1] = array.stride[0];
    result.stride[2] = request.rank > 2 ? array.stride[2] : 0;
    if (!array.exists) result.data = nullptr;
    return result;
  };
  const std::int64_t extent[3] = {request.rank > 1 ? request.extent[1] : 1, request.extent[0],
                                  request.rank > 2 ? request.extent[2] : 1};
  const bool is_exclusive = request.form == Form::exclusive;
  const ReadAdjoint<D> read{
      request.operation,
      is_exclusive,
      extent[1],
      request.output_length,
      Three<const T>(three(request.input)),
      Three<const bool>(three(request.mask)),
      Three<const T>(three(request.result)),
      Three<const T>(three(request.gradient_of_result)),
      Three<const T>(three(request.starts)),
      // In exclusive scans the results say what is before the first element.
      is_exclusive || request.start.exists || request.starts.exists,
      request.start.exists ? W(value_of<D>(request.start)) : W(1),
  };
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto in = KokkosScan::elementwise({extent[0], extent[1], extent[2]}, read);
    const auto out =
        three_view<ElementGradient<D>, Exec>(three(request.gradient_of_input), extent, extent[1]);
    const auto lines = KokkosScan::along(1).backward();
    const Compose<W> compose;
    if (request.carried.exists) {
      Array carried = three(request.carried);
      carried.stride[1] = carried.stride[2];
      KokkosScan::inclusive_scan(
          exec, in, out,
          lines.totals(two_view<CarriedGradient<D>, Exec>(carried, extent[0], extent[2])), compose);
    } else {
      KokkosScan::inclusive_scan(exec, in, out, lines, compose);
    }
  });
}

/// All arrays of a request.
inline constexpr Array GradientRequest::*arrays_of_gradient[] = {
    &GradientRequest::input,
    &GradientRequest::mask,
    &GradientRequest::starts,
    &GradientRequest::result,
    &GradientRequest::carried,
    &GradientRequest::gradient_of_result,
    &GradientRequest::gradient_of_input};

/// The same request of a forward scan, with the axis first and then the other dimensions, of which
/// those are merged that all arrays store like one.
inline GradientRequest with_lines_first(const GradientRequest& request) {
  GradientRequest given = request;
  const int axis = request.axis;
  // One value a line: an array that does not move along the axis.
  for (Array* of_lines : {&given.starts, &given.carried}) {
    for (int d = request.rank - 1, from = request.rank - 2; d >= 0; --d) {
      of_lines->stride[d] = d == axis ? 0 : of_lines->stride[from--];
    }
  }
  // A backward scan is a forward one of everything reversed, its gradient a forward scan.
  if (request.direction == Direction::backward) {
    for (const auto array_of : arrays_of_gradient) {
      Array& array = given.*array_of;
      if (!array.exists) continue;
      const bool has_results =
          array_of == &GradientRequest::result || array_of == &GradientRequest::gradient_of_result;
      const std::int64_t length = has_results ? request.output_length : request.extent[axis];
      array.data = static_cast<std::byte*>(array.data) +
                   (length - 1) * array.stride[axis] * info(array.dtype).size;
      array.stride[axis] = -array.stride[axis];
    }
  }

  GradientRequest result = given;
  result.rank = 0;
  result.axis = 0;
  const auto append = [&](int d) {
    for (const auto array : arrays_of_gradient) {
      (result.*array).stride[result.rank] = (given.*array).stride[d];
    }
    result.extent[result.rank++] = request.extent[d];
  };
  append(axis);
  bool may_merge = false;
  for (int d = 0; d < request.rank; ++d) {
    if (d == axis) {
      may_merge = false;
    } else if (request.extent[d] != 1) {
      const int last = result.rank - 1;
      const bool merges =
          may_merge &&
          std::all_of(
              std::begin(arrays_of_gradient), std::end(arrays_of_gradient), [&](const auto array) {
                return !(given.*array).exists ||
                       (result.*array).stride[last] == (given.*array).stride[d] * request.extent[d];
              });
      if (merges) {
        for (const auto array : arrays_of_gradient) {
          (result.*array).stride[last] = (given.*array).stride[d];
        }
        result.extent[last] *= request.extent[d];
      } else {
        append(d);
      }
      may_merge = true;
    }
  }
  return result;
}

/// The gradient where the axis comes first. Nearly all arrays merge to three dimensions or fewer;
/// of others the shortest dimensions are taken an index at a time.
template <DType D>
void gradient_of_dimensions(const GradientRequest& request) {
  if (request.rank <= 3) return gradient_of_lines<D>(request);
  const std::int64_t* const extent = request.extent;
  const auto shortest =
      static_cast<int>(std::min_element(extent + 1, extent + request.rank) - extent);
  for (std::int64_t i = 0; i < extent[shortest]; ++i) {
    GradientRequest slice = request;
    --slice.rank;
    std::copy(extent + shortest + 1, extent + request.rank, slice.extent + shortest);
    for (const auto array_of : arrays_of_gradient) {
      const Array& all = request.*array_of;
      Array& array = slice.*array_of;
      if (!all.exists) continue;
      array.data =
          static_cast<std::byte*>(all.data) + i * all.stride[shortest] * info(all.dtype).size;
      std::copy(all.stride + shortest + 1, all.stride + request.rank, array.stride + shortest);
    }
    gradient_of_dimensions<D>(slice);
  }
}

template <DType D>
void gradient_of(const GradientRequest& request) {
  gradient_of_dimensions<D>(with_lines_first(request));
}

}  // namespace kokkos_scan_python
