// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled by scripts/check-kernels to measure compile time: COST calls of the CUDA backend (0, 1
// or 4, with different problem types), or for comparison a scan of CUB.

#if defined(COST_OF_CUB)

#include <cub/device/device_scan.cuh>

cudaError_t scan(float const* x, float* y, int n, void* workspace, std::size_t& bytes) {
#if COST
  return cub::DeviceScan::InclusiveSum(workspace, bytes, x, y, n);
#else
  return cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice);
#endif
}

#else

#include <KokkosScan/operators.hpp>
#include "stream.hpp"

namespace ks = KokkosScan;
namespace impl = KokkosScan::impl;

using Floats = impl::Array<float const>;
template <class Op, class In>
using Problem = impl::Problem<float, Op, In, float, impl::CommonStart<float>, float>;
template <class P>
void call(P const& problem, std::byte* workspace) {
  impl::cuda::Backend{}.scan(test::Stream{}, problem, workspace);
}

#if COST >= 1
template void call(Problem<ks::Sum<float>, Floats> const&, std::byte*);
#endif
#if COST >= 4
template void call(
    Problem<ks::Sum<float>,
            impl::Selected<float, Floats, impl::Array<impl::StoredBool const>>> const&,
    std::byte*);
template void call(Problem<ks::Max<float>, Floats> const&, std::byte*);
template void call(Problem<ks::Prod<float>, Floats> const&, std::byte*);
#endif

#endif
