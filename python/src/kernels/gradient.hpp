// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradient of a scan, computed by a scan in the opposite direction.
///
/// Let y(k) be the results of a line, g(k) the gradient with respect to them, p(j) the prefix of
/// element x(j) including the start, and c(j) = p(j) * x(j). Then
///
///   gradient of x(j) = (d c(j) / d x(j)) * r(j),
///   r(j)             = g(of the result c(j)) + (d c(j+1) / d p(j+1)) * r(j+1).
///
/// The second line is a composition of affine maps r -> b + a r, which is associative, so r is a
/// backward scan; the first line is applied when results are stored. p and c are among the results:
/// y(j-1) and y(j), or y(j) and y(j+1) in exclusive scans. Nothing is divided, so the gradient of a
/// product is right at zeros:
///
///   operation     d c / d p        d c / d x
///   product       x                p
///   minimum       0 at a new one   1 at a new one, else 0
///   log sum exp   exp(p - c)       exp(x - c)
///
/// where x is a new minimum (maximum) if it is not larger (smaller) than p: of equal elements the
/// last one gets the gradient, as in PyTorch. A masked element has d c / d p = 1 and d c / d x = 0.
/// (Sums need none of this: their gradient is the sum in the opposite direction.)
///
/// One kernel over all elements stores both derivatives, and the scan reads them and g as arrays.
/// Computing the derivatives within the scan, from five arrays, is much slower on a GPU.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <type_traits>

#include "instances.hpp"
#include "scan_kernels.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The type in which gradients are computed: wide, because products of many factors overflow.
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

/// The same for complex numbers.
KOKKOS_INLINE_FUNCTION Kokkos::complex<double> times(const Kokkos::complex<double>& a,
                                                     const Kokkos::complex<double>& b) {
  return {times(a.real(), b.real()) - times(a.imag(), b.imag()),
          times(a.real(), b.imag()) + times(a.imag(), b.real())};
}
template <class T>
KOKKOS_FUNCTION T conjugate(const T& value) {
  if constexpr (is_complex<T>) {
    return {value.real(), -value.imag()};
  } else {
    return value;
  }
}

/// The map r -> b + a r, and the factor d c / d x of the element that was composed last.
template <class W>
struct Adjoint {
  W a;
  W b;
  W factor;
};

/// Composes maps in scan order.
template <class W>
struct Compose {
  using accumulator_type = Adjoint<W>;
  KOKKOS_FUNCTION Adjoint<W> operator()(const Adjoint<W>& first, const Adjoint<W>& then) const {
    return {times(then.a, first.a), then.b + times(then.a, first.b), then.factor};
  }
};

/// A stored T that is constructed from an Adjoint: the gradient of an element.
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
// Unlike other operators they accept any bits as operands, so kernels need no branches.
template <class W>
inline constexpr bool KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::Compose<W>> = true;
#endif

namespace kokkos_scan_python {

/// The type in which derivatives are computed. Derivatives by the element are also stored in it,
/// because the range of 16-bit floats is too small for the factors.
template <class T>
using derivative_t = std::conditional_t<is_16_bit_float<T>, float, T>;

/// The stored form of a weight from 0 to 1: a weight w close to 1 is stored as -(1 - w), so that
/// 1 - w keeps all digits although a line multiplies many weights.
template <class Real>
KOKKOS_FUNCTION Real stored_weight(Real logarithm) {
  const Real missing = Kokkos::expm1(logarithm);
  return missing < Real(-0.5) ? missing + 1 : -Kokkos::fabs(missing);
}
KOKKOS_INLINE_FUNCTION double weight_of(double stored) {
  return Kokkos::signbit(stored) ? 1 + stored : stored;
}

/// The map of an element from its gradient and its derivatives.
template <DType D>
struct AdjointOf {
  using T = stored_t<D>;
  using W = wide_t<T>;

  bool are_weights;  ///< whether derivatives by the prefix are stored weights

