// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The header of a .npy file, versions 1.0 to 3.0
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dtype.hpp"

namespace scan_tool {

/// The order of elements in memory: the last index is fastest in C order, the first in Fortran
/// order.
enum class Order { c, fortran };

/// The byte order of elements: that of this machine, or the opposite.
enum class ByteOrder { own, swapped };

/// The extents of an array.
using Shape = std::vector<std::int64_t>;

/// The contents of a header.
struct NpyHeader {
  DType dtype = DType::float64;
  Order order = Order::c;
  Shape shape;
  ByteOrder byte_order = ByteOrder::own;
};

/// A header, and its size in bytes: the offset of the data.
struct ParsedHeader {
  NpyHeader header;
  std::size_t size = 0;
};

/// Parses the header at the beginning of a file.
/// \throws UserError naming `path` if it is not a .npy file of a type of dtype_table
ParsedHeader parse_npy_header(const std::string& path, std::span<const std::byte> file);

/// The header that numpy.save writes: version 1.0, padded to a multiple of 64 bytes.
std::string format_npy_header(const NpyHeader& header);

/// Swaps the byte order of elements in place; complex numbers are swapped as two numbers.
void swap_bytes(DType dtype, std::span<std::byte> elements);

/// The shape as Python prints it: (3, 4).
std::string to_string(const Shape& shape);

/// The maximum number of elements: the size of more elements would exceed 63 bits.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 58;

/// The number of elements of an array of the file or for the file `path`.
/// \throws UserError naming it if they are too many
std::int64_t element_count(const std::string& path, const Shape& shape);

}  // namespace scan_tool
