// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// All kinds; each is in its own source file, or with others of the same size.

#include "problem.hpp"

namespace perf {

Kind sum_float();
Kind sum_float_masked();
Kind sum_float_of_products();
Kind sum_float_in_double();
Kind prod_float();
Kind min_float();
Kind max_float();
Kind sum_double();
Kind sum_double_of_products();
Kind sum_complex();
Kind sum_half();
Kind sum_bfloat16();
Kind sum_int8();
Kind sum_int16();
Kind sum_int8_to_int64();
Kind sum_int32_to_int64();
Kind sum_int64();
Kind maps();

}  // namespace perf
