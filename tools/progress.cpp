// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace scan_tool {
namespace {

constexpr const char* clear_line = "\r\033[K";

/// A number of bytes with three digits, such as 1.25 GB.
std::string text_of(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", bytes, units[unit]);
  return text.data();
}

std::string text_of(std::int64_t seconds) {
  if (seconds < 100) return std::to_string(seconds) + " s";
  return seconds < 6000 ? std::to_string(seconds / 60) + " min"
                        : std::to_string(seconds / 3600) + " h";
}

}  // namespace

Progress::Progress(std::int64_t bytes, Shown shown)
    : m_all(bytes),
      m_is_shown(shown != Shown::never && bytes > 0 && ::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (m_is_printed) std::fputs(clear_line, stderr);
}

void Progress::add(std::int64_t bytes) {
  m_done = std::min(m_done + bytes, m_all);
  if (!m_is_shown) return;
  const Clock::time_point now = Clock::now();
  if (now < m_next) return;
  m_next = now + std::chrono::milliseconds(200);
  m_is_printed = true;
  constexpr int width = 20;
  const double part = static_cast<double>(m_done) / static_cast<double>(m_all);
  const auto filled = static_cast<std::size_t>(part * width);
  const double seconds = std::chrono::duration<double>(now - m_begin).count();
  const double rate = static_cast<double>(m_done) / seconds;
  const auto left = static_cast<std::int64_t>(static_cast<double>(m_all - m_done) / rate + 0.5);
  const std::string line =
      clear_line + std::string("[") + std::string(filled, '#') + std::string(width - filled, '.') +
      "] " + std::to_string(static_cast<int>(100 * part)) + " % of " +
      text_of(static_cast<double>(m_all)) + ", " + text_of(rate) + "/s, " + text_of(left) + " left";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace scan_tool
