// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "kinds.hpp"

perf::Kind perf::prod_float() { return make_kind<float, float, ks::Prod<>, Products>("float"); }
perf::Kind perf::min_float() { return make_kind<float, float, ks::Min<>, Minima>("float"); }
perf::Kind perf::max_float() { return make_kind<float, float, ks::Max<>, Maxima>("float"); }
