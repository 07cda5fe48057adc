// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The types of array elements, as Python names them.

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kokkos_scan_python {

/// The types of elements that can be scanned.
enum class DType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

/// What the elements of a type are; the numbers are those of DLPack's DLDataTypeCode.
enum class Kind : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  real = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
};

/// One row of the table of types.
struct DTypeInfo {
  std::string_view name;
  Kind kind;
  /// Bytes of one element.
  std::int64_t size;
};

/// All types, in the order of DType.
inline constexpr std::array<DTypeInfo, 15> dtype_table{{
    {"bool", Kind::boolean, 1},
    {"int8", Kind::signed_integer, 1},
    {"int16", Kind::signed_integer, 2},
    {"int32", Kind::signed_integer, 4},
    {"int64", Kind::signed_integer, 8},
    {"uint8", Kind::unsigned_integer, 1},
    {"uint16", Kind::unsigned_integer, 2},
    {"uint32", Kind::unsigned_integer, 4},
    {"uint64", Kind::unsigned_integer, 8},
    {"float16", Kind::real, 2},
    {"bfloat16", Kind::bfloat, 2},
    {"float32", Kind::real, 4},
    {"float64", Kind::real, 8},
    {"complex64", Kind::complex, 8},
    {"complex128", Kind::complex, 16},
}};

/// The row of a type.
constexpr const DTypeInfo& info(DType dtype) {
  return dtype_table[static_cast<std::size_t>(dtype)];
}

/// The type of a DLPack type code and number of bits.
constexpr std::optional<DType> dtype_of(std::uint8_t code, std::uint8_t bits) {
  for (std::size_t i = 0; i < dtype_table.size(); ++i) {
    if (static_cast<std::uint8_t>(dtype_table[i].kind) == code && dtype_table[i].size * 8 == bits) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

}  // namespace kokkos_scan_python
