// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The GPU that runs the cases of fuzz.hpp. Kinds are distributed over the files fuzz_*.cu, which
// compile in parallel, since each kind instantiates all kernels.

// Before fuzz.hpp, which requires the backend.
#include "stream.hpp"

#include <KokkosScan/impl/cuda/select.hpp>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "fuzz.hpp"

namespace test {
namespace fuzz {

/// A GPU with one block of memory for all cases.
class Gpu {
 public:
  Gpu() = default;
  ~Gpu() { cudaFree(m_memory); }
  Gpu(Gpu const&) = delete;
  Gpu& operator=(Gpu const&) = delete;

  std::byte* upload(std::vector<std::byte> const& bytes) {
    if (bytes.size() > m_bytes) {
      check(cudaFree(m_memory));
      m_memory = nullptr;
      m_bytes = 2 * bytes.size();
      check(cudaMalloc(&m_memory, m_bytes));
    }
    check(cudaMemcpy(m_memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    return m_memory;
  }
  /// Waits for the scan.
  void download(std::vector<std::byte>& bytes) const {
    check(cudaMemcpy(bytes.data(), m_memory, bytes.size(), cudaMemcpyDeviceToHost));
  }
  /// The device, or one with fewer multiprocessors or less shared memory per block.
  static Stream space(Random& random) {
    Stream stream;
    if (random.one_in(2)) {
      stream.multiprocessors = static_cast<int>(random.between(1, stream.multiprocessors));
    }
    if (random.one_in(3)) {
      stream.shared_bytes_of_block = std::min(stream.shared_bytes_of_block, 101376);
    }
    return stream;
  }

 private:
  std::byte* m_memory = nullptr;
  std::size_t m_bytes = 0;
};

void add_floats(Runners<Gpu>&);
void add_doubles(Runners<Gpu>&);
void add_operators(Runners<Gpu>&);
void add_wider(Runners<Gpu>&);
void add_small(Runners<Gpu>&);
void add_computed(Runners<Gpu>&);
void add_structs(Runners<Gpu>&);
void add_outputs(Runners<Gpu>&);

}  // namespace fuzz
}  // namespace test
