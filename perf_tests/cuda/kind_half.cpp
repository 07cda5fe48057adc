// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kind.hpp"
#include "kinds.hpp"

using FloatSums = perf::Sums<double, 24>;

perf::Kind perf::sum_half() { return make_kind<__half, __half, ks::Sum<>, FloatSums>("half"); }
perf::Kind perf::sum_bfloat16() {
  return make_kind<__nv_bfloat16, __nv_bfloat16, ks::Sum<>, FloatSums>("bfloat16");
}
