// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// IEEE 754 binary16 (NumPy's float16) in software: no compiler has it everywhere.

#include <bit>
#include <cstdint>

namespace scan_tool {

/// The value of the 16 bits.
constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  // The bias is 15 here and 127 there; infinity and NaN have the largest exponent in both.
  const std::uint32_t widened = exponent == 0x1fU ? 0xffU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

/// The 16 bits nearest to the value, ties to even: rounded once, as NumPy does.
constexpr std::uint16_t half_bits(double value) {
  constexpr std::uint64_t infinity = 0x7ff0'0000'0000'0000U;
  constexpr int dropped = 52 - 10;
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000U);
  bits &= ~(std::uint64_t{1} << 63);
  const auto finish = [sign](std::uint64_t magnitude) {
    return static_cast<std::uint16_t>(sign | magnitude);
  };
  if (bits > infinity) return finish(0x7e00U);
  // Half way between the largest finite value, 65504, and what would follow it.
  if (bits >= std::bit_cast<std::uint64_t>(65520.0)) return finish(0x7c00U);
  if (bits < std::bit_cast<std::uint64_t>(0x1p-14)) {
    // The last bit of 2^28 is worth 2^-24, as that of a subnormal half, so the addition rounds.
    const double shifted = std::bit_cast<double>(bits) + 0x1p28;
    return finish(std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(0x1p28));
  }
  const std::uint64_t odd = (bits >> dropped) & 1U;
  bits += (std::uint64_t{1} << (dropped - 1)) - 1 + odd;
  return finish((bits >> dropped) - (std::uint64_t{1023 - 15} << 10));
}

}  // namespace scan_tool
