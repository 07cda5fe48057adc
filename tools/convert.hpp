// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// From the values of a file to the accumulators of a scan and back, with NumPy's meaning.

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

/// Reads `values.size()` values of type `from`, converts each to `to` as numpy.astype does, and
/// widens it to the accumulator of `to`, which `A` must be.
///
/// Where C++ leaves the conversion of a real number to an integer undefined, it is truncated,
/// limited to the range of int64 (uint64), NaN taken as 0, and reduced modulo the integer's size.
template <class A>
void load(std::span<const std::byte> file, DType from, DType to, std::span<A> values);

/// Writes accumulators as values of type `to`: integers wrap, bool is "not zero", float16 rounds.
template <class A>
void store(std::span<const A> values, DType to, std::span<std::byte> file);

}  // namespace scan_tool
