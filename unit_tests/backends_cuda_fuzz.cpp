// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans by the CUDA kernels, emulated on a host.

#include <Kokkos_Core.hpp>

// In builds with CUDA all suites run on the GPU; unit_tests/cuda/fuzz.cu runs these cases there.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include "support/emulated_cuda.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/fuzz.hpp"
#include "support/host_memory.hpp"

namespace test {
namespace backends {
namespace {

class Machine : public HostMemory {
 public:
  /// A large GPU, one without bulk copies and with little shared memory, or one with hardly any
  /// multiprocessors.
  static emulated::Space space(fuzz::Random& random) {
    emulated::Space space;
    space.multiprocessors = random.one_in(2) ? 132 : static_cast<int>(random.between(1, 8));
    if (random.one_in(3)) space.shared_bytes_of_block = 101376;
    space.has_bulk_copies = !random.one_in(3);
    return space;
  }
};

/// Runs a number of cases of the compiled kinds.
void run_cases(fuzz::Runners<Machine> const& runners, std::uint64_t end) {
  Machine machine;
  fuzz::Limits const limits{1 << 13, 1 << 17};
  for (std::uint64_t number = 0; number < end; ++number) {
    auto const& runner = runners[number % fuzz::AllKinds::size];
    if (runner.run == nullptr) continue;
    ASSERT_EQ(runner.run(machine, 1, number, limits), "");
  }
}

// A subset, since each kind takes seconds to compile: all inputs, and sizes from 1 to 24 bytes.
TEST(backends, emulated_cuda_passes_random_cases) {
  fuzz::Runners<Machine> runners;
  fuzz::add<fuzz::FloatSum>(runners);
  fuzz::add<fuzz::DoubleSum>(runners);
  fuzz::add<fuzz::MaskedDoubleSum>(runners);
  fuzz::add<fuzz::MaskedByteSum>(runners);
  fuzz::add<fuzz::BytesIntoLong>(runners);
  fuzz::add<fuzz::MaskedComputedSum>(runners);
  fuzz::add<fuzz::Struct3>(runners);
  fuzz::add<fuzz::Struct12>(runners);
  fuzz::add<fuzz::ZippedSum>(runners);
  run_cases(runners, 4000);
}

// More cases, since few of them are columns.
TEST(backends, emulated_cuda_passes_random_recurrences_and_functions) {
  fuzz::Runners<Machine> runners;
  fuzz::add<fuzz::Recurrence>(runners);
  fuzz::add<fuzz::CalledRecurrence>(runners);
  fuzz::add<fuzz::CalledSum>(runners);
  fuzz::add<fuzz::CalledArgMax>(runners);
  run_cases(runners, 20000);
}

TEST(backends, emulated_cuda_passes_random_projections_and_selections) {
  fuzz::Runners<Machine> runners;
  fuzz::add<fuzz::ProjectedSum>(runners);
  fuzz::add<fuzz::SelectWords>(runners);
  fuzz::add<fuzz::SelectMaskedBytes>(runners);
  fuzz::add<fuzz::SelectMaskedStructs>(runners);
  run_cases(runners, 8000);
}

}  // namespace
}  // namespace backends
}  // namespace test

#endif
