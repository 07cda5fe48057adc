// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The data of the demo: a function of the position, so that a device can generate it and the host
/// can check results without a copy of the data.

#include <Kokkos_Macros.hpp>
#include <cstdint>

namespace scan_tool {

/// Mixes the bits of a counter (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
KOKKOS_FORCEINLINE_FUNCTION constexpr std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t bits = counter * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

/// Element `index` of the data: uniform in [0, 1), a multiple of 2^-24.
KOKKOS_FORCEINLINE_FUNCTION constexpr float demo_value(std::uint64_t index) {
  return static_cast<float>(mixed(index) >> 40) * 0x1p-24F;
}

/// The same, mapped to [1 - 2^-7, 1 + 2^-7), so that products stay in the range of float.
KOKKOS_FORCEINLINE_FUNCTION constexpr float demo_factor(std::uint64_t index) {
  return 1.0F + (demo_value(index) - 0.5F) * 0x1p-6F;
}

/// Element `index` of the mask, which is true for half of the elements.
KOKKOS_FORCEINLINE_FUNCTION constexpr bool demo_mask(std::uint64_t index) {
  return (mixed(index) & 1U) != 0;
}

}  // namespace scan_tool
