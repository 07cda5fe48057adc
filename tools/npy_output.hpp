// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A .npy file to write: beside its place first, and in its place when it is complete.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "npy_header.hpp"
#include "npy_input.hpp"

namespace scan_tool {

/// A file that appears under its name only by commit(). Without it nothing stays behind, and what
/// had the name keeps it.
class NpyOutput {
 public:
  /// Makes a temporary file in the folder of `path`; a symbolic link is followed. "-" is standard
  /// output, to which commit() copies.
  /// \throws UserError if that is not possible or something other than a file has the name
  explicit NpyOutput(std::string path);
  /// The same file as that of another process, which has made it as `temporary` and commits it.
  /// \throws UserError if it cannot be written
  NpyOutput(std::string path, const std::string& temporary);
  ~NpyOutput();
  NpyOutput(const NpyOutput&) = delete;
  NpyOutput& operator=(const NpyOutput&) = delete;

  [[nodiscard]] const std::string& path() const { return m_path; }
  /// The file that commit() replaces, without symbolic links: two outputs must not share it.
  [[nodiscard]] const std::string& target() const { return m_target; }
  [[nodiscard]] bool is_standard_output() const { return m_path == standard_stream; }

  /// Whether a file is the one that commit() replaces: also by links, symbolic or hard.
  [[nodiscard]] bool replaces(const std::string& file) const;

  /// What the file is called until commit().
  [[nodiscard]] const std::string& temporary() const { return m_temporary; }

  void write(std::span<const std::byte> bytes);
  /// Writes at a place in the file, wherever write() is.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  void write_header(const NpyHeader& header);

  /// All has been written: reports what the system has put off to report.
  void finish();
  /// Gives the file its name.
  void commit();

 private:
  [[noreturn]] void unwritable() const;
  void make_temporary(const std::string& folder, mode_t mode);
  void copy_to_standard_output();
  void discard();

  std::string m_path;
  std::string m_target;
  std::string m_temporary;
  int m_file = -1;
};

}  // namespace scan_tool
