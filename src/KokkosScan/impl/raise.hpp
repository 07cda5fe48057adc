// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Error reporting.

#include <Kokkos_Core.hpp>
#include <string>

namespace KokkosScan::impl {

/// Throws Error(message). With -fno-exceptions it aborts with the message, as Kokkos does.
template <class Error>
[[noreturn]] void raise(const std::string& message) {
#if defined(__cpp_exceptions)
  throw Error(message);
#else
  Kokkos::abort(message.c_str());
#endif
}

}  // namespace KokkosScan::impl
