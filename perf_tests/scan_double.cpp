// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan.hpp"

void perf::register_double(std::size_t bytes) { register_type<double>("double", bytes); }
