// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The types of array elements, with Python's names.

#include <cstdint>
#include <optional>

#include "../../../elements/dtype.hpp"

namespace kokkos_scan_python {

using array_elements::DType;
using array_elements::dtype_table;
using array_elements::DTypeInfo;
using array_elements::info;
using array_elements::Kind;

/// The type for a DLPack type code and number of bits.
constexpr std::optional<DType> dtype_of(std::uint8_t code, std::uint8_t bits) {
  for (const auto& row : dtype_table) {
    if (static_cast<std::uint8_t>(row.kind) == code && row.size * 8 == bits) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace kokkos_scan_python
