// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kind.hpp"
#include "peers.hpp"

void perf::generic_backend(const Exec& exec, const Problem& p, const Memory& memory) {
  const auto in = field(static_cast<const float*>(memory.in), p, p.n, p.in);
  const auto out = field(static_cast<float*>(memory.out), p, p.outputs(), p.out);
  ks::impl::scan(ks::impl::Function::inclusive_scan, exec, in, out, 1, ks::Sum{},
                 ks::impl::team::Backend{});
}
