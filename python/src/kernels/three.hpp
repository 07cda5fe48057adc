// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays of three dimensions, the second of which is the axis, and the arithmetic of affine maps
/// along it.

#include <KokkosScan/impl/arithmetic.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "request.hpp"
#include "stored.hpp"

namespace kokkos_scan_python {

/// A real floating value as a double.
template <class T>
KOKKOS_FUNCTION double wide_value(const T& value) {
  if constexpr (is_16_bit_float<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

/// A product with 0 * infinity = 0: infinities are products of coefficients that overflow in a part
/// of a line, and a factor 0 means that they do not matter.
template <class W>
KOKKOS_INLINE_FUNCTION W times(W a, W b) {
  const W product = KokkosScan::impl::multiply(a, b);
  return product != product && a == a && b == b ? W(0) : product;
}

template <class T, class Exec>
using ThreeView = Kokkos::View<T***, Kokkos::LayoutStride, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T, class Exec>
using TwoView = Kokkos::View<T**, Kokkos::LayoutStride, typename Exec::memory_space,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The output View of a scan: an array of the given extents with another length of lines.
template <class T, class Exec>
ThreeView<T, Exec> three_view(const Array& array, const std::int64_t* extent, std::int64_t length) {
  const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const Kokkos::LayoutStride layout(number(extent[0]), number(array.stride[0]), number(length),
                                    number(array.stride[1]), number(extent[2]),
                                    number(array.stride[2]));
  return ThreeView<T, Exec>(static_cast<T*>(array.data), layout);
}

/// A View of an array of one value for each line.
template <class T, class Exec>
TwoView<T, Exec> two_view(const Array& array, std::int64_t rows, std::int64_t columns) {
  const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const Kokkos::LayoutStride layout(number(rows), number(array.stride[0]), number(columns),
                                    number(array.stride[1]));
  return TwoView<T, Exec>(static_cast<T*>(array.data), layout);
}

}  // namespace kokkos_scan_python
