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

/// How the elements of an array follow each other: C has the last index fastest, Fortran the first.
enum class Order { c, fortran };

/// The order of the bytes of an element: that of this machine, or the other one.
enum class ByteOrder { own, swapped };

/// The extents of an array.
using Shape = std::vector<std::int64_t>;

/// What a header says.
struct NpyHeader {
  DType dtype = DType::float64;
  Order order = Order::c;
  Shape shape;
  ByteOrder byte_order = ByteOrder::own;
};

/// A header, and the bytes of the file before the data.
struct ParsedHeader {
  NpyHeader header;
  std::size_t size = 0;
};

/// Reads the header at the beginning of a file's bytes.
/// \throws UserError naming `path` if it is not a .npy file of a type of dtype_table
ParsedHeader parse_npy_header(const std::string& path, std::span<const std::byte> file);

/// The bytes that numpy.save puts before the data: version 1.0, a multiple of 64 bytes.
std::string format_npy_header(const NpyHeader& header);

/// Turns the bytes of elements of another byte order, in place; those of complex numbers in halves.
void swap_bytes(DType dtype, std::span<std::byte> elements);

/// The shape as Python prints it: (3, 4).
std::string to_string(const Shape& shape);

/// More elements than this are refused: their bytes would not fit into 63 bits.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 58;

/// The number of elements of an array of the file or for the file `path`.
/// \throws UserError naming it if they are too many
std::int64_t element_count(const std::string& path, const Shape& shape);

}  // namespace scan_tool