  /// \param by_previous  at the address of the gradient of the element
  KOKKOS_FUNCTION Adjoint<W> operator()(const ElementGradient<D>& by_previous,
                                        const derivative_t<T>& by_element,
                                        const T& gradient) const {
    const T& a = by_previous.value;
    if constexpr (is_complex<T>) {
      return {wide(a), wide(gradient), wide(by_element)};
    } else {
      const double stored = wide_value(a);
      return {are_weights ? weight_of(stored) : stored, wide_value(gradient),
              wide_value(by_element)};
    }
  }

 private:
  KOKKOS_FUNCTION static W wide(const T& value) { return {value.real(), value.imag()}; }
};

/// An array of three dimensions, one of which is the axis.
template <class T, class Offset>
struct AxisAndTwo {
  T* data;
  Offset stride[3];
  Offset along;  ///< the stride of the axis

  [[nodiscard]] KOKKOS_FUNCTION T* at(const Offset (&index)[3]) const {
    return data + (index[0] * stride[0] + index[1] * stride[1] + index[2] * stride[2]);
  }
};

/// Stores two derivatives for each element: that of the next step by the prefix of that step, and
/// that of its own step by the element.
///
/// \tparam D       the type of all arrays
/// \tparam Offset  integer type of indices and offsets in memory
template <DType D, class Offset>
struct StoreDerivatives {
  using T = stored_t<D>;
  using Derivative = derivative_t<T>;

  Operation operation;
  bool is_exclusive;
  bool has_start;
  int axis;        ///< among the three dimensions
  Offset scanned;  ///< number of elements of a line that have a gradient
  Offset extent[3];
  AxisAndTwo<const T, Offset> input, result, starts;  ///< starts have stride 0 along the axis
  AxisAndTwo<const Boolean, Offset> mask;
  AxisAndTwo<T, Offset> by_previous;
  AxisAndTwo<Derivative, Offset> by_element;
  T start;
  /// A call handles `at_once` elements of the last dimension, `step` apart.
  Offset at_once, step;
  Offset calls;  ///< per index of the other dimensions

  KOKKOS_FUNCTION void operator()(Offset call) const {
    const Offset row = quotient(call, calls);
    const Offset plane = extent[0] == 1 ? 0 : quotient(row, extent[1]);
    const Offset first = (call - row * calls) * (step == 1 ? at_once : 1);
    Offset index[3] = {plane, row - plane * extent[1], first};
    for (Offset i = 0; i < at_once; ++i) {
      index[2] = first + i * step;
      if (index[2] >= extent[2]) break;
      const Line line{*this, index, axis == 0 ? index[0] : axis == 1 ? index[1] : index[2]};
      T* const to = by_previous.at(index);
      if (line.k < scanned) {
        // The first map is applied to r = 0.
        *to = converted<D>(line.k + 1 < scanned ? line.by_previous() : Derivative(0));
        *by_element.at(index) = line.by_element();
      } else {
        *to = converted<D>(0);  // not in any result: its gradient is 0
      }
    }
  }

 private:
  /// a / b for non-negative numbers.
  KOKKOS_FUNCTION static Offset quotient(Offset a, Offset b) {
    using Unsigned = std::make_unsigned_t<Offset>;
    return static_cast<Offset>(static_cast<Unsigned>(a) / static_cast<Unsigned>(b));
  }

  /// The line of an element; indices are relative to the element.
  struct Line {
    const StoreDerivatives& all;
    const Offset (&index)[3];
    Offset k;

    /// The derivative of the next step by its prefix.
    KOKKOS_FUNCTION Derivative by_previous() const {
      if constexpr (!is_complex<T>) {
        if (all.operation == Operation::logsumexp) {
          return stored_weight(is_chosen(1) ? logarithm(before(1), 1) : 0);
        }
      }
      if (!is_chosen(1)) return Derivative(1);
      if (all.operation == Operation::prod) return conjugate(x(1));
      return Derivative(is_new(1) ? 0 : 1);
    }
    KOKKOS_FUNCTION Derivative by_element() const {
      if (!is_chosen(0)) return Derivative(0);
      if (all.operation == Operation::prod) return conjugate(before(0));
      if constexpr (!is_complex<T>) {
        if (all.operation == Operation::logsumexp) return Kokkos::exp(logarithm(x(0), 0));
      }
      return Derivative(is_new(0) ? 1 : 0);
    }

