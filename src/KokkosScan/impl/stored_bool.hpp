// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Bools as they lie in memory.

#include <Kokkos_Core.hpp>
#include <type_traits>

namespace KokkosScan::impl {

/// A byte that stands for true unless it is 0, as NumPy and PyTorch take it: masks of images have
/// 255. To read such a byte as a bool is undefined, and compilers compute with what they read; so
/// kernels read arrays of bool as arrays of these.
struct
#if defined(__GNUC__)
    [[gnu::may_alias]]
#endif
    StoredBool {
  unsigned char byte;

  StoredBool() = default;
  template <class T>
  requires std::is_constructible_v<bool, const T&>
      KOKKOS_FORCEINLINE_FUNCTION explicit constexpr StoredBool(const T& value)
      : byte(static_cast<bool>(value) ? 1 : 0) {}
  KOKKOS_FORCEINLINE_FUNCTION constexpr operator bool() const { return byte != 0; }
};
static_assert(sizeof(StoredBool) == sizeof(bool) && alignof(StoredBool) == alignof(bool));

/// The type as which kernels read elements of type T.
template <class T>
using read_as_t = std::conditional_t<std::is_same_v<T, bool>, StoredBool, T>;
/// The same where they are masks: of all types of one byte alike.
template <class T>
using mask_read_as_t =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) == 1, StoredBool, read_as_t<T>>;

/// An element as functions of the caller's are given it.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION const T& as_argument(const T& element) {
  return element;
}
KOKKOS_FORCEINLINE_FUNCTION bool as_argument(const StoredBool& element) { return element; }

/// Bools that were computed, as those that lie in memory.
inline const StoredBool* as_stored_bools(const bool* computed) {
  return reinterpret_cast<const StoredBool*>(computed);
}

}  // namespace KokkosScan::impl
