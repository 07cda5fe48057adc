// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels that are compiled, one function for each type of the output and kind of operation.

#include "request.hpp"

namespace kokkos_scan_python {

/// Sums and products of a type. Those of unsigned integers are those of signed ones, bit for bit.
///
/// \return false, without having done anything, if no kernel is compiled for the input's type or
///         for a mask: then prepared() makes an input that has one
template <DType D>
bool scan_sums(const Request& request);

/// Minima and maxima of a type; as above.
template <DType D>
bool scan_orders(const Request& request);

/// Logarithms of sums of exponentials of a floating type; as above.
template <DType D>
bool scan_logarithms(const Request& request);

/// The gradient of a scan, for arrays of a floating type.
template <DType D>
void gradient_of(const GradientRequest& request);

/// Writes the input where the output will be, converted to its type, and the operation's identity
/// where the mask is false.
///
/// \return the scan of that in place
/// \throws std::invalid_argument if the output overlaps what is read
Request prepared(const Request& request);

}  // namespace kokkos_scan_python
