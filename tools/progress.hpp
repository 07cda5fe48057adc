// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A progress bar for long runs on a terminal.

#include <chrono>
#include <cstdint>

namespace scan_tool {

/// A line on stderr with progress, speed and remaining time, which is removed at the end. Nothing
/// is printed in the first half second, or if stderr is no terminal.
class Progress {
 public:
  enum class Shown { where_stderr_is_a_terminal, never };

  /// \param bytes total number of bytes
  Progress(std::int64_t bytes, Shown shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds bytes that have been processed.
  void add(std::int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t m_all;
  std::int64_t m_done = 0;
  bool m_is_shown;
  bool m_is_printed = false;
  Clock::time_point m_begin = Clock::now();
  Clock::time_point m_next = m_begin + std::chrono::milliseconds(500);
};

}  // namespace scan_tool
