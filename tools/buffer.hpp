// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Memory for the values of an array.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace scan_tool {

/// Uninitialised memory for numbers, aligned to 64 bytes.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  /// \throws std::bad_alloc
  explicit Buffer(std::int64_t count)
      : m_data(
            static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), aligned))),
        m_size(static_cast<std::size_t>(count)) {}

  [[nodiscard]] T* data() const { return m_data.get(); }
  [[nodiscard]] std::span<T> span() const { return {m_data.get(), m_size}; }

 private:
  static constexpr std::align_val_t aligned{64};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, aligned); }
  };
  std::unique_ptr<T, Delete> m_data;
  std::size_t m_size = 0;
};

}  // namespace scan_tool
