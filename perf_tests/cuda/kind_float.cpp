// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "kinds.hpp"

using FloatSums = perf::Sums<double, 24>;

perf::Kind perf::sum_float() { return make_kind<float, float, ks::Sum<>, FloatSums>("float"); }
