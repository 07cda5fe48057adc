// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The NumPy types of arrays.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace scan_tool {

/// The NumPy types that can be scanned.
enum class DType {
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
  float32,
  float64,
  complex64,
  complex128,
};

/// What the values of a type are.
enum class Kind { boolean, signed_integer, unsigned_integer, real, complex };

/// The types in which scans are computed; every DType has one that holds all its values.
enum class Accumulator { int64, uint64, float32, float64, complex64, complex128 };

/// One row of the table of types.
struct DTypeInfo {
  DType dtype;
  /// NumPy's name.
  std::string_view name;
  /// The type in the header of a .npy file, without the byte order.
  std::string_view code;
  Kind kind;
  /// Bytes of one value.
  std::size_t size;
  Accumulator accumulator;
};

/// All types, in the order of DType.
inline constexpr std::array<DTypeInfo, 14> dtype_table{{
    {DType::boolean, "bool", "b1", Kind::boolean, 1, Accumulator::int64},
    {DType::int8, "int8", "i1", Kind::signed_integer, 1, Accumulator::int64},
    {DType::int16, "int16", "i2", Kind::signed_integer, 2, Accumulator::int64},
    {DType::int32, "int32", "i4", Kind::signed_integer, 4, Accumulator::int64},
    {DType::int64, "int64", "i8", Kind::signed_integer, 8, Accumulator::int64},
    {DType::uint8, "uint8", "u1", Kind::unsigned_integer, 1, Accumulator::uint64},
    {DType::uint16, "uint16", "u2", Kind::unsigned_integer, 2, Accumulator::uint64},
    {DType::uint32, "uint32", "u4", Kind::unsigned_integer, 4, Accumulator::uint64},
    {DType::uint64, "uint64", "u8", Kind::unsigned_integer, 8, Accumulator::uint64},
    {DType::float16, "float16", "f2", Kind::real, 2, Accumulator::float32},
    {DType::float32, "float32", "f4", Kind::real, 4, Accumulator::float32},
    {DType::float64, "float64", "f8", Kind::real, 8, Accumulator::float64},
    {DType::complex64, "complex64", "c8", Kind::complex, 8, Accumulator::complex64},
    {DType::complex128, "complex128", "c16", Kind::complex, 16, Accumulator::complex128},
}};

/// The row of a type.
constexpr const DTypeInfo& info(DType dtype) {
  return dtype_table[static_cast<std::size_t>(dtype)];
}

/// The type that NumPy calls `name`.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeInfo& row : dtype_table) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

/// The type of a .npy file's `code`, such as "f4".
constexpr std::optional<DType> dtype_coded(std::string_view code) {
  for (const DTypeInfo& row : dtype_table) {
    if (row.code == code) return row.dtype;
  }
  return std::nullopt;
}

/// All names, for messages.
constexpr std::array<std::string_view, dtype_table.size()> dtype_names() {
  std::array<std::string_view, dtype_table.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = dtype_table[i].name;
  return names;
}

/// The type in which numpy.logaddexp answers: whole numbers become float64.
constexpr DType numpy_logarithm_dtype(DType input) {
  return info(input).kind == Kind::real || info(input).kind == Kind::complex ? input
                                                                             : DType::float64;
}

/// The type in which numpy.cumulative_sum and cumulative_prod answer by default.
constexpr DType numpy_sum_dtype(DType input) {
  switch (info(input).kind) {
    case Kind::boolean:
    case Kind::signed_integer:
      return DType::int64;
    case Kind::unsigned_integer:
      return DType::uint64;
    default:
      return input;
  }
}

}  // namespace scan_tool
