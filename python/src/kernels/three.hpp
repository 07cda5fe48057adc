// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays of three dimensions, the second of which is the axis.

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "request.hpp"
#include "stored.hpp"

namespace kokkos_scan_python {

/// What a function reads: an array by its indices. A View's strides cannot be negative there.
template <class T>
struct Three {
  T* data;
  std::int64_t stride[3];

  explicit Three(const Array& array)
      : data(static_cast<T*>(array.data)),
        stride{array.stride[0], array.stride[1], array.stride[2]} {}
  KOKKOS_FUNCTION T* at(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return data + (i * stride[0] + k * stride[1] + j * stride[2]);
  }
  KOKKOS_FUNCTION T& operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return *at(i, k, j);
  }
};

/// What is read in a function that also writes, elsewhere: without waiting for what it wrote
/// before.
template <class T>
KOKKOS_FUNCTION T read_only(const T* from) {
#if defined(__CUDA_ARCH__)
  using Word = std::conditional_t<sizeof(T) == 2, unsigned short,
                                  std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;
  static_assert(sizeof(T) == sizeof(Word));
  return Kokkos::bit_cast<T>(__ldg(reinterpret_cast<const Word*>(from)));
#else
  return *from;
#endif
}

/// A real floating value as a double.
template <class T>
KOKKOS_FUNCTION double wide_value(const T& value) {
  if constexpr (is_16_bit_float<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T, class Exec>
using ThreeView = Kokkos::View<T***, Kokkos::LayoutStride, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T, class Exec>
using TwoView = Kokkos::View<T**, Kokkos::LayoutStride, typename Exec::memory_space,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// What a scan writes: a View of an array of the given extents, but for the length of the lines.
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
