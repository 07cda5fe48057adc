// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace test {

/// The memory of a machine for fuzz.hpp. Each block is a separate allocation, so that sanitizers
/// detect accesses behind it.
class HostMemory {
 public:
  std::byte* upload(std::vector<std::byte> const& bytes) {
    m_memory.reset(new (std::align_val_t{256}) std::byte[bytes.size()]);
    std::memcpy(m_memory.get(), bytes.data(), bytes.size());
    return m_memory.get();
  }
  void download(std::vector<std::byte>& bytes) const {
    std::memcpy(bytes.data(), m_memory.get(), bytes.size());
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
  };
  std::unique_ptr<std::byte[], Free> m_memory;
};

}  // namespace test
