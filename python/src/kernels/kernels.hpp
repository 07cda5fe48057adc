// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The compiled kernels: one function for each output type and kind of operation.

#include "request.hpp"

namespace kokkos_scan_python {

/// Sums and products of a type. Unsigned integers use the kernels of signed ones, as bits agree.
///
/// \return false, without doing anything, if no kernel is compiled for the input type or for a
///         mask: then prepared() creates a suitable input
template <DType D>
bool scan_sums(const Request& request);

/// Minima and maxima of a type. See above.
template <DType D>
bool scan_orders(const Request& request);

/// Logarithms of sums of exponentials of a floating type. See above.
template <DType D>
bool scan_logarithms(const Request& request);

/// The gradient of a scan, for arrays of a floating type.
template <DType D>
void gradient_of(const GradientRequest& request);

/// Copies the input to the output, converted to its type, with the operation's identity where the
/// mask is false.
///
/// \return a request to scan the output in place
/// \throws std::invalid_argument if the output overlaps what is read
Request prepared(const Request& request);

}  // namespace kokkos_scan_python
