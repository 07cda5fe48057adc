// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

perf::RandomKind perf::random_product() {
  return RandomScan<float, float, float, Input::array, ks::Prod<float>>::kind("product", "float",
                                                                              "/product");
}
