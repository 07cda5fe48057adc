// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The NumPy types of arrays.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "../elements/dtype.hpp"

namespace scan_tool {

using array_elements::DType;
using array_elements::dtype_table;
using array_elements::DTypeInfo;
using array_elements::info;
using array_elements::Kind;

/// Size of a value in bytes.
constexpr std::size_t size_of(DType dtype) { return static_cast<std::size_t>(info(dtype).size); }

/// The types in which scans are computed. Each DType has one that represents all its values.
enum class Accumulator { int64, uint64, float32, float64, complex64, complex128 };

constexpr Accumulator accumulator_of(DType dtype) {
  switch (info(dtype).kind) {
    case Kind::boolean:
    case Kind::signed_integer:
      return Accumulator::int64;
    case Kind::unsigned_integer:
      return Accumulator::uint64;
    case Kind::complex:
      return dtype == DType::complex64 ? Accumulator::complex64 : Accumulator::complex128;
    default:
      return dtype == DType::float64 ? Accumulator::float64 : Accumulator::float32;
  }
}

/// Whether .npy files support the type.
constexpr bool is_of_numpy(const DTypeInfo& row) { return !row.code.empty(); }

/// The type with NumPy's name `name`.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeInfo& row : dtype_table) {
    if (is_of_numpy(row) && row.name == name) return row.dtype;
  }
  return std::nullopt;
}

/// The type with the code `code` in .npy files, such as "f4".
constexpr std::optional<DType> dtype_coded(std::string_view code) {
  for (const DTypeInfo& row : dtype_table) {
    if (is_of_numpy(row) && row.code == code) return row.dtype;
  }
  return std::nullopt;
}

/// The type for one of NumPy's character codes, such as "d", which headers may contain.
constexpr std::optional<DType> dtype_of_character(std::string_view code) {
  if (code.size() != 1) return std::nullopt;
  constexpr std::string_view characters = "?bhilqBHILQefdFD";
  constexpr std::array types{DType::boolean, DType::int8,    DType::int16,     DType::int32,
                             DType::int64,   DType::int64,   DType::uint8,     DType::uint16,
                             DType::uint32,  DType::uint64,  DType::uint64,    DType::float16,
                             DType::float32, DType::float64, DType::complex64, DType::complex128};
  static_assert(types.size() == characters.size());
  const std::size_t place = characters.find(code[0]);
  if (place == std::string_view::npos) return std::nullopt;
  return types[place];
}

inline constexpr std::size_t numpy_dtypes = std::ranges::count_if(dtype_table, is_of_numpy);

/// NumPy's types, in the order of DType.
constexpr std::array<DType, numpy_dtypes> dtypes_of_numpy() {
  std::array<DType, numpy_dtypes> dtypes{};
  std::size_t i = 0;
  for (const DTypeInfo& row : dtype_table) {
    if (is_of_numpy(row)) dtypes[i++] = row.dtype;
  }
  return dtypes;
}

/// All their names, for messages.
constexpr std::array<std::string_view, numpy_dtypes> dtype_names() {
  std::array<std::string_view, numpy_dtypes> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = info(dtypes_of_numpy()[i]).name;
  return names;
}

/// The result type of numpy.logaddexp: integers become float64.
constexpr DType numpy_logarithm_dtype(DType input) {
  return info(input).kind == Kind::real || info(input).kind == Kind::complex ? input
                                                                             : DType::float64;
}

/// The default result type of numpy.cumulative_sum and numpy.cumulative_prod.
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
