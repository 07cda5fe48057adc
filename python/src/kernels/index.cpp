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

template <class Bits>
struct ReadIndex {
  Comparison<Bits> compare;
  Three<const Bits> input, extreme;
  Three<const bool> mask;
  std::int64_t last;  ///< index of the element that is scanned first, if they are scanned backward
  bool is_backward;

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    const bool is_chosen = mask.data == nullptr || mask(i, k, j);
    const std::int64_t place = is_backward ? last - k : k;
    return is_chosen && compare.is_new(input(i, k, j), extreme(i, k, j)) ? place : -1;
  }
};

template <class Bits>
void index_of(const IndexRequest& request) {
  const auto& extent = request.extent;
  const bool is_backward = request.direction == Direction::backward;
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto in = KokkosScan::elementwise(
        {extent[0], extent[1], extent[2]},
        ReadIndex<Bits>{comparison_of<Bits>(request.input.dtype), Three<const Bits>(request.input),
                        Three<const Bits>(request.extreme), Three<const bool>(request.mask),
                        extent[1] - 1, is_backward});
    const auto out = three_view<std::int64_t, Exec>(request.index, extent, extent[1]);
    const KokkosScan::Along<> forward = KokkosScan::along(1);
    KokkosScan::inclusive_scan(exec, in, out, is_backward ? forward.backward() : forward,
                               KokkosScan::Max{});
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
