// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The C++ types of array elements, and the types in which they are summed.

#include <KokkosScan/operators.hpp>

#include "../../../elements/stored.hpp"
#include "dtype.hpp"

namespace kokkos_scan_python {

using array_elements::Bfloat16;
using array_elements::Boolean;
using array_elements::converted;
using array_elements::Half;
using array_elements::is_16_bit_float;
using array_elements::is_complex;
using array_elements::stored_t;

}  // namespace kokkos_scan_python

template <>
struct KokkosScan::accumulator<array_elements::Half> {
  using type = float;
};
template <>
struct KokkosScan::accumulator<array_elements::Bfloat16> {
  using type = float;
};
