// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Errors that the user can fix.

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace scan_tool {

/// A mistake of the user: main() prints it as one line and exits with status 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws a UserError with the standard sentence: the file or option, what was found, and what was
/// expected.
[[noreturn]] inline void refuse(std::string_view subject, std::string_view found,
                                std::string_view expected) {
  throw UserError(std::string(subject)
                      .append(": found ")
                      .append(found)
                      .append(", expected ")
                      .append(expected)
                      .append("."));
}

/// The system's message for errno.
inline std::string system_reason() { return std::generic_category().message(errno); }

/// `text` in double quotes.
inline std::string quoted(std::string_view text) {
  return std::string("\"").append(text).append("\"");
}

/// The items as "a, b or c".
template <class Items>
std::string one_of(const Items& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 < items.size() ? ", " : " or ";
    text += items[i];
  }
  return text;
}

}  // namespace scan_tool