   private:
    KOKKOS_FUNCTION bool is_chosen(int ahead) const {
      return all.mask.data == nullptr || all.mask.at(index)[ahead * all.mask.along] != 0;
    }
    KOKKOS_FUNCTION Derivative x(int ahead) const {
      return static_cast<Derivative>(all.input.at(index)[ahead * all.input.along]);
    }
    KOKKOS_FUNCTION Derivative result(int place) const {
      return static_cast<Derivative>(all.result.at(index)[place * all.result.along]);
    }
    /// The prefix of that element.
    KOKKOS_FUNCTION Derivative before(int ahead) const {
      const int place = ahead - (all.is_exclusive ? 0 : 1);
      if (k + place >= 0) return result(place);
      return static_cast<Derivative>(all.starts.data != nullptr ? *all.starts.at(index)
                                                                : all.start);
    }
    /// The logarithm of exp(value) / exp(c); -infinity if a line has nothing but -infinity so far.
    KOKKOS_FUNCTION Derivative logarithm(Derivative value, int ahead) const {
      const Derivative combined = result(ahead + (all.is_exclusive ? 1 : 0));
      if (value == static_cast<Derivative>(-infinity)) return value;
      return value == combined ? 0 : value - combined;
    }
    /// Whether that element is a new minimum (maximum).
    KOKKOS_FUNCTION bool is_new(int ahead) const {
      if constexpr (is_complex<T>) {
        return false;
      } else {
        if (k + ahead == 0 && !all.has_start) return true;
        const Derivative previous = before(ahead);
        if (previous != previous) return false;  // the first NaN stays
        return all.operation == Operation::min ? !(x(ahead) > previous) : !(x(ahead) < previous);
      }
    }
  };
};

/// Whether 32-bit offsets reach all elements of an array. GPUs divide these much faster.
inline bool is_small(const Array& array, const std::int64_t (&extent)[3]) {
  std::int64_t reach = 1;
  for (int d = 0; d < 3; ++d) reach += (extent[d] + 1) * std::abs(array.stride[d]);
  return !array.exists || reach < std::numeric_limits<std::int32_t>::max();
}

/// \param three   an array of the request, with the axis between the dimensions of the batch
/// \param extent  the three extents
template <DType D, class Offset, class Exec, class Three>
void store_derivatives(const Exec& exec, const GradientRequest& request, const Three& three,
                       const std::int64_t (&extent)[3], std::int64_t scanned) {
  // Make the dimension with the smallest stride the last one.
  int order[3] = {0, 1, 2};
  const Array written = three(request.gradient_of_input);
  std::stable_sort(order, order + 3, [&](int d, int e) {
    return extent[e] > 1 &&
           (extent[d] == 1 || std::abs(written.stride[d]) > std::abs(written.stride[e]));
  });
  const auto reordered = [&]<class U>(AxisAndTwo<U, Offset>& to, const Array& array) {
    const Array from = three(array);
    to.data = static_cast<U*>(from.data);
    for (int d = 0; d < 3; ++d) to.stride[d] = static_cast<Offset>(from.stride[order[d]]);
    to.along = static_cast<Offset>(from.stride[1]);
  };
  StoreDerivatives<D, Offset> store;
  store.operation = request.operation;
  store.is_exclusive = request.form == Form::exclusive;
  // In exclusive scans the first result is the prefix of the first element.
  store.has_start = store.is_exclusive || request.start.exists || request.starts.exists;
  store.axis = static_cast<int>(std::find(order, order + 3, 1) - order);
  store.scanned = static_cast<Offset>(scanned);
  for (int d = 0; d < 3; ++d) store.extent[d] = static_cast<Offset>(extent[order[d]]);
  reordered(store.input, request.input);
  reordered(store.mask, request.mask);
  reordered(store.result, request.result);
  reordered(store.starts, request.starts);
  reordered(store.by_previous, request.gradient_of_input);
  reordered(store.by_element, request.by_element);
  store.start = request.start.exists
                    ? converted<D>(value_of<D>(request.start))
                    : converted<D>(request.operation == Operation::prod ? 1 : -infinity);
  // On a GPU neighbouring threads take neighbouring elements (coalescing).
  constexpr bool is_host = std::is_same_v<Exec, HostSpace>;
  const Offset length = store.extent[2];
  store.at_once = is_host ? 4096 : 4;
  store.calls = (length - 1) / store.at_once + 1;
  store.step = is_host ? 1 : store.calls;
  Kokkos::parallel_for("kokkos_scan: derivatives",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<Offset>>(
                           exec, 0, store.extent[0] * store.extent[1] * store.calls),
                       store);
}

/// All arrays of a request.
inline constexpr Array GradientRequest::*arrays_of_gradient[] = {
    &GradientRequest::input,      &GradientRequest::mask,
    &GradientRequest::starts,     &GradientRequest::result,
    &GradientRequest::carried,    &GradientRequest::gradient_of_result,
    &GradientRequest::by_element, &GradientRequest::gradient_of_input};

/// The gradient for arrays of dimensions (axis, batch, batch), of which the last may be missing.
/// Starts and carried values have stride 0 along the axis.
template <DType D>
void gradient_of_lines(const GradientRequest& request) {
  using T = stored_t<D>;
  // The axis goes between the dimensions of the batch, as in all arrays of three dimensions.
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
  const std::int64_t n = extent[1];
  const bool is_exclusive = request.form == Form::exclusive;
  // The last element of an exclusive scan with n results is in none of them.
  const std::int64_t scanned = is_exclusive ? request.output_length - 1 : n;
  Array gradient = three(request.gradient_of_result);  // of the result c(k)
  if (is_exclusive) {
    gradient.data = static_cast<std::byte*>(gradient.data) + gradient.stride[1] * sizeof(T);
  }
  on_instance(request.place, extent[0] * n * extent[2], [&]<class Exec>(const Exec& exec) {
    const bool are_small =
        std::all_of(std::begin(arrays_of_gradient), std::end(arrays_of_gradient),
                    [&](const auto array) { return is_small(three(request.*array), extent); });
    if (are_small && extent[0] * n * extent[2] < std::numeric_limits<std::int32_t>::max() - 4) {
      store_derivatives<D, std::int32_t>(exec, request, three, extent, scanned);
    } else {
      store_derivatives<D, std::int64_t>(exec, request, three, extent, scanned);
    }
    if (scanned == 0) return;
    const Array of_input = three(request.gradient_of_input);
    const auto in = KokkosScan::zip_transform(
        AdjointOf<D>{request.operation == Operation::logsumexp},
        three_view<const ElementGradient<D>, Exec>(of_input, extent, scanned),
        three_view<const derivative_t<T>, Exec>(three(request.by_element), extent, scanned),
        three_view<const T, Exec>(gradient, extent, scanned));
    const auto out = three_view<ElementGradient<D>, Exec>(of_input, extent, scanned);
    Array carried = three(request.carried);  // has the first and the third dimension
    carried.stride[1] = carried.stride[2];
    KokkosScan::inclusive_scan(
        exec, in, out,
        KokkosScan::along(1).backward().totals(
            two_view<CarriedGradient<D>, Exec>(carried, extent[0], extent[2])),
        Compose<wide_t<T>>{});
  });
}

/// The same request as a forward scan, with the axis first, then the other dimensions. Dimensions
/// that all arrays can merge are merged.
inline GradientRequest with_lines_first(const GradientRequest& request) {
  GradientRequest given = request;
  const int axis = request.axis;
  // One value per line: an array with stride 0 along the axis.
  for (Array* of_lines : {&given.starts, &given.carried}) {
    for (int d = request.rank - 1, from = request.rank - 2; d >= 0; --d) {
      of_lines->stride[d] = d == axis ? 0 : of_lines->stride[from--];
    }
  }
  // A backward scan is a forward scan of reversed arrays, so its gradient is a forward scan.
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

/// The gradient of arrays whose first dimension is the axis. Nearly all arrays merge to at most
/// three dimensions; otherwise this recurses over the indices of the shortest dimensions.
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
