// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans in order on a GPU, without Kokkos, compared bit by bit with a serial loop on the
// host (fuzz.hpp says what is random).
//
//   nvcc -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
//     unit_tests/cuda/fuzz_in_order.cu -o fuzz_in_order && ./fuzz_in_order 2000
//
// Its argument is the number of cases of each kind. Its exit status is 0 if all passed, 1 if not,
// 77 where there is no GPU.

#include <KokkosScan/impl/cuda/in_order_problems.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "fuzz_gpu.hpp"

namespace test {
namespace fuzz {

class GpuInOrder : public Gpu {
 public:
  template <class P>
  void scan(Stream const& stream, P const& problem) const {
    impl::cuda::InOrderBackend{}.scan(stream, problem);
  }
};

template <class K>
int run_cases(GpuInOrder& gpu, std::uint64_t count) {
  for (std::uint64_t number = 0; number < count; ++number) {
    std::string const wrong = run_case<K>(gpu, 1, number, {1 << 14, 1 << 18});
    if (wrong.empty()) continue;
    std::printf("%s\n", wrong.c_str());
    return 1;
  }
  std::printf("%s: %llu cases passed\n", K::name, static_cast<unsigned long long>(count));
  std::fflush(stdout);
  return 0;
}
template <class... Kinds>
int run_kinds(List<Kinds...>, std::uint64_t count) {
  GpuInOrder gpu;
  return (run_cases<Kinds>(gpu, count) + ...);
}

}  // namespace fuzz
}  // namespace test

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }
  std::uint64_t const count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  return test::fuzz::run_kinds(test::fuzz::KindsInOrder{}, count) == 0 ? 0 : 1;
}
