// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan.hpp"

void perf::register_int64(std::size_t bytes) { register_type<std::int64_t>("int64", bytes); }
