// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Minima and maxima with their indices, by one scan. The bits of each type are mapped to an integer
// key whose maximum is sought, so there is one kernel for each size, not for each type and
// operation. Keys of up to four bytes share an int64 with the index, for the fast kernels of Max.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "instances.hpp"
#include "three.hpp"

namespace kokkos_scan_python {
namespace {

/// Maps a type's values to integer keys, of which the largest wins. Zeros of both signs have equal
/// keys, and so have NaNs, which win against everything else.
template <class Bits>
struct Order {
  using Key = std::make_signed_t<Bits>;

  Bits magnitude;      ///< all bits but the sign of a floating type
  Bits infinity;       ///< its magnitude; larger ones are NaN. For integers, none is larger
  Bits negative_zero;  ///< equals 0
  Bits turned;         ///< bits to flip in negative floats, whose magnitudes decrease
  Bits all_turned;     ///< bits to flip in all values: the sign of unsigned ones; all for minima
  Bits identity;       ///< the result before the first unmasked element

  /// Branch-free, so that host compilers vectorise it.
  KOKKOS_FUNCTION Key key(Bits bits) const {
    const Bits nan = all_if(static_cast<Bits>(bits & magnitude) > infinity);
    const auto value = static_cast<Bits>(bits & ~all_if(bits == negative_zero));
    return static_cast<Key>(((turn(value) ^ all_turned) & ~nan) | (largest & nan));
  }
  KOKKOS_FUNCTION Bits bits(Key key) const {
    return turn(static_cast<Bits>(static_cast<Bits>(key) ^ all_turned));
  }

 private:
  static constexpr Bits largest = std::numeric_limits<Key>::max();

