// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A .npy file for reading, mapped into memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "npy_header.hpp"

namespace scan_tool {

/// The name of standard input and standard output on the command line.
inline constexpr std::string_view standard_stream = "-";

/// The folder for temporary files.
std::string temporary_folder();

/// The bytes of a regular file, read on demand, or of standard input.
class MappedFile {
 public:
  /// \throws UserError if the file cannot be read
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }
  /// Copies bytes. Unlike bytes(), this does not map their pages into the process.
  /// \return whether all bytes could be read
  [[nodiscard]] bool read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// Advises the system that these bytes are needed soon.
  void expect(std::int64_t offset, std::int64_t count) const;

 private:
  int m_file = -1;
  std::span<const std::byte> m_bytes;
};

/// The array in a file. It stays valid if the file is replaced by another one of the same name.
class NpyInput {
 public:
  /// \throws UserError if the file cannot be read or is not an array that can be scanned
  explicit NpyInput(std::string path);

  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] const NpyHeader& header() const { return m_header; }
  [[nodiscard]] std::int64_t count() const { return m_count; }
  /// The bytes of the elements, in the header's byte order. Like NumPy, this ignores anything after
  /// them in the file.
  [[nodiscard]] std::span<const std::byte> data() const { return m_data; }
  /// Copies the bytes of elements from number `first` on, in this machine's byte order.
  /// \throws UserError if they cannot be read
  void read(std::int64_t first, std::span<std::byte> bytes) const;
  /// Advises the system that these elements are needed soon.
  void expect(std::int64_t first, std::int64_t count) const;

 private:
  std::string m_path;
  MappedFile m_file;
  NpyHeader m_header;
  std::int64_t m_begin = 0;  ///< of the data in the file
  std::int64_t m_count = 0;
  std::span<const std::byte> m_data;
};

}  // namespace scan_tool
