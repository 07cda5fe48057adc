// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the tests of errors share.

#include <exception>
#include <stdexcept>
#include <string>

#include "support/types.hpp"

namespace test::errors {

/// What call() throws.
template <class Call>
std::string refusal(Call const& call) {
  try {
    call();
    Exec().fence();
  } catch (std::invalid_argument const& error) {
    return error.what();
  } catch (std::exception const& error) {
    return std::string("not std::invalid_argument: ") + error.what();
  }
  return "nothing was thrown";
}

}  // namespace test::errors
