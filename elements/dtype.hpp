// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The array element types that the command line and the Python package support.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace array_elements {

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

/// The kind of a type's elements; values are those of DLPack's DLDataTypeCode.
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
  DType dtype;
  /// NumPy's name, or a common name if NumPy lacks the type.
  std::string_view name;
  /// NumPy's code in .npy files, without the byte order; empty if NumPy lacks the type.
  std::string_view code;
  Kind kind;
  /// Size of an element in bytes.
  std::int64_t size;
};

/// All types, in the order of DType.
inline constexpr std::array<DTypeInfo, 15> dtype_table{{
    {DType::boolean, "bool", "b1", Kind::boolean, 1},
    {DType::int8, "int8", "i1", Kind::signed_integer, 1},
    {DType::int16, "int16", "i2", Kind::signed_integer, 2},
    {DType::int32, "int32", "i4", Kind::signed_integer, 4},
    {DType::int64, "int64", "i8", Kind::signed_integer, 8},
    {DType::uint8, "uint8", "u1", Kind::unsigned_integer, 1},
    {DType::uint16, "uint16", "u2", Kind::unsigned_integer, 2},
    {DType::uint32, "uint32", "u4", Kind::unsigned_integer, 4},
    {DType::uint64, "uint64", "u8", Kind::unsigned_integer, 8},
    {DType::float16, "float16", "f2", Kind::real, 2},
    {DType::bfloat16, "bfloat16", "", Kind::bfloat, 2},
    {DType::float32, "float32", "f4", Kind::real, 4},
    {DType::float64, "float64", "f8", Kind::real, 8},
    {DType::complex64, "complex64", "c8", Kind::complex, 8},
    {DType::complex128, "complex128", "c16", Kind::complex, 16},
}};

/// The row of a type.
constexpr const DTypeInfo& info(DType dtype) {
  return dtype_table[static_cast<std::size_t>(dtype)];
}

}  // namespace array_elements
