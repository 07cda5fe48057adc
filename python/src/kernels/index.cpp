// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where minima and maxima stand, from what they are: an element is a new one if it equals the
// extreme up to and with it, and the last such index is a running maximum of int64, which has the
// fastest kernels. So both passes together move fewer bytes than structs of value and index would,
// and whatever is compared is compared as bits: there is a kernel for each size, not for each type.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "instances.hpp"
#include "three.hpp"

namespace kokkos_scan_python {
namespace {

/// How the bits of a type say that values are equal, or no numbers.
template <class Bits>
struct Comparison {
  Bits magnitude;  ///< all bits but the sign of a floating type
  Bits infinity;   ///< its magnitude; what is larger is NaN. None is larger in whole numbers

  KOKKOS_FUNCTION bool is_new(Bits element, Bits extreme) const {
    const auto size = static_cast<Bits>(element & magnitude);
    const bool are_zeros = static_cast<Bits>((element | extreme) & magnitude) == 0;
    return element == extreme || are_zeros || size > infinity;
  }
};

template <class Bits>
Comparison<Bits> comparison_of(DType dtype) {
  constexpr Bits all = std::numeric_limits<Bits>::max();
  const auto with = [](std::uint64_t infinity) {
    return Comparison<Bits>{static_cast<Bits>(all >> 1), static_cast<Bits>(infinity)};
  };
  switch (dtype) {
    case DType::float16:
      return with(0x7C00);
    case DType::bfloat16:
      return with(0x7F80);
    case DType::float32:
      return with(0x7F80'0000);
    case DType::float64:
      return with(0x7FF0'0000'0000'0000);
    default:
      return {all, all};
  }
}

/// The place of an element in the order of the scan if it is a new extreme, else -1.
template <class Bits>
struct PlaceIfNew {
  Comparison<Bits> compare;
  std::int64_t first;  ///< index of the element that is scanned first
  std::int64_t step;   ///< 1 or -1

  KOKKOS_FUNCTION std::int64_t operator()(Bits element, Bits extreme, std::int64_t index,
                                          bool is_chosen = true) const {
    return is_chosen && compare.is_new(element, extreme) ? (index - first) * step : -1;
  }
};

template <class Bits>
void index_of(const IndexRequest& request) {
  const auto& extent = request.extent;
  const bool is_backward = request.direction == Direction::backward;
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const PlaceIfNew<Bits> place{comparison_of<Bits>(request.input.dtype),
                                 is_backward ? extent[1] - 1 : 0, is_backward ? -1 : 1};
    const auto elements = three_view<const Bits, Exec>(request.input, extent, extent[1]);
    const auto extremes = three_view<const Bits, Exec>(request.extreme, extent, extent[1]);
    const KokkosScan::Elementwise<3, KokkosScan::impl::IndexAlong<std::int64_t>> indices{
        {extent[0], extent[1], extent[2]}, {1}};
    const auto scan = [&](const auto& in) {
      const KokkosScan::Along<> forward = KokkosScan::along(1);
      KokkosScan::inclusive_scan(exec, in,
                                 three_view<std::int64_t, Exec>(request.index, extent, extent[1]),
                                 is_backward ? forward.backward() : forward, KokkosScan::Max{});
    };
    if (request.mask.exists) {
      const auto mask = three_view<const bool, Exec>(request.mask, extent, extent[1]);
      scan(KokkosScan::zip_transform(place, elements, extremes, indices, mask));
    } else {
      scan(KokkosScan::zip_transform(place, elements, extremes, indices));
    }
  });
}

}  // namespace

void index(const IndexRequest& request) {
  switch (info(request.input.dtype).size) {
    case 1:
      return index_of<std::uint8_t>(request);
    case 2:
      return index_of<std::uint16_t>(request);
    case 4:
      return index_of<std::uint32_t>(request);
    case 8:
      if (info(request.input.dtype).kind != Kind::complex) return index_of<std::uint64_t>(request);
      [[fallthrough]];
    default:
      throw TypeError(
          "kokkos_scan: complex values have no order, so minima and maxima cannot combine them.");
  }
}

}  // namespace kokkos_scan_python
