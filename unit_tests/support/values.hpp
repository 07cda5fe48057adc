// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Seeded random data of every type, reproducible on every machine, and the poison byte.

#include <cmath>
#include <cstdint>

#include "types.hpp"

namespace test {

/// SplitMix64 (Steele, Lea, Flood 2014). std distributions differ between standard libraries.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : m_state(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = m_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// 0 to n - 1.
  constexpr std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }

  /// [0, 1).
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t m_state;
};

/// The distribution of data that tests an operator well.
enum class Data {
  any,         ///< integers: all bits random; floats: uniform in [-1, 1)
  near_one,    ///< floats: +-[0.9, 1.1), so that long products neither overflow nor vanish
  often_zero,  ///< half of the values are zero
  one_sign     ///< floats: uniform in [0, 1)
};

template <class T>
T random_value(Random& random, Data data = Data::any) {
  if (data == Data::often_zero && (random.next() >> 63) != 0) return T(0);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next() >> 17);
  } else if constexpr (is_half<T>) {
    return static_cast<T>(random_value<float>(random, data));
  } else if constexpr (std::is_floating_point_v<T>) {
    double const unit = random.unit();
    if (data == Data::one_sign) return static_cast<T>(unit);
    if (data != Data::near_one) return static_cast<T>(2 * unit - 1);
    return static_cast<T>((random.next() >> 63) != 0 ? 0.9 + 0.2 * unit : -0.9 - 0.2 * unit);
  } else {
    static_assert(is_complex<T>);
    using Real = typename T::value_type;
    if (data != Data::near_one) {
      Real const re = random_value<Real>(random);
      return T(re, random_value<Real>(random));
    }
    double const angle = 6.283185307179586 * random.unit();
    double const radius = 0.9 + 0.2 * random.unit();
    return T(static_cast<Real>(radius * std::cos(angle)),
             static_cast<Real>(radius * std::sin(angle)));
  }
}

template <>
inline bool random_value<bool>(Random& random, Data) {
  return (random.next() >> 63) != 0;
}
template <>
inline Struct3 random_value<Struct3>(Random& random, Data) {
  std::uint64_t const bits = random.next();
  return {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8),
          static_cast<std::uint8_t>(bits >> 16)};
}
template <>
inline Struct12 random_value<Struct12>(Random& random, Data) {
  std::uint64_t const xy = random.next();
  return {static_cast<std::uint32_t>(xy), static_cast<std::uint32_t>(xy >> 32),
          static_cast<std::uint32_t>(random.next())};
}
template <>
inline Struct24 random_value<Struct24>(Random& random, Data) {
  std::uint64_t const x = random.next();
  std::uint64_t const y = random.next();
  return {x, y, random.next()};
}
template <>
inline Affine random_value<Affine>(Random& random, Data) {
  // An odd slope: products of even ones soon become 0 modulo 2^32.
  std::uint64_t const bits = random.next();
  return {static_cast<std::uint32_t>(bits) | 1u, static_cast<std::uint32_t>(bits >> 32)};
}
template <>
inline Matrix random_value<Matrix>(Random& random, Data) {
  // A product of two shears has determinant 1, so that no information is lost.
  std::uint64_t const bits = random.next();
  auto const s = static_cast<std::uint32_t>(bits);
  auto const t = static_cast<std::uint32_t>(bits >> 32);
  return {1 + s * t, s, t, 1};
}
template <>
inline Brackets random_value<Brackets>(Random& random, Data) {
  return (random.next() >> 63) != 0 ? Brackets{0, 1} : Brackets{1, 0};
}

/// Memory that must not be accessed is filled with this byte: NaN in every float type, an unlikely
/// value of other types, no valid interval, and no valid bool.
template <class T>
constexpr unsigned char poison_byte() {
  return is_float<T> || is_complex<T> ? 0xFF : 0xA5;
}

}  // namespace test
