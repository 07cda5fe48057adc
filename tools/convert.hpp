// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Converts the values of a file to the accumulators of a scan and back, like NumPy.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dtype.hpp"

namespace scan_tool {

/// The C++ type of an Accumulator.
template <Accumulator>
struct AccumulatorType;
template <>
struct AccumulatorType<Accumulator::int64> {
  using type = std::int64_t;
};
template <>
struct AccumulatorType<Accumulator::uint64> {
  using type = std::uint64_t;
};
template <>
struct AccumulatorType<Accumulator::float32> {
  using type = float;
};
template <>
struct AccumulatorType<Accumulator::float64> {
  using type = double;
};
template <>
struct AccumulatorType<Accumulator::complex64> {
  using type = std::complex<float>;
};
template <>
struct AccumulatorType<Accumulator::complex128> {
  using type = std::complex<double>;
};

/// Reads `values.size()` values of type `from`, converts each to `to` like numpy.astype, and widens
/// it to the accumulator of `to`, which must be `A`.
///
/// Conversions of real numbers to integers that are undefined in C++ truncate, clamp to the range
/// of int64 (uint64), map NaN to 0, and wrap to the integer's size.
template <class A>
void load(std::span<const std::byte> file, DType from, DType to, std::span<A> values);

/// Writes accumulators as values of type `to`: integers wrap, bool is "!= 0", float16 rounds.
template <class A>
void store(std::span<const A> values, DType to, std::span<std::byte> file);

}  // namespace scan_tool
