// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays as Kokkos Views. All have rank 8; dimensions after the array's own have extent 1, and the
/// library drops them. So kernels are compiled for one rank, and messages number dimensions as
/// Python does.

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "request.hpp"

namespace kokkos_scan_python {

template <class T, class Exec>
using ArrayView = Kokkos::View<T********, Kokkos::LayoutStride, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
/// One value for each line: the shape of the input without the axis.
template <class T, class Exec>
using LinesView = Kokkos::View<T*******, Kokkos::LayoutStride, typename Exec::memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The layout of an array. Negative strides survive the conversion to size_t and back.
inline Kokkos::LayoutStride layout(int rank, const std::int64_t* extent,
                                   const std::int64_t* stride) {
  Kokkos::LayoutStride result;
  for (int d = 0; d < max_rank; ++d) {
    result.dimension[d] = d < rank ? static_cast<std::size_t>(extent[d]) : 1;
    result.stride[d] = d < rank ? static_cast<std::size_t>(stride[d]) : 1;
  }
  return result;
}

template <class T, class Exec>
ArrayView<T, Exec> array_view(const Array& array, int rank, const std::int64_t* extent) {
  return ArrayView<T, Exec>(static_cast<T*>(array.data), layout(rank, extent, array.stride));
}

/// A View of an array that has the shape of the input with another length of lines.
template <class T, class Exec, class AnyRequest>
ArrayView<T, Exec> array_view(const Array& array, const AnyRequest& request, std::int64_t length) {
  std::int64_t extent[max_rank];
  for (int d = 0; d < request.rank; ++d) {
    extent[d] = d == request.axis ? length : request.extent[d];
  }
  return array_view<T, Exec>(array, request.rank, extent);
}

/// A View of an array with one value for each line.
template <class T, class Exec, class AnyRequest>
LinesView<T, Exec> lines_view(const Array& array, const AnyRequest& request) {
  std::int64_t extent[max_rank];
  for (int d = 0, next = 0; d < request.rank; ++d) {
    if (d != request.axis) extent[next++] = request.extent[d];
  }
  return LinesView<T, Exec>(static_cast<T*>(array.data),
                            layout(request.rank - 1, extent, array.stride));
}

}  // namespace kokkos_scan_python
