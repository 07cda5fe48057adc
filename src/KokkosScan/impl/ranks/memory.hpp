// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The settings and the memory of a plan.

#include <KokkosScan/impl/memory.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::ranks {

/// How values get from the memory of an execution space to MPI. Without a meaning for NCCL.
enum class Staging {
  automatic,  ///< depends on the memory space and the MPI library
  never,      ///< MPI receives pointers to the memory itself
  always      ///< values are copied through host memory
};

/// Settings that change no result, for tests and measurements. They must be the same on all ranks.
struct Settings {
  Staging staging = Staging::automatic;
  /// The size of a block's elements: they should stay in the cache from the fold to the scan.
  std::int64_t block_bytes = 0;  ///< 0: the value in tuning.hpp
  /// The minimum number of lines in a block.
  std::int64_t least_lines = 0;  ///< 0: the value in tuning.hpp
};

/// Host memory for copies from and to devices.
#if defined(KOKKOS_HAS_SHARED_HOST_PINNED_SPACE)
using PinnedSpace = Kokkos::SharedHostPinnedSpace;
#else
using PinnedSpace = Kokkos::HostSpace;
#endif

/// A buffer that grows on demand. It is not a View, because freeing a View fences all instances.
template <class Space>
class Memory {
 public:
  Memory() = default;
  ~Memory() { Kokkos::kokkos_free<Space>(m_data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Makes room for `bytes` bytes. Contents are lost; waits until `exec` has finished with them.
  template <class Exec>
  void reserve(const Exec& exec, std::size_t bytes) {
    if (bytes <= m_bytes) return;
    exec.fence("KokkosScan: before memory of a plan over ranks grows");
    Kokkos::kokkos_free<Space>(m_data);
    m_data = nullptr;
    m_bytes = 0;
    m_data = static_cast<std::byte*>(Kokkos::kokkos_malloc<Space>("KokkosScan over ranks", bytes));
    m_bytes = bytes;
  }
  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] std::size_t bytes() const { return m_bytes; }

 private:
  std::byte* m_data = nullptr;
  std::size_t m_bytes = 0;
};

/// Divides a buffer into aligned arrays; with a null pointer it only computes the size.
class Arena {
 public:
  explicit Arena(std::byte* data) : m_data(data) {}

  template <class T>
  T* take(std::int64_t count) {
    constexpr std::size_t alignment = std::max<std::size_t>(alignof(T), 64);
    m_bytes = (m_bytes + alignment - 1) / alignment * alignment;
    T* const part = m_data == nullptr ? nullptr : reinterpret_cast<T*>(m_data + m_bytes);
    m_bytes += static_cast<std::size_t>(count) * sizeof(T);
    return part;
  }
  [[nodiscard]] std::size_t bytes() const { return m_bytes; }

 private:
  std::byte* m_data;
  std::size_t m_bytes = 0;
};

/// Copies bytes in the order of an execution space instance.
template <class Exec, class ToSpace, class FromSpace>
void copy(const Exec& exec, std::byte* to, const std::byte* from, std::size_t bytes) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  Kokkos::deep_copy(exec, Kokkos::View<std::byte*, ToSpace, Unmanaged>(to, bytes),
                    Kokkos::View<const std::byte*, FromSpace, Unmanaged>(from, bytes));
}

}  // namespace KokkosScan::impl::ranks
