// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Numbers on the command line.

#include <string>

#include "dtype.hpp"

namespace scan_tool {

/// The number in `text` as the accumulator `A` of `dtype`: bool as True, False, 1 or 0; integers in
/// the range of `dtype`; real numbers as C writes them, with inf and nan; complex as 1+2j.
/// \throws UserError naming `option` if it is no such number
template <class A>
A parse_value(const std::string& option, const std::string& text, DType dtype);

}  // namespace scan_tool
