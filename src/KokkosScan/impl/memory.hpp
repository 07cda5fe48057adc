// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Temporary memory for one call, in the order of an execution space instance.

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <new>
#include <type_traits>

namespace KokkosScan::impl {

/// Whether a launch on the space returns only when the work is done.
template <class Exec>
inline constexpr bool launches_block =
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;
#if defined(KOKKOS_ENABLE_HPX)
template <>
inline constexpr bool launches_block<Kokkos::Experimental::HPX> = false;
#endif

/// Memory that the work of an execution space instance may use until this object is destroyed. It
/// is not a View, because freeing a View fences all instances. Host spaces use the heap; a space
/// with stream-ordered allocation specialises this template; elsewhere freeing fences the instance,
/// which callers avoid by passing a workspace.
template <class Exec>
class Temporary {
 public:
  /// \throws std::bad_alloc or std::runtime_error if there is not enough memory
  Temporary(const Exec& exec, std::size_t bytes) : m_exec(exec) {
    if constexpr (launches_block<Exec>) {
      m_data = static_cast<std::byte*>(::operator new(bytes, alignment));
    } else {
      m_data = static_cast<std::byte*>(
          Kokkos::kokkos_malloc<typename Exec::memory_space>("KokkosScan workspace", bytes));
    }
  }
  ~Temporary() {
    if constexpr (launches_block<Exec>) {
      ::operator delete(m_data, alignment);
    } else {
      m_exec.fence("KokkosScan: before the workspace is freed");
      Kokkos::kokkos_free<typename Exec::memory_space>(m_data);
    }
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] std::byte* data() const { return m_data; }

 private:
  static constexpr std::align_val_t alignment{64};
  Exec m_exec;
  std::byte* m_data;
};

}  // namespace KokkosScan::impl
