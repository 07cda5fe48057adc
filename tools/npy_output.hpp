// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A .npy file for writing: a temporary file that is renamed when it is complete.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "npy_header.hpp"
#include "npy_input.hpp"

namespace scan_tool {

/// A file that gets its name in commit(). Without commit(), nothing is left behind, and an existing
/// file of that name is unchanged.
class NpyOutput {
 public:
  /// Creates a temporary file in the folder of `path`, following symbolic links. "-" is standard
  /// output, to which commit() copies.
  /// \throws UserError if that fails, or if `path` exists and is not a regular file
  explicit NpyOutput(std::string path);
  /// Opens the file that another process has created as `temporary` and will commit.
  /// \throws UserError if it cannot be written
  NpyOutput(std::string path, const std::string& temporary);
  ~NpyOutput();
  NpyOutput(const NpyOutput&) = delete;
  NpyOutput& operator=(const NpyOutput&) = delete;

  [[nodiscard]] const std::string& path() const { return m_path; }
  /// The path that commit() replaces, without symbolic links; to detect outputs that coincide.
  [[nodiscard]] const std::string& target() const { return m_target; }
  [[nodiscard]] bool is_standard_output() const { return m_path == standard_stream; }

  /// Whether a file is the one that commit() replaces, also by symbolic or hard links.
  [[nodiscard]] bool replaces(const std::string& file) const;

  /// The name of the file until commit().
  [[nodiscard]] const std::string& temporary() const { return m_temporary; }

  void write(std::span<const std::byte> bytes);
  /// Writes at an offset in the file, independently of write().
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  void write_header(const NpyHeader& header);

  /// Ends writing, and reports errors that the system has delayed until now.
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