  KOKKOS_FUNCTION static Bits all_if(bool c) { return static_cast<Bits>(-static_cast<Bits>(c)); }
  KOKKOS_FUNCTION Bits turn(Bits bits) const {
    return static_cast<Bits>(bits ^ (turned & all_if(static_cast<Key>(bits) < 0)));
  }
};

template <class Bits>
Order<Bits> order_of(DType dtype, bool is_min) {
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr auto magnitude = static_cast<Bits>(all >> 1);
  constexpr auto sign = static_cast<Bits>(all - magnitude);
  const auto flip = [&](Bits bits) { return static_cast<Bits>(is_min ? ~bits : bits); };
  const auto floating = [&](std::uint64_t infinity_of_type) {
    const auto infinity = static_cast<Bits>(infinity_of_type);
    const auto worst = static_cast<Bits>(is_min ? infinity : infinity | sign);
    return Order<Bits>{magnitude, infinity, sign, magnitude, flip(0), worst};
  };
  const auto whole = [&](Bits smallest, Bits largest, Bits bits) {
    return Order<Bits>{all, all, 0, 0, flip(bits), is_min ? largest : smallest};
  };
  switch (dtype) {
    case DType::float16:
      return floating(0x7C00);
    case DType::bfloat16:
      return floating(0x7F80);
    case DType::float32:
      return floating(0x7F80'0000);
    case DType::float64:
      return floating(0x7FF0'0000'0000'0000);
    case DType::boolean:
      return whole(0, 1, sign);
    default:
      return info(dtype).kind == Kind::unsigned_integer ? whole(0, all, sign)
                                                        : whole(sign, magnitude, 0);
  }
}

/// The best key so far, and its position in scan order counted from 1; 0 if there is none.
template <class Key, class Place>
struct Best {
  Key key;
  Place place;
};

/// Key and position in one int64, compared by key, then by position. Positions have 32 bits, which
/// limits the length of lines (longest_line()).
struct InOneNumber {
  using Number = std::int64_t;
  using Operator = KokkosScan::Max<>;
  using Place = std::uint32_t;
  using Best = kokkos_scan_python::Best<std::int32_t, Place>;

  KOKKOS_FUNCTION static Number packed(const Best& best) {
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(best.key)) << 32;
    return static_cast<Number>(key | best.place);
  }
  KOKKOS_FUNCTION static Best unpacked(Number number) {
    return {static_cast<std::int32_t>(number >> 32), static_cast<Place>(number)};
  }
};

/// Key and position in two int64, for larger types.
struct InTwoNumbers {
  using Number = KokkosScan::Indexed<std::int64_t>;
  using Operator = KokkosScan::ArgMax<KokkosScan::Ties::last>;
  using Place = std::int64_t;
  using Best = kokkos_scan_python::Best<std::int64_t, Place>;

  KOKKOS_FUNCTION static Number packed(const Best& best) { return {best.key, best.place - 1}; }
  KOKKOS_FUNCTION static Best unpacked(const Number& number) {
    return {number.value, number.index + 1};
  }
};

/// Converts indices along the axis to positions in scan order, and back.
template <class Place>
struct Places {
  Place before;  ///< the position of index 0
  Place step;    ///< 1 or, modulo the type, -1

  KOKKOS_FUNCTION Place of(Place index) const { return index * step + before; }
  KOKKOS_FUNCTION Place index(Place place) const { return (place - before) * step; }
};

/// The scanned element: its key and position.
template <class Bits, class Packing>
struct Candidate {
  using Place = typename Packing::Place;

  Order<Bits> order;
  Places<Place> places;

  KOKKOS_FUNCTION typename Packing::Number operator()(Bits element, Place index,
                                                      bool is_chosen = true) const {
    return is_chosen ? Packing::packed({order.key(element), places.of(index)})
                     : Packing::packed({order.key(order.identity), 0});
  }
};

/// Writes a result to the two row-major arrays.
template <class Bits, class Packing>
struct StoreBest {
  using Place = typename Packing::Place;

  Order<Bits> order;
  Places<Place> places;
  Bits* extreme;
  std::int64_t* index;
  std::int64_t slab;  ///< number of elements in the second and third dimension
  std::int64_t row;   ///< number of elements in the third dimension

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k,
                                  const typename Packing::Number& number) const {
    const auto best = Packing::unpacked(number);
    const std::int64_t at = i * slab + j * row + k;
    extreme[at] = order.bits(static_cast<typename Order<Bits>::Key>(best.key));
    index[at] = best.place == 0 ? -1 : static_cast<std::int64_t>(places.index(best.place));
  }
};

/// \tparam Element the type with which elements are read; for bools, any non-zero byte is true
template <class Bits, class Packing, class Element = Bits>
void extreme_of(ExtremeRequest request) {
  auto& extent = request.extent;
  const std::int64_t length = extent[1];
  // Iterate over the last dimension, so that compilers see contiguous results.
  const int axis = extent[2] == 1 ? 2 : 1;
  if (axis == 2) {
    for (auto* of_dimensions : {extent, request.input.stride, request.mask.stride}) {
      std::rotate(of_dimensions, of_dimensions + 2, of_dimensions + 3);
    }
  }
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    using Place = typename Packing::Place;
    const auto order = order_of<Bits>(request.input.dtype, request.operation == Operation::min);
    const bool is_backward = request.direction == Direction::backward;
    const Places<Place> places{is_backward ? static_cast<Place>(length) : Place{1},
                               is_backward ? static_cast<Place>(-1) : Place{1}};
    const auto elements = three_view<const Element, Exec>(request.input, extent, extent[1]);
    const KokkosScan::Elementwise<3, KokkosScan::impl::IndexAlong<Place>> indices{
        {extent[0], extent[1], extent[2]}, {axis}};
    const StoreBest<Bits, Packing> store{order,
                                         places,
                                         static_cast<Bits*>(request.extreme.data),
                                         static_cast<std::int64_t*>(request.index.data),
                                         extent[1] * extent[2],
                                         extent[2]};
    const auto scan = [&](const auto& in) {
      const KokkosScan::Along<> forward = KokkosScan::along(axis);
      KokkosScan::inclusive_scan(exec, in, KokkosScan::for_each_result(elements, store),
                                 is_backward ? forward.backward() : forward,
                                 typename Packing::Operator{});
    };
    const Candidate<Bits, Packing> candidate{order, places};
    if (request.mask.exists) {
      const auto mask = three_view<const bool, Exec>(request.mask, extent, extent[1]);
      scan(KokkosScan::zip_transform(candidate, elements, indices, mask));
    } else {
      scan(KokkosScan::zip_transform(candidate, elements, indices));
    }
  });
}

}  // namespace

void extreme(const ExtremeRequest& request) {
  if (request.extent[1] > longest_line(info(request.input.dtype).size)) {
    throw std::invalid_argument("kokkos_scan: lines of " + std::to_string(request.extent[1]) +
                                " elements have minima and maxima with indices as float64 alone.");
  }
  switch (info(request.input.dtype).size) {
    case 1:
      if (request.input.dtype == DType::boolean) {
        return extreme_of<std::uint8_t, InOneNumber, bool>(request);
      }
      return extreme_of<std::uint8_t, InOneNumber>(request);
    case 2:
      return extreme_of<std::uint16_t, InOneNumber>(request);
    case 4:
      return extreme_of<std::uint32_t, InOneNumber>(request);
    case 8:
      if (info(request.input.dtype).kind != Kind::complex) {
        return extreme_of<std::uint64_t, InTwoNumbers>(request);
      }
      [[fallthrough]];
    default:
      throw TypeError(
          "kokkos_scan: complex values have no order, so minima and maxima cannot combine them.");
  }
}

}  // namespace kokkos_scan_python
