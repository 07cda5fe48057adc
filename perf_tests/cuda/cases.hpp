// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The grid of shapes, types and forms.

#include <cstdint>
#include <map>
#include <string>

namespace perf {

/// Functions that register the cases of a group by name; most cases have `elements` elements.
const std::map<std::string, void (*)(std::int64_t elements)>& groups();

}  // namespace perf
