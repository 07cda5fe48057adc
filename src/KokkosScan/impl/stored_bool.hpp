// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Bools in memory, of which any non-zero byte is true.

#include <Kokkos_Core.hpp>
#include <type_traits>

namespace KokkosScan::impl {

/// A byte that is true unless it is 0, as in NumPy and PyTorch (image masks contain 255). Reading
/// such a byte as a bool is undefined behaviour, so kernels read arrays of bool as this type.
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

/// The type with which kernels read elements of type T.
template <class T>
using read_as_t = std::conditional_t<std::is_same_v<T, bool>, StoredBool, T>;
/// The same for masks, where all 1-byte integers are read alike.
template <class T>
using mask_read_as_t =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) == 1, StoredBool, read_as_t<T>>;

/// An element as an argument of a user's function.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION const T& as_argument(const T& element) {
  return element;
}
KOKKOS_FORCEINLINE_FUNCTION bool as_argument(const StoredBool& element) { return element; }

/// Computed bools as stored ones.
inline const StoredBool* as_stored_bools(const bool* computed) {
  return reinterpret_cast<const StoredBool*>(computed);
}

}  // namespace KokkosScan::impl
