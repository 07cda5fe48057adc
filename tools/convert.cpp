// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "half.hpp"

namespace scan_tool {
namespace {

/// The C++ type with the bytes that a DType has in a file.
template <DType D>
struct Stored;
// clang-format off
template <> struct Stored<DType::boolean>    { using type = std::uint8_t; };
template <> struct Stored<DType::int8>       { using type = std::int8_t; };
template <> struct Stored<DType::int16>      { using type = std::int16_t; };
template <> struct Stored<DType::int32>      { using type = std::int32_t; };
template <> struct Stored<DType::int64>      { using type = std::int64_t; };
template <> struct Stored<DType::uint8>      { using type = std::uint8_t; };
template <> struct Stored<DType::uint16>     { using type = std::uint16_t; };
template <> struct Stored<DType::uint32>     { using type = std::uint32_t; };
template <> struct Stored<DType::uint64>     { using type = std::uint64_t; };
template <> struct Stored<DType::float16>    { using type = std::uint16_t; };
template <> struct Stored<DType::float32>    { using type = float; };
template <> struct Stored<DType::float64>    { using type = double; };
template <> struct Stored<DType::complex64>  { using type = std::complex<float>; };
template <> struct Stored<DType::complex128> { using type = std::complex<double>; };
// clang-format on

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

/// The accumulator of `D`.
template <DType D>
using AccumulatorOf = typename AccumulatorType<info(D).accumulator>::type;

/// One value of the file, widened.
template <DType D>
AccumulatorOf<D> read(const std::byte* place) {
  typename Stored<D>::type value;
  std::memcpy(&value, place, sizeof value);
  if constexpr (D == DType::boolean) {
    return value != 0 ? 1 : 0;
  } else if constexpr (D == DType::float16) {
    return half_value(value);
  } else {
    return value;
  }
}

/// The integer of a real number; defined for every number, see load().
template <class Integer>
Integer truncated(double value) {
  constexpr double limit = 0x1p63;
  if (std::isnan(value)) return 0;
  if constexpr (std::is_same_v<Integer, std::uint64_t>) {
    if (value >= 2 * limit) return std::numeric_limits<std::uint64_t>::max();
    if (value >= limit) return static_cast<std::uint64_t>(value);
  }
  if (value >= limit) return static_cast<Integer>(std::numeric_limits<std::int64_t>::max());
  if (value < -limit) return static_cast<Integer>(std::numeric_limits<std::int64_t>::min());
  return static_cast<Integer>(static_cast<std::int64_t>(value));
}

/// A value as the accumulator of `D` after rounding or wrapping it to `D`.
template <DType D, class A>
AccumulatorOf<D> rounded(A value) {
  using Result = AccumulatorOf<D>;
  using Store = typename Stored<D>::type;
  if constexpr (info(D).kind == Kind::complex) {
    using Part = typename Result::value_type;
    if constexpr (is_complex<A>) {
      return {static_cast<Part>(value.real()), static_cast<Part>(value.imag())};
    } else {
      return {static_cast<Part>(value), Part(0)};
    }
  } else if constexpr (is_complex<A>) {
    return {};  // refused before: complex numbers have no real value
  } else if constexpr (D == DType::boolean) {
    return value != A(0) ? 1 : 0;
  } else if constexpr (D == DType::float16) {
    // NumPy takes integers through float; every integer that is finite in float16 is exact there.
    if constexpr (std::is_integral_v<A>) return rounded<D>(static_cast<float>(value));
    return half_value(half_bits(static_cast<double>(value)));
  } else if constexpr (std::is_integral_v<Store> && std::is_floating_point_v<A>) {
    return truncated<Store>(static_cast<double>(value));
  } else {
    return static_cast<Store>(value);
  }
}

template <DType From, DType To>
void load_all(const std::byte* place, std::span<AccumulatorOf<To>> values) {
  for (auto& value : values) {
    value = rounded<To>(read<From>(place));
    place += info(From).size;
  }
}

template <DType To>
void store_all(std::span<const AccumulatorOf<To>> values, std::byte* place) {
  for (const auto& value : values) {
    typename Stored<To>::type stored;
    if constexpr (To == DType::float16) {
      stored = half_bits(value);
    } else if constexpr (To == DType::boolean) {
      stored = value != 0 ? 1 : 0;
    } else {
      stored = static_cast<typename Stored<To>::type>(value);
    }
    std::memcpy(place, &stored, sizeof stored);
    place += sizeof stored;
  }
}

/// Calls `visitor.template operator()<D>()` for the DType that is `dtype`.
template <class Visitor>
void visit(DType dtype, const Visitor& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((dtype_table[I].dtype == dtype ? visitor.template operator()<dtype_table[I].dtype>() : void()),
     ...);
  }
  (std::make_index_sequence<dtype_table.size()>{});
}

}  // namespace

template <class A>
void load(std::span<const std::byte> file, DType from, DType to, std::span<A> values) {
  visit(to, [&]<DType To>() {
    if constexpr (std::is_same_v<AccumulatorOf<To>, A>) {
      visit(from, [&]<DType From>() { load_all<From, To>(file.data(), values); });
    }
  });
}

template <class A>
void store(std::span<const A> values, DType to, std::span<std::byte> file) {
  visit(to, [&]<DType To>() {
    if constexpr (std::is_same_v<AccumulatorOf<To>, A>) store_all<To>(values, file.data());
  });
}

#define SCAN_TOOL_INSTANTIATE(A)                                                 \
  template void load<A>(std::span<const std::byte>, DType, DType, std::span<A>); \
  template void store<A>(std::span<const A>, DType, std::span<std::byte>);
SCAN_TOOL_INSTANTIATE(std::int64_t)
SCAN_TOOL_INSTANTIATE(std::uint64_t)
SCAN_TOOL_INSTANTIATE(float)
SCAN_TOOL_INSTANTIATE(double)
SCAN_TOOL_INSTANTIATE(std::complex<float>)
SCAN_TOOL_INSTANTIATE(std::complex<double>)
#undef SCAN_TOOL_INSTANTIATE

}  // namespace scan_tool
